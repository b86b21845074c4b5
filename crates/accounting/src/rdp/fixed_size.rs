//! Fixed-size sampling without replacement, replace-one: Wang, Balle & Kasiviswanathan 2019.

use crate::numeric::{ln_1p_exp, ln_expm1, ln_gamma, log_sum_exp, max_or_infinite};

/// ε(α) for α ≥ 2, from ln I_k of neighbouring sums' *difference* (doubled for encoded gradients).
///
/// ε(α) ≤ ln(1 + Σ_{j=2..α} C(α,j) γ^j B_j)/(α−1), γ = size/population, with B_j ≤ 2 I_j for every
/// mechanism and B_2 ≤ 4(I_2 − 1) (Theorem 9). For the Gaussian (given `noise_multiplier`) also B_j
/// ≤ 4√(D_{2⌊j/2⌋} D_{2⌈j/2⌉}) (Theorem 27), D_l the l-th central moment of the likelihood ratio.
pub(super) fn at_integers(rate: f64, log_moments: &[f64], noise_multiplier: Option<f64>) -> Vec<f64> {
    let last = log_moments.len() + 1;
    let even = noise_multiplier.map_or(Vec::new(), |sigma| even_central_moments(sigma, last));
    let ln_2 = std::f64::consts::LN_2;
    // ln B_j at index j − 2.
    let bounds: Vec<f64> = (2..=last)
        .map(|j| {
            let plain = ln_2 + log_moments[j - 2];
            let mut best = if j == 2 { plain.min(2.0 * ln_2 + ln_expm1(log_moments[0])) } else { plain };
            let (low, high) = (j / 2, j.div_ceil(2));
            if j > 2 && high <= even.len() {
                best = best.min(2.0 * ln_2 + 0.5 * (even[low - 1] + even[high - 1]));
            }
            best
        })
        .collect();
    let ln_rate = rate.ln() + f64::EPSILON;
    let ln_factorial: Vec<f64> = (0..=last).map(|n| ln_gamma(n as f64 + 1.0)).collect();
    let mut scratch = Vec::with_capacity(last);
    (2..=last)
        .map(|order| {
            scratch.clear();
            scratch.extend((2..=order).map(|j| {
                ln_factorial[order] - ln_factorial[j] - ln_factorial[order - j] + j as f64 * ln_rate + bounds[j - 2]
            }));
            let rounding = super::poisson::exponent_rounding(order as u32, ln_rate, log_moments);
            let amplified =
                ln_1p_exp(log_sum_exp(&scratch) + rounding) * (1.0 + super::poisson::rounding(order as u32));
            // Sampling never costs more than the unsampled release, so the plain bound holds too.
            let least = max_or_infinite(amplified.min(log_moments[order - 2]), f64::MIN_POSITIVE);
            least / (order as f64 - 1.0) * (1.0 + 8.0 * f64::EPSILON)
        })
        .collect()
}

/// ln D_{2m} for m = 1, 2, …, D_l = E_{x∼N(0,σ²)}[(r−1)^l], r = e^{(2x−1)/(2σ²)}. As a sum, Σ_i
/// (−1)^{l−i} C(l,i) e^{i(i−1)/2σ²}, it cancels; as an integral of a positive entire function, the
/// trapezoidal rule gives all digits.
fn even_central_moments(sigma: f64, last: usize) -> Vec<f64> {
    // Below, D_l exceeds half of I_l (the plain bound is smaller); above, steps hardly show.
    if !(0.3..=1e6).contains(&sigma) {
        return Vec::new();
    }
    let step = 0.25 * sigma;
    let (low, high) = (-14.0 * sigma, last as f64 + 1.0 + 14.0 * sigma);
    let count = ((high - low) / step).ceil() as usize;
    // (ln |r − 1|, ln weight) at each point.
    let points: Vec<(f64, f64)> = (0..=count)
        .map(|j| {
            let x = low + j as f64 * step;
            let exponent = (x - 0.5) / (sigma * sigma);
            let ln_excess = if exponent > 0.0 { ln_expm1(exponent) } else { (-exponent.exp_m1()).ln() };
            (ln_excess, -0.5 * (x / sigma).powi(2))
        })
        .collect();
    let ln_norm = (step / (sigma * std::f64::consts::TAU.sqrt())).ln();
    let mut scratch = Vec::with_capacity(points.len());
    (1..=last.div_ceil(2))
        .map(|m| {
            scratch.clear();
            scratch.extend(points.iter().map(|(e, w)| 2.0 * m as f64 * e + w));
            // Units in the last place of the largest parts of terms that count, x up to about 2m.
            let parts = 4.0 * m as f64 * (m as f64 + 14.0 * sigma) / (sigma * sigma);
            log_sum_exp(&scratch) + ln_norm + 1e-12 + 4.0 * f64::EPSILON * parts
        })
        .collect()
}
