//! Gaussian noise on a value that an example moves by one of several shifts, chosen by chance.
//!
//! With the example P = Σ pᵢ·N(sᵢ, 1), without it Q = N(0, 1), sᵢ ≥ 0; the loss at x,
//! ln Σ pᵢ·e^{sᵢx − sᵢ²/2}, is increasing and convex. Poisson sampling only adds the shift 0.

use std::sync::Arc;

use super::{
    direction::Direction,
    gaussian::LOW_TAIL,
    lattice::{Lattice, UNIT},
    line::{self, OnLine},
};
use crate::normal;

/// Largest shift over the noise that is put on a grid.
pub(crate) const LARGEST_SHIFT: f64 = 39.0;
/// Newton steps from the right; each is at least about one standard deviation or converges.
const MOST_STEPS: usize = 96;

/// The components (shift, probability), by shift.
#[derive(Clone, Debug)]
pub(super) struct Mixture(Arc<[(f64, f64)]>);

impl Mixture {
    /// What the probabilities lack to a sum of 1 belongs to the largest shift; what they exceed it by
    /// is taken from the smallest. Both are safe: the curve does not fall if a shift grows.
    pub fn new(sigma: f64, shifts: &[f64], probabilities: &[f64]) -> Self {
        let mut parts: Vec<(f64, f64)> = Vec::new();
        let mut all: Vec<(f64, f64)> =
            shifts.iter().zip(probabilities).map(|(s, p)| (s / sigma * (1.0 + 4.0 * UNIT), *p)).collect();
        all.retain(|(_, probability)| *probability > 0.0);
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (shift, probability) in all {
            match parts.last_mut() {
                Some((last, sum)) if *last == shift => *sum += probability,
                _ => parts.push((shift, probability)),
            }
        }
        let lacking = 1.0 - parts.iter().map(|(_, probability)| probability).sum::<f64>();
        let end = if lacking > 0.0 { parts.last_mut() } else { parts.first_mut() };
        if let Some((_, probability)) = end {
            *probability = (*probability + lacking).max(0.0);
        }
        Self(parts.into())
    }

    /// The same if the example takes part with probability `rate`.
    pub fn sampled(&self, rate: f64) -> Self {
        if rate >= 1.0 {
            return self.clone();
        }
        let mut parts: Vec<(f64, f64)> = self.0.iter().map(|(shift, p)| (*shift, rate * p)).collect();
        match parts.first_mut() {
            Some((0.0, none)) => *none += 1.0 - rate,
            _ => parts.insert(0, (0.0, 1.0 - rate)),
        }
        Self(parts.into())
    }

    /// δ(0), at most: that of each component, in proportion.
    pub fn total_variation(&self) -> f64 {
        self.0.iter().map(|(shift, p)| p * libm::erf(shift / 8.0_f64.sqrt())).sum()
    }

    pub fn components(&self) -> usize {
        self.0.len()
    }

    fn largest(&self) -> f64 {
        self.0.last().map_or(0.0, |(shift, _)| *shift)
    }

    /// The loss, in the direction "remove", and its slope.
    fn loss_and_slope(&self, x: f64) -> (f64, f64) {
        let exponents = || self.0.iter().map(|&(shift, p)| (shift, p, shift * (x - 0.5 * shift)));
        // Near 0 the loss keeps its digits, its parts do not.
        let excess: f64 = exponents().map(|(_, p, exponent)| p * exponent.exp_m1()).sum();
        let top = exponents().map(|(_, p, exponent)| p.ln() + exponent).fold(f64::NEG_INFINITY, f64::max);
        let weight = |p: f64, exponent: f64| (p.ln() + exponent - top).exp();
        let total: f64 = exponents().map(|(_, p, exponent)| weight(p, exponent)).sum();
        let slope = exponents().map(|(shift, p, exponent)| shift * weight(p, exponent)).sum::<f64>() / total;
        (if excess.abs() < 0.5 { excess.ln_1p() } else { top + total.ln() }, slope)
    }

    /// The x of a loss in the direction "remove", rounded so that the loss there is at least or (not
    /// `above`) at most it.
    fn place(&self, loss: f64, above: bool) -> f64 {
        let Some(&(shift, p)) = self.0.last().filter(|(shift, _)| *shift > 0.0) else {
            return if loss >= 0.0 { f64::INFINITY } else { f64::NEG_INFINITY };
        };
        // There the last component alone has this loss. The loss is convex: Newton stays to the right.
        let mut x = (loss - p.ln()) / shift + 0.5 * shift;
        for _ in 0..MOST_STEPS {
            let (value, slope) = self.loss_and_slope(x);
            let next = x - (value - loss) / slope;
            if next >= x || next.is_nan() {
                break;
            }
            x = next;
            if x < -41.0 {
                return f64::NEG_INFINITY;
            }
        }
        let mut nudge = f64::EPSILON * x.abs().max(1e-3);
        let off = |x: f64| {
            let (value, _) = self.loss_and_slope(x);
            if above { value < loss } else { value > loss }
        };
        while off(x) && nudge < 1.0 {
            x += if above { nudge } else { -nudge };
            nudge *= 2.0;
        }
        x
    }

    /// Smallest and largest loss that need grid points, with P-mass of about `tail` above.
    pub fn range(&self, direction: Direction, tail: f64) -> (f64, f64) {
        let at = |tail: f64| normal::survival_quantile(tail.min(0.5)).min(39.0);
        let directed = Directed { mixture: self, direction };
        let high = match direction {
            Direction::Remove => self.largest() + at(tail),
            Direction::Add => at(tail),
        };
        (directed.loss(-at(LOW_TAIL)).min(0.0), directed.loss(high).max(0.0))
    }

    /// An upper bound in `direction` on a grid of `step`.
    pub fn lattice(&self, direction: Direction, step: f64, tail: f64) -> Lattice {
        line::lattice(&Directed { mixture: self, direction }, self.range(direction, tail), step)
    }
}

struct Directed<'a> {
    mixture: &'a Mixture,
    direction: Direction,
}

impl OnLine for Directed<'_> {
    fn loss(&self, x: f64) -> f64 {
        match self.direction {
            Direction::Remove => self.mixture.loss_and_slope(x).0,
            // Mirrored, so that it increases.
            Direction::Add => -self.mixture.loss_and_slope(-x).0,
        }
    }

    fn place(&self, loss: f64) -> f64 {
        match self.direction {
            Direction::Remove => self.mixture.place(loss, false),
            Direction::Add => -self.mixture.place(-loss, true),
        }
    }

    fn density(&self, x: f64) -> f64 {
        let normal = |x: f64| (-0.5 * x * x).exp();
        match self.direction {
            Direction::Remove => self.mixture.0.iter().map(|(shift, p)| p * normal(x - shift)).sum(),
            Direction::Add => normal(x),
        }
    }

    fn reach(&self) -> f64 {
        self.mixture.largest()
    }

    fn displaced(&self, from: f64, to: f64) -> f64 {
        let largest = self.reach();
        let within = |x: f64| x.clamp(-largest - 40.0, largest + 40.0);
        let size = self.loss(within(from)).abs().max(self.loss(within(to)).abs());
        8.0 * UNIT * (size + largest * (largest + 40.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pld::gaussian::SampledGaussian;

    #[test]
    fn one_shift_is_the_sampled_gaussian() {
        for (mu, rate, step) in [(1.0, 0.05, 1e-3), (0.9, 0.004, 1e-4), (3.0, 0.3, 3e-3), (20.0, 0.9, 0.5)] {
            let known = SampledGaussian { mu, rate };
            let mixture = Mixture::new(2.0, &[2.0 * mu], &[1.0]).sampled(rate);
            for direction in [Direction::Remove, Direction::Add] {
                let (known, mixed) = (known.lattice(direction, step, 1e-30), mixture.lattice(direction, step, 1e-30));
                for epsilon in [0.0, 3.0 * step, 10.3 * step, 100.0 * step, 1000.0 * step] {
                    let (want, got) = (known.delta(epsilon), mixed.delta(epsilon));
                    let near = (got - want).abs() <= 1e-9 * want + 1e-14;
                    assert!(near, "{mu} {rate} {direction:?} at {epsilon}: {got:e} {want:e}");
                }
            }
        }
    }

    /// H_{e^ε} by a fine sum over x.
    #[test]
    fn the_lattice_is_above_the_exact_curve() {
        let parts = [(0.0, 0.7), (0.5, 0.2), (1.0, 0.07), (3.0, 0.03)];
        let mixture = Mixture::new(1.0, &parts.map(|(shift, _)| shift), &parts.map(|(_, p)| p));
        let step = 1e-3;
        let normal = |x: f64| (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt();
        for direction in [Direction::Remove, Direction::Add] {
            let lattice = mixture.lattice(direction, step, 1e-25);
            for epsilon in [-0.2, 0.0, 0.05, 0.3, 0.8, 2.0_f64] {
                let h = 1e-4;
                let exact: f64 = (-120_000..150_000)
                    .map(|i| {
                        let x = h * f64::from(i);
                        let mixed: f64 = parts.iter().map(|(shift, p)| p * normal(x - shift)).sum();
                        let (p, q) =
                            if direction == Direction::Remove { (mixed, normal(x)) } else { (normal(x), mixed) };
                        h * (p - epsilon.exp() * q).max(0.0)
                    })
                    .sum();
                let got = lattice.delta(epsilon);
                assert!(got >= exact - 1e-9 && got <= exact + 1e-6, "{direction:?} {epsilon}: {got:e} {exact:e}");
            }
        }
    }
}
