//! What an attack has shown: lower bounds on ε from counts, each at a confidence of its own.
//!
//! An audit includes each of m records, *canaries*, by a fair coin and guesses coins from what was released. What it guesses right bounds ε from below; a bound that
//! exceeds the ε that was claimed refutes the claim. Every function here is of counts alone; who computes two bounds has two chances to be wrong.
//!
//! | function | assumes | source |
//! | --- | --- | --- |
//! | [`Guesses::epsilon`] | nothing of the mechanism | Steinke, Nasr & Jagielski 2023, theorem 5.2 |
//! | [`Guesses::mu`], [`Guesses::refutes`] | a trade-off function, such as the Gaussian family's | Mahloujifar, Melis & Chaudhuri 2024 |
//! | [`Errors::epsilon`], [`Errors::mu`] | independent canaries, one threshold | Clopper & Pearson 1934; Kairouz, Oh & Viswanath 2015 |
//! | [`step_level`] | sampler and composition | Nasr et al. 2023 |
//!
//! [`Evidence`] makes all of them of one run's scores. What guesses are made of is a [`Score`](scores::Score): the logarithm of how much more probable what came out is with the canary than without it.

mod binomial;
mod evidence;
mod guesses;
mod rates;
mod roc;
pub mod scores;

pub use evidence::{Claimed, Evidence, LowerBounds, SIGNIFICANCE};
pub use guesses::Guesses;
pub use rates::{ErrorRates, Errors, clopper_pearson_lower, clopper_pearson_upper, step_level};

use super::{error::PrivacyError, risk::RiskError, sampling::Sampling};

/// Why there is no bound.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// More right than made, or more made than there are canaries.
    #[error(
        "{right} right of {made} guesses about {canaries} canaries; no more can be right than are made, and about none twice"
    )]
    Guesses {
        /// m.
        canaries: u32,
        /// r.
        made: u32,
        /// v.
        right: u32,
    },
    /// More errors than trials, or no trial.
    #[error("{errors} errors in {trials} trials; trials must be at least 1, and errors no more")]
    Errors {
        /// How often the attack was wrong.
        errors: u32,
        /// Of how many.
        trials: u32,
    },
    /// Not a probability of error.
    #[error("a significance of {0}; it must be above 0 and below 1")]
    Significance(f64),
    /// Not a δ.
    #[error("δ = {0}; it must be at least 0 and below 1")]
    Delta(f64),
    /// Scores of these would need more than one number a step.
    #[error("no scores for {0}: noise that is correlated over several steps is not scored step by step")]
    Unscored(Sampling),
    /// No curve to hold guesses against.
    #[error(transparent)]
    Risk(#[from] RiskError),
    /// The accountant refuses what is audited.
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

/// What is left of the accountant's ε, which is from above by less than a 2,000th where it is proven: a lower bound must not have it.
const FROM_BELOW: f64 = 1.0 - 5e-4;

/// The largest x in [0, `most`] for which `holds`, of what holds below some x and not above it; 0 where it never does.
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
