//! One coordinate's loss on a grid, with a bound on every mass.
//!
//! P is Z + τ, Q is Z. With u = x − τ/2, the loss is l(u) = ln z(u − τ/2) − ln z(u + τ/2), at least
//! 0 for u ≥ 0; the other half is its mirror image, with P and Q exchanged. The half is cut into
//! cells. A cell gives P-mass to two grid points, below and above all its losses: `up` above, the
//! rest below, where (1 − e^{−width})·`up` is the cell's excess ∫(1 − e^{low − l})dP. This is the
//! safe split (`lattice.rs`). It stays safe with larger masses, since a further pair of atoms at l
//! and −l raises δ(ε) for every ε. So an error e of the mass is added below; an error e of the
//! excess is added to it and, as it reduces the part below, twice to the mass.
//!
//! *Errors.* Four-point Gauss–Legendre is exact up to degree 7. If f is analytic on the disc of
//! radius r around a cell's centre, with |f| ≤ M, its Taylor coefficients are at most M·r^−m, so
//! the rule errs by at most 2h·M·q⁸/(1 − q²), q = h/r, h the cell's half-width. For the mass, M is
//! |z(ζ) − z(c)| ≤ z(c)·(e^v − 1), v = S·r + K·r²/2 with slope S and curvature K of ln z
//! ([`Smoothness`]; a constant is integrated exactly); for the excess, with |l′| ≤ Λ on the disc, M
//! is z(c)·e^v·(e^{|start − l|} − 1). Λ is τ·K if one formula holds from u − τ/2 to u + τ/2, else
//! the sum of both slopes. Cells are narrowed until the error is small against their mass, and it
//! is added. Cells next to a singularity that stay too wide count whole, at both ends. Between
//! sampled points l is bounded by Λ/(r − h) ≥ |l″|. Rounding of positions and losses is added. Mass
//! in no cell (far tails, losses beyond the grid, too many cells) is infinite loss.
//!
//! [`Smoothness`]: crate::noise::Smoothness

use super::lattice::{Builder, Lattice};
use crate::noise::Noise;

/// P-mass of one coordinate's loss that may be called infinite.
const TAIL: f64 = 1e-30;
/// Largest change of the loss within a cell, over the grid's step …
const CELL: f64 = 0.25;
/// … or over the loss, if that is more, to limit the cells of steep losses. Safe at any width w,
/// which adds about w²/8 of the mass there to δ.
const CELL_OF_LOSS: f64 = 5e-5;
const MOST_POINTS: i64 = 2_000_000;
const MOST_CELLS: usize = 400_000;
/// The rule's allowed error in a bulk cell: of its mass, and of its mass over the step. Looser
/// where there is less mass.
const MASS_ERROR: f64 = 1e-13;
const EXCESS_ERROR: f64 = 1e-9;
/// Limits of v and Λ·r; beyond, the exponentials cost more than the larger disc gains.
const MOST_VARIATION: f64 = 12.0;
const MOST_CHANGE: f64 = 4.0;
/// Larger losses are as good as infinite: 1 − e^{ε−l} is 1 for every ε of interest.
const MOST_LOSS: f64 = 2000.0;
/// Relative rounding of a density, a loss, an exponential.
const ROUNDING: f64 = 1e-12;

/// Cells between two calls of `more`.
const CELLS_AT_ONCE: usize = 1024;

/// Upper bound on the loss of one coordinate shifted by `tau`, on a grid of `step`. Calls `more`
/// for every thousand cells tried; `None` if it refuses.
pub(super) fn coordinate(noise: &dyn Noise, tau: f64, step: f64, more: impl Fn(usize) -> bool) -> Option<Lattice> {
    let pair = Pair::new(noise, tau, step);
    let (cells, reached) = pair.cells(more)?;
    let last = cells.iter().map(|cell| cell.high).max().unwrap_or(1).min(MOST_POINTS);
    let mut builder = Builder::new(0, last, step);
    for Cell { low, high, mass, up } in cells {
        if high > last {
            builder.at_infinity(mass * (1.0 + (-(low as f64) * step).exp()));
        } else {
            builder.at(low as usize, mass - up);
            builder.at(high as usize, up);
        }
    }
    // Mass beyond the grid counts with its mirror image, whose P-mass is this half's Q-mass, plus a
    // millionth for the accuracy of distribution functions far out.
    let above = |x: f64| if x < 0.0 { 1.0 - noise.survival(-x) } else { noise.survival(x) * (1.0 + 1e-6) };
    builder.at_infinity(above(reached - 0.5 * tau) + above(reached + 0.5 * tau));
    Some(mirrored(builder.finish(ROUNDING)))
}

/// The symmetric lattice of a half: P-mass at k > 0 has an image at −k; 0 gets both halves' mass.
fn mirrored(half: Lattice) -> Lattice {
    let step = half.step;
    let last = half.first + half.weight.len() as i64 - 1;
    let mut weight = vec![0.0; 2 * last.max(0) as usize + 1];
    let centre = last as usize;
    for (index, mass) in half.weight.iter().enumerate() {
        let k = (half.first + index as i64) as usize;
        weight[centre + k] += mass;
        weight[centre - k] += mass * (-(k as f64) * step).exp();
    }
    let mut lattice = Lattice::untilted(-last, step, weight, half.infinity);
    lattice.infinity += 1e-320;
    lattice
}

/// P-mass `up` at grid point `high`, and the rest of `mass` at `low`.
struct Cell {
    low: i64,
    high: i64,
    mass: f64,
    up: f64,
}

/// Z + τ against Z, to be put on a grid.
struct Pair<'a> {
    noise: &'a dyn Noise,
    tau: f64,
    step: f64,
    scale: f64,
    /// z(0)·scale.
    peak: f64,
    /// Required edges u > 0: τ/2, and the kinks of either density.
    stops: Vec<f64>,
}

/// Errors of the rule on one cell, over 2h·z(c), and bounds on the loss there.
struct Errors {
    mass: f64,
    excess: f64,
    /// Excess of the cell's losses over those at nodes and ends.
    pad: f64,
    /// Rounding of computed densities and losses.
    rounding: (f64, f64),
}

impl<'a> Pair<'a> {
    fn new(noise: &'a dyn Noise, tau: f64, step: f64) -> Self {
        let (scale, half) = (noise.scale(), 0.5 * tau);
        let mut stops: Vec<f64> = noise
            .kinks()
            .iter()
            .flat_map(|k| [half - k, half + k, k - half])
            .chain([half])
            .filter(|u| *u > 0.0)
            .collect();
        stops.sort_by(f64::total_cmp);
        stops.dedup();
        Self { noise, tau, step, scale, peak: noise.density(0.0) * scale, stops }
    }

    fn loss(&self, u: f64) -> f64 {
        let loss = self.noise.log_ratio(u + 0.5 * self.tau, self.tau);
        // ∞ − ∞ is far beyond any grid.
        if loss.is_nan() { f64::INFINITY } else { loss.max(0.0) }
    }

    /// Cells from u = 0 on, and their end.
    fn cells(&self, more: impl Fn(usize) -> bool) -> Option<(Vec<Cell>, f64)> {
        let end = self.noise.survival_quantile(TAIL).min(self.scale * 1e40) + 0.5 * self.tau;
        let beyond = (MOST_POINTS as f64 * self.step).min(MOST_LOSS);
        let mut stops = self.stops.iter().copied().peekable();
        let mut cells = Vec::new();
        let (mut u, mut at) = (0.0, self.loss(0.0));
        let (mut width, mut radius) = (0.01 * self.scale, self.scale);
        let mut tried = 0;
        while u < end && at <= beyond && cells.len() < MOST_CELLS {
            while stops.next_if(|stop| *stop <= u).is_some() {}
            let stop = stops.peek().copied().unwrap_or(f64::INFINITY);
            // Narrower cells would be rounding.
            let least = 1e-13 * self.scale + 1e-14 * u;
            width *= 1.6;
            let (next, there, cell) = loop {
                tried += 1;
                if tried == CELLS_AT_ONCE {
                    if !more(tried) {
                        return None;
                    }
                    tried = 0;
                }
                let next = if u + 1.1 * width >= stop { stop } else { u + width };
                let there = self.loss(next);
                let change = (there - at).abs();
                let most = (CELL * self.step).max(CELL_OF_LOSS * at);
                let thin = next - u <= least;
                if !thin && change > 1.1 * most {
                    width = (next - u) * (most / change).clamp(0.05, 0.7);
                    continue;
                }
                let errors = self.errors(u, next, &mut radius);
                let excuse = errors.as_ref().map_or(f64::INFINITY, |errors| self.excess_of_tolerance(u, next, errors));
                match errors {
                    Some(errors) if excuse <= 1.0 => break (next, there, self.cell((u, at), (next, there), &errors)),
                    _ if thin => break (next, there, self.whole((u, at), (next, there))),
                    _ => width = (next - u) * excuse.powf(-1.0 / 8.0).clamp(0.2, 0.8),
                }
            };
            cells.push(cell);
            (u, at) = (next, there);
        }
        more(tried).then_some((cells, u))
    }

    /// The rule's errors relative to the allowed ones.
    fn excess_of_tolerance(&self, from: f64, to: f64, errors: &Errors) -> f64 {
        let x = (0.5 * (from + to) - 0.5 * self.tau).abs();
        let weight = self.noise.density(x) * (self.scale + x) / self.peak;
        let mass = errors.mass / (MASS_ERROR / weight).clamp(MASS_ERROR, 1e-6);
        let excess = errors.excess / (EXCESS_ERROR / weight).clamp(EXCESS_ERROR, 1e-4) / -(-self.step).exp_m1();
        mass.max(excess)
    }

    /// True if one formula holds between both arguments over the whole cell, up to rounding.
    fn is_one_piece(&self, from: f64, to: f64) -> bool {
        let slack = 1e-14 * (to + self.tau);
        let (low, high) = (from - 0.5 * self.tau + slack, to + 0.5 * self.tau - slack);
        let kinks = self.noise.kinks();
        kinks.get(kinks.partition_point(|k| *k <= low)).is_none_or(|k| *k >= high)
    }

    /// Errors on the largest suitable disc; `found` holds the last radius and is updated.
    fn errors(&self, from: f64, to: f64, found: &mut f64) -> Option<Errors> {
        let (centre, half) = (0.5 * (from + to), 0.5 * (to - from));
        let (minus, plus) = (centre - 0.5 * self.tau, centre + 0.5 * self.tau);
        let at = self.noise.smoothness(minus, 0.0)?;
        let one_piece = self.is_one_piece(from, to);
        // v = 4 if the curvature does not grow.
        let mut radius = (8.0 / (at.slope + (at.slope * at.slope + 8.0 * at.curvature).sqrt())).min(4.0 * *found);
        while radius > 3.0 * half {
            if let Some((variation, steepest)) = self.on_disc(minus, plus, radius, one_piece) {
                *found = radius;
                let q = half / radius;
                let rule = q.powi(8) / (1.0 - q * q);
                let excess = rule * variation.exp() * (self.step + 2.1 * steepest * radius).min(700.0).exp_m1();
                let position = 4.0 * f64::EPSILON * (to + self.tau);
                let slopes = at.slope + self.noise.smoothness(plus, 0.0).map_or(at.slope, |plus| plus.slope);
                return Some(Errors {
                    mass: rule * variation.exp_m1(),
                    excess,
                    // Nodes and ends are at most 0.68h apart.
                    pad: 0.0578 * half * half * steepest / (radius - half),
                    rounding: (at.slope * position, steepest * position + 4.0 * f64::EPSILON * slopes * self.tau),
                });
            }
            radius *= 0.5;
        }
        None
    }

    /// v and Λ on a disc.
    fn on_disc(&self, minus: f64, plus: f64, radius: f64, one_piece: bool) -> Option<(f64, f64)> {
        let own = self.noise.smoothness(minus, radius)?;
        let variation = radius * (own.slope + 0.5 * own.curvature * radius);
        if variation.is_nan() || variation > MOST_VARIATION {
            return None;
        }
        // The disc of radius r + τ/2 around the middle covers everything between the two.
        let joint = one_piece.then(|| self.noise.smoothness(0.5 * (minus + plus), radius + 0.5 * self.tau)).flatten();
        let joint = joint.map_or(f64::INFINITY, |joint| self.tau * joint.curvature);
        let other = self.noise.smoothness(plus, radius);
        let apart =
            other.map_or(f64::INFINITY, |other| own.slope + other.slope + radius * (own.curvature + other.curvature));
        let steepest = joint.min(apart);
        (steepest * radius <= MOST_CHANGE).then_some((variation, steepest))
    }

    fn cell(&self, (from, l_from): (f64, f64), (to, l_to): (f64, f64), errors: &Errors) -> Cell {
        let (centre, half) = (0.5 * (from + to), 0.5 * (to - from));
        let mut points = [(0.0, 0.0); 4];
        for (point, (node, weight)) in points.iter_mut().zip(GAUSS) {
            let u = centre + half * node;
            *point = (self.loss(u), half * weight * self.noise.density(u - 0.5 * self.tau));
        }
        let least = points.iter().map(|p| p.0).fold(l_from.min(l_to), f64::min) - errors.pad;
        let most = points.iter().map(|p| p.0).fold(l_from.max(l_to), f64::max) + errors.pad;
        let size = 2.0 * half * self.noise.density(centre - 0.5 * self.tau);
        let (density_rounding, loss_rounding) = errors.rounding;
        let excess_error = size * (errors.excess + loss_rounding + 1e-14 * most.min(1e300));
        let mass =
            points.iter().map(|p| p.1).sum::<f64>() + size * (errors.mass + density_rounding) + 2.0 * excess_error;
        let low = self.below(least);
        let high = self.above(most).max(low + 1);
        let start = low as f64 * self.step;
        let excess: f64 = points.iter().map(|(l, p)| p * -(start - l).min(0.0).exp_m1()).sum();
        let up = (excess + excess_error) / -(-((high - low) as f64 * self.step)).exp_m1();
        Cell { low, high, mass, up: up.clamp(0.0, mass) }
    }

    /// A cell about which only z's fall from 0 is known: width × larger density, at 0 and above.
    fn whole(&self, (from, l_from): (f64, f64), (to, l_to): (f64, f64)) -> Cell {
        let half = 0.5 * self.tau;
        let largest = self.noise.density(from - half).max(self.noise.density(to - half));
        // l(u) ≤ ln z(u′ − τ/2) − ln z(to + τ/2), with u′ the end nearer to τ/2.
        let fall = self.noise.log_density(from + half) - self.noise.log_density(to + half);
        let most = l_from.max(l_to) + fall.max(0.0) + 1e-12 * (1.0 + l_to);
        let mass = 1.01 * (to - from) * largest;
        Cell { low: 0, high: self.above(most).max(1), mass: 2.0 * mass, up: mass }
    }

    /// The grid point at or below (`above`: at or above) a loss. Losses off the grid stay off it.
    fn below(&self, loss: f64) -> i64 {
        ((loss / self.step).floor() as i64).clamp(0, MOST_POINTS)
    }

    fn above(&self, loss: f64) -> i64 {
        ((loss / self.step).ceil() as i64).clamp(0, MOST_POINTS + 1)
    }
}

/// Four-point Gauss–Legendre on [−1, 1].
const GAUSS: [(f64, f64); 4] = [
    (-0.861_136_311_594_052_6, 0.347_854_845_137_453_9),
    (-0.339_981_043_584_856_3, 0.652_145_154_862_546_1),
    (0.339_981_043_584_856_3, 0.652_145_154_862_546_1),
    (0.861_136_311_594_052_6, 0.347_854_845_137_453_9),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{CustomDensity, NoiseSpec};

    /// Noises whose loss grows with u: the curve is T(u − τ/2) − e^ε·T(u + τ/2) where l(u) = ε.
    fn monotone() -> Vec<NoiseSpec> {
        let table: Vec<(f64, f64)> = (0..60).map(|i| f64::from(i) * 0.13).map(|x| (x, (-x.powf(1.7)).exp())).collect();
        let mut all = vec![
            NoiseSpec::Laplace { scale: 0.7 },
            NoiseSpec::VarianceGamma { scale: 0.5 },
            NoiseSpec::HyperbolicSecant { scale: 1.2 },
            NoiseSpec::Custom { density: CustomDensity::from_points("test", &table).unwrap(), scale: 0.9 },
        ];
        all.extend(
            [1.0, 1.01, 1.5, 2.0, 2.5, 3.0, 8.0, 20.0, 50.0, 100.0]
                .map(|exponent| NoiseSpec::GeneralizedGaussian { exponent, scale: 1.3 }),
        );
        all
    }

    /// δ(ε) for ε ≥ 0, and its possible error.
    fn exact(noise: &dyn Noise, tau: f64, epsilon: f64) -> (f64, f64) {
        let half = 0.5 * tau;
        let loss = |u: f64| noise.log_ratio(u + half, tau);
        let (mut low, mut high) = (0.0, noise.scale() * 1e3);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if loss(middle) > epsilon { high = middle } else { low = middle }
        }
        let above = |x: f64| if x < 0.0 { 1.0 - noise.survival(-x) } else { noise.survival(x) };
        let (p, q) = (above(high - half), epsilon.exp() * above(high + half));
        (p - q, 1e-11 * (p + q))
    }

    #[test]
    fn curves_of_one_coordinate_are_above_the_truth_and_close() {
        for spec in monotone() {
            let noise = spec.build().unwrap();
            for tau in [1e-3, 0.02, 0.5, 1.0, 3.0] {
                let deviation = (tau * noise.fisher_information().sqrt()).min(40.0);
                for step in [1e-3 * deviation, 0.03 * deviation] {
                    let lattice = coordinate(noise.as_ref(), tau, step, |_| true).unwrap();
                    let total: f64 = lattice.weight.iter().sum::<f64>() + lattice.infinity;
                    assert!(
                        total >= 1.0 - 1e-15 && total < 1.0 + 1e-8 + 2e-6 * lattice.infinity,
                        "{spec:?} τ = {tau}: {total}"
                    );
                    for i in 0..36 {
                        // On the grid, where the split is exact, and between grid points.
                        let k = if i < 6 { f64::from(i) } else { 6.0 * 1.5f64.powi(i - 6) }.floor();
                        for epsilon in [k * step, (k + 0.4) * step] {
                            let (want, slack) = exact(noise.as_ref(), tau, epsilon);
                            if epsilon > 700.0 {
                                continue;
                            }
                            let got = lattice.delta(epsilon);
                            assert!(
                                got >= want - slack,
                                "{spec:?} τ = {tau}, step {step}, ε = {epsilon}: {got:e} {want:e}"
                            );
                            let on_grid = epsilon == k * step;
                            // Cells do not end at grid points, so some are split over more steps.
                            let close = !on_grid || got <= want + 0.01 * step + slack + 1e-11;
                            assert!(close, "{spec:?} τ = {tau}, step {step}, ε = {epsilon}: {got:e} {want:e}");
                            // The other half of the curve follows by symmetry.
                            let (mirrored, minus) = (lattice.delta(-epsilon), -(-epsilon).exp_m1());
                            assert!(
                                mirrored >= minus + (-epsilon).exp() * want - slack - 1e-13,
                                "{spec:?} {tau} −{epsilon}"
                            );
                        }
                    }
                }
            }
        }
    }

    /// A loss that rises and falls: z(u − τ/2) = e^ε·z(u + τ/2) twice, known for Cauchy noise.
    #[test]
    fn heavy_tails_are_above_the_truth_too() {
        let noise = NoiseSpec::Cauchy { scale: 1.0 }.build().unwrap();
        for tau in [1e-3, 0.1, 1.0, 30.0f64] {
            let step = 1e-3 * (tau * noise.fisher_information().sqrt()).min(40.0);
            let lattice = coordinate(noise.as_ref(), tau, step, |_| true).unwrap();
            let most = 2.0 * (0.5 * tau).asinh();
            for share in [0.0, 0.01, 0.1, 0.3, 0.7, 0.95, 0.999] {
                let epsilon: f64 = share * most;
                // (1 + (u+h)²) = e^ε(1 + (u−h)²).
                let (h, e) = (0.5 * tau, epsilon.exp());
                let (a, b, c) = (e - 1.0, -2.0 * h * (e + 1.0), (e - 1.0) * (1.0 + h * h));
                let root = (b * b - 4.0 * a * c).max(0.0).sqrt();
                let (first, last) =
                    (2.0 * c / (-b + root), if a > 0.0 { (-b + root) / (2.0 * a) } else { f64::INFINITY });
                let mass = |centre: f64| ((last - centre).atan() - (first - centre).atan()) / std::f64::consts::PI;
                let want = mass(h) - e * mass(-h);
                let got = lattice.delta(epsilon);
                assert!(
                    got >= want - 1e-14 * e && (share > 0.99 || got <= want + 0.01 * step + 1e-10),
                    "τ = {tau}, ε = {epsilon}: {got:e} {want:e}"
                );
            }
        }
    }

    /// Mass in no cell is infinite loss, however early cells run out.
    #[test]
    fn shifts_far_beyond_the_scale_keep_all_mass() {
        for spec in monotone().into_iter().chain([NoiseSpec::StudentT { nu: 3.0, scale: 1.0 }]) {
            let noise = spec.build().unwrap();
            for tau in [40.0, 1e4, 1e9] {
                let lattice = coordinate(noise.as_ref(), tau, 0.04, |_| true).unwrap();
                let total: f64 = lattice.weight.iter().sum::<f64>() + lattice.infinity;
                assert!((1.0 - 1e-12..1.0 + 1e-4).contains(&total), "{spec:?} τ = {tau}: {total}");
                // Distinguishable except for the tails beyond the middle.
                let variation = 1.0 - 2.0 * noise.survival(0.5 * tau);
                assert!(lattice.delta(0.0) >= variation - 1e-12, "{spec:?} τ = {tau}");
            }
        }
    }
}
