//! One Poisson-sampled Gaussian release on a loss grid, cell by cell, to full relative precision.

use super::{
    direction::Direction,
    lattice::{Builder, Lattice, UNIT},
};
use crate::{normal, numeric::sampled_loss};

/// Relative rounding of a cell's mass: exp calls with arguments up to 800 (relative error: the
/// argument's rounding, 39 times that of x, which is at most μ + 39), and Gauss–Legendre's 1e-13.
pub(super) const MARGIN: f64 = 2e-12;
/// P-mass below the grid, which moves up to its start; negligible.
pub(super) const LOW_TAIL: f64 = 1e-20;
/// Largest μ that is put on a grid. Beyond, positions and losses lose their digits, and the pair
/// counts as fully distinguishable, which is true up to e^{−μ²/8}.
pub(super) const LARGEST_MU: f64 = 128.0;

/// The pair P = N(μ, 1), Q = N(0, 1) with sampling rate q. The unsampled loss at x is μx − μ²/2.
#[derive(Clone, Copy, Debug)]
pub(super) struct SampledGaussian {
    pub mu: f64,
    pub rate: f64,
}

/// Masses of one cell (low, high] of the unsampled loss.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    p: f64,
    q: f64,
    /// ∫(1 − e^{low−l}) dP: the excess of P over e^low·Q.
    above: f64,
    /// ∫(1 − e^{l−high}) dQ: the excess of e^high·Q over P, divided by e^high.
    below: f64,
}

impl SampledGaussian {
    /// The unsampled loss at which the sampled "remove" loss is `loss`: with y = e^{l},
    /// 1 − q + q·y = e^{loss}; −∞ if no y > 0 solves this. For "add", pass the negative loss.
    fn unsampled(&self, loss: f64) -> f64 {
        if self.rate == 1.0 {
            return loss;
        }
        // Near 0 the loss keeps its digits, the ratio does not.
        let growth = loss.exp_m1() / self.rate;
        if growth.abs() < 0.5 { growth.ln_1p() } else { loss + (self.reach(loss) / self.rate).ln() }
    }

    /// 1 − (1 − q)·e^{−loss} = q·y·e^{−loss}, without cancellation near 0; at least 0.
    fn reach(&self, loss: f64) -> f64 {
        let reach = if loss < -0.5 {
            1.0 - (1.0 - self.rate) * (-loss).exp()
        } else {
            -(-loss).exp_m1() + self.rate * (-loss).exp()
        };
        if reach.is_nan() { 0.0 } else { reach.max(0.0) }
    }

    /// The sampled loss, in the direction "remove", at unsampled loss `l`: ln(1 − q + q·e^l).
    fn sampled(&self, l: f64) -> f64 {
        sampled_loss(self.rate, l)
    }

    /// Smallest and largest loss worth a grid point: P-mass above is at most `tail`, P-mass below
    /// at most [`LOW_TAIL`] (it is moved up, which is safe).
    pub fn range(&self, direction: Direction, tail: f64) -> (f64, f64) {
        let drift = 0.5 * self.mu * self.mu;
        // Upper quantiles of the unsampled loss under P and under Q.
        let p_above = |tail: f64| drift + self.mu * normal::survival_quantile(tail.min(0.5));
        let q_above = |tail: f64| -drift + self.mu * normal::survival_quantile(tail.min(0.5));
        let finite = |l: f64| if l == f64::INFINITY { drift + 39.0 * self.mu } else { l };
        match direction {
            Direction::Remove => {
                let high = finite(p_above(0.5 * tail / self.rate).max(q_above(0.5 * tail)));
                let centre = if self.rate == 1.0 { drift } else { -drift };
                let low = centre - self.mu * normal::survival_quantile(LOW_TAIL);
                (self.sampled(low).min(0.0), self.sampled(high).max(0.0))
            }
            // Here P = N(0, 1): the loss falls as y grows.
            Direction::Add => {
                let low = -self.sampled(q_above(LOW_TAIL));
                // Under Q, l is below −l′ as often as it is above l′ under P.
                let high = -self.sampled(-finite(p_above(tail)));
                (low.min(0.0), high.max(0.0))
            }
        }
    }

    /// Upper bound in `direction` on a grid of `step`, with P-mass of about `tail` at infinity.
    pub fn lattice(&self, direction: Direction, step: f64, tail: f64) -> Lattice {
        let (low, high) = self.range(direction, tail);
        self.between(direction, step, low, high)
    }

    /// The same with only losses above 0 ("remove") or below ("add"); the rest is at 0 or infinite.
    pub fn half(&self, direction: Direction, step: f64, tail: f64) -> Lattice {
        let (low, high) = self.range(direction, tail);
        match direction {
            Direction::Remove => self.between(direction, step, 0.0, high),
            Direction::Add => self.between(direction, step, low, 0.0),
        }
    }

    fn between(&self, direction: Direction, step: f64, low: f64, high: f64) -> Lattice {
        let mut builder = Builder::spanning(low, high, step);
        match direction {
            Direction::Remove => self.fill_remove(&mut builder),
            Direction::Add => self.fill_add(&mut builder),
        }
        let mut lattice = builder.finish(MARGIN);
        // For masses below the smallest f64.
        lattice.infinity += 1e-320;
        lattice
    }

    /// (1−q)·N(0,1) + q·N(μ,1) against N(0,1).
    fn fill_remove(&self, builder: &mut Builder) {
        let q = self.rate;
        let cells = builder.cells();
        let mut low = f64::NEG_INFINITY;
        for index in 0..=cells {
            let edge = builder.edge(index);
            // Mass below the grid joins the first point, mass above the last and infinity.
            let high = self.unsampled(edge);
            if index == 0 {
                let cell = self.cell(f64::NEG_INFINITY, high);
                builder.at(0, (1.0 - q) * cell.q + q * cell.p);
            } else {
                let cell = self.cell(low, high);
                let mass = (1.0 - q) * cell.q + q * cell.p;
                let start = builder.edge(index - 1);
                let up = self.excess(start, low, cell) + mass * self.displaced(start, edge, self.reach(edge));
                builder.split(index - 1, mass, up / builder.gap());
            }
            low = high;
        }
        let edge = builder.edge(cells);
        let cell = self.cell(low, f64::INFINITY);
        let mass = (1.0 - q) * cell.q + q * cell.p;
        let escaped = self.excess(edge, low, cell).min(mass);
        builder.at(cells, mass - escaped);
        builder.at_infinity(escaped);
    }

    /// Rounding that may have lowered a cell's losses: units in the last place of losses and of μx;
    /// `slope` is the loss's derivative in the unsampled one.
    fn displaced(&self, start: f64, end: f64, slope: f64) -> f64 {
        8.0 * UNIT * (start.abs().max(end.abs()) + slope * self.mu * (self.mu + 40.0))
    }

    /// P-mass minus e^{edge}·Q-mass of a cell of the sampled "remove" loss that starts at `edge`,
    /// where the unsampled loss is `low`.
    fn excess(&self, edge: f64, low: f64, cell: Cell) -> f64 {
        if low == f64::NEG_INFINITY {
            // y at the edge is ≤ 0: both terms are positive.
            let missing = (-(self.rate + edge.exp_m1())).max(0.0);
            self.rate * cell.p + missing * cell.q
        } else {
            self.rate * cell.above
        }
    }

    /// N(0,1) against (1−q)·N(0,1) + q·N(μ,1): the loss is −ln(1 − q + q·y), so cells descend in y.
    fn fill_add(&self, builder: &mut Builder) {
        let cells = builder.cells();
        let mut high = f64::INFINITY;
        for index in 0..=cells {
            let edge = builder.edge(index);
            let low = self.unsampled(-edge);
            let cell = self.cell(low, high);
            if index == 0 {
                builder.at(0, cell.q);
            } else {
                // P-mass − e^{edge}·Q-mass = e^{edge}·q·(y·N(0,1) − N(μ,1)), y at the lower edge.
                let start = builder.edge(index - 1);
                let reach = self.reach(-start);
                let up = reach * cell.below + cell.q * self.displaced(start, edge, reach);
                builder.split(index - 1, cell.q, up / builder.gap());
            }
            high = low;
        }
        let cell = self.cell(f64::NEG_INFINITY, high);
        let escaped = (self.reach(-builder.edge(cells)) * cell.below).min(cell.q);
        builder.at(cells, cell.q - escaped);
        builder.at_infinity(escaped);
    }

    /// The masses of unsampled loss between `low` and `high`.
    fn cell(&self, low: f64, high: f64) -> Cell {
        let drift = 0.5 * self.mu;
        // Beyond 39 standard deviations the mass is below the smallest f64.
        let start = (low / self.mu + drift).clamp(-39.5, self.mu + 39.5);
        let end = (high / self.mu + drift).clamp(-39.5, self.mu + 39.5);
        let mut cell = Cell::default();
        let drift = 0.5 * self.mu * self.mu;
        quadrature(start, end, self.mu, 3.0, &mut |x, weight| {
            let loss = self.mu * x - drift;
            let p = weight * (-0.5 * (x - self.mu) * (x - self.mu)).exp();
            let q = weight * (-0.5 * x * x).exp();
            cell.p += p;
            cell.q += q;
            cell.above += p * one_minus_exp(low - loss);
            cell.below += q * one_minus_exp(loss - high);
        });
        cell
    }
}

/// Calls `put` with the nodes x of a Gauss–Legendre rule from `start` to `end`, and their weights over
/// √(2π), halving the interval until an integrand about N(0, 1) and N(`mu`, 1) is nearly polynomial:
/// until its logarithmic derivative times the width is below `widest`.
pub(super) fn quadrature(start: f64, end: f64, mu: f64, widest: f64, put: &mut impl FnMut(f64, f64)) {
    let width = end - start;
    let empty = |centre: f64| start - centre >= 39.4 || centre - end >= 39.4;
    if width.is_nan() || width <= 0.0 || empty(0.0) && empty(mu) {
        return;
    }
    let reach = start.abs().max(end.abs()).max((start - mu).abs()).max((end - mu).abs());
    let variation = width * (1.0 + reach.min(40.0) + mu);
    let nodes = if variation < 0.25 {
        &GAUSS_4
    } else if variation < widest {
        &GAUSS_8[..]
    } else {
        let middle = 0.5 * (start + end);
        quadrature(start, middle, mu, widest, put);
        quadrature(middle, end, mu, widest, put);
        return;
    };
    let (centre, half) = (0.5 * (start + end), 0.5 * width);
    let scale = half * FRAC_1_SQRT_2PI;
    for (node, weight) in nodes {
        for x in [centre - half * node, centre + half * node] {
            put(x, scale * weight);
        }
    }
}

/// 1 − e^x for x = `negative` ≤ 0; 1 at −∞. A short series for small arguments, the usual case.
pub(super) fn one_minus_exp(negative: f64) -> f64 {
    if negative > -0.02 {
        let x = -negative;
        x * (1.0 - x / 2.0 * (1.0 - x / 3.0 * (1.0 - x / 4.0 * (1.0 - x / 5.0 * (1.0 - x / 6.0)))))
    } else {
        -negative.exp_m1()
    }
}

const FRAC_1_SQRT_2PI: f64 = 0.398_942_280_401_432_7;

/// Positive nodes and their weights on [−1, 1].
const GAUSS_4: [(f64, f64); 2] =
    [(0.339_981_043_584_856_3, 0.652_145_154_862_546_1), (0.861_136_311_594_052_6, 0.347_854_845_137_453_9)];
const GAUSS_8: [(f64, f64); 4] = [
    (0.183_434_642_495_649_8, 0.362_683_783_378_362),
    (0.525_532_409_916_329, 0.313_706_645_877_887_3),
    (0.796_666_477_413_626_7, 0.222_381_034_453_374_5),
    (0.960_289_856_497_536_3, 0.101_228_536_290_376_26),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_add_up_and_match_the_distribution_functions() {
        for mu in [1e-3, 0.5, 1.0, 5.0, 100.0] {
            let pair = SampledGaussian { mu, rate: 1.0 };
            let whole = pair.cell(f64::NEG_INFINITY, f64::INFINITY);
            assert!((whole.p - 1.0).abs() < 1e-12 && (whole.q - 1.0).abs() < 1e-12, "{mu}: {whole:?}");
            for x in [-3.0, 0.0, 1.0, 6.0, 20.0] {
                let low = mu * x - 0.5 * mu * mu;
                let cell = pair.cell(low, f64::INFINITY);
                let (p, q) = (normal::survival(x - mu), normal::survival(x));
                assert!((cell.p - p).abs() < 1e-12 * p && (cell.q - q).abs() < 1e-12 * q, "{mu} {x}");
                // The excess is the hockey-stick divergence.
                let delta = normal::ln_delta_gaussian(mu, low).exp();
                assert!((cell.above - delta).abs() < 2e-11 * delta, "{mu} {x}: {} {delta}", cell.above);
            }
        }
    }

    /// H_{e^ε} of the sampled pair from the unsampled one, in closed form.
    fn exact(mu: f64, rate: f64, direction: Direction, epsilon: f64) -> f64 {
        let pair = SampledGaussian { mu, rate };
        match direction {
            Direction::Remove => {
                let l = pair.unsampled(epsilon);
                if l == f64::NEG_INFINITY {
                    return -epsilon.exp_m1();
                }
                rate * normal::ln_delta_gaussian(mu, l).exp()
            }
            Direction::Add => {
                if pair.reach(-epsilon) == 0.0 {
                    return 0.0;
                }
                // ∫(q₀ − e^ε((1−q)q₀ + q·p₀))₊ over y below e^l.
                let l = pair.unsampled(-epsilon);
                pair.reach(-epsilon) * pair.cell(f64::NEG_INFINITY, l).below
            }
        }
    }

    #[test]
    fn the_lattice_is_above_the_exact_curve_and_meets_it_on_the_grid() {
        for (mu, rate, step) in [(1.0, 1.0, 0.01), (0.9, 0.004, 1e-4), (2.0, 0.3, 0.003), (0.3, 1e-9, 1e-11)] {
            for direction in [Direction::Remove, Direction::Add] {
                let lattice = SampledGaussian { mu, rate }.lattice(direction, step, 1e-30);
                let total: f64 = lattice.weight.iter().sum::<f64>() + lattice.infinity;
                assert!((total - 1.0).abs() < 1e-10, "{mu} {rate} {direction:?}: {total}");
                for index in 0..lattice.weight.len() - 1 {
                    if index % 37 != 0 {
                        continue;
                    }
                    let on = lattice.loss(index);
                    let want = exact(mu, rate, direction, on);
                    let got = lattice.delta(on);
                    assert!(got >= want * (1.0 - 1e-9), "{mu} {rate} {direction:?} at {on:e}: {got:e} < {want:e}");
                    assert!(
                        got <= want * (1.0 + 1e-7) + 1e-29,
                        "{mu} {rate} {direction:?} at {on:e}: {got:e} {want:e}"
                    );
                    let between = on + 0.4 * step;
                    assert!(lattice.delta(between) >= exact(mu, rate, direction, between) * (1.0 - 1e-9));
                }
            }
        }
    }
}
