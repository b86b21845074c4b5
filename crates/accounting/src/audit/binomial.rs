//! Binomial probabilities to full relative accuracy.

use crate::numeric::ln_1p_minus;

/// A probability and its complement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Odds {
    pub p: f64,
    pub q: f64,
}

impl Odds {
    pub fn of(p: f64) -> Self {
        Self { p, q: 1.0 - p }
    }

    /// P[W = k] for W binomial of n trials. Logarithms do not cancel (Loader 2000, "Fast and
    /// accurate computation of binomial probabilities").
    pub fn mass(self, n: u32, k: u32) -> f64 {
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

    /// P[W < k], summing the smaller tail from its largest term on.
    pub fn below(self, n: u32, k: u32) -> f64 {
        if k == 0 {
            return 0.0;
        }
        if k > n {
            return 1.0;
        }
        if f64::from(k) <= f64::from(n) * self.p { self.down(n, k - 1) } else { 1.0 - self.other().down(n, n - k) }
    }

    /// P[W ≥ k], k ≤ n.
    pub fn from(self, n: u32, k: u32) -> f64 {
        self.other().below(n, n - k + 1)
    }

    /// The odds of the misses, n − W.
    fn other(self) -> Self {
        Self { p: self.q, q: self.p }
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
    // −x·(ln(1 + t) − t) near 0; far from there t has lost the digits of m/x.
    if t.abs() < 0.1 { -x * ln_1p_minus(t) } else { x * (x / m).ln() + m - x }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against sums of all terms by logarithms of factorials, which keep eleven digits.
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
}
