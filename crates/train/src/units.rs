//! A configuration's numbers in an engine's units: noise and grid in units of the sum; the divisor.

use super::config::RunConfig;
use crate::{
    accounting::{
        PrivacyError,
        noise::NoiseSpec,
        rounding::{Grid, GridRounding},
    },
    mechanism::EncoderSpec,
};

/// Most steps that a run may plan. Accounting is exact far beyond.
pub(super) const MOST_STEPS: u64 = 1_000_000_000;

/// Returns the gradient's noise in units of the sum. The configuration has it as a multiple of the
/// clipping norm; an envelope's norm is 1, and layers are in units of their noise.
pub(super) fn absolute_noise(config: &RunConfig) -> Option<NoiseSpec> {
    let norm = if let EncoderSpec::Clip { norm } = config.encoder { norm } else { 1.0 };
    config.noise_of_gradient().map(|noise| noise.with_scale(noise.scale() * norm))
}

pub(super) fn grid(config: &RunConfig) -> Result<Option<GridRounding>, PrivacyError> {
    let (Some(bits), Some(noise)) = (config.grid_bits, absolute_noise(config)) else { return Ok(None) };
    GridRounding::below(noise.build()?.as_ref(), bits).map(Some)
}

/// Returns the same grid as a release states it.
pub(super) fn grid_of_release(config: &RunConfig) -> Result<Option<Grid>, PrivacyError> {
    let coordinates = config.model.parameters() as u64;
    Ok(grid(config)?.map(|grid| Grid { exponent: grid.exponent(), coordinates }))
}

/// Returns the expected lot in units, by which sums are divided. The drawn size is private.
pub(super) fn expected_lot(config: &RunConfig, train_examples: u32) -> f64 {
    f64::from(config.units(train_examples)) / config.steps_per_epoch(train_examples)
}
