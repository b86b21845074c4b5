//! What a configuration or a run can refuse.

use crate::{
    accounting::error::PrivacyError, engine::EngineError, mechanism::error::MechanismError, rng::EntropyError,
};

/// Why a [`RunConfig`](super::config::RunConfig) is not a plan. Nothing has been started.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{field} is {value}; it must be {range}")]
    OutOfRange { field: &'static str, value: String, range: String },
    #[error("{field}: {sentence}")]
    Contradiction { field: &'static str, sentence: &'static str },
    #[error("encoder: {0}")]
    Mechanism(#[from] MechanismError),
    /// The privacy core refused a part of the release; its sentence names the field.
    #[error("{0}")]
    Privacy(#[from] PrivacyError),
}

impl ConfigError {
    /// The field of the configuration that is to be changed.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match self {
            Self::OutOfRange { field, .. } | Self::Contradiction { field, .. } => field,
            Self::Mechanism(_) => "encoder",
            Self::Privacy(PrivacyError::Inexact | PrivacyError::Unpriced(_)) => "grid-bits",
            Self::Privacy(_) => "noise",
        }
    }
}

/// Why a run cannot go on. What it released so far is in its ledger.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
}
