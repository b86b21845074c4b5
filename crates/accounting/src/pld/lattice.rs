//! Privacy loss distributions on a uniform grid.
//!
//! A [`Lattice`] represents a pair (P, Q) by the P-mass at each loss l = k·step and at l = +∞; the
//! Q-mass is e^{−l} times the P-mass. Mass may only be moved in ways that raise δ(ε) = Σ
//! p(l)·(1 − e^{ε−l})₊ + p(∞) for *every* ε, alone and composed: adding mass, moving it to a larger
//! loss, or splitting it between two losses keeping P- and Q-mass. The split is safe because
//! (1 − e^ε·y)₊ is convex in y = e^{−l} (connect-the-dots: Doroshenko, Ghazi, Kamath, Kumar &
//! Manurangsi 2022).

use super::{
    gap::Raised,
    work::{CUMULANT_POINT, MOMENT_POINT},
};

/// P-mass by loss. The mass at index i is `weight[i]`·exp(`log_scale` − `tilt`·l): tilted, so that
/// masses far below the smallest f64 keep their digits.
#[derive(Clone, Debug)]
pub(super) struct Lattice {
    /// The loss of `weight[0]` is `first`·`step`.
    pub first: i64,
    pub step: f64,
    pub tilt: f64,
    pub log_scale: f64,
    pub weight: Vec<f64>,
    /// P-mass at infinite loss.
    pub infinity: f64,
    pub raised: Raised,
}

/// ln Σ p·e^{λl}, with mean and variance of l under the tilted masses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cumulants {
    pub log_moment: f64,
    pub mean: f64,
    pub variance: f64,
}

/// Elements between two calls of exp in a sum of powers; limits rounding, yet is fast.
const BLOCK: usize = 128;
/// Most grid points on either side of 0; callers choose steps that need fewer. Losses beyond become
/// infinite above and move up below, which is always safe.
pub(super) const MOST_POINTS: i64 = 1 << 21;
/// Half a unit in the last place.
pub(super) const UNIT: f64 = 0.5 * f64::EPSILON;

impl Lattice {
    pub fn untilted(first: i64, step: f64, weight: Vec<f64>, infinity: f64) -> Self {
        Self { first, step, tilt: 0.0, log_scale: 0.0, weight, infinity, raised: Raised::by_split(step) }
    }

    pub fn loss(&self, index: usize) -> f64 {
        (self.first + index as i64) as f64 * self.step
    }

    pub fn last_loss(&self) -> f64 {
        self.loss(self.weight.len() - 1)
    }

    /// True if all P-mass is at infinite loss.
    pub fn is_infinite(&self) -> bool {
        self.weight.iter().all(|weight| *weight <= 0.0)
    }

    /// Rounding error of ln Σ p·e^{λl}, and of ln of [`Lattice::tilted`]'s weights times that sum:
    /// that of the exponents' parts, plus the lengths of block sums and of products of sixteen.
    pub fn rounding(&self, lambda: f64) -> f64 {
        let growth = (lambda - self.tilt).abs() * self.step;
        let reach = growth * (self.weight.len() as f64 + self.first.unsigned_abs() as f64);
        let blocks = (self.weight.len() / BLOCK) as f64;
        UNIT * (4.0 * BLOCK as f64 + 2.0 * blocks + 8.0 * reach + 4.0 * self.log_scale.abs())
    }

    /// Drops zero weights at both ends.
    pub fn trim(&mut self) {
        let Some(low) = self.weight.iter().position(|w| *w > 0.0) else {
            self.weight.truncate(1);
            return;
        };
        let high = self.weight.iter().rposition(|w| *w > 0.0).unwrap_or(low);
        self.weight.truncate(high + 1);
        self.weight.drain(..low);
        self.first += low as i64;
    }

    /// True if [`Lattice::log_moment`] is a plain sum of powers.
    fn is_near(&self, lambda: f64) -> bool {
        (1e-2..1e2).contains(&((lambda - self.tilt) * self.step).exp())
    }

    pub fn moment_work(&self, lambda: f64) -> f64 {
        self.weight.len() as f64 * if self.is_near(lambda) { MOMENT_POINT } else { CUMULANT_POINT }
    }

    /// ln Σ p·e^{λl} over finite losses; −∞ without mass.
    pub fn log_moment(&self, lambda: f64) -> f64 {
        let growth = (lambda - self.tilt) * self.step;
        let ratio = growth.exp();
        if !self.is_near(lambda) {
            return self.cumulants(lambda).log_moment;
        }
        // Blocks by Horner's rule, scaled by exp of their first elements; relative to the largest.
        let (mut top, mut total) = (f64::NEG_INFINITY, 0.0);
        for (block, chunk) in self.weight.chunks(BLOCK).enumerate() {
            let sum = chunk.iter().rev().fold(0.0, |sum: f64, w| sum.mul_add_fast(ratio, *w));
            if sum > 0.0 {
                let exponent = (block * BLOCK) as f64 * growth + sum.ln();
                if exponent > top {
                    total = total * (top - exponent).exp() + 1.0;
                    top = exponent;
                } else {
                    total += (exponent - top).exp();
                }
            }
        }
        top + total.ln() + self.first as f64 * growth + self.log_scale
    }

    /// [`Lattice::log_moment`] with mean and variance, in two passes.
    pub fn cumulants(&self, lambda: f64) -> Cumulants {
        let (weights, log_moment) = self.tilted(lambda);
        let mean_index: f64 = weights.iter().enumerate().map(|(i, w)| i as f64 * w).sum();
        let variance: f64 = weights.iter().enumerate().map(|(i, w)| (i as f64 - mean_index).powi(2) * w).sum();
        Cumulants {
            log_moment,
            mean: (self.first as f64 + mean_index) * self.step,
            variance: variance * self.step * self.step,
        }
    }

    /// p·e^{λl − K}, which sum to 1, and K = ln Σ p·e^{λl}.
    pub fn tilted(&self, lambda: f64) -> (Vec<f64>, f64) {
        let growth = (lambda - self.tilt) * self.step;
        let mut top = f64::NEG_INFINITY;
        for (index, weight) in self.weight.iter().enumerate() {
            if *weight > 0.0 {
                // A cheap bound on ln w suffices, as only the scale of the largest term matters.
                top = top.max(index as f64 * growth + f64::from(exponent_of(*weight)) * std::f64::consts::LN_2);
            }
        }
        if top == f64::NEG_INFINITY {
            return (vec![0.0; self.weight.len()], f64::NEG_INFINITY);
        }
        let mut weights: Vec<f64> = Vec::with_capacity(self.weight.len());
        let step_ratio = growth.exp();
        for (block, chunk) in self.weight.chunks(16).enumerate() {
            let exponent = (block * 16) as f64 * growth - top;
            if (1e-4..1e4).contains(&step_ratio) && exponent.abs() < 600.0 {
                let mut factor = exponent.exp();
                for weight in chunk {
                    weights.push(weight * factor);
                    factor *= step_ratio;
                }
            } else {
                // Far from the bulk, in logarithms: tiny mass times a huge factor may be in range.
                for (offset, weight) in chunk.iter().enumerate() {
                    let exponent = exponent + offset as f64 * growth;
                    // Most are negligible, as a bound on their logarithm shows.
                    let counts = *weight > 0.0
                        && exponent + f64::from(exponent_of(*weight) + 1) * std::f64::consts::LN_2 > -750.0;
                    weights.push(if counts { (weight.ln() + exponent).exp() } else { 0.0 });
                }
            }
        }
        let total = sum_by_blocks(&weights);
        let scale = 1.0 / total;
        weights.iter_mut().for_each(|w| *w *= scale);
        (weights, total.ln() + top + self.first as f64 * growth + self.log_scale)
    }

    /// δ(ε) of this pair alone.
    #[cfg(test)]
    pub fn delta(&self, epsilon: f64) -> f64 {
        let mut total = self.infinity;
        for (index, weight) in self.weight.iter().enumerate().rev() {
            let loss = self.loss(index);
            if loss <= epsilon {
                break;
            }
            total += weight * (self.log_scale - self.tilt * loss).exp() * -(epsilon - loss).exp_m1();
        }
        total
    }
}

/// Sums numbers ≥ 0 by blocks; relative error at most [`sum_rounding`].
pub(super) fn sum_by_blocks(values: &[f64]) -> f64 {
    let sums = |values: &[f64]| values.chunks(BLOCK).map(|block| block.iter().sum()).collect::<Vec<f64>>();
    sums(&sums(values)).iter().sum()
}

/// Relative rounding of a sum of `terms` positive terms by blocks of blocks.
pub(super) fn sum_rounding(terms: usize) -> f64 {
    UNIT * (2 * BLOCK + terms / (BLOCK * BLOCK) + 2) as f64
}

/// The binary exponent of a positive number.
fn exponent_of(value: f64) -> i32 {
    let biased = (value.to_bits() >> 52) as i32;
    if biased == 0 { (value.log2()).floor() as i32 } else { biased - 1023 }
}

/// x·a + b, fused where the target supports it; this changes only the last digit.
trait MulAddFast {
    fn mul_add_fast(self, a: f64, b: f64) -> f64;
}

impl MulAddFast for f64 {
    fn mul_add_fast(self, a: f64, b: f64) -> f64 {
        if cfg!(target_feature = "fma") { self.mul_add(a, b) } else { self * a + b }
    }
}

/// Collects masses at arbitrary losses into a lattice, by the safe split.
pub(super) struct Builder {
    first: i64,
    step: f64,
    /// 1 − e^{−step}.
    gap: f64,
    weight: Vec<f64>,
    infinity: f64,
}

impl Builder {
    /// Grid points `first`..=`last`, cut at the upper end if there are too many.
    pub fn new(first: i64, last: i64, step: f64) -> Self {
        let points = last.saturating_sub(first).clamp(0, 2 * MOST_POINTS) as usize + 1;
        Self { first, step, gap: -(-step).exp_m1(), weight: vec![0.0; points], infinity: 0.0 }
    }

    /// Covers losses from `low` ≤ 0 to `high` ≥ 0, with at least one cell.
    pub fn spanning(low: f64, high: f64, step: f64) -> Self {
        // Casts saturate, and turn NaN into 0.
        let first = ((low / step).floor() as i64).clamp(-MOST_POINTS, 0);
        let last = ((high / step).ceil() as i64).clamp(0, MOST_POINTS);
        Self::new(first, last.max(first + 1), step)
    }

    pub fn cells(&self) -> usize {
        self.weight.len() - 1
    }

    pub fn edge(&self, index: usize) -> f64 {
        (self.first + index as i64) as f64 * self.step
    }

    pub fn gap(&self) -> f64 {
        self.gap
    }

    /// Adds P-mass to the cell above grid point `index`; `up` of it goes to the upper end.
    pub fn split(&mut self, index: usize, mass: f64, up: f64) {
        let up = up.clamp(0.0, mass);
        self.weight[index] += mass - up;
        self.weight[index + 1] += up;
    }

    pub fn at(&mut self, index: usize, mass: f64) {
        self.weight[index] += mass;
    }

    pub fn at_infinity(&mut self, mass: f64) {
        self.infinity += mass;
    }

    /// Adds P-mass at `loss`: below the grid at the first point, above split between last and
    /// infinity.
    pub fn add(&mut self, loss: f64, mass: f64) {
        let position = loss / self.step - self.first as f64;
        if position.is_nan() || position >= self.cells() as f64 {
            let kept = (self.edge(self.cells()) - loss).exp().min(1.0);
            let last = self.cells();
            self.weight[last] += mass * kept;
            self.infinity += mass * (1.0 - kept);
        } else if position <= 0.0 {
            self.weight[0] += mass;
        } else {
            let index = position as usize;
            // 1 − e^{−(l − a)}, with l − a taken a rounding error too large.
            let over = (position - index as f64) * self.step + 4.0 * f64::EPSILON * loss.abs();
            let up = mass * -(-over).exp_m1() / self.gap;
            self.split(index, mass, up);
        }
    }

    /// Multiplies everything by 1 + `margin`, to cover the rounding of the input.
    pub fn finish(self, margin: f64) -> Lattice {
        let mut weight = self.weight;
        for value in &mut weight {
            if *value > 0.0 {
                *value = *value * (1.0 + margin) + f64::from_bits(1);
            }
        }
        let mut lattice = Lattice::untilted(self.first, self.step, weight, self.infinity * (1.0 + margin));
        lattice.trim();
        lattice
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Lattice {
        let mut builder = Builder::new(-100, 200, 0.01);
        for (loss, mass) in [(-0.5, 0.2), (0.013, 0.4), (0.777_7, 0.3), (1.234, 0.0999), (3.0, 0.0001)] {
            builder.add(loss, mass);
        }
        builder.finish(0.0)
    }

    #[test]
    fn a_split_keeps_both_masses_and_never_lowers_delta() {
        let lattice = example();
        let p: f64 = lattice.weight.iter().sum::<f64>() + lattice.infinity;
        assert!((p - 1.0).abs() < 1e-12);
        let q: f64 = (0..lattice.weight.len()).map(|i| lattice.weight[i] * (-lattice.loss(i)).exp()).sum();
        let want = 0.2 * 0.5_f64.exp()
            + 0.4 * (-0.013_f64).exp()
            + 0.3 * (-0.777_7_f64).exp()
            + 0.0999 * (-1.234_f64).exp()
            + 0.0001 * (-3.0_f64).exp();
        assert!((q - want).abs() < 1e-12, "{q} {want}");
        for i in 0..300 {
            let epsilon = -1.0 + 0.0133 * f64::from(i);
            let exact: f64 = [(-0.5, 0.2), (0.013, 0.4), (0.777_7, 0.3), (1.234, 0.0999), (3.0, 0.0001_f64)]
                .map(|(l, m): (f64, f64)| m * (1.0 - (epsilon - l).exp()).max(0.0))
                .iter()
                .sum();
            assert!(lattice.delta(epsilon) >= exact * (1.0 - 1e-12));
            assert!(lattice.delta(epsilon) <= exact + 2e-3 + 1e-4);
        }
    }

    #[test]
    fn moments_agree_at_any_tilt() {
        let lattice = example();
        for lambda in [-30.0, -1.0, 0.0, 0.5, 8.0, 60.0, 400.0, 3000.0] {
            let direct: f64 = {
                let top = (0..lattice.weight.len())
                    .filter(|i| lattice.weight[*i] > 0.0)
                    .map(|i| lattice.weight[i].ln() + lambda * lattice.loss(i))
                    .fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = (0..lattice.weight.len())
                    .filter(|i| lattice.weight[*i] > 0.0)
                    .map(|i| (lattice.weight[i].ln() + lambda * lattice.loss(i) - top).exp())
                    .sum();
                top + sum.ln()
            };
            for got in [lattice.log_moment(lambda), lattice.cumulants(lambda).log_moment] {
                assert!((got - direct).abs() < 1e-11 * (1.0 + direct.abs()), "{lambda}: {got} {direct}");
            }
            let (weights, log_moment) = lattice.tilted(lambda);
            assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            let again = Lattice { tilt: lambda, log_scale: log_moment, weight: weights, ..lattice.clone() };
            // Under an extreme tilt the rest falls below the smallest f64, and is negligible.
            assert!(lambda.abs() > 100.0 || (again.log_moment(0.0) - lattice.log_moment(0.0)).abs() < 1e-10);
        }
    }
}
