//! Random allocation, Gaussian noise: the two Rényi divergences of an epoch of t releases of which an example meets one.
//!
//! With R = (X₁ + … + X_t)/t, Xᵢ independent e^{μx − μ²/2} of standard normal x (`pld/allocation.rs`), ε(α) is the larger of ln E[R^α]/(α−1) and ln E[R^{1−α}]/(α−1).
//! - E[(X₁ + … + X_t)^α]/α! is the coefficient of z^α in (Σ_k E[X^k]·z^k/k!)^t, for whole α: sums of positive terms (Feldman & Shenfeld 2025, arXiv 2502.08202,
//!   sum over the same partitions).
//! - E[R^{−β}] = ∫ z^{β−1}·φ(z/t)^t dz/Γ(β), φ(z) = E[e^{−zX}], as R^{−β} = ∫ z^{β−1}·e^{−zR} dz/Γ(β): both integrals by the trapezoidal rule, in ln z and in x,
//!   which converges geometrically. In ln z the integrand is log-concave (φ is the tail of a sum of a normal and a Gumbel variable), so that what lies beyond the
//!   last point is at most a geometric series.

use crate::numeric::{ln_gamma, log_sum_exp, max_or_infinite};

/// Step in ln z: the integrand is about 1/√α wide, or wider.
const STEP: f64 = 0.05;
/// Below e^this z adds nothing that is seen; orders that need more than the other end are not known.
const LOW: f64 = -42.0;
const HIGH: f64 = 120.0;
/// Half a unit in the last place.
const UNIT: f64 = 0.5 * f64::EPSILON;
/// Beyond these μ the integrals take long, or ratios have no digits.
const MUS: std::ops::Range<f64> = 1e-7..6.0;

/// ε(α) of an epoch for α = 2..=`log_moments.len() + 1`, where ln E[X^k] are `log_moments`; infinite where it is not known. σ: noise over sensitivity.
pub(super) fn at_integers(batches: u64, noise_multiplier: f64, log_moments: &[f64]) -> Vec<f64> {
    if !MUS.contains(&noise_multiplier.recip()) {
        return vec![f64::INFINITY; log_moments.len()];
    }
    let remove = remove(batches, log_moments);
    let add = add(batches as f64, 1.0 / noise_multiplier, log_moments.len());
    remove.into_iter().zip(add).map(|(one, other)| max_or_infinite(one, other)).collect()
}

/// ln E[R^α]/(α−1).
fn remove(batches: u64, log_moments: &[f64]) -> Vec<f64> {
    let factorials: Vec<f64> = (0..log_moments.len() + 2).map(|n| ln_gamma(n as f64 + 1.0)).collect();
    let one: Vec<f64> = [0.0, 0.0].iter().chain(log_moments).zip(&factorials).map(|(moment, ln)| moment - ln).collect();
    let mut power = one.clone();
    let mut products = 2.0;
    for bit in (0..batches.ilog2()).rev() {
        power = product(&power, &power);
        products += 1.0;
        if batches >> bit & 1 == 1 {
            power = product(&power, &one);
            products += 1.0;
        }
    }
    let ln_t = (batches as f64).ln();
    (2..power.len())
        .map(|n| {
            let order = n as f64;
            let parts = log_moments[n - 2] + order * ln_t + factorials[n] + order + 8.0;
            (power[n] + factorials[n] - order * ln_t + 16.0 * UNIT * products * parts) / (order - 1.0)
        })
        .collect()
}

/// Coefficients of a product, in logarithms.
fn product(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut terms = Vec::with_capacity(a.len());
    (0..a.len())
        .map(|n| {
            terms.clear();
            terms.extend(a[..=n].iter().zip(b[..=n].iter().rev()).map(|(a, b)| a + b));
            log_sum_exp(&terms)
        })
        .collect()
}

/// ln E[R^{1−α}]/(α−1), for so many orders.
fn add(batches: f64, mu: f64, orders: usize) -> Vec<f64> {
    let ln_t = batches.ln();
    let mut logs: Vec<f64> = Vec::new();
    let mut at = LOW;
    let last = orders as f64;
    let exponent = |beta: f64, place: f64, log: f64| beta * place + log;
    let mut top = f64::NEG_INFINITY;
    while at < HIGH {
        let log = batches * log_laplace(at - ln_t, mu);
        logs.push(log);
        // Log-concave: once it falls from its top by so much, it falls on.
        let largest = exponent(last, at, log);
        top = top.max(largest);
        if largest < top - 60.0 {
            break;
        }
        at += STEP;
    }
    (1..=orders)
        .map(|beta| {
            let beta = beta as f64;
            let terms: Vec<f64> =
                logs.iter().enumerate().map(|(i, log)| exponent(beta, LOW + i as f64 * STEP, *log)).collect();
            let [.., before, end] = terms.as_slice() else { return f64::INFINITY };
            let sum = log_sum_exp(&terms);
            let ratio = (end - before).exp();
            // What lies beyond, in either direction, is relative to the sum.
            let beyond = (end - sum).exp() / (1.0 - ratio) + (terms[0] - sum).exp() / (beta * STEP);
            if ratio >= 1.0 || beyond > 1e-12 {
                return f64::INFINITY;
            }
            let ln_mean = sum + STEP.ln() - ln_gamma(beta) + 2.0 * beyond;
            (ln_mean.max(0.0) * (1.0 + 1e-9) + 1e-13 * (1.0 + beta)) / beta
        })
        .collect()
}

/// ln E[e^{−zX}] at ln z.
fn log_laplace(ln_z: f64, mu: f64) -> f64 {
    // exp(−x²/2 − e^{c + μx}) is largest where −μx = w, w·e^w = μ²·e^c: Newton's method on w + ln w.
    let shift = ln_z - 0.5 * mu * mu;
    let log = (shift + 2.0 * mu.ln()).max(-600.0);
    let mut w = if log > 1.0 { log - log.ln() } else { log.exp() };
    for _ in 0..6 {
        w *= (1.0 + log - w.ln()) / (1.0 + w);
    }
    let centre = -w / mu;
    let step = (0.35 / (1.0 + w).sqrt()).min(0.25 / mu);
    // To the left it falls as the normal density does, to the right faster; next to 0 there is no pull, and the integrand is all of the density.
    let (left, right) = (centre - 9.5, centre + 9.5 + mu);
    let count = ((right - left) / step).ceil() as usize;
    let (mut whole, mut lacking, mut exponents) = (0.0, 0.0, Vec::with_capacity(count + 1));
    for j in 0..=count {
        let x = left + j as f64 * step;
        let loss = (shift + mu * x).exp();
        let density = (-0.5 * x * x).exp();
        whole += density;
        lacking -= density * (-loss).exp_m1();
        exponents.push(-0.5 * x * x - loss);
    }
    let lacking = lacking / whole;
    if centre > -1.0 && lacking < 0.5 {
        return (-lacking).ln_1p();
    }
    log_sum_exp(&exponents) + (step * 0.398_942_280_401_432_7).ln()
}
