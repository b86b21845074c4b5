//! What can be wrong with a mechanism, a ledger or a question about it.

use super::{decimal::quoted, envelope::EnvelopeError, noise::NoiseError};

/// What this crate refuses. Each error names the field, its value and what would be right; none is a reason to assume a smaller ε.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PrivacyError {
    /// A number outside its range. Correct the field that is named.
    #[error("{field} is {}; it must be {range}", quoted(*.value))]
    Parameter {
        /// Which number, as a path: `sampling.rate`, `delta`.
        field: &'static str,
        /// What it was.
        value: f64,
        /// What it must be, in words.
        range: &'static str,
    },
    /// Parameters that no noise family has. Correct the field that is named.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// A release without noise: nothing is guaranteed, whatever came before or after. Add noise.
    #[error("no guarantee: a release was made without noise, so ε is not a number")]
    NoNoise,
    /// [`Sensitivity::Unbounded`](crate::ledger::Sensitivity::Unbounded): no noise covers a contribution that nothing bounds. Clip, or encode into an envelope.
    #[error("no guarantee: a release had no bound on one example's contribution (clip it, or use an envelope)")]
    NoBound,
    /// Every Rényi order gives +∞. Take a larger noise scale, fewer steps or a smaller rate.
    #[error("no finite bound: the loss is infinite at every order for this noise; use a larger scale")]
    Infinite,
    /// The rounding of noise on a grid ([`crate::rounding`]) costs more than δ. Take a coarser grid, more noise, lighter tails or fewer steps.
    #[error(
        "no finite bound: what floating-point noise tells beyond the noise's own law is more than δ allows; take a coarser grid, more noise, \
         lighter tails or fewer steps"
    )]
    Inexact,
    /// No theorem here covers this release with this accountant; the text says which case. Mostly the other accountant covers it.
    #[error("no price: {0}")]
    Unpriced(&'static str),
    /// An answer would take longer than its budget of work. Do what `remedy` says.
    #[error("too much work: {what} would take too long; {remedy}")]
    TooMuchWork {
        /// What was asked.
        what: &'static str,
        /// What to do in its place.
        remedy: &'static str,
    },
    /// More distinct releases than an accountant takes. Use fewer noise scales, rates or envelopes.
    #[error(
        "too many kinds of release: {kinds}, and {most} is the most that {whom} counts; fewer noise scales, rates or envelopes would do"
    )]
    TooManyKinds {
        /// Distinct releases that happened.
        kinds: usize,
        /// The most that are taken.
        most: usize,
        /// Which accountant.
        whom: &'static str,
    },
    /// Add-or-remove-one and replace-one in one ledger. Account for them apart; [`crate::composition::total`] has a bound for several runs.
    #[error(
        "the ledger mixes releases priced for add/remove-one neighbours with releases priced for replace-one: \
         their losses do not add up to one guarantee; account for them apart"
    )]
    MixedNeighbours,
    /// Two privacy units in one ledger. Account for them apart.
    #[error(
        "the ledger mixes releases that protect one example, one micro-batch or one user: \
         their losses do not add up to one guarantee; account for them apart"
    )]
    MixedUnits,
    /// Vectors that are no envelope, or a stored profile that no vectors have.
    #[error("envelope: {0}")]
    Envelope(#[from] EnvelopeError),
    /// A ledger that cannot be read, or that no run writes.
    #[error("ledger, {place}: {problem}")]
    Ledger {
        /// Which entry.
        place: String,
        /// What is wrong with it.
        problem: String,
    },
    /// No value of the parameter reaches the target; the text says what the best one costs, and what would cost less.
    #[error("{0}")]
    Calibration(String),
}

/// Checks `lo < value ≤ hi`-like ranges in one line where values are read.
pub(crate) fn require(ok: bool, field: &'static str, value: f64, range: &'static str) -> Result<(), PrivacyError> {
    if ok { Ok(()) } else { Err(PrivacyError::Parameter { field, value, range }) }
}
