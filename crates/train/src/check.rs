//! Checks whether a configuration can be run on a training set: ranges and contradictions.

use super::{
    auditable, bands,
    config::{Augmentation, Averaging, RunConfig, Schedule, Start},
    counted,
    error::ConfigError,
    limits,
    number::quoted,
    phased, sharing,
    units::{MOST_STEPS, expected_lot},
};
use crate::{
    accounting::{PrivacyError, noise::NoiseSpec},
    mechanism::{Denoiser, EncoderSpec, MechanismError, layers::Layers},
    model,
};
use hushgrad_message::{Message, message, word};

/// Finest grid; finer ones leave inexact noise no useful price.
const MOST_GRID_BITS: u32 = 24;

/// Smallest clipping norm and pre-scale: f32 loses smaller ones ([`EncoderSpec::validate`]).
const LEAST_SCALE: f64 = 1e-9;

/// Largest shift of a copy in pixels: MNIST's digits have a margin of four.
const MOST_REACH: u32 = 4;
const MOST_COPIES: u32 = 16;

/// Checks `config` on a training set of `train_examples`, as a whole and in each phase.
///
/// # Errors
/// The first field that is out of its range or contradicts another.
pub(super) fn check(config: &RunConfig, train_examples: u32) -> Result<(), ConfigError> {
    check_phase(config, train_examples)?;
    if config.phases.is_none() {
        return Ok(());
    }
    // A range applies to the setting times the phase's factor; the error states the product.
    phased::configurations(config)?.iter().try_for_each(|(_, phase)| check_phase(phase, train_examples))
}

fn check_phase(config: &RunConfig, train_examples: u32) -> Result<(), ConfigError> {
    check_ranges(config, train_examples)?;
    check_denoiser(config)?;
    sharing::check(config, train_examples)?;
    bands::check(config, train_examples)?;
    counted::check(config)?;
    auditable::check(config, train_examples)?;
    if config.noise.is_none() && config.grid_bits.is_some() {
        return Err(ConfigError::Contradiction {
            field: "grid-bits",
            sentence: word!("a grid needs noise, and there is none; choose a noise or no grid"),
        });
    }
    if config.start == Start::Pretrained && !model::pretrained::available(config.model) {
        return Err(ConfigError::Contradiction {
            field: "start",
            sentence: word!(
                "only the tanh CNN and the linear model on scattering features have parameters trained on synthetic digits; choose one of them or a random start"
            ),
        });
    }
    if let Some(noise) = &config.noise {
        noise.build().map_err(PrivacyError::from)?;
    }
    limits::check(config, expected_lot(config, train_examples))
}

/// Checks the denoiser with noise, model and the update's memories ([`Denoiser::check`]).
fn check_denoiser(config: &RunConfig) -> Result<(), ConfigError> {
    let contradiction = |sentence| Err(ConfigError::Contradiction { field: "denoiser", sentence });
    let range = |field, value: f64, range: &'static str| {
        Err(ConfigError::OutOfRange { field, value: Message::text(quoted(value)), range: range.into() })
    };
    let noise = config.noise.as_ref().map(NoiseSpec::build).transpose().map_err(PrivacyError::from)?;
    let (momentum, averaging) = (config.momentum as f32, config.averaging != Averaging::None);
    match config.denoiser.check(noise.as_deref(), config.model.planes(), momentum, averaging) {
        Ok(()) => Ok(()),
        Err(MechanismError::AverageAhead) => contradiction(word!(
            "a filter that takes gradients ahead of the parameters cannot be combined with averaged iterates; choose one of the two"
        )),
        Err(MechanismError::DenoiserWithoutNoise) => contradiction(word!(
            "it compares the sum with the noise's distribution, and there is no noise; choose a noise or no denoiser"
        )),
        Err(MechanismError::DenoiserWithoutVariance) => contradiction(word!(
            "it needs the noise's standard deviation, and that of this noise is infinite; choose another noise or another denoiser"
        )),
        Err(MechanismError::DenoiserWithoutPlanes) => contradiction(word!(
            "smoothing needs pixels, but the model takes features; choose a model that takes pixels or another denoiser"
        )),
        Err(MechanismError::Smoothing(strength)) => {
            range("denoiser.strength", strength, word!("above 0 and at most 1000"))
        }
        Err(MechanismError::FilterMemory(kept)) => match config.denoiser {
            Denoiser::Kalman { gain } => range("denoiser.gain", gain, word!("above 0 and at most 1")),
            _ => range("denoiser.keeps", kept, word!("at least 0 and below 1")),
        },
        Err(MechanismError::TwoMemories) => {
            contradiction(word!("a filter over the steps already acts as momentum; choose it or momentum"))
        }
        Err(error) => Err(error.into()),
    }
}

fn check_ranges(config: &RunConfig, train_examples: u32) -> Result<(), ConfigError> {
    let range = |field, value: f64, fine: bool, range: Message| {
        if fine { Ok(()) } else { Err(ConfigError::OutOfRange { field, value: Message::text(quoted(value)), range }) }
    };
    let RunConfig { learning_rate, momentum, delta, .. } = *config;
    range(
        "lot",
        config.lot.into(),
        (1..=train_examples).contains(&config.lot),
        match train_examples {
            1 => word!("1, as there is one training example").into(),
            _ => message!("between 1 and the {train_examples} training examples"),
        },
    )?;
    range(
        "learning-rate",
        learning_rate,
        learning_rate > 0.0 && learning_rate <= 1e6,
        word!("above 0 and at most 1000000").into(),
    )?;
    range("momentum", momentum, (0.0..1.0).contains(&momentum), word!("at least 0 and below 1").into())?;
    range(
        "delta",
        delta,
        delta > 0.0 && delta < 1.0,
        word!("above 0 and below 1 (and smaller than 1/examples to mean anything)").into(),
    )?;
    if let Some(steps) = config.steps {
        range("steps", steps as f64, (1..=MOST_STEPS).contains(&steps), word!("between 1 and 1000000000").into())?;
    }
    if let Some(bits) = config.grid_bits {
        range("grid-bits", bits.into(), (1..=MOST_GRID_BITS).contains(&bits), word!("between 1 and 24").into())?;
    }
    if let Some(augmentation) = config.augmentation {
        let Augmentation { copies, reach } = augmentation;
        range("augmentation.reach", reach.into(), (1..=MOST_REACH).contains(&reach), word!("between 1 and 4").into())?;
        let ways = augmentation.ways().min(MOST_COPIES);
        range("augmentation.copies", copies.into(), (2..=ways).contains(&copies), message!("between 2 and {ways}"))?;
    }
    if let Schedule::Linear { to } | Schedule::Cosine { to } = config.schedule {
        range("schedule", to, (0.0..=1.0).contains(&to), word!("between 0 and 1").into())?;
    }
    match &config.encoder {
        EncoderSpec::None => Ok(()),
        EncoderSpec::Layers(clip) => {
            for &norm in &clip.norms {
                range(
                    "encoder.norms",
                    norm,
                    (LEAST_SCALE..=1e6).contains(&norm),
                    word!("numbers of at least 1e-9 and at most 1000000").into(),
                )?;
            }
            if !(clip.groups.is_empty() && clip.noises.is_empty()) {
                return Ok(Layers::new(clip, &config.model.lengths()).map(drop)?);
            }
            let layers = config.model.layers().len();
            let count = clip.norms.len();
            range(
                "encoder.norms",
                count as f64,
                count == 1 || count == layers,
                match layers {
                    1 => word!("1 number, as the model has one layer").into(),
                    _ => message!("1 number for all layers, or {layers}, one for each layer of the model"),
                },
            )
        }
        &EncoderSpec::Clip { norm } => range(
            "encoder.norm",
            norm,
            (LEAST_SCALE..=1e6).contains(&norm),
            word!("at least 1e-9 and at most 1000000").into(),
        ),
        &EncoderSpec::Envelope { pre_scale, .. } => {
            let fine = (LEAST_SCALE..=1e6).contains(&pre_scale);
            range("encoder.pre-scale", pre_scale, fine, word!("at least 1e-9 and at most 1000000").into())
        }
    }
}
