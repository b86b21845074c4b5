//! Kinds of steps that take about the same time.

use std::mem::{Discriminant, discriminant};

use crate::{
    engine::Task,
    mechanism::{Denoiser, EncoderSpec},
    model::Architecture,
};

/// What approximately determines a step's time on either engine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TimedKind {
    model: Architecture,
    encoder: Discriminant<EncoderSpec>,
    /// Vectors of the envelope.
    vectors: usize,
    denoiser: Discriminant<Denoiser>,
    copies: u32,
    /// Examples of a lot, rounded up to a power of two.
    lot: usize,
}

impl TimedKind {
    pub fn of(task: &Task) -> Self {
        Self {
            model: task.model,
            encoder: discriminant(&task.encoder),
            vectors: task.envelope.as_ref().map_or(0, |envelope| envelope.vectors()),
            denoiser: discriminant(&task.denoiser),
            copies: task.copies,
            lot: (task.expected_lot as usize).next_power_of_two(),
        }
    }
}
