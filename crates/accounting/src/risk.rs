//! What (ε, δ), or a whole privacy curve, leaves to an attacker.
//!
//! The attacker tests, from the released model, whether one person's example was trained on. At a
//! false-positive rate f, the true-positive rate of any test is at most min(1, e^ε·f + δ,
//! 1 − e^{−ε}(1 − δ − f)) (Wasserman & Zhou 2010; Kairouz, Oh & Viswanath 2015). The lines of all
//! (ε, δ) of a curve hold at once (Dong, Roth & Su 2022).

use thiserror::Error;

use super::normal;

/// Invalid parameters of a guarantee.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum RiskError {
    /// ε negative or NaN.
    #[error("epsilon must be at least 0, not {0}")]
    Epsilon(f64),
    /// δ outside [0, 1].
    #[error("delta must lie in [0, 1], not {0}")]
    Delta(f64),
    /// μ negative or NaN.
    #[error("mu must be at least 0, not {0}")]
    Mu(f64),
    /// A curve without points. Give at least one (ε, δ).
    #[error("a privacy curve needs at least one point")]
    NoPoints,
}

/// A bound on every test between neighbouring data sets: a lower bound on the trade-off function of
/// Dong, Roth & Su 2022. Rates outside [0, 1] are clamped; NaN gives NaN.
pub trait AttackBound {
    /// A lower bound on any test's false-*negative* rate at this false-positive rate, in [0, 1].
    /// Relatively precise near 0, as [`AttackBound::best_true_positive_rate`] is near its own 0.
    fn least_false_negative_rate(&self, false_positive_rate: f64) -> f64;

    /// An upper bound on any test's true-positive rate at this false-positive rate, in [0, 1].
    fn best_true_positive_rate(&self, false_positive_rate: f64) -> f64;

    /// An upper bound on any test's true- minus false-positive rate, in [0, 1]: total variation.
    fn advantage(&self) -> f64;

    /// An upper bound, in [0, 1], on the posterior belief in membership of an attacker with this
    /// `prior`, after a best test at `false_positive_rate` said "member".
    fn posterior_if_flagged(&self, prior: f64, false_positive_rate: f64) -> f64 {
        let hit = prior * self.best_true_positive_rate(false_positive_rate);
        let miss = (1.0 - prior) * false_positive_rate;
        if hit == 0.0 { prior.min(hit) } else { hit / (hit + miss) }
    }

    /// The largest accuracy of any attacker who knows the `prior`.
    ///
    /// Maximises prior·TPR(f) + (1 − prior)(1 − f), concave in f, by golden-section search;
    /// guessing by the prior is the floor.
    fn best_accuracy(&self, prior: f64) -> f64 {
        let accuracy = |f: f64| prior * self.best_true_positive_rate(f) + (1.0 - prior) * (1.0 - f);
        let shrink = 0.5 * (5.0_f64.sqrt() - 1.0);
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..120 {
            let (left, right) = (high - shrink * (high - low), low + shrink * (high - low));
            if accuracy(left) < accuracy(right) { low = left } else { high = right }
        }
        accuracy(0.5 * (low + high)).max(prior).max(1.0 - prior)
    }
}

fn rate(value: f64) -> f64 {
    // `clamp` passes NaN through.
    value.clamp(0.0, 1.0)
}

/// One (ε, δ) statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EpsilonDelta {
    epsilon: f64,
    delta: f64,
}

impl EpsilonDelta {
    /// `epsilon` ≥ 0 in nats, which may be infinite (no guarantee); `delta` in [0, 1].
    ///
    /// # Errors
    /// [`RiskError::Epsilon`] and [`RiskError::Delta`].
    pub fn new(epsilon: f64, delta: f64) -> Result<Self, RiskError> {
        if epsilon.is_nan() || epsilon < 0.0 {
            return Err(RiskError::Epsilon(epsilon));
        }
        if !(0.0..=1.0).contains(&delta) {
            return Err(RiskError::Delta(delta));
        }
        Ok(Self { epsilon, delta })
    }

    /// Upper bound on the posterior belief of an attacker with this `prior`: posterior odds ≤
    /// e^{ε + t}·prior odds, except with probability `failure` over the training's randomness.
    ///
    /// (ε, δ) alone does not bound the odds by e^ε outside an event of probability δ. For every
    /// t > 0 it gives P(L > ε + t) ≤ δ/(1 − e^{−t}), as δ ≥ E[(1 − e^{ε−L})₊]; so
    /// t = −ln(1 − δ/failure), or 0 if δ = 0. With `failure` ≤ δ > 0 there is no bound, and the
    /// result is 1.
    pub fn posterior(&self, prior: f64, failure: f64) -> f64 {
        let slack = if self.delta == 0.0 {
            0.0
        } else if failure > self.delta {
            -(-self.delta / failure).ln_1p()
        } else {
            f64::INFINITY
        };
        posterior_from_log_odds(prior, self.epsilon + slack)
    }
}

/// prior·e^x/(prior·e^x + 1 − prior), without overflow.
fn posterior_from_log_odds(prior: f64, log_ratio: f64) -> f64 {
    let prior = rate(prior);
    if prior == 0.0 || prior == 1.0 {
        return prior;
    }
    prior / (prior + (1.0 - prior) * (-log_ratio).exp())
}

impl AttackBound for EpsilonDelta {
    fn least_false_negative_rate(&self, false_positive_rate: f64) -> f64 {
        let f = rate(false_positive_rate);
        let rest = 1.0 - self.delta - f;
        // e^ε·0 is 0 even where e^ε is infinite.
        let scaled = if f == 0.0 { 0.0 } else { self.epsilon.exp() * f };
        (1.0 - self.delta - scaled).max((-self.epsilon).exp() * rest).max(0.0)
    }

    fn best_true_positive_rate(&self, false_positive_rate: f64) -> f64 {
        let f = rate(false_positive_rate);
        let scaled = if f == 0.0 { 0.0 } else { self.epsilon.exp() * f };
        // 1 − e^{−ε}(1 − δ − f), without cancellation near ε = 0.
        let other = -(-self.epsilon).exp_m1() + (-self.epsilon).exp() * (self.delta + f);
        (scaled + self.delta).min(other).clamp(0.0, 1.0)
    }

    /// (e^ε − 1 + 2δ)/(e^ε + 1) = tanh(ε/2) + 2δ/(e^ε + 1), at most 1.
    fn advantage(&self) -> f64 {
        ((0.5 * self.epsilon).tanh() + 2.0 * self.delta / (self.epsilon.exp() + 1.0)).min(1.0)
    }
}

/// Gaussian differential privacy: no test beats N(0, 1) against N(μ, 1) (Dong, Roth & Su 2022).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaussianPrivacy {
    mu: f64,
}

impl GaussianPrivacy {
    /// `mu` ≥ 0, possibly infinite (no guarantee). Unsampled Gaussian: μ = √steps·sensitivity/σ.
    ///
    /// # Errors
    /// [`RiskError::Mu`].
    pub fn new(mu: f64) -> Result<Self, RiskError> {
        if mu >= 0.0 { Ok(Self { mu }) } else { Err(RiskError::Mu(mu)) }
    }

    /// δ(ε) in [0, 1] at `epsilon` in nats. Balle & Wang 2018, Theorem 8.
    pub fn delta(&self, epsilon: f64) -> f64 {
        normal::ln_delta_gaussian(self.mu, epsilon).exp()
    }

    /// The smallest ε ≥ 0, in nats, with δ(ε) ≤ `delta`, rounded up.
    pub fn epsilon(&self, delta: f64) -> f64 {
        normal::epsilon_gaussian(self.mu, delta)
    }
}

impl AttackBound for GaussianPrivacy {
    fn least_false_negative_rate(&self, false_positive_rate: f64) -> f64 {
        if self.mu == f64::INFINITY {
            return 0.0;
        }
        // P(N + μ ≤ c) at the threshold c with P(N > c) = f.
        normal::cdf(normal::survival_quantile(rate(false_positive_rate)) - self.mu)
    }

    fn best_true_positive_rate(&self, false_positive_rate: f64) -> f64 {
        if self.mu == f64::INFINITY {
            return 1.0;
        }
        let f = rate(false_positive_rate);
        // For μ = 0 the rate is exactly f.
        if self.mu == 0.0 { f } else { normal::survival(normal::survival_quantile(f) - self.mu) }
    }

    /// 2Φ(μ/2) − 1 = erf(μ/√8).
    fn advantage(&self) -> f64 {
        libm::erf(self.mu / 8.0_f64.sqrt())
    }
}

/// A privacy curve as points (ε, δ(ε)), all of which hold at once: the smallest of their bounds
/// counts. Upper bounds on δ, from any accountant, give upper bounds on the attack.
#[derive(Clone, Debug, PartialEq)]
pub struct PrivacyCurve {
    points: Vec<EpsilonDelta>,
}

impl PrivacyCurve {
    /// A curve through the points (ε, δ), in any order.
    ///
    /// # Errors
    /// No point, or one with ε below 0 or δ outside [0, 1].
    pub fn new(points: impl IntoIterator<Item = (f64, f64)>) -> Result<Self, RiskError> {
        let points: Vec<_> =
            points.into_iter().map(|(epsilon, delta)| EpsilonDelta::new(epsilon, delta)).collect::<Result<_, _>>()?;
        if points.is_empty() { Err(RiskError::NoPoints) } else { Ok(Self { points }) }
    }

    /// The points (ε, δ), in the given order.
    pub fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        self.points.iter().map(|point| (point.epsilon, point.delta))
    }

    /// As [`EpsilonDelta::posterior`], at the best of the points.
    pub fn posterior(&self, prior: f64, failure: f64) -> f64 {
        self.points.iter().map(|point| point.posterior(prior, failure)).fold(1.0, f64::min)
    }
}

impl AttackBound for PrivacyCurve {
    fn least_false_negative_rate(&self, false_positive_rate: f64) -> f64 {
        self.points.iter().map(|point| point.least_false_negative_rate(false_positive_rate)).fold(0.0, f64::max)
    }

    fn best_true_positive_rate(&self, false_positive_rate: f64) -> f64 {
        self.points.iter().map(|point| point.best_true_positive_rate(false_positive_rate)).fold(1.0, f64::min)
    }

    fn advantage(&self) -> f64 {
        self.points.iter().map(AttackBound::advantage).fold(1.0, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn close(got: f64, want: f64, tolerance: f64) {
        assert!((got - want).abs() <= tolerance * want.abs(), "got {got:e}, want {want:e}");
    }

    #[test]
    fn statements_become_rates() {
        let at = |epsilon, delta, f| EpsilonDelta::new(epsilon, delta).unwrap().best_true_positive_rate(f);
        close(at(0.5, 1e-5, 0.01), 0.016_497_212_707_001_28, 1e-14);
        close(at(8.0, 1e-5, 0.001), 0.999_664_876_189_351_6, 1e-14);
        assert_eq!(at(0.0, 0.0, 0.2), 0.2);
        assert_eq!(at(1e300, 0.0, 0.0), 0.0);
        assert_eq!(at(f64::INFINITY, 0.1, 0.0), 0.1);
        assert_eq!(at(f64::INFINITY, 0.0, 1e-300), 1.0);
        // Near 1 the false-negative rate keeps its digits: e^{−20}(1 − 0.5).
        let sure = EpsilonDelta::new(20.0, 0.0).unwrap();
        close(sure.least_false_negative_rate(0.5), 0.5 * (-20.0_f64).exp(), 1e-14);
        close(EpsilonDelta::new(1.0, 0.0).unwrap().advantage(), 0.462_117_157_260_009_8, 1e-14);
        assert_eq!(EpsilonDelta::new(f64::INFINITY, 0.0).unwrap().advantage(), 1.0);
        assert!(EpsilonDelta::new(-0.1, 0.0).is_err() && EpsilonDelta::new(1.0, 1.5).is_err());
        assert!(EpsilonDelta::new(f64::NAN, 0.0).is_err() && GaussianPrivacy::new(f64::NAN).is_err());
    }

    #[test]
    fn gaussian_rates() {
        let at = |mu, f| GaussianPrivacy::new(mu).unwrap().best_true_positive_rate(f);
        close(at(0.5, 0.01), 0.033_898_939_122_842_78, 1e-12);
        close(at(4.0, 1e-5), 0.395_546_795_238_920_56, 1e-12);
        assert_eq!(at(0.0, 0.3), 0.3);
        assert_eq!((at(2.0, 0.0), at(2.0, 1.0), at(f64::INFINITY, 0.0)), (0.0, 1.0, 1.0));
        close(GaussianPrivacy::new(1.0).unwrap().advantage(), 0.382_924_922_548_026, 1e-13);
        // The advantage is δ(0).
        close(GaussianPrivacy::new(0.7).unwrap().delta(0.0), GaussianPrivacy::new(0.7).unwrap().advantage(), 1e-13);
    }

    #[test]
    fn posterior_follows_the_odds() {
        let pure = EpsilonDelta::new(3.0_f64.ln(), 0.0).unwrap();
        close(pure.posterior(0.5, 0.0), 0.75, 1e-15);
        let approximate = EpsilonDelta::new(3.0_f64.ln(), 1e-5).unwrap();
        assert_eq!(approximate.posterior(0.5, 1e-6), 1.0);
        close(approximate.posterior(0.5, 1e-3), 1.0 / (1.0 + 0.99 / 3.0), 1e-14);
        assert_eq!(EpsilonDelta::new(1e9, 0.0).unwrap().posterior(1e-300, 0.0), 1.0);
        assert_eq!(pure.posterior(0.0, 0.1), 0.0);
        assert_eq!(EpsilonDelta::new(0.0, 0.0).unwrap().posterior_if_flagged(0.1, 0.0), 0.0);
    }

    /// A fine Gaussian privacy curve gives the Gaussian trade-off, from above.
    #[test]
    fn a_fine_curve_gives_the_gaussian_trade_off() {
        let truth = GaussianPrivacy::new(1.0).unwrap();
        let curve = PrivacyCurve::new((0..4000).map(|i| f64::from(i) * 0.002).map(|e| (e, truth.delta(e)))).unwrap();
        for f in [1e-8, 1e-3, 0.05, 0.3, 0.5, 0.9, 0.999] {
            let (got, want) = (curve.best_true_positive_rate(f), truth.best_true_positive_rate(f));
            assert!(got >= want * (1.0 - 1e-13) && got <= want * 1.0001, "{f}: {got} against {want}");
            assert!((1.0 - curve.least_false_negative_rate(f) - got).abs() < 1e-14);
        }
        close(curve.advantage(), truth.advantage(), 1e-12);
        // With an even prior, the best accuracy is (1 + advantage)/2.
        close(curve.best_accuracy(0.5), 0.5 * (1.0 + truth.advantage()), 1e-6);
        assert!(PrivacyCurve::new([]).is_err());
    }

    proptest! {
        #[test]
        fn more_privacy_never_helps_the_attacker(
            epsilon in 0.0..20.0_f64, more in 0.0..5.0_f64, delta in 0.0..0.5_f64, f in 0.0..1.0_f64, mu in 0.0..8.0_f64,
        ) {
            let small = EpsilonDelta::new(epsilon, delta).unwrap();
            let large = EpsilonDelta::new(epsilon + more, delta).unwrap();
            prop_assert!(small.best_true_positive_rate(f) <= large.best_true_positive_rate(f) + 1e-15);
            prop_assert!(small.advantage() <= large.advantage() + 1e-15);
            prop_assert!(small.best_true_positive_rate(f) - f <= small.advantage() + 1e-12);
            prop_assert!(small.best_true_positive_rate(f) >= f.min(1.0));
            let gaussian = GaussianPrivacy::new(mu).unwrap();
            let sum = gaussian.best_true_positive_rate(f) + gaussian.least_false_negative_rate(f);
            prop_assert!((sum - 1.0).abs() < 1e-12);
            // Any single (ε, δ) of the Gaussian curve is weaker than the whole curve.
            let statement = EpsilonDelta::new(epsilon, gaussian.delta(epsilon)).unwrap();
            prop_assert!(gaussian.best_true_positive_rate(f) <= statement.best_true_positive_rate(f) + 1e-12);
        }
    }
}
