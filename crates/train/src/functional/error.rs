//! What the functional mechanism refuses.

use crate::{accounting::PrivacyError, rng::EntropyError};

/// Why nothing was released, or nothing summed.
#[derive(Debug, thiserror::Error)]
pub enum FunctionalError {
    /// ε is no bound that noise can be made for.
    #[error("epsilon is {0}; it must be from 0.001 to 100")]
    Epsilon(f64),
    /// δ is no probability that noise can be made for.
    #[error("delta is {0}; it must be above 1e-15 and below 0.1")]
    Delta(f64),
    /// There is nothing to sum.
    #[error("there are no digits to sum")]
    Empty,
    /// An image of another size.
    #[error("an image has {0} pixels; it must have 784")]
    Size(usize),
    /// A pixel that is no number from 0 to 1.
    #[error("pixel {place} is {value}; it must be from 0 to 1")]
    Pixel {
        /// Which.
        place: usize,
        /// What it is.
        value: f32,
    },
    /// A label that is no digit.
    #[error("a label is {0}; it must be from 0 to 9")]
    Label(u8),
    /// The accountant refuses it.
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    /// There is nothing to make noise from.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}
