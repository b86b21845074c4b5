//! What can be wrong with a mechanism, a ledger or a question about it.

use super::{decimal::quoted, noise::NoiseError};

/// Errors of the privacy layer: each names the field, the value and what would be right.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PrivacyError {
    #[error("{field} is {}; it must be {range}", quoted(*.value))]
    Parameter { field: &'static str, value: f64, range: &'static str },
    #[error(transparent)]
    Noise(#[from] NoiseError),
    #[error("no guarantee: a release was made without noise, so ε is not a number")]
    NoNoise,
    #[error("no guarantee: a release had no bound on one example's contribution (clip it, or use an envelope)")]
    NoBound,
    #[error("no finite bound: the loss is infinite at every order for this noise; use a larger scale")]
    Infinite,
    #[error(
        "no finite bound: what floating-point noise tells beyond the noise's own law is more than δ allows; take a coarser grid, more noise, \
         lighter tails or fewer steps"
    )]
    Inexact,
    #[error("no price: {0}")]
    Unpriced(&'static str),
    #[error("too much work: {what} would take too long; {remedy}")]
    TooMuchWork { what: &'static str, remedy: &'static str },
    #[error(
        "too many kinds of release: {kinds}, and {most} is the most that {whom} counts; fewer noise scales, rates or envelopes would do"
    )]
    TooManyKinds { kinds: usize, most: usize, whom: &'static str },
    #[error(
        "the ledger mixes releases priced for add/remove-one neighbours with releases priced for replace-one: \
         their losses do not add up to one guarantee; account for them apart"
    )]
    MixedNeighbours,
    #[error(
        "the ledger mixes releases that protect one example with releases that protect one micro-batch: \
         their losses do not add up to one guarantee; account for them apart"
    )]
    MixedUnits,
    #[error("envelope: {0}")]
    Envelope(String),
    #[error("ledger, {place}: {problem}")]
    Ledger { place: String, problem: String },
    #[error("{0}")]
    Calibration(String),
}

/// Checks `lo < value ≤ hi`-like ranges in one line where values are read.
pub(crate) fn require(ok: bool, field: &'static str, value: f64, range: &'static str) -> Result<(), PrivacyError> {
    if ok { Ok(()) } else { Err(PrivacyError::Parameter { field, value, range }) }
}
