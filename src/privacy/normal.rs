//! The standard normal distribution to full relative precision in both tails.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// ln √(2π).
const LN_SQRT_2PI: f64 = 0.918_938_533_204_672_8;

/// P(N ≤ x).
pub fn cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

/// P(N > x); relatively precise where it is tiny, unlike `1 − cdf(x)`.
pub fn survival(x: f64) -> f64 {
    0.5 * libm::erfc(x * FRAC_1_SQRT_2)
}

/// Mills' ratio P(N > x)/φ(x), for x ≥ −5 (below, it is e^{x²/2} and more).
pub fn mills(x: f64) -> f64 {
    if x < 6.0 {
        return survival(x) * (2.0 * PI).sqrt() * (0.5 * x * x).exp();
    }
    // Continued fraction of Laplace, 1/(x + 1/(x + 2/(x + …))), from its tail.
    let terms = (40.0 + 600.0 / x) as u32;
    let tail = (1..=terms).rev().fold(x, |below, k| x + f64::from(k) / below);
    1.0 / tail
}

/// ln P(N > x), for any x.
pub fn ln_survival(x: f64) -> f64 {
    if x < 6.0 {
        // Below 0 the survival is near 1, and ln_1p of the other tail keeps its digits.
        if x < 0.0 { (-cdf(x)).ln_1p() } else { survival(x).ln() }
    } else {
        -0.5 * x * x - LN_SQRT_2PI + mills(x).ln()
    }
}

/// The x with P(N > x) = p, for p in [0, 1]. Starts from statrs and ends with Newton steps on ln P, so the tail keeps
/// its digits.
pub fn survival_quantile(p: f64) -> f64 {
    if p.is_nan() {
        return f64::NAN;
    }
    if p <= 0.0 {
        return f64::INFINITY;
    }
    if p >= 1.0 {
        return f64::NEG_INFINITY;
    }
    if p > 0.5 {
        return -survival_quantile_upper(1.0 - p);
    }
    survival_quantile_upper(p)
}

/// The x with P(N ≤ x) = p.
pub fn quantile(p: f64) -> f64 {
    -survival_quantile(p)
}

fn survival_quantile_upper(p: f64) -> f64 {
    let goal = p.ln();
    // Leading behaviour of the tail; Newton's steps on the concave ln P(N > x) do the rest.
    let mut x = if p > 0.02 { (0.5 - p) * 2.5 } else { (-2.0 * goal - (2.0 * PI * -2.0 * goal).ln()).max(1.0).sqrt() };
    for _ in 0..60 {
        // d/dx ln P(N > x) = −1/mills(x).
        let step = (ln_survival(x) - goal) * mills(x);
        x = (x + step).max(0.0);
        if step.abs() <= 4.0 * f64::EPSILON * x.abs().max(1e-300) {
            break;
        }
    }
    x
}

/// δ(ε) of the Gaussian mechanism with sensitivity/σ = `mu`: Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ), as
/// ln δ, so that nothing underflows. Balle & Wang 2018, Theorem 8; composition: μ² adds up (Dong, Roth & Su 2022).
pub fn ln_delta_gaussian(mu: f64, epsilon: f64) -> f64 {
    if mu == 0.0 {
        return if epsilon >= 0.0 { f64::NEG_INFINITY } else { (-epsilon.exp_m1()).ln() };
    }
    if epsilon == f64::INFINITY {
        return f64::NEG_INFINITY;
    }
    let near = epsilon / mu - 0.5 * mu;
    if near < -4.0 {
        // δ is near 1: the complement is the small number.
        let far = epsilon / mu + 0.5 * mu;
        let complement = cdf(near) + (epsilon + ln_survival(far)).exp();
        return (-complement).ln_1p();
    }
    // With φ(far)·e^ε = φ(near) both terms share a factor, and the difference of Mills' ratios is an integral of
    // −mills′(x) = 1 − x·mills(x) > 0 when it would cancel.
    let difference =
        if mu < 0.25 * (1.0 + near.abs()) { integrate_mills_slope(near, mu) } else { mills(near) - mills(near + mu) };
    -0.5 * near * near - LN_SQRT_2PI + difference.ln()
}

/// ∫_near^{near+width} (1 − x·mills(x)) dx by Gauss–Legendre (5 points on 4 panels; the integrand is entire and
/// changes on the scale of `near`).
fn integrate_mills_slope(near: f64, width: f64) -> f64 {
    const NODES: [(f64, f64); 3] = [
        (0.0, 0.568_888_888_888_888_9),
        (0.538_469_310_105_683, 0.478_628_670_499_366_5),
        (0.906_179_845_938_664, 0.236_926_885_056_189_1),
    ];
    let panels = 4;
    let half = 0.5 * width / f64::from(panels);
    let mut total = 0.0;
    for panel in 0..panels {
        let centre = near + half * f64::from(2 * panel + 1);
        for (node, weight) in NODES {
            total += weight * mills_slope(centre + half * node);
            if node > 0.0 {
                total += weight * mills_slope(centre - half * node);
            }
        }
    }
    total * half
}

/// 1 − x·mills(x) > 0.
fn mills_slope(x: f64) -> f64 {
    if x < 6.0 {
        return 1.0 - x * mills(x);
    }
    // 1 − x/(x + r) = r/(x + r) with r = 1/(x + 2/(x + …)) of the continued fraction: no cancellation.
    let terms = (40.0 + 600.0 / x) as u32;
    let below = (2..=terms).rev().fold(x, |below, k| x + f64::from(k) / below);
    let r = 1.0 / below;
    r / (x + r)
}

/// The smallest ε ≥ 0 with δ(ε) ≤ `delta` for the Gaussian mechanism with parameter `mu`; bisection that ends on the
/// safe side.
pub fn epsilon_gaussian(mu: f64, delta: f64) -> f64 {
    if delta >= 1.0 || mu == 0.0 {
        return 0.0;
    }
    if delta <= 0.0 || mu == f64::INFINITY {
        return f64::INFINITY;
    }
    let goal = delta.ln();
    if ln_delta_gaussian(mu, 0.0) <= goal {
        return 0.0;
    }
    // δ(ε) ≤ P(L > ε), with L ~ N(μ²/2, μ²).
    let (mut low, mut high) = (0.0, mu * (0.5 * mu + survival_quantile(delta).max(0.0)));
    while ln_delta_gaussian(mu, high) > goal {
        high = high * 2.0 + f64::MIN_POSITIVE;
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if ln_delta_gaussian(mu, middle) > goal { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, want: f64, tolerance: f64) {
        assert!((got - want).abs() <= tolerance * want.abs(), "got {got:e}, want {want:e}");
    }

    // Reference values below: 40-digit arithmetic.
    #[test]
    fn tails_keep_their_digits() {
        close(survival(10.0), 7.619_853_024_160_526e-24, 1e-13);
        close(ln_survival(100.0), -5_005.524_208_694_205, 1e-14);
        close(ln_survival(-10.0), -7.619_853_024_160_526e-24, 1e-13);
        close(mills(0.0), 1.253_314_137_315_500_3, 1e-14);
        // Both sides of the switch to the continued fraction.
        close(mills(6.0 - 1e-9), mills(6.0 + 1e-9), 1e-9);
        close(mills_slope(6.0 - 1e-9), mills_slope(6.0 + 1e-9), 1e-8);
    }

    #[test]
    fn quantile_inverts_the_tail() {
        for p in [1e-300, 1e-100, 1e-20, 1e-5, 0.01, 0.02, 0.3, 0.5, 0.7, 0.99] {
            let x = survival_quantile(p);
            close(survival(x), p, 1e-12);
        }
        assert_eq!(survival_quantile(0.0), f64::INFINITY);
        assert_eq!(survival_quantile(1.0), f64::NEG_INFINITY);
        close(quantile(0.001), -3.090_232_306_167_813_5, 1e-14);
    }

    #[test]
    fn gaussian_curve_matches_its_formula_and_its_inverse() {
        for mu in [1e-9, 1e-3, 0.1, 1.0, 4.0, 30.0, 1000.0] {
            for delta in [1e-300, 1e-40, 1e-5, 0.1] {
                let epsilon = epsilon_gaussian(mu, delta);
                assert!(epsilon >= 0.0 && epsilon.is_finite());
                assert!(ln_delta_gaussian(mu, epsilon) <= f64::ln(delta));
                if epsilon > 0.0 {
                    assert!(ln_delta_gaussian(mu, epsilon * (1.0 - 1e-9)) > f64::ln(delta));
                }
            }
        }
        let (mu, epsilon) = (1.0_f64, 0.5_f64);
        let direct = cdf(mu / 2.0 - epsilon / mu) - epsilon.exp() * cdf(-mu / 2.0 - epsilon / mu);
        close(ln_delta_gaussian(mu, epsilon).exp(), direct, 1e-13);
    }
}
