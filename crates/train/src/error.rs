//! Why a configuration or a run is refused.

use crate::{
    accounting::error::PrivacyError, data::sharing::SharingError, engine::EngineError,
    mechanism::error::MechanismError, rng::EntropyError,
};
use hushgrad_message::{Message, word};

/// Why a [`RunConfig`](super::config::RunConfig) cannot become a plan. Nothing has started.
#[derive(Debug, hushgrad_message::Error)]
pub enum ConfigError {
    #[error("{field} is {value}; it must be {range}")]
    OutOfRange { field: &'static str, value: Message, range: Message },
    #[error("{field}: {sentence}")]
    Contradiction { field: &'static str, sentence: &'static str },
    #[error("encoder: {0}")]
    Mechanism(#[from] MechanismError),
    /// The accountant refused a part of the release; its sentence names the field.
    #[error("{0}")]
    Privacy(#[from] PrivacyError),
    #[error(transparent)]
    Sharing(#[from] SharingError),
}

impl ConfigError {
    /// Returns the field of the configuration that has to change.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match self {
            Self::OutOfRange { field, .. } | Self::Contradiction { field, .. } => field,
            Self::Mechanism(_) => "encoder",
            Self::Sharing(_) => "sharing.users",
            Self::Privacy(PrivacyError::Inexact | PrivacyError::Unpriced(_)) => "grid-bits",
            Self::Privacy(_) => "noise",
        }
    }
}

/// Why a run's releases carry no guarantee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, hushgrad_message::Error)]
pub enum NoGuarantee {
    #[error("sampling and noise are replayed from a known seed, so anybody can recompute them")]
    Replayed,
    #[error("no noise is added, so the sums themselves are released")]
    NoNoise,
    #[error("gradients are not bounded (no encoder), so no noise can hide one example")]
    NoBound,
    #[error("nothing records what was released before the run was continued")]
    Unrecorded,
}

/// Why the cost of a run cannot be computed in advance.
#[derive(Debug, hushgrad_message::Error)]
pub enum PriceError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    NoGuarantee(#[from] NoGuarantee),
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    /// Not even the widest noise keeps the budget; Rényi accounting gives `least` for it.
    #[error(
        "no noise scale up to {widest} keeps {steps} steps within ε = {budget}: even there Rényi accounting says {least}, because {reason}"
    )]
    NoScale { widest: f64, steps: u64, budget: f64, least: f64, reason: NoScale },
}

/// Why no noise scale keeps a budget, and what would.
#[derive(Clone, Copy, Debug, PartialEq, hushgrad_message::Error)]
pub enum NoScale {
    #[error("the steps add up, in tight accounting too; plan fewer steps, smaller lots or a larger δ")]
    StepsAddUp,
    /// One step alone costs `floor`, whatever its noise.
    #[error(
        "its conversion to δ = {delta:e} alone costs {floor}; choose a larger ε or δ. Tight accounting {}",
        if *tight { word!("has no such floor: to use it, set the noise scale yourself and read the tight ε below") } else { word!("has no price for this") }
    )]
    Conversion { delta: f64, floor: f64, tight: bool },
}

/// Why a run cannot go on. Its ledger has what it released so far.
#[derive(Debug, hushgrad_message::Error)]
pub enum SessionError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    #[error("the pre-trained parameters did not arrive ({reason}); try again, or choose a random start")]
    Start { reason: Message },
    #[error(
        "the network that finds features did not arrive ({reason}); try again, or choose a model that takes pixels or scattering features"
    )]
    Extractor { reason: Message },
}
