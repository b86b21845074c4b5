//! Algorithms 1 and 2 on plain slices: the reference implementation for all engines.

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
mod gradients;
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

/// How a per-example gradient is bounded before it is summed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EncoderSpec {
    /// No bound, hence no privacy.
    None,
    /// Clipping to L2 norm `norm` (DP-SGD, Abadi et al. 2016).
    Clip {
        /// Largest L2 norm, 1e-9 to 1e9.
        norm: f64,
    },
    /// Algorithm 2: clamping into the envelope Ψ by rank.
    Envelope {
        /// Distribution of the vectors' entries.
        shape: EnvelopeShape,
        /// Number of vectors n in Ψ, 1 to [`error::MAX_VECTORS`]; each has L2 norm 1.
        vectors: u32,
        /// Factor on gradients before encoding, 1e-9 to 1e9. Larger ones clamp more coordinates; at
        /// 1e6 nearly each becomes ±ψ of its rank: the gradient is replaced (Nasr et al., §3.1).
        pre_scale: f64,
        /// Public seed from which Ψ is drawn.
        seed: u64,
    },
    /// Per-layer clipping, separate or joint, with matching noise (McMahan et al. 2018).
    Layers(LayerClip),
}

/// Distribution of the entries of Ψ's vectors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EnvelopeShape {
    /// |N(0, 1)|.
    Gaussian,
    /// |T_3|, which has a few large coordinates.
    HeavyTailed,
    /// |N(0, 1)| on a tenth of the coordinates, zero elsewhere.
    Sparse,
    /// The three shapes in turn, so that the choice by cosine similarity matters.
    Mixed,
    /// The values of gradients of drawn, public digits, as measured for each named model and for
    /// all of them together (Nasr et al., Figure 1).
    Drawn,
}
