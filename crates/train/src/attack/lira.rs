//! LiRA, the likelihood ratio attack: membership of ordinary records, with models like the target.
//!
//! The attacker trains *shadow models*, each on its own random half of the records, by the same
//! configuration. For each record they give two normal distributions of ln p/(1 − p), with p the
//! probability of its label: for models trained on it and for others. The score is the likelihood
//! ratio of the attacked model's own number (Carlini, Chien, Nasr, Song, Terzis & Tramèr 2022,
//! online, with one variance for all records, as suits few models). It needs no wrong labels and
//! sees the last model alone.

use hushgrad_message::word;
use serde::{Deserialize, Serialize};

use super::{
    coins::{coins, places},
    error::AttackError,
    membership::{MembershipResult, loss},
    progress::Progress,
};
use crate::{
    config::RunConfig,
    data::{Dataset, Shift},
    engine::{AnyEngine, Engine as _, EngineFactory},
    plan::Plan,
    rng::NotPrivateReplay,
    session::Session,
};

/// The most shadow models.
pub const MOST_SHADOWS: u32 = 1024;

/// The parameters of the attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Shadows {
    /// Records, each in the training set of about every second model.
    pub records: u32,
    /// Shadow models, besides the attacked one.
    pub models: u32,
    /// Determines the records and all coins.
    pub seed: u64,
}

impl Default for Shadows {
    fn default() -> Self {
        Self { records: 2000, models: 32, seed: 0 }
    }
}

/// An attack in progress: trains one model after another, the attacked one last.
pub struct Lira {
    factory: EngineFactory,
    plan: Plan,
    steps: u64,
    records: Dataset,
    /// For each model, which records are in.
    coins: Vec<Vec<bool>>,
    /// For each trained model, ln p/(1 − p) of each record.
    sure: Vec<Vec<f64>>,
    session: Option<Session<AnyEngine>>,
    /// Whether features of the current model's records are still to be computed.
    unprepared: bool,
}

impl Lira {
    /// Draws records and coins. `factory` creates the models' engines.
    ///
    /// # Errors
    /// As [`Membership::new`](super::membership::Membership::new), or not 2 to 1024 models.
    pub fn new(
        factory: EngineFactory,
        train: &Dataset,
        config: RunConfig,
        shadows: &Shadows,
    ) -> Result<Self, AttackError> {
        let Shadows { records, models, seed } = *shadows;
        if !(2..=MOST_SHADOWS).contains(&models) {
            return Err(AttackError::OutOfRange {
                field: word!("the number of shadow models"),
                value: models.into(),
                range: word!("from 2 to 1024"),
            });
        }
        if records == 0 {
            return Err(AttackError::NoCandidates);
        }
        if records as usize > train.len() {
            return Err(AttackError::TooFew { needed: records.into(), found: train.len() });
        }
        if config.sharing.is_shared() {
            return Err(AttackError::Shared);
        }
        let steps = config.steps.ok_or(AttackError::NoEnd)?;
        let plan = Plan::new(config, records)?;
        let mut rng = NotPrivateReplay::new(seed);
        let data = train.moved(&places(&mut rng, train.len() as u32, records), Shift::ALONE);
        let data = plan.config.minority.among(&data);
        let coins = (0..=models).map(|_| coins(&mut rng, records)).collect();
        Ok(Self { factory, plan, steps, records: data, coins, sure: Vec::new(), session: None, unprepared: true })
    }

    /// Returns the progress in steps of all models.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let now = self.session.as_ref().map_or(0, Session::step_count);
        Progress { done: self.sure.len() as u64 * self.steps + now, of: self.coins.len() as u64 * self.steps }
    }

    /// Takes up to `steps` more steps, or computes features of as many records if they are missing.
    /// Dropping the attack between two calls cancels it.
    ///
    /// # Errors
    /// An engine cannot be created, or fails.
    pub async fn advance(&mut self, steps: u32) -> Result<Progress, AttackError> {
        let mut left = steps;
        while left > 0 && self.sure.len() < self.coins.len() {
            let session = match &mut self.session {
                Some(session) => session,
                none => {
                    let model = self.sure.len();
                    let mut plan = self.plan.clone();
                    // Replayed models need different draws, too.
                    plan.config.replay = plan.config.replay.map(|seed| seed.wrapping_add(model as u64));
                    let engine = self.factory.build(&plan.task, &self.records, &plan.initial_parameters()).await?;
                    self.unprepared = true;
                    let mut session = Session::new(plan, engine)?;
                    session.leave_out(self.coins[model].clone());
                    none.insert(session)
                }
            };
            if self.unprepared {
                self.unprepared = session.prepare(steps as usize).await? > 0;
                if self.unprepared {
                    return Ok(self.progress());
                }
            }
            while left > 0 && !session.complete() {
                session.step().await?;
                left -= 1;
            }
            if session.complete() {
                let scores = session.engine().scores(&self.records).await?;
                // p = e^−loss, so ln p/(1 − p) = −loss − ln(1 − e^−loss).
                let sure = |loss: f64| -loss - (-(-loss).exp_m1()).max(f64::MIN_POSITIVE).ln();
                let labels = self.records.labels.iter();
                self.sure.push(scores.iter().zip(labels).map(|(scores, &label)| sure(loss(scores, label))).collect());
                self.session = None;
            }
        }
        Ok(self.progress())
    }

    /// Returns what the last model reveals of the records; `None` until all models are trained.
    ///
    /// # Errors
    /// A model that has diverged.
    pub fn found(&self) -> Result<Option<MembershipResult>, AttackError> {
        let (Some(attacked), Some(is_in)) = (self.sure.get(self.coins.len() - 1), self.coins.last()) else {
            return Ok(None);
        };
        let shadows: Vec<(&[f64], &[bool])> =
            self.sure.iter().zip(&self.coins).take(self.coins.len() - 1).map(|(s, c)| (&s[..], &c[..])).collect();
        let ratios = ratios(attacked, &shadows);
        Ok(Some(MembershipResult::of(
            &ratios.into_iter().zip(is_in.iter().copied()).collect::<Vec<_>>(),
            self.plan.config.delta,
        )?))
    }
}

/// Returns each record's log-likelihood ratio, given the shadow models' numbers and memberships.
fn ratios(attacked: &[f64], shadows: &[(&[f64], &[bool])]) -> Vec<f64> {
    let records = 0..attacked.len();
    let of = |record: usize, is_in: bool| {
        shadows.iter().filter(move |(_, coins)| coins[record] == is_in).map(move |(sure, _)| sure[record])
    };
    let mean = |record: usize, is_in: bool| {
        let (count, sum) = of(record, is_in).fold((0_u32, 0.0), |(count, sum), x| (count + 1, sum + x));
        (count > 0).then(|| sum / f64::from(count))
    };
    let means: Vec<[Option<f64>; 2]> =
        records.clone().map(|record| [false, true].map(|is_in| mean(record, is_in))).collect();
    // One variance of each kind for all records, about the records' own means.
    let variance = |is_in: bool| {
        let (mut squares, mut free) = (0.0, 0.0);
        for record in records.clone() {
            let Some(mean) = means[record][usize::from(is_in)] else { continue };
            free -= 1.0;
            for x in of(record, is_in) {
                squares += (x - mean).powi(2);
                free += 1.0;
            }
        }
        if free > 0.0 { (squares / free).max(f64::MIN_POSITIVE) } else { 1.0 }
    };
    let [out, within] = [false, true].map(variance);
    let ln_density = |x: f64, mean: f64, variance: f64| -0.5 * ((x - mean).powi(2) / variance + variance.ln());
    attacked
        .iter()
        .zip(&means)
        .map(|(&x, means)| match *means {
            [Some(without), Some(with)] => ln_density(x, with, within) - ln_density(x, without, out),
            // All coins of a record fell alike: no evidence.
            _ => 0.0,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use futures_executor::block_on;

    use super::*;
    use crate::{accounting::noise::NoiseSpec, attack::AttackError, data::synthetic};

    #[test]
    fn a_ratio_is_that_of_two_normal_distributions() {
        // Records 0 and 1, of four models: in the first two, and in the others.
        let sure = [[3.0, 0.0], [5.0, 2.0], [0.0, 4.0], [2.0, 6.0]];
        let coins = [[true, false], [true, false], [false, true], [false, true]];
        let shadows: Vec<(&[f64], &[bool])> = sure.iter().zip(&coins).map(|(s, c)| (&s[..], &c[..])).collect();
        let found = ratios(&[4.0, 1.0], &shadows);
        // Both kinds: squares 2 + 2, two degrees of freedom.
        for (found, x, with, without) in [(found[0], 4.0, 4.0, 1.0), (found[1], 1.0_f64, 5.0, 1.0)] {
            let expected = -0.5 * ((x - with).powi(2) - (x - without).powi(2)) / 2.0;
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        // One model alone is no evidence.
        assert_eq!(ratios(&[4.0, 1.0], &shadows[..1]), [0.0, 0.0]);
    }

    /// The attack works without noise, hardly with it; `docs/attacks.md` has the tool's figures.
    #[test]
    fn models_like_it_tell_who_was_in() {
        let train = synthetic::digits(3, 400, 1).train;
        let attack = |noise: bool| {
            let config =
                RunConfig { lot: 50, steps: Some(150), learning_rate: 4.0, replay: Some(1), ..RunConfig::default() };
            let sigma = 6.0;
            let noise = noise.then_some(NoiseSpec::Gaussian { sigma });
            let config = RunConfig { noise, ..config };
            let shadows = Shadows { records: 300, models: 16, seed: 5 };
            let mut lira = Lira::new(EngineFactory::cpu(), &train, config, &shadows).unwrap();
            assert!(lira.found().unwrap().is_none());
            while !block_on(lira.advance(97)).unwrap().complete() {}
            assert_eq!(lira.progress(), Progress { done: 2550, of: 2550 });
            lira.found().unwrap().unwrap().roc.auc()
        };
        let (plain, private) = (attack(false), attack(true));
        println!("{plain:?} {private:?}");
        assert!(
            plain.value > 0.75 && private.value < plain.value - 0.1 && private.value < 0.65,
            "{plain:?} {private:?}"
        );
    }

    #[test]
    fn what_cannot_be_attacked_is_refused() {
        let train = synthetic::digits(1, 50, 1).train;
        let of = |config: RunConfig, shadows: Shadows| {
            Lira::new(EngineFactory::cpu(), &train, config, &shadows).map(|_| ()).unwrap_err()
        };
        let (run, few) =
            (RunConfig { lot: 5, steps: Some(1), ..RunConfig::default() }, Shadows { records: 50, models: 2, seed: 0 });
        for models in [0, 1, 1025] {
            assert!(matches!(of(run.clone(), Shadows { models, ..few }), AttackError::OutOfRange { .. }));
        }
        assert!(matches!(of(run.clone(), Shadows { records: 0, ..few }), AttackError::NoCandidates));
        assert!(matches!(of(run.clone(), Shadows { records: 51, ..few }), AttackError::TooFew { .. }));
        assert!(matches!(of(RunConfig { steps: None, ..run.clone() }, few), AttackError::NoEnd));
        assert!(matches!(of(RunConfig { lot: 0, ..run }, few), AttackError::Config(_)));
    }
}
