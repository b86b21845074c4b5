//! Privacy audits: lower bounds on ε from an attack's counts, each with its own confidence.
//!
//! An audit includes each of m records, *canaries*, by a fair coin and guesses the coins from what
//! was released. Right guesses bound ε from below; a bound above the claimed ε refutes the claim.
//! Bounds use counts alone. Computing two bounds gives two chances of an error.
//!
//! | function | assumes | source |
//! | --- | --- | --- |
//! | [`Guesses::epsilon`] | nothing of the mechanism | Steinke, Nasr & Jagielski 2023, theorem 5.2 |
//! | [`Guesses::mu`], [`Guesses::refutes`] | a trade-off function, such as the Gaussian family's | Mahloujifar, Melis & Chaudhuri 2024 |
//! | [`Errors::epsilon`], [`Errors::mu`] | independent canaries, one threshold | Clopper & Pearson 1934; Kairouz, Oh & Viswanath 2015 |
//! | [`step_level`] | sampler and composition | Nasr et al. 2023 |
//!
//! [`Evidence`] computes all of them from one run's [`Score`](scores::Score)s: log-likelihood
//! ratios of what was released, with the canary against without it.

mod binomial;
mod evidence;
mod guesses;
mod rates;
mod roc;
pub mod scores;

pub use evidence::{Claimed, Evidence, LowerBounds, PROOF, SIGNIFICANCE};
pub use guesses::Guesses;
pub use rates::{ErrorRates, Errors, clopper_pearson_lower, clopper_pearson_upper, step_level};

use super::{error::PrivacyError, risk::RiskError, sampling::Sampling};

/// Why there is no bound.
#[derive(Debug, hushgrad_message::Error)]
pub enum AuditError {
    /// More right guesses than guesses, or more guesses than canaries.
    #[error("{right} right of {made} guesses about {canaries} canaries: required is right ≤ guesses ≤ canaries")]
    Guesses {
        /// m.
        canaries: u32,
        /// r.
        made: u32,
        /// v.
        right: u32,
    },
    /// More errors than trials, or no trial.
    #[error("{errors} errors in {trials} trials: required is trials ≥ 1, errors ≤ trials")]
    Errors {
        /// Wrong answers of the attack.
        errors: u32,
        /// Number of trials.
        trials: u32,
    },
    /// Not a probability strictly between 0 and 1.
    #[error("a significance of {0}; it must be above 0 and below 1")]
    Significance(f64),
    /// Not a δ.
    #[error("δ = {0}; it must be at least 0 and below 1")]
    Delta(f64),
    /// Scoring this sampling would need more than one number per step.
    #[error("no scores for {0}: noise that is correlated over several steps is not scored step by step")]
    Unscored(Sampling),
    /// No privacy curve to compare guesses with.
    #[error(transparent)]
    Risk(#[from] RiskError),
    /// The accountant refuses the audited ledger.
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
}

fn checked(significance: f64, delta: f64) -> Result<(), AuditError> {
    if !(significance > 0.0 && significance < 1.0) {
        return Err(AuditError::Significance(significance));
    }
    if !(0.0..1.0).contains(&delta) {
        return Err(AuditError::Delta(delta));
    }
    Ok(())
}

/// Factor from the accountant's ε, too large by less than 1/2000 where proven, to a lower bound.
const FROM_BELOW: f64 = 1.0 - 5e-4;

/// The largest x in [0, `most`] where `holds`, which is true up to some x only; 0 if nowhere.
fn largest(most: f64, holds: impl Fn(f64) -> bool) -> f64 {
    if !holds(0.0) {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, most);
    if holds(most) {
        return most;
    }
    while high - low > 1e-12 * high {
        let x = 0.5 * (low + high);
        if holds(x) { low = x } else { high = x }
    }
    low
}

#[cfg(test)]
mod tests;
