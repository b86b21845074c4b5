//! Bounds from guesses about the canaries of one run.

use super::{AuditError, binomial::Odds, checked, largest};
use crate::normal::{cdf, quantile};

/// The most confident guesses of one run; their number is fixed beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guesses {
    canaries: u32,
    made: u32,
    right: u32,
}

impl Guesses {
    /// `right` of `made` guesses about `canaries`.
    ///
    /// # Errors
    /// [`AuditError::Guesses`].
    pub const fn new(canaries: u32, made: u32, right: u32) -> Result<Self, AuditError> {
        if right > made || made > canaries {
            return Err(AuditError::Guesses { canaries, made, right });
        }
        Ok(Self { canaries, made, right })
    }

    /// r.
    #[must_use]
    pub const fn made(self) -> u32 {
        self.made
    }

    /// v.
    #[must_use]
    pub const fn right(self) -> u32 {
        self.right
    }

    /// Upper bound on the probability of so many right guesses under (`epsilon`, `delta`)-privacy.
    ///
    /// Steinke, Nasr & Jagielski 2023, theorem 5.2 (add or remove one): β₀ + 2mδ·maxᵢ P[v − i ≤ W <
    /// v]/i, where W is binomial of r trials with probability e^ε/(1 + e^ε), and β₀ = P[W ≥ v].
    #[must_use]
    pub fn p_value(self, epsilon: f64, delta: f64) -> f64 {
        let Self { canaries, made, right } = self;
        // e^ε/(1 + e^ε) and its complement.
        let odds = Odds { p: 1.0 / (1.0 + (-epsilon).exp()), q: 1.0 / (1.0 + epsilon.exp()) };
        let at_least = odds.from(made, right);
        let (mut between, mut most) = (0.0, 0.0_f64);
        if delta > 0.0 {
            for i in 1..=right {
                between += odds.mass(made, right - i);
                most = most.max(between / f64::from(i));
            }
        }
        (at_least + 2.0 * f64::from(canaries) * delta * most).min(1.0)
    }

    /// The largest ε refuted at this significance; 0 if none.
    ///
    /// (ε, δ)-privacy implies (ε′, δ)-privacy for ε′ > ε, and all p-values come from one count, so
    /// the largest ε with a small p-value is refuted too.
    ///
    /// # Errors
    /// [`AuditError::Significance`] and [`AuditError::Delta`].
    pub fn epsilon(self, significance: f64, delta: f64) -> Result<f64, AuditError> {
        checked(significance, delta)?;
        Ok(largest(50.0, |epsilon| self.p_value(epsilon, delta) <= significance))
    }

    /// True if these guesses refute, at this significance, the trade-off function f, by x ↦
    /// f̄⁻¹(x), the inverse of 1 − f (Mahloujifar, Melis & Chaudhuri 2024, theorem 3.2 and
    /// algorithm 1, with their choice of what right and wrong guesses share).
    ///
    /// # Errors
    /// [`AuditError::Significance`].
    pub fn refutes(self, significance: f64, inverse: impl Fn(f64) -> f64) -> Result<bool, AuditError> {
        checked(significance, 0.0)?;
        let [m, r, v] = [self.canaries, self.made, self.right].map(f64::from);
        if self.canaries == 0 {
            return Ok(false);
        }
        let (mut right, mut wrong) = (significance * v / m, significance * (r - v) / m);
        for i in (0..self.right).rev() {
            let next = inverse(right).max(wrong);
            right = (right + f64::from(i) / f64::from(self.made - i) * (next - wrong)).min(1.0);
            wrong = next;
        }
        Ok(right + wrong > r / m)
    }

    /// The largest refuted μ of Gaussian differential privacy, in [0, 50].
    ///
    /// # Errors
    /// [`AuditError::Significance`].
    pub fn mu(self, significance: f64) -> Result<f64, AuditError> {
        checked(significance, 0.0)?;
        let refuted = |mu: f64| self.refutes(significance, |x| cdf(quantile(x) - mu)).unwrap_or(false);
        Ok(largest(50.0, refuted))
    }
}
