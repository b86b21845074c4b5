//! Algorithms 1 and 2 on plain slices: the reference that every engine is compared with.

#![warn(missing_docs)]

use serde::{Deserialize, Serialize};

pub mod canaries;
pub mod correlated;
pub mod counts;
pub mod denoise;
pub mod encode;
pub mod envelope;
pub mod error;
pub mod exact_sum;
pub mod grid;
pub mod layers;
pub mod noise;
mod quantile;
mod step;

pub use counts::{AdaptiveClip, PaidMetrics};
pub use denoise::Denoiser;
pub use encode::Encoder;
pub use error::MechanismError;
pub use layers::LayerClip;
pub use step::add_to;
pub use step::{Algorithm, LotSum, State, Trace};

/// What a per-example gradient becomes before it is summed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EncoderSpec {
    /// No bound: no privacy either.
    None,
    /// Scaled down to L2 norm `norm` where it is longer (DP-SGD, Abadi et al. 2016).
    Clip {
        /// Largest L2 norm, 1e-9 to 1e9.
        norm: f64,
    },
    /// Algorithm 2: clamped into the envelope Ψ by rank.
    Envelope {
        /// Distribution of the vectors' entries.
        shape: EnvelopeShape,
        /// Number of vectors n in Ψ, 1 to [`error::MAX_VECTORS`]; each has L2 norm 1.
        vectors: u32,
        /// Gradients are multiplied by this before they are encoded, 1e-9 to 1e9. The larger it is, the more of their coordinates are clamped.
        pre_scale: f64,
        /// Ψ is public: it is drawn from this seed.
        seed: u64,
    },
    /// Each layer's part scaled down to a norm of its own, or all of them by one factor; with noise to match (McMahan et al. 2018).
    Layers(LayerClip),
}

/// Distribution of the entries of Ψ's vectors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EnvelopeShape {
    /// |N(0, 1)|.
    Gaussian,
    /// |T_3|: a few large coordinates.
    HeavyTailed,
    /// |N(0, 1)| on a tenth of the coordinates, zero elsewhere.
    Sparse,
    /// Vectors cycle through the three shapes, so that the choice by cosine matters.
    Mixed,
}
