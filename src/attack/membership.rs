//! Membership inference by the loss, black box: who was trained on, told from the trained model alone.
//!
//! A model is surer of what it has seen (Yeom, Giacomelli, Fredrikson & Jha 2018). Of ordinary digits that is next to nothing, as any model reads them; a digit with a *wrong* label is read so by a model
//! that was told so alone. So each candidate is an image with a wrong random label, in or out by a fair coin of its own, and its score is minus its loss by the model after the last step. Candidates with
//! their right labels stand beside them. Few records tell more: a model has to learn from each.
//!
//! What is guessed right bounds ε from below (Steinke, Nasr & Jagielski 2023; Mahloujifar, Melis & Chaudhuri 2024): of a twentieth of the candidates, fixed beforehand, the surest are guessed to be in. Each
//! bound holds in 95 of 100 attacks, by itself. An attacker who sees the last model alone is far from the worst that ε is about.

use serde::{Deserialize, Serialize};

use super::{
    coins::{coins, places, wrong_label},
    error::AttackError,
    included::Included,
    progress::Progress,
    roc::Roc,
};
use crate::{
    accounting::{audit::Guesses, risk::GaussianPrivacy},
    data::{Dataset, Shift},
    engine::{AnyEngine, Engine as _, EngineFactory, Scores},
    rng::NotPrivateReplay,
    train::{config::RunConfig, plan::Plan, session::Session},
};

/// How surely each bound holds: it is above the true ε in one of twenty attacks at most.
pub const SIGNIFICANCE: f64 = 0.05;
/// Of so many candidates the surest one is guessed to be in.
pub const ONE_IN: u32 = 20;

/// What is attacked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Sought {
    /// Records that the model is trained on, about: as many candidates as are in on average are among them.
    pub records: u32,
    /// m, candidates with a wrong label.
    pub mislabelled: u32,
    /// Candidates with their right label, for comparison; 0: none.
    pub labelled: u32,
    /// Decides which images are records and candidates, labels and coins. The attacker does not use it.
    pub seed: u64,
}

impl Default for Sought {
    /// 2,000 records, a quarter of them mislabelled.
    fn default() -> Self {
        Self { records: 2000, mislabelled: 1000, labelled: 500, seed: 0 }
    }
}

impl Sought {
    /// Records that are in whatever the coins say.
    const fn fixed(&self) -> Option<u32> {
        self.records.checked_sub(self.included())
    }

    /// Candidates that are in on average.
    const fn included(&self) -> u32 {
        (self.mislabelled / 2).saturating_add(self.labelled / 2)
    }

    /// Examples that lots are drawn from: records and candidates, in or out.
    ///
    /// # Errors
    /// [`AttackError::NoCandidates`], [`AttackError::TooManyCandidates`]; more than can be counted.
    pub fn examples(&self) -> Result<u32, AttackError> {
        if self.mislabelled == 0 {
            return Err(AttackError::NoCandidates);
        }
        let too_many = AttackError::TooManyCandidates { included: self.included(), records: self.records };
        let examples = self
            .fixed()
            .and_then(|fixed| fixed.checked_add(self.mislabelled))
            .and_then(|some| some.checked_add(self.labelled));
        examples.ok_or(too_many)
    }
}

/// An attack under way: a model that is trained on the records and those candidates that are in.
pub struct Membership {
    session: Session<Included<AnyEngine>>,
    steps: u64,
    mislabelled: Candidates,
    labelled: Candidates,
    /// Examples whose features are to be computed, before the first step.
    unprepared: bool,
}

/// Images with the labels that they have in training, and whether they are in.
struct Candidates {
    data: Dataset,
    is_in: Vec<bool>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Found {
    /// Of the candidates with a wrong label.
    pub mislabelled: Told,
    /// Of those with their right one, where there were some.
    pub labelled: Option<Told>,
    /// What the run costs whoever is among the examples, at `delta`, from above: the tight ε. `None`: it has no guarantee.
    pub epsilon: Option<f64>,
    /// The run's δ, of both ε and the bounds from below.
    pub delta: f64,
    /// Steps that were taken.
    pub steps: u64,
    /// Whether sampling and noise were replayed from a known seed. Then this is an example, and evidence of nothing.
    pub replayed: bool,
}

/// What scores tell of candidates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Told {
    /// Of all scores.
    pub roc: Roc,
    /// r, guesses of "in".
    pub guesses: u32,
    /// v, those that are right.
    pub right: u32,
    /// ε from below at 95 %, without an assumption on the mechanism (Steinke, Nasr & Jagielski 2023).
    pub epsilon: f64,
    /// ε from below at 95 %, assuming the trade-off function of Gaussian noise (Mahloujifar, Melis & Chaudhuri 2024).
    pub epsilon_gaussian: f64,
}

impl Membership {
    /// Draws records, candidates and coins, and makes ready to train.
    ///
    /// # Errors
    /// A configuration that shares vectors among examples, has no end, or cannot be run on so few records; too few images, or of one digit.
    pub async fn new(
        factory: &EngineFactory,
        train: &Dataset,
        config: RunConfig,
        sought: &Sought,
    ) -> Result<Self, AttackError> {
        let examples = sought.examples()?;
        if examples as usize > train.len() {
            return Err(AttackError::TooFew { needed: examples.into(), found: train.len() });
        }
        if config.sharing.is_shared() {
            return Err(AttackError::Shared);
        }
        let steps = config.steps.ok_or(AttackError::NoEnd)?;
        let plan = Plan::new(config, examples)?;
        let mut rng = NotPrivateReplay::new(sought.seed);
        let chosen = train.moved(&places(&mut rng, train.len() as u32, examples), Shift::ALONE);
        if let Some(&first) = chosen.labels.first()
            && chosen.labels.iter().all(|&label| label == first)
        {
            return Err(AttackError::OneClass(first));
        }
        // Candidates first: mislabelled, labelled, then what is in for certain.
        let (wrong, right) = (sought.mislabelled as usize, sought.labelled as usize);
        let mut labels = chosen.labels.to_vec();
        labels[..wrong].iter_mut().for_each(|label| *label = wrong_label(&mut rng, *label));
        let data = Dataset::new(&chosen.name, chosen.images, labels);
        let data = plan.config.minority.among(&data);
        let mut is_in = coins(&mut rng, sought.mislabelled + sought.labelled);
        let of = |range: std::ops::Range<usize>, is_in: &[bool]| Candidates {
            data: data.slice(range.clone()),
            is_in: is_in[range].to_vec(),
        };
        let (mislabelled, labelled) = (of(0..wrong, &is_in), of(wrong..wrong + right, &is_in));
        is_in.resize(data.len(), true);
        let engine = factory.build(&plan.task, &data, &plan.initial_parameters()).await?;
        let session = Session::new(plan, Included::new(engine, is_in))?;
        Ok(Self { session, steps, mislabelled, labelled, unprepared: true })
    }

    /// How far it has come.
    #[must_use]
    pub const fn progress(&self) -> Progress {
        Progress { done: self.session.step_count(), of: self.steps }
    }

    /// Takes up to `steps` more steps; features that a model takes of the records first, as many at a time. Dropped between two calls, it is cancelled.
    ///
    /// # Errors
    /// When the engine fails.
    pub async fn advance(&mut self, steps: u32) -> Result<Progress, AttackError> {
        if self.unprepared {
            self.unprepared = self.session.prepare(steps.max(1) as usize).await? > 0;
            if self.unprepared {
                return Ok(self.progress());
            }
        }
        for _ in 0..steps {
            if self.session.complete() {
                break;
            }
            self.session.step().await?;
        }
        Ok(self.progress())
    }

    /// What the model gives away now, after however many steps; an attack that is fixed beforehand asks once, at the end.
    ///
    /// # Errors
    /// A model that has diverged; coins that all fell alike; what the accountant refuses.
    pub async fn found(&mut self) -> Result<Found, AttackError> {
        let delta = self.session.plan().config.delta;
        let mislabelled = told(&mut self.session, &self.mislabelled, delta).await?;
        let labelled = match self.labelled.is_in.is_empty() {
            true => None,
            false => Some(told(&mut self.session, &self.labelled, delta).await?),
        };
        let epsilon = match self.session.account().transpose()? {
            Some(account) => Some(account.tight.map_or(account.improved.epsilon, |tight| tight.value)),
            None => None,
        };
        let replayed = self.session.plan().config.replay.is_some();
        Ok(Found { mislabelled, labelled, epsilon, delta, steps: self.session.step_count(), replayed })
    }
}

async fn told(
    session: &mut Session<Included<AnyEngine>>,
    candidates: &Candidates,
    delta: f64,
) -> Result<Told, AttackError> {
    let scores = session.engine().scores(&candidates.data).await?;
    let losses = scores.iter().zip(candidates.data.labels.iter()).map(|(scores, &label)| -loss(scores, label));
    Told::of(&losses.zip(candidates.is_in.iter().copied()).collect::<Vec<_>>(), delta)
}

/// Cross-entropy in nats, in f64 and without a floor: what is very sure has digits, too.
pub(super) fn loss(scores: &Scores, label: u8) -> f64 {
    let scores = scores.map(f64::from);
    let best = (1..scores.len()).fold(0, |best, class| if scores[class] > scores[best] { class } else { best });
    // The largest is e⁰, so ln(1 + the rest) keeps its digits where that is the label's own.
    let rest: f64 =
        scores.iter().enumerate().filter(|(class, _)| *class != best).map(|(_, z)| (z - scores[best]).exp()).sum();
    (scores[best] - scores[usize::from(label)]) + rest.ln_1p()
}

impl Told {
    /// Of (score, whether it was in), one for each candidate, at `delta`.
    ///
    /// # Errors
    /// As [`Roc::new`]; δ that is none.
    pub fn of(scores: &[(f64, bool)], delta: f64) -> Result<Self, AttackError> {
        let of =
            |is_in: bool| -> Vec<f64> { scores.iter().filter(|score| score.1 == is_in).map(|score| score.0).collect() };
        let roc = Roc::new(&of(true), &of(false))?;
        // Stable: of equal scores the first are guessed, whatever their coins are.
        let mut order: Vec<&(f64, bool)> = scores.iter().collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0));
        let made = (scores.len() as u32 / ONE_IN).max(1);
        let right = order[..made as usize].iter().filter(|score| score.1).count() as u32;
        let guesses = Guesses::new(scores.len() as u32, made, right)?;
        let epsilon = guesses.epsilon(SIGNIFICANCE, delta)?;
        let mu = guesses.mu(SIGNIFICANCE)?;
        let epsilon_gaussian = GaussianPrivacy::new(mu).map_or(0.0, |gaussian| gaussian.epsilon(delta));
        Ok(Self { roc, guesses: made, right, epsilon, epsilon_gaussian: if mu > 0.0 { epsilon_gaussian } else { 0.0 } })
    }
}
