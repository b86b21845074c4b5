//! Errors of the accountants.

use super::{decimal::quoted, envelope::EnvelopeError, noise::NoiseError};
use hushgrad_message::{Message, message};

/// Why this crate refuses a question. Each error names the field, its value and the valid range.
#[derive(Clone, Debug, PartialEq, hushgrad_message::Error)]
pub enum PrivacyError {
    /// A number outside its range. Correct the named field.
    #[error("{field} is {}; it must be {range}", quoted(*.value))]
    Parameter {
        /// Path of the number: `sampling.rate`, `delta`.
        field: &'static str,
        /// Its value.
        value: f64,
        /// The valid range, in words.
        range: &'static str,
    },
    /// Parameters outside the range of a noise family. Correct the named field.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// A release without noise: the ledger has no guarantee. Add noise.
    #[error("no guarantee: a release was made without noise, so there is no finite ε")]
    NoNoise,
    /// [`Sensitivity::Unbounded`](crate::ledger::Sensitivity::Unbounded): no noise covers an
    /// unbounded contribution. Clip, or encode into an envelope.
    #[error("no guarantee: a release had no bound on one example's contribution (clip it, or use an envelope)")]
    NoBound,
    /// Every Rényi order gives +∞. Use a larger noise scale, fewer steps or a smaller rate.
    #[error("no finite bound: the loss is infinite at every order for this noise; use a larger scale")]
    Infinite,
    /// Inexact noise ([`crate::rounding`]) costs more than δ. Use a coarser grid, more noise,
    /// lighter tails or fewer steps.
    #[error(
        "no finite bound: floating-point noise leaks more than δ allows, beyond what ideal noise reveals; use a coarser grid, more noise, lighter tails or fewer steps"
    )]
    Inexact,
    /// No theorem here prices this release with this accountant. Often the other accountant does.
    #[error("not supported: {0}")]
    Unpriced(&'static str),
    /// An answer would exceed its budget of work. Do what `remedy` says.
    #[error("too much work: {what} would take too long; {remedy}")]
    TooMuchWork {
        /// The computation asked for.
        what: &'static str,
        /// What to do instead.
        remedy: &'static str,
    },
    /// More distinct releases than an accountant accepts. Use fewer noise scales, rates, envelopes.
    #[error(
        "too many kinds of release: {kinds}, but {whom} supports at most {most}; use fewer noise scales, rates or envelopes"
    )]
    TooManyKinds {
        /// Distinct releases that happened.
        kinds: usize,
        /// The limit.
        most: usize,
        /// The accountant.
        whom: &'static str,
    },
    /// Add-or-remove-one and replace-one in one ledger. Account for them separately;
    /// [`crate::composition::total`] bounds the total of several runs.
    #[error(
        "the ledger mixes releases priced for add/remove-one neighbours with releases priced for replace-one: their losses do not add up to one guarantee; account for them separately"
    )]
    MixedNeighbours,
    /// Two privacy units in one ledger. Account for them separately.
    #[error(
        "the ledger mixes releases that protect one example, one micro-batch or one user: their losses do not add up to one guarantee; account for them separately"
    )]
    MixedUnits,
    /// Vectors that do not form an envelope, or a stored profile that no vectors can have.
    #[error("envelope: {0}")]
    Envelope(#[from] EnvelopeError),
    /// A ledger that cannot be read or cannot have happened.
    #[error("ledger, {place}: {problem}")]
    Ledger {
        /// Which entry.
        place: Message,
        /// What is wrong with it.
        problem: Message,
    },
    /// An event of another library that a ledger cannot say.
    #[error("{place}: {event} cannot be read: {problem}")]
    Event {
        /// Where it is in the whole event.
        place: Message,
        /// Its name.
        event: String,
        /// What is wrong with it.
        problem: Message,
    },
    /// A release that another library's words cannot say exactly.
    #[error("{language} cannot say releases[{place}]: {problem}")]
    Unsayable {
        /// The other library's format.
        language: &'static str,
        /// Index into [`Ledger::releases`](crate::ledger::Ledger::releases).
        place: usize,
        /// What is lost.
        problem: Message,
    },
    /// No value reaches the target; the text gives the best value's ε and what would cost less.
    #[error("{0}")]
    Calibration(Message),
}

/// Returns an error that names `field`, `value` and the valid `range` unless `ok`.
pub(crate) fn require(ok: bool, field: &'static str, value: f64, range: &'static str) -> Result<(), PrivacyError> {
    if ok { Ok(()) } else { Err(PrivacyError::Parameter { field, value, range }) }
}

/// Describes why JSON was not read. What the parser says stays English.
#[must_use]
pub fn json_fault(error: &serde_json::Error) -> Message {
    match error.is_data() {
        true => message!("a field is missing, unknown or wrong: {error}"),
        false => message!("not valid JSON: {error}"),
    }
}
