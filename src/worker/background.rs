//! Background jobs of the training thread, done in pieces between checks of the inbox: counting
//! which digits pay for privacy, and training the run's non-private baseline.

use std::{rc::Rc, time::Duration};

use web_time::Instant;

use super::{counting::Counting, look::StepInspection, protocol::Event};
use crate::{
    data::Dataset,
    engine::{AnyEngine, Engine, reading},
    mechanism::{Denoiser, EncoderSpec},
    train::{
        config::{Minority, RunConfig},
        error::SessionError,
        phases::Phases,
        plan::Plan,
        session::Session,
    },
};

/// Fewest and most steps of a baseline: enough to read digits, and done in seconds.
const LEAST_STEPS: u64 = 60;
const MOST_STEPS: u64 = 400;
/// Without clipping, a larger rate does not train.
const MOST_RATE: f64 = 0.5;
/// Share of the time that a baseline may take while the run plays.
const SHARE: f64 = 0.3;
/// After the first steps, measured at 1, 2, 4, 8, …, a baseline is measured every so many steps.
const MEASURED_EVERY: u64 = 40;
/// Size of the Kolmogorov–Smirnov factor; a denoised run's learning rate is larger by its inverse.
const DENOISED: f64 = 0.006;

#[derive(Default)]
pub struct BackgroundJobs {
    counting: Option<Counting>,
    baseline: Option<Baseline>,
    /// Steps and parameters of the baseline trained for the run.
    trained: Option<(u64, Vec<f32>)>,
}

struct Baseline {
    session: Session<AnyEngine>,
    /// During a measurement, the next slice of the test set, and images read correctly so far.
    measuring: Option<(usize, u32)>,
    /// It waits until then, so that the run goes on.
    rests_until: Option<Instant>,
}

impl Baseline {
    /// True if the baseline is measured after its current step.
    fn is_measured(&self) -> bool {
        let step = self.session.step_count();
        step.is_power_of_two() || step.is_multiple_of(MEASURED_EVERY) || self.session.complete()
    }
}

/// Returns the run without bound, noise and denoiser, at a rate that suits plain training.
#[must_use]
pub fn baseline_of(config: &RunConfig, steps: u64) -> RunConfig {
    let clip = match &config.encoder {
        EncoderSpec::Clip { norm } => *norm,
        EncoderSpec::Layers(clip) => clip.length(config.model.layers().len()),
        EncoderSpec::None | EncoderSpec::Envelope { .. } => 1.0,
    };
    let denoised = if config.denoiser == Denoiser::None { 1.0 } else { DENOISED };
    RunConfig {
        encoder: EncoderSpec::None,
        noise: None,
        adaptive_clip: None,
        metrics: None,
        canaries: 0,
        grid_bits: None,
        bands: 1,
        denoiser: Denoiser::None,
        phases: Phases::None,
        learning_rate: (config.learning_rate * clip * denoised).min(MOST_RATE),
        steps: Some(steps.clamp(LEAST_STEPS, MOST_STEPS)),
        ..config.clone()
    }
}

impl BackgroundJobs {
    pub const fn idle(&self) -> bool {
        self.counting.is_none() && self.baseline.is_none()
    }

    /// Starts a count for the run's model, its baseline as far as trained, and a traced step.
    pub async fn count(
        &mut self,
        plan: &Plan,
        run: (u64, Vec<f32>),
        test: &Dataset,
        look: Option<Rc<StepInspection>>,
    ) -> Result<(), SessionError> {
        let open = match &mut self.baseline {
            Some(Baseline { session, .. }) if session.step_count() > 0 => {
                Some((session.step_count(), session.engine().state().await?.read_with().to_vec()))
            }
            _ => self.trained.clone(),
        };
        let models: Vec<_> = std::iter::once(run).chain(open).collect();
        let how = (plan.config.reading, plan.config.minority == Minority::Turned);
        self.counting = Some(Counting::new(&plan.task, &models, how, test, look)?);
        Ok(())
    }

    /// Starts training a baseline made by [`baseline_of`].
    pub fn train_baseline(&mut self, session: Session<AnyEngine>) {
        self.baseline = Some(Baseline { session, measuring: None, rests_until: None });
    }

    /// Drops all jobs, for instance when another run has started.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Works for about `time`; `Some` when something is done. A `playing` run gets most of it.
    pub async fn advance(
        &mut self,
        test: &[Dataset],
        time: Duration,
        playing: bool,
    ) -> Result<Option<Event>, SessionError> {
        if let Some(counting) = &mut self.counting {
            let more = counting.piece(test).await?;
            return Ok(if more {
                None
            } else {
                self.counting.take().and_then(Counting::done).map(|counted| Event::ClassReport(Box::new(counted)))
            });
        }
        let start = Instant::now();
        let Some(baseline) = &mut self.baseline else { return Ok(None) };
        if playing && baseline.rests_until.is_some_and(|until| start < until) {
            return Ok(None);
        }
        let said = baseline.piece(test, start, time).await?;
        let took = start.elapsed();
        baseline.rests_until = Some(start + took.mul_f64(1.0 / SHARE));
        if said.is_some() || !baseline.session.complete() || baseline.measuring.is_some() {
            return Ok(said);
        }
        let (model, steps) = (baseline.session.plan().config.model, baseline.session.step_count());
        let parameters = baseline.session.engine().state().await?.read_with().to_vec();
        self.baseline = None;
        self.trained = Some((steps, parameters.clone()));
        Ok(Some(Event::Baseline { model, steps, parameters }))
    }
}

impl Baseline {
    /// Trains and measures for about `time`; `Some` when a measurement is done.
    async fn piece(&mut self, test: &[Dataset], start: Instant, time: Duration) -> Result<Option<Event>, SessionError> {
        loop {
            match self.measuring {
                Some((slice, right)) => {
                    let reading = self.session.plan().config.reading;
                    let Some(images) = test.get(slice) else {
                        self.measuring = None;
                        let images: usize = test.iter().map(Dataset::len).sum();
                        let accuracy = f64::from(right) / images.max(1) as f64;
                        return Ok(Some(Event::BaselineMeasured { step: self.session.step_count(), accuracy }));
                    };
                    let more = reading::count_correct(self.session.engine(), images, reading).await?;
                    self.measuring = Some((slice + 1, right + more));
                }
                None if self.session.complete() => return Ok(None),
                None => {
                    self.session.step().await?;
                    if self.is_measured() {
                        self.measuring = Some((0, 0));
                    }
                }
            }
            if start.elapsed() >= time {
                return Ok(None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_baseline_differs_in_privacy_alone_and_trains() {
        let config = RunConfig::default();
        let baseline = baseline_of(&config, 1000);
        assert_eq!(
            (baseline.noise.clone(), baseline.encoder.clone(), baseline.steps),
            (None, EncoderSpec::None, Some(MOST_STEPS))
        );
        assert_eq!((baseline.lot, baseline.model, baseline.learning_rate), (config.lot, config.model, 0.5));
        let large = RunConfig { learning_rate: 37.0, denoiser: Denoiser::KolmogorovSmirnov, ..config };
        assert!((baseline_of(&large, 3).learning_rate - 0.222).abs() < 1e-9);
        assert_eq!(baseline_of(&large, 3).steps, Some(LEAST_STEPS));
    }
}
