//! A configuration with meaning: checked once, never again. The sampling that runs and the sampling that is paid for are
//! one value here.

use std::sync::Arc;

use super::{
    config::{Augmentation, Averaging, RunConfig, Schedule, Start},
    error::{ConfigError, NoGuarantee},
    limits,
    price::{self, Drawn},
};
use crate::{
    accounting::{
        PrivacyError,
        decimal::quoted,
        ledger::Release,
        noise::NoiseSpec,
        rdp::RdpCurve,
        rounding::{Grid, GridRounding},
        sampling::Sampling,
    },
    engine::Task,
    mechanism::{Denoiser, EncoderSpec},
    model,
};

/// Steps that a run may be planned for; an accountant stays exact far beyond.
pub(super) const MOST_STEPS: u64 = 1_000_000_000;

/// Finer grids leave inexact noise no useful price.
const MOST_GRID_BITS: u32 = 24;

/// Smallest clipping norm and pre-scale: below, f32 gradients are lost to rounding ([`EncoderSpec::validate`]).
const LEAST_SCALE: f64 = 1e-9;

/// Pixels by which a copy may be moved: MNIST's digits stand four from the edge.
const MOST_REACH: u32 = 4;
const MOST_COPIES: u32 = 16;

/// What will run.
#[derive(Clone, Debug)]
pub struct Plan {
    pub config: RunConfig,
    pub task: Task,
    pub sampling: Sampling,
    /// What every step releases and what it costs; `Err` says why no guarantee can be stated for this run.
    pub priced: Result<(Release, RdpCurve), NoGuarantee>,
    /// Training examples, fixed for the run.
    pub train_examples: u32,
}

impl Plan {
    /// Checks `config` against a training set of `train_examples`.
    ///
    /// # Errors
    /// The first field that is out of its range or contradicts another.
    pub(super) fn check(config: &RunConfig, train_examples: u32) -> Result<(), ConfigError> {
        check_ranges(config, train_examples)?;
        if config.noise.is_none() && config.denoiser != Denoiser::None {
            return Err(ConfigError::Contradiction {
                field: "denoiser",
                sentence: "it compares the sum with the noise's distribution, and there is no noise; choose a noise or no denoiser",
            });
        }
        if config.noise.is_none() && config.grid_bits.is_some() {
            return Err(ConfigError::Contradiction {
                field: "grid-bits",
                sentence: "a grid is for noise, and there is none; choose a noise or no grid",
            });
        }
        if config.start == Start::Pretrained && !model::pretrained::available(config.model) {
            return Err(ConfigError::Contradiction {
                field: "start",
                sentence: "parameters trained on synthetic digits come with the tanh CNN and the linear model on scattering features; choose one of them or a random start",
            });
        }
        if let Some(noise) = &config.noise {
            noise.build().map_err(PrivacyError::from)?;
        }
        limits::check(config, expected_lot(config, train_examples))
    }

    /// What `config` means on a training set of `train_examples`, priced as everything else prices it (`train::price`).
    ///
    /// # Errors
    /// The first field that is out of its range or contradicts another.
    pub fn new(config: RunConfig, train_examples: u32) -> Result<Self, ConfigError> {
        Self::check(&config, train_examples)?;
        let sampling = config.sampling.over(train_examples, config.lot);
        let envelope = Drawn::of(&config).map(Drawn::draw).transpose()?.map(Arc::new);
        let priced = price::step(&config, sampling, envelope.as_deref())?;
        let task = Task {
            model: config.model,
            encoder: config.encoder.clone(),
            envelope,
            noise: absolute_noise(&config),
            grid: grid(&config)?,
            denoiser: config.denoiser,
            expected_lot: expected_lot(&config, train_examples) as f32,
            momentum: config.momentum as f32,
            averaging: config.averaging != Averaging::None,
            copies: config.augmentation.map_or(1, |augmentation| augmentation.copies),
        };
        Ok(Self { config, task, sampling, priced, train_examples })
    }

    /// Learning rate of step `step` (the first is 0).
    #[must_use]
    pub fn learning_rate(&self, step: u64) -> f64 {
        let RunConfig { learning_rate, schedule, steps, .. } = self.config;
        // Without an end there is nothing to decay towards.
        let Some(steps) = steps else { return learning_rate };
        let progress = (step as f64 / steps as f64).min(1.0);
        learning_rate
            * match schedule {
                Schedule::Constant => 1.0,
                Schedule::Linear { to } => 1.0 + (to - 1.0) * progress,
                Schedule::Cosine { to } => to + (1.0 - to) * 0.5 * (1.0 + (std::f64::consts::PI * progress).cos()),
            }
    }

    /// Initial parameters, flat.
    #[must_use]
    pub fn initial_parameters(&self) -> Vec<f32> {
        initial_parameters(&self.config)
    }

    /// Expected steps to look at every example once.
    #[must_use]
    pub fn steps_per_epoch(&self) -> f64 {
        self.config.sampling.steps_per_epoch(self.train_examples, self.config.lot)
    }
}

/// The parameters that a run of this configuration starts from, flat.
#[must_use]
pub(super) fn initial_parameters(config: &RunConfig) -> Vec<f32> {
    let pretrained = match config.start {
        Start::Random => None,
        Start::Pretrained => model::pretrained::parameters(config.model),
    };
    // A plan exists only where the start that it names does.
    pretrained.unwrap_or_else(|| model::initial_parameters(config.model, config.init_seed))
}

fn check_ranges(config: &RunConfig, train_examples: u32) -> Result<(), ConfigError> {
    let range = |field, value: f64, fine: bool, range: &str| {
        if fine {
            Ok(())
        } else {
            Err(ConfigError::OutOfRange { field, value: quoted(value), range: range.to_owned() })
        }
    };
    let RunConfig { learning_rate, momentum, delta, .. } = *config;
    range(
        "lot",
        config.lot.into(),
        (1..=train_examples).contains(&config.lot),
        &match train_examples {
            1 => "1, as there is one training example".to_owned(),
            _ => format!("between 1 and the {train_examples} training examples"),
        },
    )?;
    range("learning-rate", learning_rate, learning_rate > 0.0 && learning_rate <= 1e6, "above 0 and at most 1000000")?;
    range("momentum", momentum, (0.0..1.0).contains(&momentum), "at least 0 and below 1")?;
    range(
        "delta",
        delta,
        delta > 0.0 && delta < 1.0,
        "above 0 and below 1 (and smaller than 1/examples to mean anything)",
    )?;
    if let Some(steps) = config.steps {
        range("steps", steps as f64, (1..=MOST_STEPS).contains(&steps), "between 1 and 1000000000")?;
    }
    if let Some(bits) = config.grid_bits {
        range("grid-bits", bits.into(), (1..=MOST_GRID_BITS).contains(&bits), "between 1 and 24")?;
    }
    if let Some(augmentation) = config.augmentation {
        let Augmentation { copies, reach } = augmentation;
        range("augmentation.reach", reach.into(), (1..=MOST_REACH).contains(&reach), "between 1 and 4")?;
        let ways = augmentation.ways().min(MOST_COPIES);
        range("augmentation.copies", copies.into(), (2..=ways).contains(&copies), &format!("between 2 and {ways}"))?;
    }
    if let Schedule::Linear { to } | Schedule::Cosine { to } = config.schedule {
        range("schedule", to, (0.0..=1.0).contains(&to), "between 0 and 1")?;
    }
    match config.encoder {
        EncoderSpec::None => Ok(()),
        EncoderSpec::Clip { norm } => {
            range("encoder.norm", norm, (LEAST_SCALE..=1e6).contains(&norm), "at least 1e-9 and at most 1000000")
        }
        EncoderSpec::Envelope { pre_scale, .. } => {
            let fine = (LEAST_SCALE..=1e6).contains(&pre_scale);
            range("encoder.pre-scale", pre_scale, fine, "at least 1e-9 and at most 1000000")
        }
    }
}

/// The noise in units of the sum: the configuration gives it as a multiple of the clipping norm (an envelope's norm is 1).
pub(crate) fn absolute_noise(config: &RunConfig) -> Option<NoiseSpec> {
    let norm = if let EncoderSpec::Clip { norm } = config.encoder { norm } else { 1.0 };
    config.noise.as_ref().map(|noise| noise.with_scale(noise.scale() * norm))
}

/// The grid of a configuration.
pub(crate) fn grid(config: &RunConfig) -> Result<Option<GridRounding>, PrivacyError> {
    let (Some(bits), Some(noise)) = (config.grid_bits, absolute_noise(config)) else { return Ok(None) };
    GridRounding::below(noise.build()?.as_ref(), bits).map(Some)
}

/// The same for the books.
pub(crate) fn grid_of_release(config: &RunConfig) -> Result<Option<Grid>, PrivacyError> {
    let coordinates = config.model.parameters() as u64;
    Ok(grid(config)?.map(|grid| Grid { exponent: grid.exponent(), coordinates }))
}
/// What sums are divided by: the drawn size is private.
fn expected_lot(config: &RunConfig, train_examples: u32) -> f64 {
    f64::from(train_examples) / config.sampling.steps_per_epoch(train_examples, config.lot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Architecture;

    #[test]
    fn a_lot_that_is_too_large_is_told_how_many_examples_there_are() {
        let of = |lot, examples| Plan::new(RunConfig { lot, ..RunConfig::default() }, examples);
        assert!(of(1, 1).is_ok());
        assert_eq!(of(2, 1).unwrap_err().to_string(), "lot is 2; it must be 1, as there is one training example");
        assert_eq!(of(3, 2).unwrap_err().to_string(), "lot is 3; it must be between 1 and the 2 training examples");
    }

    /// The refusal names those that have parameters to start from, and no others.
    #[test]
    fn a_start_that_does_not_exist_names_the_models_that_have_one() {
        let names = [(Architecture::CnnTanh, "tanh CNN"), (Architecture::Scattering, "scattering")];
        let with: Vec<Architecture> =
            Architecture::ALL.into_iter().filter(|m| model::pretrained::available(*m)).collect();
        assert_eq!(with.len(), names.len());
        for model in Architecture::ALL {
            let plan = Plan::new(RunConfig { model, start: Start::Pretrained, ..RunConfig::default() }, 60_000);
            match names.iter().any(|(named, _)| *named == model) {
                true => assert!(plan.is_ok() && with.contains(&model), "{model:?}"),
                false => {
                    let sentence = plan.unwrap_err().to_string();
                    assert!(names.iter().all(|(_, name)| sentence.contains(name)), "{sentence}");
                }
            }
        }
    }
}
