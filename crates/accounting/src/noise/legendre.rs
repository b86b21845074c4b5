//! ln P_n(1 + w) of the Legendre polynomials for all n at once (I_k of Cauchy and hyperbolic secant
//! noise is P_{k−1}), and Gauss–Legendre quadrature.

use std::sync::LazyLock;

/// Fills `out[j]` = ln P_{j+1}(1 + w), w ≥ 0.
///
/// Takes (n+1)P_{n+1} = (2n+1)x·P_n − n·P_{n−1}, x = 1 + w, for the differences d_n = P_n −
/// P_{n−1}, (n+1)·d_{n+1} = n·d_n + (2n+1)·w·P_n: all terms are positive, so P_n − 1 = Σ d keeps
/// its digits.
pub(super) fn log_legendre(w: f64, out: &mut [f64]) {
    if !w.is_finite() {
        out.fill(f64::INFINITY);
        return;
    }
    const FOLD: f64 = 1e200;
    // P_n − 1 and d_n, both divided by e^shift; `one` is 1 on the same scale.
    let (mut excess, mut difference, mut one, mut shift) = (0.0f64, 0.0f64, 1.0f64, 0.0f64);
    for (n, value) in out.iter_mut().enumerate() {
        let n = n as f64;
        difference = (n * difference + (2.0 * n + 1.0) * w * (excess + one)) / (n + 1.0);
        excess += difference;
        *value = if shift == 0.0 { excess.ln_1p() } else { shift + (excess + one).ln() };
        if excess > FOLD {
            // Without this, two steps of growth would overflow for a w as large as 1e300.
            let scale = excess;
            (excess, difference, one) = (1.0, difference / scale, one / scale);
            shift += scale.ln();
        }
    }
    // A product can overflow for w near the end of f64; P_n ≤ (2x)^n then serves.
    let bound = (2.0 * (1.0 + w)).min(f64::MAX).ln();
    for (n, value) in out.iter_mut().enumerate() {
        if !value.is_finite() {
            *value = (n as f64 + 1.0) * bound;
        }
    }
}

/// A node of a quadrature rule on [−1, 1].
pub(super) struct Point {
    pub at: f64,
    pub weight: f64,
    pub log_weight: f64,
}

/// Gauss–Legendre rules of 3, 4, 5, 6, 8, 10 and 16 points.
pub(super) fn gauss_legendre(points: usize) -> &'static [Point] {
    const COUNTS: [usize; 7] = [3, 4, 5, 6, 8, 10, 16];
    static RULES: LazyLock<[Vec<Point>; COUNTS.len()]> = LazyLock::new(|| {
        COUNTS.map(|n| {
            (0..n)
                .map(|i| {
                    // Newton's method on P_n, from the usual cosine.
                    let mut x = (std::f64::consts::PI * (i as f64 + 0.75) / (n as f64 + 0.5)).cos();
                    let mut slope = 1.0;
                    for _ in 0..50 {
                        let (mut before, mut now) = (1.0, x);
                        for k in 2..=n {
                            let k = k as f64;
                            (before, now) = (now, ((2.0 * k - 1.0) * x * now - (k - 1.0) * before) / k);
                        }
                        slope = n as f64 * (x * now - before) / (x * x - 1.0);
                        let step = now / slope;
                        x -= step;
                        if step.abs() < 1e-16 {
                            break;
                        }
                    }
                    let weight = 2.0 / ((1.0 - x * x) * slope * slope);
                    Point { at: x, weight, log_weight: weight.ln() }
                })
                .collect()
        })
    });
    &RULES[COUNTS.partition_point(|n| *n < points).min(COUNTS.len() - 1)]
}
