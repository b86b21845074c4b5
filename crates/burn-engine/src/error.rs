//! Errors of the Burn engine.

use burn::tensor::{DType, DataError, ExecutionError};
use hushgrad_core::{mechanism::MechanismError, model::layers::LayersError};
use hushgrad_engine::{EngineError, Unsupported};
use hushgrad_message::Message;

/// A task is not supported, or the device failed.
#[derive(Debug, thiserror::Error)]
pub enum BurnError {
    #[error(transparent)]
    Network(#[from] LayersError),
    #[error(transparent)]
    Mechanism(#[from] MechanismError),
    #[error("{found} {what} where {expected} are needed")]
    Length { what: &'static str, found: usize, expected: usize },
    #[error("an envelope encoder without its vectors")]
    NoEnvelope,
    #[error(
        "vectors that several examples share: micro-batches and users are computed by the plain reference and the CPU engine"
    )]
    Sharing,
    /// The task releases counts along with the sum.
    #[error(
        "this engine releases no counts: a clip that follows the norms, and the accuracy on the private digits, are the CPU engine's"
    )]
    Counting,
    /// The network normalises by released moments.
    #[error("this engine has no gradients of released moments: lists with batchnorm are the CPU's and WebGPU's")]
    BatchNorm,
    /// The task has audit canaries.
    #[error("this engine adds no canaries: runs that are audited are the CPU engine's")]
    Canaries,
    #[error("the label {label}; the network has {classes} classes, from 0")]
    Label { label: u8, classes: usize },
    #[error("example {index} of a training set of {examples} examples")]
    Example { index: u32, examples: usize },
    #[error("the device has no arithmetic in {0:?}")]
    Precision(DType),
    #[error("the device failed: {0}")]
    Device(#[from] ExecutionError),
    #[error("the device's numbers cannot be read: {0}")]
    Read(#[from] DataError),
}

impl From<BurnError> for EngineError {
    fn from(error: BurnError) -> Self {
        match error {
            BurnError::Device(_) | BurnError::Read(_) => Self::DeviceLost(Message::text(error)),
            _ => Unsupported::Other(Box::new(error)).into(),
        }
    }
}

/// Checks that the number of `what` is as expected.
pub(crate) fn check_length(what: &'static str, found: usize, expected: usize) -> Result<(), BurnError> {
    if found == expected { Ok(()) } else { Err(BurnError::Length { what, found, expected }) }
}
