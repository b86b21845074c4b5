//! The short way to ε: compose releases, then ask for the total.

use super::{
    composition::{Total, total},
    error::PrivacyError,
    ledger::{Ledger, Release},
};

/// A sequence of releases on the same examples.
///
/// ε is the smaller bound of tight and Rényi accounting; Rényi's if a release has no tight price or
/// runs differ in their neighbouring relation. [`Total::accounting`] says which. For prices that
/// are updated during a run, and for all assumptions in words, use [`Books`](super::books::Books).
///
/// ```
/// use hushgrad_accounting::{Accountant, dp_sgd};
///
/// // Two runs on the same 60,000 images cost less than the sum of their ε.
/// let first = Accountant::new().compose(dp_sgd::step(1.1, 256.0 / 60_000.0), 3515)?;
/// let both = first.clone().compose(dp_sgd::step(1.3, 512.0 / 60_000.0), 1000)?;
/// assert_eq!(format!("{:.3}", first.epsilon(1e-5)?.epsilon), "1.134");
/// let total = both.epsilon(1e-5)?;
/// println!("ε ≤ {} by {}", total.epsilon, total.accounting);
/// # assert!(total.epsilon < 1.134 + dp_sgd::epsilon(1.3, 512.0 / 60_000.0, 1000, 1e-5)?);
/// # Ok::<(), hushgrad_accounting::PrivacyError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Accountant {
    runs: Vec<Ledger>,
}

impl Accountant {
    /// An accountant without releases: ε is 0.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a run of `count` equal releases with a sampler of its own: an epoch that it leaves open
    /// counts in full.
    ///
    /// # Errors
    /// As [`Release::validate`]; a `count` above 2^53.
    pub fn compose(self, release: Release, count: u64) -> Result<Self, PrivacyError> {
        let run = Ledger::of([(release, count)])?;
        self.compose_run(run)
    }

    /// Adds all releases of another run.
    ///
    /// # Errors
    /// As [`Ledger::validate`].
    pub fn compose_run(mut self, run: Ledger) -> Result<Self, PrivacyError> {
        run.validate()?;
        self.runs.push(run);
        Ok(self)
    }

    /// The smallest known upper bound on ε at `delta` of all releases together, rounded up.
    ///
    /// # Errors
    /// As [`total`]: a release without noise or bound, no finite bound, too many kinds of release,
    /// `delta` outside (0, 1).
    pub fn epsilon(&self, delta: f64) -> Result<Total, PrivacyError> {
        total(&self.runs.iter().collect::<Vec<_>>(), delta)
    }
}
