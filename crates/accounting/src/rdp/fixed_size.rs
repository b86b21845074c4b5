//! Fixed-size sampling without replacement, replace-one.

use crate::numeric::{ln_1p_exp, ln_expm1, ln_gamma, log_sum_exp, max_or_infinite};

/// ε(α) of Gaussian noise at real `order`, from `poisson`, that of the Poisson-sampled Gaussian with
/// the same rate and `noise_multiplier`: the noise over the distance of neighbouring sums, which is
/// twice the bound of one vector. 0 < `rate` ≤ 1.
///
/// *Theorem.* Let r be the likelihood ratio of that Gaussian, (1−q)·N(0,1) + q·N(μ,1) to N(0,1). Then
/// e^{(α−1)·ε(α)} ≤ E[r^α] + min(α(α−1)/2·E[(r−1)²], (α−1)·E[(r−1)₊]).
///
/// *Proof.* For neighbours M, M′ and γ ≥ 1, H_γ(M‖M′) and H_γ(M′‖M) are at most h(γ) = E[(r−γ)₊]
/// (`pld/sampled.rs`). With f(t) = t^α, e^{(α−1)·D_α} − 1 = ∫₁^∞ f″(γ)·H_γ(M‖M′) dγ + ∫₁^∞ α(α−1)·γ^{−α−1}·
/// H_γ(M′‖M) dγ, the second part by H_{1/γ}(M‖M′) = 1 − 1/γ + H_γ(M′‖M)/γ. Under h the first is at most
/// E[r^α] − 1, and the second is E[g(r)·1_{r>1}], g(r) = r^{1−α} − 1 + (α−1)(r−1), which is below both terms
/// of the minimum. ∎ To leading order in q it is half of Wang, Balle & Kasiviswanathan 2019.
pub(super) fn gaussian(rate: f64, noise_multiplier: f64, order: f64, poisson: f64) -> f64 {
    let mu = noise_multiplier.recip();
    let unsampled = 0.5 * order * mu * mu;
    let square = (0.5 * order).ln() + 2.0 * rate.ln() + ln_expm1(mu * mu);
    let part = rate.ln() + libm::erf(mu / 8.0_f64.sqrt()).ln();
    let whole = (order - 1.0) * poisson;
    let more = (order - 1.0).ln() + square.min(part);
    let rounding = 8.0 * f64::EPSILON * (2.0 * rate.ln().abs() + whole + 8.0);
    let both = (whole + ln_1p_exp(more - whole + rounding)) * (1.0 + 8.0 * f64::EPSILON) / (order - 1.0);
    max_or_infinite(both.min(unsampled * (1.0 + 4.0 * f64::EPSILON)), f64::MIN_POSITIVE)
}

/// ε(α) for α ≥ 2 of any noise, from ln I_k of neighbouring sums' *difference* (doubled for encoded
/// gradients): Wang, Balle & Kasiviswanathan 2019, Theorem 9.
///
/// ε(α) ≤ ln(1 + Σ_{j=2..α} C(α,j) γ^j B_j)/(α−1), γ = size/population, with B_j ≤ 2 I_j and B_2 ≤
/// 4(I_2 − 1).
pub(super) fn at_integers(rate: f64, log_moments: &[f64]) -> Vec<f64> {
    let last = log_moments.len() + 1;
    let ln_2 = std::f64::consts::LN_2;
    // ln B_j at index j − 2.
    let bounds: Vec<f64> = (2..=last)
        .map(|j| {
            let plain = ln_2 + log_moments[j - 2];
            if j == 2 { plain.min(2.0 * ln_2 + ln_expm1(log_moments[0])) } else { plain }
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
