//! Black-box membership inference by the loss: who was trained on, given the trained model alone.
//!
//! A model is surer of what it has seen (Yeom, Giacomelli, Fredrikson & Jha 2018). Any model
//! classifies ordinary digits; only a model trained on a digit with a *wrong* label predicts that
//! label. So each candidate is an image with a random wrong label, in or out by a fair coin, and
//! its score is minus its loss after the last step. Correctly labelled candidates serve for
//! comparison. Small training sets leak more.
//!
//! Correct guesses bound ε from below (Steinke, Nasr & Jagielski 2023; Mahloujifar, Melis &
//! Chaudhuri 2024): the surest candidates, a share of one in twenty fixed beforehand, are guessed
//! to be in. Each bound on its own holds in 95 of 100 attacks. An attacker who sees only the last
//! model is far from ε's worst case.

use serde::{Deserialize, Serialize};

use super::{
    coins::{coins, places, wrong_label},
    error::AttackError,
    progress::Progress,
    roc::Roc,
};
use crate::{
    accounting::{
        PrivacyError,
        audit::Guesses,
        books::Books,
        noise::NoiseSpec,
        risk::{GaussianPrivacy, PrivacyCurve},
    },
    config::RunConfig,
    data::{Dataset, Shift},
    engine::{AnyEngine, Engine as _, EngineFactory},
    model::{Architecture, CLASSES, PIXELS},
    plan::Plan,
    rng::NotPrivateReplay,
    session::Session,
};

/// Significance of each bound: it exceeds the true ε in at most one of twenty attacks.
pub const SIGNIFICANCE: f64 = 0.05;
/// One in so many candidates, the surest, is guessed to be in.
pub const ONE_IN: u32 = 20;

/// The parameters of the attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct MembershipTarget {
    /// Approximate number of records trained on, including the expected candidates in.
    pub records: u32,
    /// m, candidates with a wrong label.
    pub mislabelled: u32,
    /// Candidates with their right label, for comparison; 0: none.
    pub labelled: u32,
    /// Determines records, candidates, labels and coins. The attacker does not use it.
    pub seed: u64,
}

impl Default for MembershipTarget {
    /// 2,000 records, a quarter of them mislabelled.
    fn default() -> Self {
        Self { records: 2000, mislabelled: 1000, labelled: 500, seed: 0 }
    }
}

impl MembershipTarget {
    /// Returns the number of records that are in regardless of coins.
    const fn fixed(&self) -> Option<u32> {
        self.records.checked_sub(self.included())
    }

    /// Returns the expected number of candidates that are in.
    const fn included(&self) -> u32 {
        (self.mislabelled / 2).saturating_add(self.labelled / 2)
    }

    /// Returns the number of examples that lots are drawn from: records and candidates, in or out.
    ///
    /// # Errors
    /// [`AttackError::NoCandidates`], [`AttackError::TooManyCandidates`]; more than a `u32` holds.
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

/// The visitor's own image among the mislabelled candidates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Own {
    /// 784 of them.
    pub pixels: Vec<u8>,
    /// Its label in training; a wrong one leaks more.
    pub label: u8,
}

/// The attack's result for the visitor's own image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct OwnFound {
    /// Whether its coin had it in.
    pub is_in: bool,
    /// Mislabelled candidates that the model is surer of; the surer half is guessed to be in.
    pub surer: u32,
    /// All mislabelled candidates.
    pub of: u32,
}

impl OwnFound {
    /// Returns the attacker's guess: whether it was in.
    #[must_use]
    pub const fn guess(self) -> bool {
        2 * self.surer < self.of
    }
}

/// The perceptron on lots of 64 at rate 4, for 60 epochs without noise, 30 with σ < 1 and 15 with σ
/// ≥ 1: the settings of `docs/attacks.md`, at which small data sets leak.
#[must_use]
pub fn leaky_settings(noise: Option<f64>) -> RunConfig {
    let examples = u64::from(MembershipTarget::default().examples().unwrap_or_default());
    let epochs = match noise {
        None => 60,
        Some(sigma) if sigma < 1.0 => 30,
        Some(_) => 15,
    };
    RunConfig {
        model: Architecture::Mlp,
        lot: 64,
        learning_rate: 4.0,
        noise: noise.map(|sigma| NoiseSpec::Gaussian { sigma }),
        steps: Some(epochs * examples / 64),
        ..RunConfig::default()
    }
}

/// An attack in progress: trains a model on the records and the candidates that are in.
pub struct Membership {
    session: Session<AnyEngine>,
    steps: u64,
    mislabelled: Candidates,
    labelled: Candidates,
    /// Whether the first mislabelled candidate is the visitor's own.
    own: bool,
    /// Whether features have to be computed before the first step.
    unprepared: bool,
}

/// Images with their training labels, and whether they are in.
struct Candidates {
    data: Dataset,
    is_in: Vec<bool>,
}

/// The result of the attack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct MembershipReport {
    /// Of the candidates with a wrong label.
    pub mislabelled: MembershipResult,
    /// Of those with their right label, if any.
    pub labelled: Option<MembershipResult>,
    /// Of the visitor's own image, if given.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub own: Option<OwnFound>,
    /// The run's cost per example at `delta`, from above: the tight ε. `None`: no guarantee.
    pub epsilon: Option<f64>,
    /// The run's δ, of both ε and the bounds from below.
    pub delta: f64,
    /// Steps that were taken.
    pub steps: u64,
    /// Whether sampling and noise came from a known seed: an example then, not evidence.
    pub replayed: bool,
}

/// What the scores reveal about the candidates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct MembershipResult {
    /// The ROC of all scores.
    pub roc: Roc,
    /// r, guesses of "in".
    pub guesses: u32,
    /// v, correct guesses.
    pub right: u32,
    /// ε from below at 95 %, for any mechanism (Steinke, Nasr & Jagielski 2023).
    pub epsilon: f64,
    /// ε from below at 95 %, assuming the trade-off function of Gaussian noise (Mahloujifar, Melis
    /// & Chaudhuri 2024).
    pub epsilon_gaussian: f64,
}

impl Membership {
    /// Draws records, candidates and coins; `own` replaces the first mislabelled candidate.
    ///
    /// # Errors
    /// A configuration that shares vectors among examples, has no end, or cannot be run on so few
    /// records; too few images, images of one digit only, or an invalid `own` image.
    pub async fn new(
        factory: &EngineFactory,
        train: &Dataset,
        config: RunConfig,
        sought: &MembershipTarget,
        own: Option<&Own>,
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
        // Mislabelled candidates first, then labelled ones, then the fixed records.
        let (wrong, right) = (sought.mislabelled as usize, sought.labelled as usize);
        let mut labels = chosen.labels.to_vec();
        labels[..wrong].iter_mut().for_each(|label| *label = wrong_label(&mut rng, *label));
        let mut images = chosen.images;
        if let Some(own) = own {
            if own.pixels.len() != PIXELS {
                return Err(AttackError::Pixels { found: own.pixels.len(), expected: PIXELS });
            }
            if usize::from(own.label) >= CLASSES {
                return Err(AttackError::Label(own.label));
            }
            let mut with = images.to_vec();
            with[..PIXELS].copy_from_slice(&own.pixels);
            (images, labels[0]) = (with.into(), own.label);
        }
        let data = Dataset::new(&chosen.name, images, labels);
        let data = plan.config.minority.among(&data);
        let mut is_in = coins(&mut rng, sought.mislabelled + sought.labelled);
        let of = |range: std::ops::Range<usize>, is_in: &[bool]| Candidates {
            data: data.slice(range.clone()),
            is_in: is_in[range].to_vec(),
        };
        let (mislabelled, labelled) = (of(0..wrong, &is_in), of(wrong..wrong + right, &is_in));
        is_in.resize(data.len(), true);
        let engine = factory.build(&plan.task, &data, &plan.initial_parameters()).await?;
        let mut session = Session::new(plan, engine)?;
        session.leave_out(is_in);
        Ok(Self { session, steps, mislabelled, labelled, own: own.is_some(), unprepared: true })
    }

    /// Returns the attack's progress.
    #[must_use]
    pub const fn progress(&self) -> Progress {
        Progress { done: self.session.step_count(), of: self.steps }
    }

    /// Takes up to `steps` more steps, or computes features of as many records if they are missing.
    /// Dropping the attack between two calls cancels it.
    ///
    /// # Errors
    /// The engine fails.
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

    /// Returns what the model reveals after the steps so far: of mislabelled candidates, of
    /// labelled ones, and of the visitor's own image. A fixed attack asks once, at the end.
    ///
    /// # Errors
    /// A model that has diverged; coins that all fell alike.
    pub async fn told(
        &mut self,
    ) -> Result<(MembershipResult, Option<MembershipResult>, Option<OwnFound>), AttackError> {
        let delta = self.session.plan().config.delta;
        let scored = self.mislabelled.scored(&mut self.session).await?;
        let mislabelled = MembershipResult::of(&scored, delta)?;
        let own = self.own.then(|| OwnFound {
            is_in: scored[0].1,
            surer: scored.iter().filter(|other| other.0 > scored[0].0).count() as u32,
            of: scored.len() as u32,
        });
        let labelled = match self.labelled.is_in.is_empty() {
            true => None,
            false => Some(MembershipResult::of(&self.labelled.scored(&mut self.session).await?, delta)?),
        };
        Ok((mislabelled, labelled, own))
    }

    /// Returns the same with the run's cost.
    ///
    /// # Errors
    /// As [`Membership::told`], and what the accountant refuses.
    pub async fn found(&mut self) -> Result<MembershipReport, AttackError> {
        let delta = self.session.plan().config.delta;
        let (mislabelled, labelled, own) = self.told().await?;
        let epsilon = match self.session.account().transpose()? {
            Some(account) => Some(account.tight.map_or(account.improved.epsilon, |tight| tight.value)),
            None => None,
        };
        let replayed = self.session.plan().config.replay.is_some();
        Ok(MembershipReport { mislabelled, labelled, own, epsilon, delta, steps: self.session.step_count(), replayed })
    }

    /// Returns the privacy curve of the steps so far around the tight ε, which bounds the ROC
    /// ([`forbidden_above`](super::roc::forbidden_above)). Takes a second or so. `None` without
    /// tight ε.
    ///
    /// # Errors
    /// What the accountant refuses.
    pub fn curve(&self) -> Result<Option<PrivacyCurve>, AttackError> {
        let Some(ledger) = self.session.ledger() else { return Ok(None) };
        let (books, delta) = (Books::of(ledger.clone())?, self.session.plan().config.delta);
        let tight = match books.tight(delta) {
            Err(PrivacyError::Unpriced(_) | PrivacyError::TooManyKinds { .. } | PrivacyError::TooMuchWork { .. }) => {
                return Ok(None);
            }
            tight => tight?,
        };
        Ok(PrivacyCurve::new(books.curve_about(tight.value, delta)?).ok())
    }
}

impl Candidates {
    /// Returns each candidate's score, and whether it was in.
    async fn scored(&self, session: &mut Session<AnyEngine>) -> Result<Vec<(f64, bool)>, AttackError> {
        let scores = session.engine().scores(&self.data).await?;
        let losses = scores.iter().zip(self.data.labels.iter()).map(|(scores, &label)| -loss(scores, label));
        Ok(losses.zip(self.is_in.iter().copied()).collect())
    }
}

/// Cross-entropy in nats, in f64 without a floor, so that very sure answers keep their digits.
pub(super) fn loss(scores: &[f32], label: u8) -> f64 {
    let scores: Vec<f64> = scores.iter().map(|&z| f64::from(z)).collect();
    let best = (1..scores.len()).fold(0, |best, class| if scores[class] > scores[best] { class } else { best });
    // The largest is e⁰, so ln(1 + the rest) keeps its digits where that is the label's own.
    let rest: f64 =
        scores.iter().enumerate().filter(|(class, _)| *class != best).map(|(_, z)| (z - scores[best]).exp()).sum();
    (scores[best] - scores[usize::from(label)]) + rest.ln_1p()
}

impl MembershipResult {
    /// Evaluates (score, whether it was in) of each candidate at `delta`.
    ///
    /// # Errors
    /// As [`Roc::new`]; an invalid δ.
    pub fn of(scores: &[(f64, bool)], delta: f64) -> Result<Self, AttackError> {
        let of =
            |is_in: bool| -> Vec<f64> { scores.iter().filter(|score| score.1 == is_in).map(|score| score.0).collect() };
        let roc = Roc::new(&of(true), &of(false))?;
        // Stable: of equal scores the first are guessed, whatever their coins.
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

#[cfg(test)]
mod tests {
    use futures_executor::block_on;

    use super::*;
    use crate::{
        data::{mnist, sharing::Sharing, synthetic},
        mechanism::EncoderSpec,
    };

    /// Returns MNIST if installed, else drawn digits; the figures agree within their spread.
    fn digits() -> Dataset {
        let train = mnist::locate().map_or_else(|_| synthetic::digits(0, 4000, 0).train, |found| found.digits.train);
        println!("on {}", train.name);
        train
    }

    fn attacked(
        train: &Dataset,
        config: RunConfig,
        sought: &MembershipTarget,
    ) -> (MembershipReport, Option<PrivacyCurve>) {
        let mut attack = block_on(Membership::new(&EngineFactory::cpu(), train, config, sought, None)).unwrap();
        while !block_on(attack.advance(100)).unwrap().complete() {}
        (block_on(attack.found()).unwrap(), attack.curve().unwrap())
    }

    /// Processors round differently, so each machine has its own attack: limits are five standard
    /// deviations of 16 seeds apart. Without noise 49 or 50 of 50 guesses are right; 46 have to be, as
    /// 45 give no ε of 1.4.
    #[test]
    fn small_towns_leak_and_noise_hides_them() {
        let train = digits();
        for (noise, auc, least, beyond) in
            [(None, 0.96..1.0, 1.4, 0.08), (Some(0.5), 0.55..0.73, 0.0, -0.08), (Some(1.1), 0.46..0.62, 0.0, -0.15)]
        {
            let (found, curve) =
                attacked(&train, leaky_settings(noise), &MembershipTarget { seed: 3, ..MembershipTarget::default() });
            let MembershipResult { roc, right, guesses, epsilon, epsilon_gaussian } = &found.mislabelled;
            let labelled = found.labelled.as_ref().unwrap();
            println!(
                "{noise:?}: AUC {:.3}, {right} of {guesses}, ε ≥ {epsilon:.2} ({epsilon_gaussian:.2}); right labels {:.3}; ε ≤ {:?}",
                roc.auc().value,
                labelled.roc.auc().value,
                found.epsilon
            );
            assert!(auc.contains(&roc.auc().value) && *epsilon >= least && *guesses == 50);
            // A wrong label reveals more than a right one, from which no bound follows.
            assert!(roc.auc().value > labelled.roc.auc().value + beyond && labelled.epsilon < 1.0);
            assert_eq!((found.epsilon.is_some(), curve.is_some()), (noise.is_some(), noise.is_some()));
            if let (Some(most), Some(curve)) = (found.epsilon, curve) {
                assert_eq!(roc.refutes(&curve, 0.01).unwrap(), None);
                assert!(*epsilon <= most && *epsilon_gaussian <= most);
            }
            assert!(!found.replayed && found.steps > 0);
        }
    }

    fn small() -> (Dataset, RunConfig, MembershipTarget) {
        let config = RunConfig { lot: 20, steps: Some(30), replay: Some(4), ..RunConfig::default() };
        (
            synthetic::digits(2, 120, 0).train,
            config,
            MembershipTarget { records: 80, mislabelled: 40, labelled: 20, seed: 1 },
        )
    }

    #[test]
    fn advancing_in_pieces_gives_the_same_result() {
        let (train, config, sought) = small();
        let of = |slices: &[u32]| {
            let factory = EngineFactory::cpu();
            let mut attack = block_on(Membership::new(&factory, &train, config.clone(), &sought, None)).unwrap();
            for &slice in slices {
                block_on(attack.advance(slice)).unwrap();
            }
            assert_eq!(attack.progress(), Progress { done: 30, of: 30 });
            block_on(attack.found()).unwrap()
        };
        let found = of(&[30]);
        assert_eq!(of(&[1, 0, 12, 1000]), found);
        assert!(found.replayed && found.epsilon.is_none());
        assert_eq!(found.mislabelled.roc.candidates().0 + found.mislabelled.roc.candidates().1, 40);
        // Features come first, in pieces.
        let scattering = RunConfig { model: Architecture::Scattering, ..config.clone() };
        let mut attack = block_on(Membership::new(&EngineFactory::cpu(), &train, scattering, &sought, None)).unwrap();
        assert_eq!(block_on(attack.advance(40)).unwrap().done, 0);
        while !block_on(attack.advance(40)).unwrap().complete() {}
        assert!(block_on(attack.found()).is_ok());
    }

    /// A mislabelled digit unlike all records is found without noise: 397 of 400 guesses were
    /// right, so fewer than 21 of 24 in less than one run of 10,000 (sampling is the system's). A
    /// correctly labelled copy of a record is the hardest to find.
    #[test]
    fn an_image_of_ones_own_is_a_candidate() {
        let data = synthetic::digits(0, 300, 1);
        let train = data.train;
        let sought = MembershipTarget { records: 200, mislabelled: 100, labelled: 0, seed: 0 };
        let own = Own { pixels: data.test.image(0).to_vec(), label: (data.test.labels[0] + 1) % 10 };
        let config = RunConfig { steps: Some(400), ..leaky_settings(None) };
        let found: Vec<OwnFound> = (0..24)
            .map(|seed| {
                let (factory, sought) = (EngineFactory::cpu(), MembershipTarget { seed, ..sought });
                let attack = Membership::new(&factory, &train, config.clone(), &sought, Some(&own));
                let mut attack = block_on(attack).unwrap();
                while !block_on(attack.advance(100)).unwrap().complete() {}
                block_on(attack.found()).unwrap().own.unwrap()
            })
            .collect();
        let right = found.iter().filter(|found| found.guess() == found.is_in).count();
        assert!(right >= 21 && found.iter().all(|found| found.of == 100), "{found:?}");
        assert!(found.iter().any(|found| found.is_in) && found.iter().any(|found| !found.is_in), "{found:?}");
        for (pixels, label) in [(vec![0; 783], 1), (vec![0; PIXELS], 10)] {
            let own = Own { pixels, label };
            let refused = block_on(Membership::new(&EngineFactory::cpu(), &train, config.clone(), &sought, Some(&own)));
            assert!(matches!(refused.map(|_| ()), Err(AttackError::Pixels { .. } | AttackError::Label(10))));
        }
    }

    #[test]
    fn what_cannot_be_attacked_is_refused() {
        let (train, run, sought) = small();
        let of = |train: &Dataset, config: &RunConfig, sought: MembershipTarget| {
            block_on(Membership::new(&EngineFactory::cpu(), train, config.clone(), &sought, None))
                .map(|_| ())
                .unwrap_err()
        };
        let refused = |config: RunConfig| of(&train, &config, sought);
        assert!(matches!(of(&train, &run, MembershipTarget { mislabelled: 0, ..sought }), AttackError::NoCandidates));
        for records in [0, 29] {
            assert!(matches!(
                of(&train, &run, MembershipTarget { records, ..sought }),
                AttackError::TooManyCandidates { .. }
            ));
        }
        for huge in [u32::MAX, u32::MAX / 2] {
            let sought = MembershipTarget { records: u32::MAX, mislabelled: huge, labelled: huge, seed: 0 };
            assert!(matches!(of(&train, &run, sought), AttackError::TooManyCandidates { .. }));
        }
        let more = MembershipTarget { records: 91, ..sought };
        assert!(matches!(of(&train, &run, more), AttackError::TooFew { needed: 121, found: 120 }));
        assert!(matches!(of(&train.slice(0..0), &run, sought), AttackError::TooFew { found: 0, .. }));
        let one = Dataset::new("one", train.images.clone(), vec![7; 120]);
        assert!(matches!(of(&one, &run, sought), AttackError::OneClass(7)));
        assert!(matches!(refused(RunConfig { steps: None, ..run.clone() }), AttackError::NoEnd));
        let users = Sharing::Users { users: 10, skew: 100.0, seed: 0 };
        assert!(matches!(refused(RunConfig { sharing: users, lot: 2, ..run.clone() }), AttackError::Shared));
        assert!(matches!(refused(RunConfig { lot: 0, ..run.clone() }), AttackError::Config(_)));
        let silent = NoiseSpec::Gaussian { sigma: 0.0 };
        assert!(matches!(refused(RunConfig { noise: Some(silent), ..run.clone() }), AttackError::Config(_)));
        // A model that has diverged has no scores.
        let wild = RunConfig {
            encoder: EncoderSpec::None,
            noise: None,
            learning_rate: 1e6,
            model: Architecture::Mlp,
            momentum: 0.99,
            steps: Some(2000),
            ..run.clone()
        };
        let mut attack = block_on(Membership::new(&EngineFactory::cpu(), &train, wild, &sought, None)).unwrap();
        while !block_on(attack.advance(100)).unwrap().complete() {}
        match block_on(attack.found()) {
            Ok(found) => assert!(found.mislabelled.roc.auc().value.is_finite()),
            Err(error) => assert!(matches!(error, AttackError::NotFinite { .. }), "{error}"),
        }
        // All coins alike: one candidate has one coin.
        let lone = MembershipTarget { mislabelled: 1, labelled: 0, ..sought };
        let mut attack = block_on(Membership::new(&EngineFactory::cpu(), &train, run, &lone, None)).unwrap();
        assert!(matches!(block_on(attack.found()), Err(AttackError::NoScores { .. })));
    }

    #[test]
    fn the_surest_are_guessed_and_counted() {
        let scores: Vec<(f64, bool)> = (0..100).map(|k| (-f64::from(k), k != 2)).collect();
        let told = MembershipResult::of(&scores, 1e-5).unwrap();
        assert_eq!((told.guesses, told.right), (5, 4));
        // Of equal scores the first are guessed, whatever their coins.
        let equal: Vec<(f64, bool)> = (0..100).map(|k| (1.0, k >= 50)).collect();
        let told = MembershipResult::of(&equal, 1e-5).unwrap();
        assert_eq!((told.right, told.epsilon, told.epsilon_gaussian, told.roc.auc().value), (0, 0.0, 0.0, 0.5));
        assert!(matches!(MembershipResult::of(&scores, 1.0), Err(AttackError::Audit(_))));
        assert!(matches!(
            MembershipResult::of(&[(f64::NAN, true), (0.0, false)], 1e-5),
            Err(AttackError::NotFinite { .. })
        ));
    }

    #[test]
    fn a_loss_has_digits_where_the_model_is_sure_and_where_it_is_wrong() {
        let mut scores = [0.0_f32; 10];
        assert!((loss(&scores, 3) - 10.0_f64.ln()).abs() < 1e-15);
        scores[3] = 60.0;
        assert!((loss(&scores, 3) / (9.0 * (-60.0_f64).exp()) - 1.0).abs() < 1e-12);
        assert!((loss(&scores, 4) - 60.0).abs() < 1e-12);
        scores[5] = f32::NAN;
        assert!(loss(&scores, 5).is_nan());
    }
}
