//! Bounds from an attack's error rates.

use super::{AuditError, FROM_BELOW, binomial::Odds, checked, largest};
use crate::{
    books::Books,
    ledger::{Ledger, Release, Sensitivity},
    noise::NoiseSpec,
    normal::survival_quantile,
    sampling::Sampling,
};

/// Errors of an attack at one threshold, fixed beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Errors {
    /// Guesses of "in" about canaries that were out.
    false_positives: u32,
    negatives: u32,
    /// Guesses of "out" about canaries that were in.
    false_negatives: u32,
    positives: u32,
}

/// Upper bounds on error rates, each exceeded with at most the stated probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorRates {
    /// Bound on the false positive rate.
    pub false_positive: f64,
    /// Bound on the false negative rate.
    pub false_negative: f64,
}

impl Errors {
    /// Wrong guesses and all guesses, about canaries that were out and about those that were in.
    #[must_use]
    pub const fn counts(self) -> [(u32, u32); 2] {
        [(self.false_positives, self.negatives), (self.false_negatives, self.positives)]
    }

    /// From errors and trials about canaries that were out, then about those that were in.
    ///
    /// # Errors
    /// [`AuditError::Errors`].
    pub fn new(
        (false_positives, negatives): (u32, u32),
        (false_negatives, positives): (u32, u32),
    ) -> Result<Self, AuditError> {
        for (errors, trials) in [(false_positives, negatives), (false_negatives, positives)] {
            if errors > trials || trials == 0 {
                return Err(AuditError::Errors { errors, trials });
            }
        }
        Ok(Self { false_positives, negatives, false_negatives, positives })
    }

    /// Rates that the true ones exceed with probability at most `level` each.
    ///
    /// # Errors
    /// [`AuditError::Significance`].
    pub fn at_most(self, level: f64) -> Result<ErrorRates, AuditError> {
        Ok(ErrorRates {
            false_positive: clopper_pearson_upper(self.false_positives, self.negatives, level)?,
            false_negative: clopper_pearson_upper(self.false_negatives, self.positives, level)?,
        })
    }

    /// The largest refuted ε of (ε, δ)-privacy, with `level` for each rate, by P[in | in] ≤
    /// e^ε·P[in | out] + δ and likewise for "out".
    ///
    /// # Errors
    /// [`AuditError::Significance`] and [`AuditError::Delta`].
    pub fn epsilon(self, level: f64, delta: f64) -> Result<f64, AuditError> {
        checked(level, delta)?;
        let ErrorRates { false_positive: a, false_negative: b } = self.at_most(level)?;
        Ok([(b, a), (a, b)]
            .map(|(missed, wrong)| ((1.0 - missed - delta) / wrong).ln())
            .into_iter()
            .fold(0.0, f64::max))
    }

    /// The largest refuted μ of Gaussian differential privacy, with `level` for each rate.
    ///
    /// # Errors
    /// [`AuditError::Significance`].
    pub fn mu(self, level: f64) -> Result<f64, AuditError> {
        let ErrorRates { false_positive, false_negative } = self.at_most(level)?;
        Ok((survival_quantile(false_positive) + survival_quantile(false_negative)).max(0.0))
    }
}

impl ErrorRates {
    /// True if (ε, δ)-privacy at each of `points` makes rates as good as these impossible.
    #[must_use]
    pub fn refute(self, points: impl IntoIterator<Item = (f64, f64)>) -> bool {
        let Self { false_positive: a, false_negative: b } = self;
        points.into_iter().any(|(epsilon, delta)| {
            let most = |wrong: f64| epsilon.exp() * wrong + delta;
            1.0 - b > most(a) || 1.0 - a > most(b)
        })
    }
}

/// ε from below of `steps` steps of Gaussian noise, from errors about single steps with known
/// coins: the noise is at most 1/μ of a step's contribution. ∞ if no noise fits the errors.
///
/// Nasr, Hayes, Steinke, Balle, Tramèr, Jagielski, Carlini & Terzis 2023, section 5: tests clipping
/// and noise, and *assumes* sampler and composition.
///
/// # Errors
/// [`AuditError::Significance`], and what the accountant refuses.
pub fn step_level(errors: Errors, level: f64, sampling: Sampling, steps: u64, delta: f64) -> Result<f64, AuditError> {
    checked(level, delta)?;
    let mu = errors.mu(level)?;
    if mu == 0.0 {
        return Ok(0.0);
    }
    let noise = NoiseSpec::Gaussian { sigma: mu.recip() };
    let ledger = Ledger::of([(Release::new(sampling, Sensitivity::L2 { norm: 1.0 }, Some(noise)), steps)])?;
    Ok(FROM_BELOW * Books::of(ledger)?.tight(delta)?.value)
}

/// Upper confidence bound on the probability of an error, from `errors` in `trials` independent
/// trials; too small with probability at most `level` (Clopper & Pearson 1934).
///
/// # Errors
/// [`AuditError::Significance`] and [`AuditError::Errors`].
pub fn clopper_pearson_upper(errors: u32, trials: u32, level: f64) -> Result<f64, AuditError> {
    checked(level, 0.0)?;
    if errors > trials || trials == 0 {
        return Err(AuditError::Errors { errors, trials });
    }
    if errors == trials {
        return Ok(1.0);
    }
    let (mut low, mut high) = (f64::from(errors) / f64::from(trials), 1.0);
    // P[W ≤ errors] falls as p grows.
    loop {
        let p = 0.5 * (low + high);
        if p <= low || p >= high {
            return Ok(high);
        }
        if Odds::of(p).below(trials, errors + 1) > level { low = p } else { high = p }
    }
}

/// Lower confidence bound on the same; too large with probability at most `level`.
///
/// # Errors
/// As [`clopper_pearson_upper`].
pub fn clopper_pearson_lower(errors: u32, trials: u32, level: f64) -> Result<f64, AuditError> {
    checked(level, 0.0)?;
    if errors > trials || trials == 0 {
        return Err(AuditError::Errors { errors, trials });
    }
    // P[W ≥ errors] grows with p, and is 1 without errors.
    Ok(largest(f64::from(errors) / f64::from(trials), |p| Odds::of(p).from(trials, errors) <= level))
}
