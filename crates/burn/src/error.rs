//! Why private training is refused.

use hushgrad_accounting::{PrivacyError, noise::NoiseError};
use hushgrad_core::{mechanism::MechanismError, rng::EntropyError};

/// Why a private training cannot begin or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BurnError {
    /// A layer computes with the whole batch, so an example's gradient depends on others.
    #[error(
        "{path} is a {kind}, which mixes the examples of a batch, so no example's influence is bounded; use GroupNorm"
    )]
    Mixes { path: String, kind: String },
    #[error("the model has no trainable parameters")]
    NothingToTrain,
    /// The model must return one loss per example.
    #[error("the model returned {found} losses for {examples} examples; it must return one for each")]
    Losses { found: usize, examples: usize },
    #[error("{field} is {value}; it must be {range}")]
    Range { field: &'static str, value: f64, range: &'static str },
    #[error("the data set has {found} examples, but the run is accounted for {examples}")]
    Examples { found: usize, examples: usize },
    #[error("example {index} cannot be read: {reason}")]
    Item { index: u32, reason: String },
    #[error(transparent)]
    Noise(#[from] NoiseError),
    #[error(transparent)]
    Mechanism(#[from] MechanismError),
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    #[error("the device failed: {0}")]
    Device(String),
    #[error("{path}: {reason}")]
    File { path: String, reason: String },
}
