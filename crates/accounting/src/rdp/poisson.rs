//! Poisson sampling: Lemma 4 at integer orders; quadrature at fractional orders for the Gaussian.

use std::sync::LazyLock;

use super::orders::LAST_ORDER;
use crate::numeric::{ln_1p_exp, ln_expm1, ln_gamma, log_sum_exp, max_or_infinite, ratio_excess, sampled_loss};

/// Factor that covers eight roundings.
const ROUNDED_UP: f64 = 1.0 + 4.0 * f64::EPSILON;

/// Relative rounding error of ln of a sum over binomial coefficients, where that is above 1: terms
/// are off by up to six units in the last place of ln α!, which is 1.2e3, 6.1e3 and 1.5e6 at the
/// largest orders. For smaller or other terms see [`exponent_rounding`].
pub(super) fn rounding(order: u32) -> f64 {
    match order {
        ..=256 => 2e-12,
        257..=1024 => 8e-12,
        _ => 2e-9,
    }
}

/// Rounding error of the exponent of a sum over binomial coefficients: units in the last place of
/// its largest parts, α·|ln q|, α·|ln(1−q)|, ln α! and ln I_α.
pub(super) fn exponent_rounding(order: u32, ln_rates: f64, log_moments: &[f64]) -> f64 {
    let largest = log_moments.get(order as usize - 2).copied().unwrap_or(f64::INFINITY);
    exponent_rounding_below(order, ln_rates, largest)
}

/// The same, given ln I_α.
fn exponent_rounding_below(order: u32, ln_rates: f64, largest: f64) -> f64 {
    4.0 * f64::EPSILON * (f64::from(order) * ln_rates.abs() + 3.0 * ln_factorial(order) + largest + 1.0)
}

static LN_FACTORIAL: LazyLock<Vec<f64>> =
    LazyLock::new(|| (0..=2048u32).map(|n| ln_gamma(f64::from(n) + 1.0)).collect());

fn ln_factorial(n: u32) -> f64 {
    LN_FACTORIAL.get(n as usize).copied().unwrap_or_else(|| ln_gamma(f64::from(n) + 1.0))
}

/// ln(I_k − 1) + k·ln(q/(1−q)) − ln k!: the part of Lemma 4's terms that is the same at every α.
fn ln_mixture_terms(q: f64, log_moments: &[f64]) -> Vec<f64> {
    let odds = q.ln() - (-q).ln_1p();
    (2u32..).zip(log_moments).map(|(k, &l)| ln_expm1(l) + f64::from(k) * odds - ln_factorial(k)).collect()
}

/// ε(α) of a Poisson-sampled release at one integer α ≥ 2, from the [`shares`] of these ln I_k.
///
/// Lemma 4: A = Σ_k C(α,k) q^k (1−q)^{α−k} I_k, ε = ln A/(α−1) (the paper's 1/(1−α) is a slip). As
/// the weights add up to 1 and I_0 = I_1 = 1, A − 1 = Σ_{k≥2} C(α,k) q^k (1−q)^{α−k} (I_k − 1).
fn lemma_4(q: f64, order: u32, log_moments: &[f64], shares: &[f64], scratch: &mut Vec<f64>) -> f64 {
    scratch.clear();
    scratch.extend((2..=order).zip(shares).map(|(k, share)| share - ln_factorial(order - k)));
    let whole = ln_factorial(order) + f64::from(order) * (-q).ln_1p();
    let error = exponent_rounding(order, q.ln().abs() + (-q).ln_1p().abs(), log_moments);
    // A positive value that underflows becomes the smallest normal f64.
    let ln_a = max_or_infinite(ln_1p_exp(whole + log_sum_exp(scratch) + error), f64::MIN_POSITIVE);
    ln_a * (1.0 + rounding(order)) / f64::from(order - 1)
}

/// As [`lemma_4`], from ln I_k; exact for rates 0 and 1.
pub(super) fn at_integer(q: f64, order: u32, log_moments: &[f64]) -> f64 {
    if q == 0.0 {
        return 0.0;
    }
    if q == 1.0 {
        return log_moments[order as usize - 2] / f64::from(order - 1) * ROUNDED_UP;
    }
    lemma_4(q, order, log_moments, &ln_mixture_terms(q, log_moments), &mut Vec::new())
}

/// As [`at_integer`] for Gaussian noise, ln I_k = k(k−1)/(2σ²), computing only the terms that
/// count: mostly some hundreds of a hundred thousand. σ: noise over sensitivity; α ≥ 2.
pub(super) fn gaussian_at_integer(q: f64, sigma: f64, order: u32) -> f64 {
    let half_square = 0.5 / sigma / sigma;
    let log_moment = |k: u32| f64::from(k) * f64::from(k - 1) * half_square;
    if q == 0.0 {
        return 0.0;
    }
    if q == 1.0 {
        return log_moment(order) / f64::from(order - 1) * ROUNDED_UP;
    }
    let odds = q.ln() - (-q).ln_1p();
    let term = |k: u32| ln_expm1(log_moment(k)) + f64::from(k) * odds - ln_factorial(k) - ln_factorial(order - k);
    let mut terms = Terms { term: &term, half_square, counted: vec![term(order)], top: f64::NEG_INFINITY };
    if order > 2 {
        terms.counted.push(term(2));
    }
    terms.top = terms.counted.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    terms.count(3, order - 1);
    let whole = ln_factorial(order) + f64::from(order) * (-q).ln_1p();
    let error = exponent_rounding_below(order, q.ln().abs() + (-q).ln_1p().abs(), log_moment(order));
    let ln_a = max_or_infinite(ln_1p_exp(whole + log_sum_exp(&terms.counted) + error), f64::MIN_POSITIVE);
    ln_a * (1.0 + rounding(order)) / f64::from(order - 1)
}

/// Terms t(k) of Lemma 4, without those negligible against the largest.
struct Terms<'a> {
    term: &'a dyn Fn(u32) -> f64,
    half_square: f64,
    counted: Vec<f64>,
    /// The largest counted term.
    top: f64,
}

impl Terms<'_> {
    /// Gap in ln below which even 2^17 terms, and the bound's rounding, are beyond the last digit.
    const NOTHING: f64 = 60.0;
    /// Up to this many terms are counted without checking their bound.
    const FEW: u32 = 64;

    /// Counts the terms of `first..=last`, skipping negligible ranges.
    ///
    /// h(k) = t(k) − k²/(2σ²) is concave: −ln k! and −ln (α−k)! are, k·ln(q/(1−q)) is linear, and
    /// with x = k(k−1)/(2σ²) the second derivative of ln(eˣ − 1) is at most 1/σ², as
    /// (1 + 1/(eˣ−1))·x′² ≥ x′²/x > 2x″. So a line through two neighbours at one end of a range is
    /// above h in all of it; that line plus the convex k²/(2σ²) is largest at an end.
    fn count(&mut self, first: u32, last: u32) {
        if first > last {
            return;
        }
        let term = self.term;
        if last - first < Self::FEW {
            for k in first..=last {
                let value = term(k);
                self.top = self.top.max(value);
                self.counted.push(value);
            }
            return;
        }
        let square = |k: u32| f64::from(k) * f64::from(k) * self.half_square;
        let h = |k: u32| term(k) - square(k);
        let width = f64::from(last - first);
        let (low, high) = (h(first), h(last));
        let from_below = low + (low - h(first - 1)) * width + square(last);
        let from_above = high + (high - h(last + 1)) * width + square(first);
        let (at_first, at_last) = (low + square(first), high + square(last));
        self.top = self.top.max(at_first).max(at_last);
        let bound = at_first.max(from_below).min(at_last.max(from_above));
        // Written so that a NaN bound skips nothing.
        if bound < self.top - Self::NOTHING {
            return;
        }
        let middle = first + (last - first) / 2;
        self.count(first, middle);
        self.count(middle + 1, last);
    }
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
    let shares = ln_mixture_terms(q, log_moments);
    let mut scratch = Vec::with_capacity(LAST_ORDER as usize);
    orders.map(|a| lemma_4(q, a, log_moments, &shares, &mut scratch)).collect()
}

/// ε(α) if Poisson sampling draws one vector or another, from the curve of one that is present or
/// absent: D_{2α−1} = `below`, D_{2α} = `above`. By way of the sum with neither: Mironov 2017,
/// Proposition 11, with p = (2α−1)/α. Needs both directions of the curve, which Lemma 4 gives, and
/// holds at any real order and for any noise. (Lemma 4 with the vectors' distance is no bound: there one of the
/// vectors is the rest of the mixture; here neither is.)
pub(super) fn replace_one(order: f64, below: f64, above: f64) -> f64 {
    (2.0 * order / (2.0 * order - 1.0) * below + above) * (1.0 + 4.0 * f64::EPSILON)
}

/// Step at which both error terms, e^{−2π²σ²/h²} and e^{−2π²σ²·σ²…/h}, are below 1e-15.
fn gaussian_step(sigma: f64) -> f64 {
    (0.45 * sigma * sigma).min(0.45 * sigma)
}

/// Number of terms of [`gaussian_at`], from −12σ to α + 12σ.
pub(super) fn gaussian_terms(sigma: f64, order: f64) -> f64 {
    (order + 24.0 * sigma) / gaussian_step(sigma)
}

/// ε(α) of the Poisson-sampled Gaussian at real α > 1, where affordable. Mironov, Talwar & Zhang
/// 2019, eq. 5: A − 1 = E_{x∼N(0,σ²)}[(1+y)^α − 1 − αy], y = q(e^{(2x−1)/(2σ²)} − 1), by the
/// trapezoidal rule, which converges geometrically (the integrand is analytic in |Im x| < πσ²,
/// where 1 + y has its zeros). σ: noise over sensitivity.
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
        // ln(1 + y): log likelihood ratio of mixture and base.
        let rho = if exponent > 30.0 {
            exponent + ln_q + (rest / q * (-exponent).exp()).ln_1p()
        } else {
            (q * exponent.exp_m1()).ln_1p()
        };
        logs.push(ln_ratio_excess(order, rho) - 0.5 * x * x / variance);
    }
    // Units in the last place of the largest parts of the terms that count, with x up to about α.
    let rounding = 4.0 * f64::EPSILON * (order * ln_q.abs() + 4.0 * order * order / variance + 300.0);
    let ln_a = ln_1p_exp(log_sum_exp(&logs) + (step / (sigma * std::f64::consts::TAU.sqrt())).ln() + rounding);
    Some(max_or_infinite(ln_a, f64::MIN_POSITIVE) * (1.0 + 1e-11) / (order - 1.0))
}

/// Most terms of [`exchanged_gaussian`], over all orders: about 50 ms.
const MOST_EXCHANGED: f64 = 2e6;

/// ε(α) of the Poisson-sampled Gaussian if one vector replaces another, at real orders α > 1 in
/// ascending order, where affordable: the divergence of the pair of `pld/exchange.rs`,
/// (1−q)·N(0,1) + q·N(μ,1) and its mirror image, which dominates all others. μ: 1/σ, for noise
/// over the bound of one vector.
///
/// A − 1 = ∫ (p/q)^α − 1 − α(p/q − 1) dQ by the trapezoidal rule. At height d = θ/μ above the real
/// line, θ ≤ 1, |1−q+q·y·e^{iθ}| is between cos(θ/2) and 1 times 1−q+q·y, so the integrand there is
/// at most e^{d²/2}(A·cos(θ/2)^{1−α} + 1 + 2α), and the rule's error e^{−2πd/h} times twice that.
/// Beyond the ends the integrand falls by e^{−13·13/2}.
pub(super) fn exchanged_gaussian(q: f64, sigma: f64, orders: &[f64]) -> Option<Vec<f64>> {
    let (mu, last) = (sigma.recip(), *orders.last()?);
    if !(1e-6..=100.0).contains(&mu) || !(1e-12..1.0).contains(&q) || orders[0] < 1.01 {
        return None;
    }
    let height = mu.recip().min(8.0);
    let turned = -(0.5 * mu * height).cos().ln();
    let digits = 41.0 - 2.0 * (q * mu.min(1.0)).ln() + (2.0 * last).ln_1p();
    let step = std::f64::consts::TAU * height / (digits + 0.5 * height * height + last * turned);
    let low = -mu - 13.0;
    let count = ((2.0 * last * mu + 13.0 - low) / step).ceil();
    if count * orders.len() as f64 > MOST_EXCHANGED {
        return None;
    }
    // ρ = ln p/q and ln dQ.
    let points: Vec<(f64, f64)> = (0..=count as usize)
        .map(|j| {
            let x = low + j as f64 * step;
            // ln of each mixture's ratio to N(0, 1).
            let [up, down] = [mu * x, -mu * x].map(|shift| sampled_loss(q, shift - 0.5 * mu * mu));
            (up - down, down - 0.5 * x * x)
        })
        .collect();
    let width = (step / std::f64::consts::TAU.sqrt()).ln();
    let mut logs = Vec::with_capacity(points.len());
    let at = |order: &f64| {
        logs.clear();
        logs.extend(points.iter().map(|(rho, weight)| weight + ln_ratio_excess(*order, *rho)));
        // Units in the last place of the largest parts of the terms that count, with x up to 2αμ.
        let rounding = 4.0 * f64::EPSILON * (order * q.ln().abs() + 8.0 * (order * mu).powi(2) + 300.0);
        let ln_a = ln_1p_exp(log_sum_exp(&logs) + width + rounding);
        max_or_infinite(ln_a, f64::MIN_POSITIVE) * (1.0 + 1e-11) / (order - 1.0)
    };
    Some(orders.iter().map(at).collect())
}

/// ln of [`ratio_excess`], which may exceed the range of f64.
fn ln_ratio_excess(order: f64, rho: f64) -> f64 {
    if (order - 1.0) * rho > 1.0 && order * rho > 30.0 {
        order * rho + ((order - 1.0) * (-order * rho).exp() - order * (-(order - 1.0) * rho).exp()).ln_1p()
    } else {
        ratio_excess(order, rho).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum of all terms.
    fn whole_sum(q: f64, sigma: f64, order: u32) -> f64 {
        let half_square = 0.5 / sigma / sigma;
        let moments: Vec<f64> = (2..=order).map(|k| f64::from(k) * f64::from(k - 1) * half_square).collect();
        at_integer(q, order, &moments)
    }

    #[test]
    fn skipped_terms_of_large_orders_are_negligible() {
        for sigma in [0.3, 1.0, 8.0, 30.0, 90.0, 1e3, 1e5, 1e30] {
            for q in [0.0, 1e-200, 1e-6, 256.0 / 60_000.0, 0.1, 0.5, 0.97, 1.0] {
                for order in [2, 3, 4, 67, 300, 2047, 9001] {
                    let (all, quick) = (whole_sum(q, sigma, order), gaussian_at_integer(q, sigma, order));
                    let off = (quick - all).abs();
                    assert!(off <= 1e-12 * all || all == quick, "σ = {sigma}, q = {q}, α = {order}: {quick} {all}");
                }
            }
        }
    }

    #[test]
    fn a_large_order_costs_what_counts() {
        for (sigma, q) in [(1e3, 256.0 / 60_000.0), (30.0, 256.0 / 60_000.0), (1e4, 0.5), (200.0, 1e-3)] {
            let looked = std::cell::Cell::new(0u32);
            let order = 1 << 17;
            let half_square = 0.5 / sigma / sigma;
            let term = |k: u32| {
                looked.set(looked.get() + 1);
                let x = f64::from(k) * f64::from(k - 1) * half_square;
                let odds = f64::ln(q) - (-q).ln_1p();
                ln_expm1(x) + f64::from(k) * odds - ln_factorial(k) - ln_factorial(order - k)
            };
            let top = term(2).max(term(order));
            Terms { term: &term, half_square, counted: vec![], top }.count(3, order - 1);
            assert!(looked.get() < 12_000, "σ = {sigma}, q = {q}: {} terms", looked.get());
        }
    }
}
