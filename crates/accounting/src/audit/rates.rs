//! Bounds from error rates of an attack.

use super::{AuditError, FROM_BELOW, binomial::Odds, checked, largest};
use crate::{
    books::Books,
    ledger::{Ledger, Release, Sensitivity},
    noise::NoiseSpec,
    normal::survival_quantile,
    sampling::Sampling,
};

/// Errors of an attack at one threshold, which was decided before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Errors {
    /// Guesses of "in" about canaries that were out.
    false_positives: u32,
    negatives: u32,
    /// Guesses of "out" about canaries that were in.
    false_negatives: u32,
    positives: u32,
}

/// Rates of errors, each exceeded with the stated probability at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorRates {
    /// Of false positives.
    pub false_positive: f64,
    /// Of false negatives.
    pub false_negative: f64,
}

impl Errors {
    /// How many guesses were wrong and of how many, about canaries that were out and about those that were in.
    #[must_use]
    pub const fn counts(self) -> [(u32, u32); 2] {
        [(self.false_positives, self.negatives), (self.false_negatives, self.positives)]
    }

    /// What went wrong of how many, each way.
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

    /// Rates that the true ones exceed with probability `level` at most, each by itself.
    ///
    /// # Errors
    /// [`AuditError::Significance`].
    pub fn at_most(self, level: f64) -> Result<ErrorRates, AuditError> {
        Ok(ErrorRates {
            false_positive: clopper_pearson_upper(self.false_positives, self.negatives, level)?,
            false_negative: clopper_pearson_upper(self.false_negatives, self.positives, level)?,
        })
    }

    /// The largest ε that is refuted, with `level` for each rate, of (ε, δ)-differential privacy: P[in | in] ≤ e^ε·P[in | out] + δ, and the same of "out".
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

    /// The largest μ of Gaussian differential privacy that is refuted, with `level` for each rate.
    ///
    /// # Errors
    /// [`AuditError::Significance`].
    pub fn mu(self, level: f64) -> Result<f64, AuditError> {
        let ErrorRates { false_positive, false_negative } = self.at_most(level)?;
        Ok((survival_quantile(false_positive) + survival_quantile(false_negative)).max(0.0))
    }
}

impl ErrorRates {
    /// Whether an attack with these rates or better is impossible under a mechanism that is (ε, δ)-private at each of `points`.
    #[must_use]
    pub fn refute(self, points: impl IntoIterator<Item = (f64, f64)>) -> bool {
        let Self { false_positive: a, false_negative: b } = self;
        points.into_iter().any(|(epsilon, delta)| {
            let most = |wrong: f64| epsilon.exp() * wrong + delta;
            1.0 - b > most(a) || 1.0 - a > most(b)
        })
    }
}

/// ε from below of `steps` steps of Gaussian noise, from errors about single steps whose coins are known: the noise cannot have been larger than 1/μ of the step.
///
/// Nasr, Hayes, Steinke, Balle, Tramèr, Jagielski, Carlini & Terzis 2023, section 5: it tests clip and noise, and *assumes* sampler and composition. ∞ where no noise is
/// compatible with the errors.
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
    let mut ledger = Ledger::new();
    let release = ledger.register(Release::new(sampling, Sensitivity::L2 { norm: 1.0 }, Some(noise)))?;
    ledger.record_many(release, steps);
    Ok(FROM_BELOW * Books::of(ledger)?.tight(delta)?.value)
}

/// The probability that is exceeded by the true one, of `errors` in `trials` independent trials, with probability `level` at most (Clopper & Pearson 1934).
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

/// The probability that the true one is below with probability `level` at most.
///
/// # Errors
/// As [`clopper_pearson_upper`].
pub fn clopper_pearson_lower(errors: u32, trials: u32, level: f64) -> Result<f64, AuditError> {
    checked(level, 0.0)?;
    if errors > trials || trials == 0 {
        return Err(AuditError::Errors { errors, trials });
    }
    // P[W ≥ errors] grows with p, and is all of it where there is none.
    Ok(largest(f64::from(errors) / f64::from(trials), |p| Odds::of(p).from(trials, errors) <= level))
}
