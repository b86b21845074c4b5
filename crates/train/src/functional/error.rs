//! Errors of the functional mechanism.

use crate::{accounting::PrivacyError, rng::EntropyError};

/// Why nothing was released, or nothing summed.
#[derive(Debug, hushgrad_message::Error)]
pub enum FunctionalError {
    /// ε is out of range.
    #[error("epsilon is {0}; it must be from 0.001 to 100")]
    Epsilon(f64),
    /// δ is out of range.
    #[error("delta is {0}; it must be above 1e-15 and below 0.1")]
    Delta(f64),
    /// λ is out of range.
    #[error("lambda is {0}; it must be from 1e-6 to 1")]
    StrongConvexity(f64),
    /// The number of steps is out of range.
    #[error("steps is {0}; it must be from 1 to 100000")]
    Steps(u64),
    /// A model of a training in secret was asked for before its end.
    #[error("the training is not over: only its last model may be seen")]
    Early,
    /// The price of a training in secret is that of another number of digits.
    #[error("the training was priced for {priced} digits, and {found} were read")]
    Examples {
        /// Digits read.
        found: usize,
        /// Digits of the price.
        priced: u64,
    },
    /// The features do not fit into memory.
    #[error("there is not enough memory for the features of all images; choose fewer features")]
    Memory,
    /// There are no images to sum.
    #[error("there are no digits to sum")]
    Empty,
    /// An image of the wrong size.
    #[error("an image has {0} pixels; it must have 784")]
    Size(usize),
    /// A pixel that is not a number from 0 to 1.
    #[error("pixel {place} is {value}; it must be from 0 to 1")]
    Pixel {
        /// The first such pixel.
        place: usize,
        /// Its value.
        value: f32,
    },
    /// A label that is not a digit.
    #[error("a label is {0}; it must be from 0 to 9")]
    Label(u8),
    /// The accountant refused the release.
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    /// No entropy for the noise.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}
