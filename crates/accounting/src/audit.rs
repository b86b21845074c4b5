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

use super::{
    books::Books,
    error::PrivacyError,
    ledger::{Ledger, Release, Sensitivity},
    noise::NoiseSpec,
    normal::{cdf, quantile, survival_quantile},
    numeric::ln_1p_minus,
    sampling::Sampling,
};

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
    /// The accountant refuses what is audited.
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
}

/// Guesses of one run: the most confident ones, as many as was decided before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guesses {
    canaries: u32,
    made: u32,
    right: u32,
}

/// Errors of an attack at one threshold, which was decided before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

fn checked(significance: f64, delta: f64) -> Result<(), AuditError> {
    if !(significance > 0.0 && significance < 1.0) {
        return Err(AuditError::Significance(significance));
    }
    if !(0.0..1.0).contains(&delta) {
        return Err(AuditError::Delta(delta));
    }
    Ok(())
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

    /// How probable so many right guesses are at most, where the mechanism is (`epsilon`, `delta`)-differentially private, add or remove one.
    ///
    /// Steinke, Nasr & Jagielski 2023, theorem 5.2: β₀ + 2mδ·maxᵢ P[v − i ≤ W < v]/i, where W is binomial of r trials and probability e^ε/(1 + e^ε), and β₀ = P[W ≥ v].
    #[must_use]
    pub fn p_value(self, epsilon: f64, delta: f64) -> f64 {
        let Self { canaries, made, right } = self;
        // ln e^ε/(1 + e^ε), and of the other side.
        let odds = Odds { p: 1.0 / (1.0 + (-epsilon).exp()), q: 1.0 / (1.0 + epsilon.exp()) };
        let at_least = 1.0 - odds.below(made, right);
        let (mut between, mut most) = (0.0, 0.0_f64);
        if delta > 0.0 {
            for i in 1..=right {
                between += odds.mass(made, right - i);
                most = most.max(between / f64::from(i));
            }
        }
        (at_least + 2.0 * f64::from(canaries) * delta * most).min(1.0)
    }

    /// The largest ε that these guesses refute at this significance; 0 where they refute none.
    ///
    /// Whatever is (ε, δ)-private is (ε′, δ)-private for each ε′ above, and all p-values are of the one count: so the largest ε whose p-value is small is refuted, too.
    ///
    /// # Errors
    /// [`AuditError::Significance`] and [`AuditError::Delta`].
    pub fn epsilon(self, significance: f64, delta: f64) -> Result<f64, AuditError> {
        checked(significance, delta)?;
        Ok(largest(50.0, |epsilon| self.p_value(epsilon, delta) <= significance))
    }

    /// Whether these guesses refute, at this significance, that the mechanism's trade-off function is f, by x ↦ f̄⁻¹(x), the inverse of 1 − f.
    ///
    /// Mahloujifar, Melis & Chaudhuri 2024, theorem 3.2 and algorithm 1, at their choice of what is shared between right and wrong guesses.
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

    /// The largest μ of Gaussian differential privacy that these guesses refute, in [0, 50].
    ///
    /// # Errors
    /// [`AuditError::Significance`].
    pub fn mu(self, significance: f64) -> Result<f64, AuditError> {
        checked(significance, 0.0)?;
        let refuted = |mu: f64| self.refutes(significance, |x| cdf(quantile(x) - mu)).unwrap_or(false);
        Ok(largest(50.0, refuted))
    }
}

impl Errors {
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

/// What is left of the accountant's ε, which is from above by less than a 2,000th where it is proven: a lower bound must not have it.
const FROM_BELOW: f64 = 1.0 - 5e-4;

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
    if errors > trials {
        return Err(AuditError::Errors { errors, trials });
    }
    let other = clopper_pearson_upper(trials - errors, trials, level)?;
    // Of small rates 1 − p has no digits left: it is searched for by itself.
    if errors == 0 {
        return Ok(0.0);
    }
    let (mut low, mut high) = (0.0, f64::from(errors) / f64::from(trials));
    loop {
        let p = 0.5 * (low + high);
        if p <= low || p >= high {
            return Ok(low.min(1.0 - other + f64::EPSILON));
        }
        if Odds::of(p).from(trials, errors) < level { low = p } else { high = p }
    }
}

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

/// A probability and what is missing to 1.
#[derive(Clone, Copy, Debug)]
struct Odds {
    p: f64,
    q: f64,
}

impl Odds {
    fn of(p: f64) -> Self {
        Self { p, q: 1.0 - p }
    }

    /// P[W = k] for W binomial of n trials. Loader 2000, "Fast and accurate computation of binomial probabilities": no large logarithms cancel.
    fn mass(self, n: u32, k: u32) -> f64 {
        let Self { p, q } = self;
        if k > n {
            return 0.0;
        }
        if k == 0 {
            return (f64::from(n) * if p < 0.1 { (-p).ln_1p() } else { q.ln() }).exp();
        }
        if k == n {
            return (f64::from(n) * if q < 0.1 { (-q).ln_1p() } else { p.ln() }).exp();
        }
        let (total, hits, misses) = (f64::from(n), f64::from(k), f64::from(n - k));
        let ln = stirling_error(total)
            - stirling_error(hits)
            - stirling_error(misses)
            - deviance(hits, total * p)
            - deviance(misses, total * q);
        ln.exp() * (total / (std::f64::consts::TAU * hits * misses)).sqrt()
    }

    /// P[W < k]: the smaller tail is added up from its largest term on.
    fn below(self, n: u32, k: u32) -> f64 {
        if k == 0 {
            return 0.0;
        }
        if k > n {
            return 1.0;
        }
        if f64::from(k) <= f64::from(n) * self.p { self.down(n, k - 1) } else { 1.0 - self.up(n, k) }
    }

    /// P[W ≥ k].
    fn from(self, n: u32, k: u32) -> f64 {
        if k == 0 {
            return 1.0;
        }
        if k > n {
            return 0.0;
        }
        if f64::from(k) <= f64::from(n) * self.p { 1.0 - self.down(n, k - 1) } else { self.up(n, k) }
    }

    /// Σ P[W = j] over j ≤ k, below the mean.
    fn down(self, n: u32, k: u32) -> f64 {
        let (mut term, mut sum) = (self.mass(n, k), 0.0);
        for j in (0..=k).rev() {
            sum += term;
            if term <= sum * 1e-18 {
                break;
            }
            term *= f64::from(j) * self.q / (f64::from(n - j + 1) * self.p);
        }
        sum
    }

    /// Σ P[W = j] over j ≥ k, above the mean.
    fn up(self, n: u32, k: u32) -> f64 {
        let (mut term, mut sum) = (self.mass(n, k), 0.0);
        for j in k..=n {
            sum += term;
            if term <= sum * 1e-18 {
                break;
            }
            term *= f64::from(n - j) * self.p / (f64::from(j + 1) * self.q);
        }
        sum
    }
}

/// ln n! − ln(√(2πn)·(n/e)ⁿ), n ≥ 1.
fn stirling_error(n: f64) -> f64 {
    if n < 16.0 {
        return libm::lgamma(n + 1.0) - (n + 0.5) * n.ln() + n - 0.5 * std::f64::consts::TAU.ln();
    }
    let n2 = n * n;
    (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0 - 1.0 / 1188.0 / n2) / n2) / n2) / n2) / n
}

/// x·ln(x/m) + m − x ≥ 0.
fn deviance(x: f64, m: f64) -> f64 {
    let t = (m - x) / x;
    // Near 0 it is −x·(ln(1 + t) − t); far from there t has lost the digits of m/x.
    if t.abs() < 0.1 { -x * ln_1p_minus(t) } else { x * (x / m).ln() + m - x }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums of all terms, by logarithms of factorials, which keep eleven digits.
    #[test]
    fn binomial_tails_are_sums_of_all_terms() {
        for n in [1_u32, 2, 17, 300] {
            let ln_factorial = |k: u32| (1..=k).map(|i| f64::from(i).ln()).sum::<f64>();
            for p in [1e-6, 0.03, 0.5, 0.731, 0.999] {
                let odds = Odds::of(p);
                let mass = |k: u32| {
                    (ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)
                        + f64::from(k) * p.ln()
                        + f64::from(n - k) * (-p).ln_1p())
                    .exp()
                };
                let mut below = 0.0;
                for k in 0..=n {
                    assert!((odds.mass(n, k) - mass(k)).abs() <= 1e-11 * mass(k) + 1e-300, "{n} {p} {k}");
                    assert!((odds.below(n, k) - below).abs() < 3e-11 && (odds.from(n, k) + below - 1.0).abs() < 3e-11);
                    below += mass(k);
                }
            }
        }
    }

    #[test]
    fn nothing_is_claimed_of_chance_and_what_is_no_count_is_refused() {
        let half = Guesses::new(1000, 200, 110).unwrap();
        assert_eq!(half.epsilon(0.05, 1e-5).unwrap(), 0.0);
        assert_eq!(half.mu(0.05).unwrap(), 0.0);
        for [m, r, v] in [[0, 0, 0], [10, 0, 0], [1000, 1, 1], [1000, 50, 0]] {
            let few = Guesses::new(m, r, v).unwrap();
            assert_eq!((few.epsilon(0.05, 1e-5).unwrap(), few.mu(0.05).unwrap()), (0.0, 0.0), "{m} {r} {v}");
        }
        assert!(matches!(Guesses::new(10, 11, 3), Err(AuditError::Guesses { .. })));
        assert!(matches!(Guesses::new(10, 5, 6), Err(AuditError::Guesses { .. })));
        for significance in [0.0, 1.0, f64::NAN, -1.0] {
            assert!(matches!(half.epsilon(significance, 0.0), Err(AuditError::Significance(_))));
            assert!(matches!(half.mu(significance), Err(AuditError::Significance(_))));
        }
        assert!(matches!(half.epsilon(0.05, 1.0), Err(AuditError::Delta(_))));
        assert!(matches!(Errors::new((3, 2), (0, 1)), Err(AuditError::Errors { errors: 3, trials: 2 })));
        assert!(matches!(Errors::new((0, 0), (0, 1)), Err(AuditError::Errors { .. })));
        // An attack that is never right of anything, and one that never errs.
        let blind = Errors::new((5, 5), (7, 7)).unwrap();
        assert_eq!((blind.epsilon(0.025, 1e-5).unwrap(), blind.mu(0.025).unwrap()), (0.0, 0.0));
        let sure = Errors::new((0, 100_000), (0, 100_000)).unwrap();
        assert!(sure.epsilon(0.025, 0.0).unwrap() > 10.0 && sure.mu(0.025).unwrap() > 7.0);
    }

    /// Against the true mechanism: randomised response about each canary is refuted in at most so many runs, and a smaller ε in nearly all.
    #[test]
    fn bounds_hold_as_often_as_they_say() {
        let (m, r, epsilon) = (400, 400, 1.5_f64);
        let p = 1.0 / (1.0 + (-epsilon).exp());
        let mut state = 7_u64;
        let mut uniform = || {
            // SplitMix64.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
        };
        let (mut above, mut useful) = (0, 0);
        let runs = 400;
        for _ in 0..runs {
            let right = (0..r).filter(|_| uniform() < p).count() as u32;
            let found = Guesses::new(m, r, right).unwrap().epsilon(0.05, 0.0).unwrap();
            above += u32::from(found > epsilon);
            useful += u32::from(found > 0.8 * epsilon);
        }
        // 20 are expected at most; 37 or more have a probability below 1e-4.
        assert!(above < 37 && useful > runs / 2, "{above} above, {useful} useful");
    }
}
