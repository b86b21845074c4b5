//! Kinds of runs: runs of a kind use the same kernels and the same branches.

use crate::{
    Task,
    accounting::{groups::Clipping, noise::NoiseSpec},
    mechanism::{Denoiser, EncoderSpec, encode::first_bucket},
    model::Architecture,
};

/// One more vector than `bounds.wgsl` has invocations.
pub const VECTORS: usize = 65;

/// What selects a run's kernels and their branches; each kind is checked once.
#[derive(Clone, Debug, PartialEq)]
pub struct Kind {
    model: Architecture,
    encoder: KnownEncoder,
    /// With scale 1.
    noise: Option<NoiseSpec>,
    /// With a fixed parameter.
    denoiser: Denoiser,
    apart: bool,
    /// Whether noise is correlated; over how many steps does not change a branch.
    correlated: bool,
    /// Whether examples share a vector; how many do does not change a branch.
    shared: bool,
    /// Whether a step counts, and whether it also counts answers.
    counted: [bool; 2],
    /// Whether canaries are added; how many coordinates they have does not change a branch.
    audited: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum KnownEncoder {
    None,
    Clip,
    Layers {
        /// Whether several layers are clipped as one.
        together: bool,
    },
    /// `choice`: whether there are several vectors, and more than `bounds.wgsl` scores at once.
    Envelope {
        choice: [bool; 2],
        first_bucket: i32,
    },
}

impl Kind {
    pub fn of(task: &Task) -> Self {
        let encoder = match &task.encoder {
            EncoderSpec::Layers(clip) => {
                KnownEncoder::Layers { together: clip.clipping == Clipping::Joint || !clip.groups.is_empty() }
            }
            EncoderSpec::None => KnownEncoder::None,
            EncoderSpec::Clip { .. } => KnownEncoder::Clip,
            EncoderSpec::Envelope { pre_scale, .. } => KnownEncoder::Envelope {
                choice: [1, VECTORS - 1].map(|most| task.envelope.as_ref().is_some_and(|e| e.vectors() > most)),
                first_bucket: first_bucket(known_pre_scale(*pre_scale) as f32),
            },
        };
        let noise = task.noise.as_ref().map(|noise| noise.with_scale(1.0));
        // Their parameters do not change a branch.
        let denoiser = match task.denoiser {
            Denoiser::LaplacianSmoothing { .. } => Denoiser::LaplacianSmoothing { strength: 1.0 },
            Denoiser::LowPass { .. } => Denoiser::None,
            Denoiser::Kalman { .. } => Denoiser::Kalman { gain: 0.5 },
            other => other,
        };
        let (apart, correlated, shared) = (task.reads_apart(), task.bands > 1, task.sharing.is_shared());
        let counted = [!task.counting.is_none(), task.counting.answers.is_some()];
        let audited = task.canaries.is_some();
        Self { model: task.model, encoder, noise, denoiser, apart, correlated, shared, counted, audited }
    }
}

/// Clamps to a range outside which an envelope would pass all or nothing of known gradients.
pub fn known_pre_scale(pre_scale: f64) -> f64 {
    pre_scale.clamp(0.25, 4096.0)
}
