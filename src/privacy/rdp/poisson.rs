//! Poisson sampling: Lemma 4 at integer orders, quadrature at fractional orders of the Gaussian.

use std::sync::LazyLock;

use super::curve::LAST_ORDER;
use crate::privacy::numeric::{dearer, ln_1p_exp, ln_expm1, ln_gamma, log_sum_exp, ratio_excess};

/// What seven roundings may have taken from a bound, and one more.
const ROUNDED_UP: f64 = 1.0 + 4.0 * f64::EPSILON;

/// What rounding may have taken from ln of a sum over an order's binomial coefficients, relative, where that is above 1: terms are off by up to six units
/// in the last place of ln α!, which is 1.2e3, 6.1e3 and 1.5e6 at the largest orders. Below, and where other terms are larger: [`exponent_rounding`].
pub(super) fn rounding(order: u32) -> f64 {
    match order {
        ..=256 => 2e-12,
        257..=1024 => 8e-12,
        _ => 2e-9,
    }
}

/// What rounding may have taken from the exponent of a sum over an order's binomial coefficients: units in the last place of its largest parts, which are
/// α·|ln q|, α·|ln(1−q)|, ln α! and ln I_α.
pub(super) fn exponent_rounding(order: u32, ln_rates: f64, log_moments: &[f64]) -> f64 {
    let largest = log_moments.get(order as usize - 2).copied().unwrap_or(f64::INFINITY);
    4.0 * f64::EPSILON * (f64::from(order) * ln_rates.abs() + 3.0 * ln_factorial(order) + largest + 1.0)
}

static LN_FACTORIAL: LazyLock<Vec<f64>> =
    LazyLock::new(|| (0..=2048u32).map(|n| ln_gamma(f64::from(n) + 1.0)).collect());

fn ln_factorial(n: u32) -> f64 {
    LN_FACTORIAL.get(n as usize).copied().unwrap_or_else(|| ln_gamma(f64::from(n) + 1.0))
}

/// ln(I_k − 1) + k·ln(q/(1−q)) − ln k!: of Lemma 4's terms, what is the same at every α.
fn shares(q: f64, log_moments: &[f64]) -> Vec<f64> {
    let odds = q.ln() - (-q).ln_1p();
    (2u32..).zip(log_moments).map(|(k, &l)| ln_expm1(l) + f64::from(k) * odds - ln_factorial(k)).collect()
}

/// ε(α) of a Poisson-sampled release at one integer α ≥ 2, from the [`shares`] of k = 2..=α, which these ln I_k made.
///
/// Lemma 4: A = Σ_k C(α,k) q^k (1−q)^{α−k} I_k, ε = ln A/(α−1) (the paper's 1/(1−α) is a slip). As the binomial weights add to 1
/// and I_0 = I_1 = 1, A − 1 = Σ_{k≥2} C(α,k) q^k (1−q)^{α−k} (I_k − 1): no cancellation.
fn lemma_4(q: f64, order: u32, log_moments: &[f64], shares: &[f64], scratch: &mut Vec<f64>) -> f64 {
    scratch.clear();
    scratch.extend((2..=order).zip(shares).map(|(k, share)| share - ln_factorial(order - k)));
    let whole = ln_factorial(order) + f64::from(order) * (-q).ln_1p();
    let error = exponent_rounding(order, q.ln().abs() + (-q).ln_1p().abs(), log_moments);
    // Of what is below all numbers, the smallest stands for it.
    let ln_a = dearer(ln_1p_exp(whole + log_sum_exp(scratch) + error), f64::MIN_POSITIVE);
    ln_a * (1.0 + rounding(order)) / f64::from(order - 1)
}

/// As [`lemma_4`], from ln I_k; rates 0 and 1 exactly.
pub(super) fn at_integer(q: f64, order: u32, log_moments: &[f64]) -> f64 {
    if q == 0.0 {
        return 0.0;
    }
    if q == 1.0 {
        return log_moments[order as usize - 2] / f64::from(order - 1) * ROUNDED_UP;
    }
    lemma_4(q, order, log_moments, &shares(q, log_moments), &mut Vec::new())
}

/// ε(α) for α = 2..=`log_moments.len() + 1`.
pub(super) fn at_integers(q: f64, log_moments: &[f64]) -> Vec<f64> {
    let orders = 2..=log_moments.len() as u32 + 1;
    if q == 0.0 {
        return vec![0.0; log_moments.len()];
    }
    if q == 1.0 {
        return orders.map(|a| log_moments[a as usize - 2] / f64::from(a - 1) * ROUNDED_UP).collect();
    }
    let shares = shares(q, log_moments);
    let mut scratch = Vec::with_capacity(LAST_ORDER as usize);
    orders.map(|a| lemma_4(q, a, log_moments, &shares, &mut scratch)).collect()
}

/// ε(α) where Poisson sampling draws one vector or another in its place, from the curve of one that is there or not: D_{2α−1} = `below`,
/// D_{2α} = `above`. From the sum with the first to the sum with neither, and from there to the sum with the second: Mironov 2017,
/// Proposition 11, with p = (2α−1)/α. It needs both directions of the curve, which Lemma 4 has, and holds at any real order.
///
/// (Lemma 4 with the distance of the two vectors is no bound: there the rest of the mixture is one of them, here it is neither.)
pub(super) fn exchanged(order: f64, below: f64, above: f64) -> f64 {
    (2.0 * order / (2.0 * order - 1.0) * below + above) * (1.0 + 4.0 * f64::EPSILON)
}

/// The rule's step: both error terms, e^{−2π²σ²/h²} and e^{−2π²σ²·σ²…/h}, are below 1e-15 with it.
fn gaussian_step(sigma: f64) -> f64 {
    (0.45 * sigma * sigma).min(0.45 * sigma)
}

/// How many terms [`gaussian_at`] adds up, from −12σ to α + 12σ.
pub(super) fn gaussian_terms(sigma: f64, order: f64) -> f64 {
    (order + 24.0 * sigma) / gaussian_step(sigma)
}

/// ε(α) of the Poisson-sampled Gaussian at any real order α > 1, where that is worth its time: Mironov, Talwar & Zhang 2019, eq. 5,
/// A − 1 = E_{x∼N(0,σ²)}[(1+y)^α − 1 − αy], y = q(e^{(2x−1)/(2σ²)} − 1), by the trapezoidal rule, which converges geometrically
/// (the integrand is analytic in |Im x| < πσ², where 1 + y has its zeros). σ: noise over sensitivity.
pub(super) fn gaussian_at(q: f64, sigma: f64, order: f64) -> Option<f64> {
    if q == 0.0 {
        return Some(0.0);
    }
    if q == 1.0 {
        return Some(0.5 * order / sigma / sigma * ROUNDED_UP);
    }
    if !(0.05..=1e6).contains(&sigma) || !(1.01..=64.0).contains(&order) || q < 1e-290 {
        return None;
    }
    let variance = sigma * sigma;
    let (low, step) = (-12.0 * sigma, gaussian_step(sigma));
    let count = gaussian_terms(sigma, order).ceil() as usize;
    let (ln_q, rest) = (q.ln(), 1.0 - q);
    let mut logs = Vec::with_capacity(count + 1);
    for j in 0..=count {
        let x = low + j as f64 * step;
        let exponent = (x - 0.5) / variance;
        // ln(1 + y): the likelihood ratio of mixture and base.
        let rho = if exponent > 30.0 {
            exponent + ln_q + (rest / q * (-exponent).exp()).ln_1p()
        } else {
            (q * exponent.exp_m1()).ln_1p()
        };
        let ln_excess = if (order - 1.0) * rho > 1.0 && order * rho > 30.0 {
            order * rho + ((order - 1.0) * (-order * rho).exp() - order * (-(order - 1.0) * rho).exp()).ln_1p()
        } else {
            ratio_excess(order, rho).ln()
        };
        logs.push(ln_excess - 0.5 * x * x / variance);
    }
    // Units in the last place of the largest parts of the terms that count, whose x is at most about α.
    let rounding = 4.0 * f64::EPSILON * (order * ln_q.abs() + 4.0 * order * order / variance + 300.0);
    let ln_a = ln_1p_exp(log_sum_exp(&logs) + (step / (sigma * std::f64::consts::TAU.sqrt())).ln() + rounding);
    Some(dearer(ln_a, f64::MIN_POSITIVE) * (1.0 + 1e-11) / (order - 1.0))
}
