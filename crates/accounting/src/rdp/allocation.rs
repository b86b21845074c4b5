//! Random allocation: both Rényi divergences of an epoch of t releases, if one holds the example.
//!
//! With R = (X₁ + … + X_t)/t, Xᵢ independent ratios of mean 1 (`pld/allocation.rs`), ε(α) is the
//! larger of ln E[R^α]/(α−1) and ln E[R^{1−α}]/(α−1).
//! - E[(X₁ + … + X_t)^α]/α! is the coefficient of z^α in (Σ_k E[X^k]·z^k/k!)^t, for integer α: sums
//!   of positive terms (Feldman & Shenfeld 2025, arXiv 2502.08202, sum over the same partitions).
//! - E[R^{−β}] = ∫ z^{β−1}·φ(z/t)^t dz/Γ(β), φ(z) = E[e^{−zX}], as R^{−β} = ∫ z^{β−1}·e^{−zR}
//!   dz/Γ(β): by the trapezoidal rule in ln z, which converges geometrically.
//! - Gaussian noise: X = e^{μx − μ²/2} for standard normal x. φ is such an integral too, and all is
//!   log-concave in ln z (φ is the tail of a sum of a normal and a Gumbel variable), so the part
//!   beyond the last point is at most a geometric series.
//! - Other noise: φ is unknown, but I_k ≥ E[X^k]. Of all X ≥ 0 with mean 1 and E[X²] ≤ I₂, the one
//!   that is 0 or I₂ has the largest φ, 1 − (1 − e^{−zI₂})/I₂. As e^{−zx} ≤ (s/(ez))^s·x^{−s}, and
//!   E[X^{−s}] = E[X^{1+s}] for a symmetric pair, φ is also at most the least of
//!   (s/(ez))^s·I_{1+s}, linear in ln z for each s.

use crate::numeric::{ln_gamma, log_sum_exp, max_or_infinite};

/// Step in ln z; the integrand is at least about 1/√α wide.
const STEP: f64 = 0.05;
/// Below z = e^this nothing counts; orders that need more than [`NODES`] steps are unknown.
const LOW: f64 = -42.0;
const NODES: usize = 2040;
/// Half a unit in the last place.
const UNIT: f64 = 0.5 * f64::EPSILON;
/// Outside these μ the integrals take long, or the ratios have no digits.
const MUS: std::ops::Range<f64> = 1e-7..6.0;

/// ε(α) of an epoch for α = 2..=`log_moments.len() + 1`; infinite if unknown. `log_moments` are at
/// least ln E[X^k]; `mu` is sensitivity/σ of Gaussian noise.
pub(super) fn at_integers(batches: u64, mu: Option<f64>, log_moments: &[f64]) -> Vec<f64> {
    let add = match mu {
        Some(mu) if MUS.contains(&mu) => add(batches as f64, log_moments.len(), &|ln_z| (gaussian(ln_z, mu), true)),
        Some(_) => return vec![f64::INFINITY; log_moments.len()],
        None => add(batches as f64, log_moments.len(), &|ln_z| any(ln_z, log_moments)),
    };
    remove(batches, log_moments).into_iter().zip(add).map(|(one, other)| max_or_infinite(one, other)).collect()
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

/// Coefficients of a product of polynomials, in logarithms.
#[inline(never)]
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

/// ln E[R^{1−α}]/(α−1) for `orders` orders, from ln φ at ln z and whether it is log-concave beyond.
fn add(batches: f64, orders: usize, log_laplace: &dyn Fn(f64) -> (f64, bool)) -> Vec<f64> {
    let ln_t = batches.ln();
    let (mut logs, mut bend) = (Vec::new(), None);
    let mut top = f64::NEG_INFINITY;
    while logs.len() < NODES {
        let at = LOW + logs.len() as f64 * STEP;
        let (log, concave) = log_laplace(at - ln_t);
        logs.push(batches * log);
        // The largest order peaks last.
        let largest = orders as f64 * at + batches * log;
        top = top.max(largest);
        if concave {
            bend = bend.or(Some(logs.len() - 1));
            if largest < top - 60.0 {
                break;
            }
        }
    }
    let order = |beta: usize| {
        let beta = beta as f64;
        let terms: Vec<f64> = logs.iter().enumerate().map(|(i, log)| beta * (LOW + i as f64 * STEP) + log).collect();
        let [first, .., before, end] = terms.as_slice() else { return f64::INFINITY };
        let sum = log_sum_exp(&terms);
        let ratio = (end - before).exp();
        // The parts beyond both ends, and the error of the rule at a bend, relative to the sum.
        let beyond = (end - sum).exp() / (1.0 - ratio) + (first - sum).exp() / (beta * STEP);
        if !(ratio < 1.0 && beyond < 1e-12) {
            return f64::INFINITY;
        }
        let more = beyond + bend.map_or(0.0, |bend| (terms[bend] - sum).exp());
        let ln_mean = sum + STEP.ln() - ln_gamma(beta) + more;
        (ln_mean.max(0.0) * (1.0 + 1e-9) + 1e-13 * (1.0 + beta)) / beta
    };
    (1..=orders).map(order).collect()
}

/// An upper bound on ln E[e^{−zX}] at ln z for any noise, and true if the second bound is used.
fn any(ln_z: f64, log_moments: &[f64]) -> (f64, bool) {
    let second = log_moments.first().map_or(f64::INFINITY, |log| log.exp());
    let near = ((-ln_z.exp() * second).exp_m1() / second).ln_1p();
    let far = (1..).zip(log_moments).map(|(s, log)| log + f64::from(s) * (f64::from(s).ln() - 1.0 - ln_z));
    let far = far.fold(f64::INFINITY, f64::min);
    if far < near { (far, true) } else { (near, false) }
}

/// ln E[e^{−zX}] at ln z for Gaussian noise.
fn gaussian(ln_z: f64, mu: f64) -> f64 {
    // exp(−x²/2 − e^{c + μx}) peaks where −μx = w, w·e^w = μ²·e^c: Newton's method on w + ln w.
    let shift = ln_z - 0.5 * mu * mu;
    let log = (shift + 2.0 * mu.ln()).max(-600.0);
    let mut w = if log > 1.0 { log - log.ln() } else { log.exp() };
    for _ in 0..6 {
        w *= (1.0 + log - w.ln()) / (1.0 + w);
    }
    let centre = -w / mu;
    let step = (0.35 / (1.0 + w).sqrt()).min(0.25 / mu);
    // The integrand falls like the normal density on the left, faster on the right; near 0 it is
    // nearly all of the density.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// ln E[R^p] of the mean of two, by plain double sums over (weight, X) in `points`.
    fn of_two(points: &[(f64, f64)], power: f64) -> f64 {
        let inner =
            |(w, x): &(f64, f64)| -> f64 { points.iter().map(|(v, y)| w * v * (0.5 * (x + y)).powf(power)).sum() };
        points.iter().map(inner).sum::<f64>().ln()
    }

    /// Both directions of two Gaussian batches, to ten digits.
    #[test]
    fn two_gaussian_batches_by_quadrature() {
        for mu in [0.2, 1.0, 1.7] {
            let step = 0.02;
            let points: Vec<(f64, f64)> = (-700..700)
                .map(|i| step * f64::from(i))
                .map(|x| (step * (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt(), (mu * x - 0.5 * mu * mu).exp()))
                .collect();
            let moments: Vec<f64> = (2..=16).map(|k| 0.5 * mu * mu * f64::from(k * (k - 1))).collect();
            let (remove, add) = (remove(2, &moments), add(2.0, 15, &|ln_z| (gaussian(ln_z, mu), true)));
            for order in [2usize, 3, 5] {
                let beta = order as f64 - 1.0;
                let truth = [order as f64, -beta].map(|power| of_two(&points, power) / beta);
                for (found, truth) in [remove[order - 2], add[order - 2]].into_iter().zip(truth) {
                    assert!(
                        found >= truth * (1.0 - 1e-12) && found <= truth * (1.0 + 1e-8),
                        "μ {mu}, α {order}: {found} {truth}"
                    );
                }
            }
        }
    }

    /// A symmetric pair of few values, in epochs of many batches, against exact binomial sums.
    #[test]
    fn other_noise_is_bounded_by_its_moments() {
        for loss in [0.1f64, 0.8, 2.5] {
            // e^{±l} with Q-mass q for e^l; of the rest, a part has ratio 1.
            for middle in [0.0, 0.6] {
                let up = (1.0 - middle) / (1.0 + loss.exp());
                let down = 1.0 - middle - up;
                let moments: Vec<f64> = (2..=64)
                    .map(|k| (up * (f64::from(k) * loss).exp() + middle + down * (-f64::from(k) * loss).exp()).ln())
                    .collect();
                for batches in [2u64, 5, 40] {
                    let found = at_integers(batches, None, &moments);
                    let mut logs: Vec<(f64, f64)> = Vec::new();
                    let (t, ln) = (batches as f64, |n: u64| ln_gamma(n as f64 + 1.0));
                    for i in 0..=batches {
                        for j in 0..=batches - i {
                            let k = batches - i - j;
                            let power = |p: f64, n: u64| if n == 0 { 0.0 } else { n as f64 * p.ln() };
                            let log =
                                ln(batches) - ln(i) - ln(j) - ln(k) + power(up, i) + power(down, j) + power(middle, k);
                            let mean = (i as f64 * loss.exp() + j as f64 * (-loss).exp() + k as f64) / t;
                            logs.push((log, mean.ln()));
                        }
                    }
                    for order in [2usize, 3, 8, 30] {
                        let beta = order as f64 - 1.0;
                        let truth = [order as f64, -beta].map(|power| {
                            log_sum_exp(&logs.iter().map(|(log, mean)| log + power * mean).collect::<Vec<_>>()) / beta
                        });
                        let truth = truth[0].max(truth[1]);
                        assert!(
                            found[order - 2] >= truth * (1.0 - 1e-9),
                            "l {loss}, t {batches}, α {order}: {} {truth}",
                            found[order - 2]
                        );
                        if batches == 40 && order <= 3 && loss < 1.0 {
                            assert!(
                                found[order - 2] <= 1.06 * truth,
                                "l {loss}, t {batches}, α {order}: {} {truth}",
                                found[order - 2]
                            );
                        }
                    }
                }
            }
        }
    }
}
