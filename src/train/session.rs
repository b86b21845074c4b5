//! The loop of a run: sample, record, step, report. The ledger is written before a step is released, so whatever happens
//! it never says less than what happened.

use std::time::Duration;

use web_time::Instant;

use super::{
    error::SessionError,
    plan::Plan,
    report::{Privacy, PrivacyBound, Report},
};
use crate::{
    data::Dataset,
    engine::{Engine, StepInput, StepTrace},
    privacy::{
        PrivacyError,
        ledger::{Ledger, ReleaseId},
        rdp::{Accountant, CurveId},
        sampling::Sampler,
    },
    rng::{NotPrivateReplay, Source, SystemRng},
};

/// A run on an engine.
pub struct Session<E> {
    plan: Plan,
    engine: E,
    rng: Box<dyn Source>,
    /// Draws what `plan.sampling` is priced for.
    sampler: Sampler,
    account: Option<Account>,
    lot: Vec<u32>,
    step: u64,
    training: Duration,
    examples: u64,
}

/// The books of a run that can be accounted for.
struct Account {
    ledger: Ledger,
    release: ReleaseId,
    accountant: Accountant,
    curve: CurveId,
}

impl<E: Engine> Session<E> {
    /// A run at step 0. `engine` was made for `plan.task` with `plan.initial_parameters()`.
    ///
    /// # Errors
    /// When the system gives no entropy, or the release cannot be accounted for.
    pub fn new(plan: Plan, engine: E) -> Result<Self, SessionError> {
        let rng: Box<dyn Source> = match plan.config.replay {
            Some(seed) => Box::new(NotPrivateReplay::new(seed)),
            None => Box::new(SystemRng::new()?),
        };
        let sampler = plan.sampling.sampler(plan.train_examples.into())?;
        let account = match &plan.priced {
            Ok((release, curve)) => {
                let mut ledger = Ledger::new();
                let release = ledger.register(release.clone())?;
                let mut accountant = Accountant::new();
                let curve = accountant.add_curve(curve.clone())?;
                Some(Account { ledger, release, accountant, curve })
            }
            Err(_) => None,
        };
        Ok(Self {
            plan,
            engine,
            rng,
            sampler,
            account,
            lot: Vec::new(),
            step: 0,
            training: Duration::ZERO,
            examples: 0,
        })
    }

    #[must_use]
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    #[must_use]
    pub const fn step_count(&self) -> u64 {
        self.step
    }

    /// Whether the planned steps are done.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.plan.config.steps.is_some_and(|steps| self.step >= steps)
    }

    pub const fn engine(&mut self) -> &mut E {
        &mut self.engine
    }

    /// Goes on with another engine; what was released before stays in the books.
    pub fn replace_engine(&mut self, engine: E) {
        self.engine = engine;
    }

    /// What was released so far; `None` where nothing can be accounted for.
    #[must_use]
    pub fn ledger(&self) -> Option<&Ledger> {
        self.account.as_ref().map(|account| &account.ledger)
    }

    /// One step. The device may still be busy with it afterwards; [`Session::settle`] waits.
    ///
    /// # Errors
    /// When the device is lost. The step then counts as released.
    pub async fn step(&mut self) -> Result<(), SessionError> {
        let start = Instant::now();
        let noise_key = self.draw();
        let learning_rate = self.plan.learning_rate(self.step) as f32;
        let result = self.engine.step(StepInput { lot: &self.lot, noise_key, learning_rate }).await;
        self.finish_step(start);
        Ok(result?)
    }

    /// One step with its intermediate sums.
    ///
    /// # Errors
    /// As [`Session::step`].
    pub async fn traced_step(&mut self) -> Result<StepTrace, SessionError> {
        let start = Instant::now();
        let noise_key = self.draw();
        let learning_rate = self.plan.learning_rate(self.step) as f32;
        let result = self.engine.traced_step(StepInput { lot: &self.lot, noise_key, learning_rate }).await;
        self.finish_step(start);
        Ok(result?)
    }

    /// Draws the step's examples and noise key, and writes the release into the books before anything is released.
    fn draw(&mut self) -> [u32; 8] {
        self.sampler.draw(self.rng.as_mut(), &mut self.lot);
        if let Some(account) = &mut self.account {
            account.ledger.record(account.release);
            account.accountant.compose(account.curve, 1);
        }
        std::array::from_fn(|_| self.rng.next_u32())
    }

    fn finish_step(&mut self, start: Instant) {
        self.step += 1;
        self.examples += self.lot.len() as u64;
        self.training += start.elapsed();
    }

    /// Waits for the device and counts the wait as training time.
    ///
    /// # Errors
    /// When the device is lost.
    pub async fn settle(&mut self) -> Result<crate::engine::Metrics, SessionError> {
        let start = Instant::now();
        let metrics = self.engine.metrics().await?;
        self.training += start.elapsed();
        Ok(metrics)
    }

    /// Share of `test` that the model gets right.
    ///
    /// # Errors
    /// When the device is lost.
    pub async fn accuracy(&mut self, test: &Dataset) -> Result<f64, SessionError> {
        Ok(f64::from(self.engine.count_correct(test).await?) / test.len() as f64)
    }

    /// Waits for the device and says where the run stands.
    ///
    /// # Errors
    /// When the device is lost.
    pub async fn report(&mut self, test_accuracy: Option<f64>) -> Result<Report, SessionError> {
        let metrics = self.settle().await?;
        let seconds = self.training.as_secs_f64();
        Ok(Report {
            step: self.step,
            epoch: self.step as f64 / self.plan.steps_per_epoch(),
            lot_size: self.lot.len() as u32,
            training_seconds: seconds,
            examples_per_second: if seconds > 0.0 { self.examples as f64 / seconds } else { 0.0 },
            learning_rate: self.plan.learning_rate(self.step.saturating_sub(1)),
            test_accuracy,
            denoise_factor: metrics.denoise_factor.into(),
            non_finite: metrics.non_finite,
            privacy: self.privacy()?,
            complete: self.complete(),
        })
    }

    /// ε spent by the steps that ran, at the plan's δ.
    ///
    /// # Errors
    /// When the accountant refuses the plan's δ.
    pub fn privacy(&self) -> Result<Privacy, SessionError> {
        let account = match (&self.account, &self.plan.priced) {
            (Some(account), _) => account,
            (None, Err(reason)) => return Ok(Privacy::NoGuarantee { reason: reason.clone() }),
            (None, Ok(_)) => return Ok(Privacy::NoGuarantee { reason: "the run kept no ledger".to_owned() }),
        };
        let delta = self.plan.config.delta;
        match account.accountant.epsilon(delta) {
            Ok(epsilon) => Ok(Privacy::Bounded(PrivacyBound::new(delta, &epsilon, &account.ledger))),
            Err(error @ PrivacyError::Infinite) => Ok(Privacy::NoGuarantee { reason: error.to_string() }),
            Err(error) => Err(error.into()),
        }
    }
}
