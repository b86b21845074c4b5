//! What happened in a run: data that accountants read. Nothing here computes ε.

use serde::{Deserialize, Serialize};

use super::{noise::NoiseSpec, sampling::Sampling};

/// What bounds one example's contribution to the noisy sum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sensitivity {
    /// L2 norm at most `norm` (plain clipping; a micro-batch of one).
    L2 { norm: f64 },
    /// Coordinates inside some arrangement of one of the envelope's vectors; the profile says which.
    Envelope { profile: EnvelopeProfile },
}

/// The privacy core replaces this: what of Ψ the accountant needs (power sums, or a fine histogram).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnvelopeProfile {}

/// One noisy sum over a sample: sampled, summed within its sensitivity, noised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Release {
    pub sampling: Sampling,
    pub sensitivity: Sensitivity,
    /// `None`: no noise was added, and there is no guarantee whatever came before or after.
    pub noise: Option<NoiseSpec>,
}
