//! Random allocation: epochs of t releases; each example joins one by its own uniform draw.
//!
//! Let (P, Q) dominate every release of the epoch, X = dP/dQ. *The epoch's pair* is M = (1/t)·Σᵢ
//! Q×…×P×…×Q against Qᵗ: given the draw and everything before, each release is a kernel of its
//! coordinate (Blackwell), the same with and without the example, so all that is seen is a function
//! of the epoch's coordinates and of independent draws. This covers adaptive releases, other
//! policies' releases in between, and unfinished epochs. Under Qᵗ the ratio is
//! R = dM/dQᵗ = (X₁ + … + X_t)/t with independent Xᵢ of mean 1 (Feldman & Shenfeld 2026, arXiv
//! 2602.17284).
//!
//! *Upper bound.* δ(ε) = E[(R − e^ε)₊] if the neighbour lacks the example, E[(1 − e^ε·R)₊] if it
//! has one more; every quantity of the pair, also composed, is the mean of a convex function ≥ 0 of
//! R. Splitting mass of an Xᵢ, or of a partial sum, between two values at the same mean, or adding
//! mass, never lowers such a mean; and means of sums of independent variables grow with those of
//! each (convex order). So sums are kept on a grid, and mass between two points goes to both. Sums,
//! by doubling, are plain double sums of positive terms, whose relative rounding is added. There is
//! no transform or tilt: the grid is fine about the mean, where sums of many terms are, and
//! geometric further out, for single large terms.

use super::{
    coordinates::Unsampled,
    direction::Direction,
    finite::Losses,
    gaussian::{LARGEST_MU, SampledGaussian},
    lattice::{Builder, Lattice, UNIT},
    symmetric::Symmetric,
    work::{ALLOCATED_PAIR, ATOM, Work},
};

/// Mass at either end that is moved to 0, or to infinite loss.
const TAIL: f64 = 1e-28;
/// Losses beyond ± this count as infinite.
const MOST_LOSS: f64 = 300.0;
/// Up to this loss of one release, ratios are kept as deviations from 1.
const NARROW: f64 = 3.0;
/// The least μ of Gaussian noise at which ratios keep their digits.
const LEAST_MU: f64 = 1e-7;
/// Grid step of one Gaussian release, over μ.
const FIRST: f64 = 0.01;
/// Grid step over the width of the distribution, near its mean …
const NEAR: f64 = 0.02;
/// … and over the distance from the mean, further away.
const FAR: f64 = 0.02;
/// The least width, over the mean.
const LEAST_WIDTH: f64 = 1e-10;
const MOST_POINTS: usize = 2048;
/// Relative rounding of a mapped mass.
const MARGIN: f64 = 1e-14;

/// An upper bound, in convex order, on S = X₁ + … + X_k under Q.
#[derive(Clone, Debug)]
pub(super) struct Ratio {
    /// k.
    terms: f64,
    /// Ascending. The first stands for S = 0; the others are offset from it as S is from 0. It is
    /// −k if X is near 1, so that small deviations keep their digits.
    points: Vec<f64>,
    mass: Vec<f64>,
    /// Mass at infinite loss, 1 − E[S/k].
    escaped: f64,
}

impl Ratio {
    /// True if μ is in range; outside, a release and an epoch reveal nearly everything or nothing.
    pub fn is_known(unsampled: &Unsampled) -> bool {
        unsampled.mu().is_none_or(|mu| (LEAST_MU..=LARGEST_MU).contains(&mu))
    }

    /// The mean of `batches` independent ratios; `None` if that exceeds the work left.
    pub fn of(unsampled: &Unsampled, batches: u64, work: &Work) -> Option<Self> {
        // The mean of fewer is larger in convex order: eleven binary digits of the number suffice.
        let dropped = batches.max(1).ilog2().saturating_sub(10);
        let batches = batches >> dropped << dropped;
        let atoms = if let Unsampled::Atoms(pair) = unsampled { pair.atoms().len() } else { 0 };
        let one = work.spend(ATOM * atoms as f64).then(|| Self::single(unsampled))?;
        let mut sum = one.clone();
        for bit in (0..batches.ilog2()).rev() {
            sum = sum.plus(None, work)?;
            if batches >> bit & 1 == 1 {
                sum = sum.plus(Some(&one), work)?;
            }
        }
        Some(sum)
    }

    /// X itself.
    fn single(unsampled: &Unsampled) -> Self {
        let pair = match unsampled {
            Unsampled::Gaussian { mu } => {
                let pair = SampledGaussian { mu: *mu, rate: 1.0 };
                Symmetric::upper(&pair.lattice(Direction::Remove, FIRST * mu, TAIL))
            }
            Unsampled::Atoms(pair) => pair.clone(),
            // Never allocated: `Release::validate`.
            Unsampled::Finite(_) | Unsampled::Mixture(_) => Symmetric::certain(1.0),
        };
        let near = pair.atoms().next_back().is_none_or(|(l, _, _)| l <= NARROW);
        let (mut points, mut mass) = (vec![if near { -1.0 } else { 0.0 }], vec![pair.infinity]);
        let mut escaped = pair.infinity;
        for (l, p, q) in pair.atoms() {
            if l.abs() > MOST_LOSS {
                mass[0] += q;
                escaped += p;
            } else {
                points.push(if near { l.exp_m1() } else { l.exp() });
                mass.push(q);
            }
        }
        let whole = Self { terms: 1.0, points, mass, escaped }.trimmed();
        let grid = Grid::new(&whole, 1.0, whole.points[1], whole.last(), whole.width());
        let mut shares = Shares::new(&grid);
        shares.add(&grid, 0, 0.0, 1.0, &whole.points, &whole.mass);
        shares.finish(grid, 1.0, whole.escaped, whole.points.len())
    }

    /// The sum of this and an independent `other`; without one, of two independent copies of this.
    fn plus(&self, other: Option<&Self>, work: &Work) -> Option<Self> {
        let second = other.unwrap_or(self);
        let pairs = self.points.len() as f64 * second.points.len() as f64 * if other.is_some() { 1.0 } else { 0.5 };
        if !work.spend(ALLOCATED_PAIR * pairs) {
            return None;
        }
        let terms = self.terms + second.terms;
        let width = self.width().hypot(second.width());
        let grid = Grid::new(self, terms, self.points[1] + second.points[1], self.last() + second.last(), width);
        let mut shares = Shares::new(&grid);
        let mut start = 0;
        for (i, (point, mass)) in self.points.iter().zip(&self.mass).enumerate() {
            if other.is_some() {
                start = shares.add(&grid, start, *point, *mass, &second.points, &second.mass);
            } else {
                // Of two copies each pair counts twice, except equal ones.
                start = shares.add(&grid, start, *point, *mass, &second.points[i..=i], &second.mass[i..=i]);
                shares.add(&grid, start, *point, 2.0 * mass, &second.points[i + 1..], &second.mass[i + 1..]);
            }
        }
        // Infinite mass of one is multiplied by the whole mass of the other.
        let whole = |ratio: &Self| ratio.mass.iter().sum::<f64>() * (1.0 + 1e-12);
        let escaped = self.terms * self.escaped * whole(second) + second.terms * second.escaped * whole(self);
        Some(shares.finish(grid, terms, escaped / terms, self.points.len() + second.points.len()))
    }

    fn last(&self) -> f64 {
        self.points[self.points.len() - 1]
    }

    /// About the standard deviation near the mean, from the mean deviation (robust to large terms).
    fn width(&self) -> f64 {
        let mean = self.terms + self.points[0];
        let deviation: f64 = self.points.iter().zip(&self.mass).map(|(point, mass)| mass * (point - mean).abs()).sum();
        1.25 * deviation.max(LEAST_WIDTH * self.terms)
    }

    /// Removes negligible ends: their mass moves to S = 0 or infinity, and also to the first or
    /// last point left, so that both means stay or grow.
    fn trimmed(mut self) -> Self {
        let Self { terms, points, mass, escaped } = &mut self;
        let zero = points[0];
        let mut last = points.len() - 1;
        let mut beyond = 0.0;
        while last > 1 {
            let tail = mass[last] * (points[last] - zero) / *terms;
            beyond += tail;
            if beyond > TAIL {
                break;
            }
            *escaped += tail;
            last -= 1;
            mass[last] += mass[last + 1];
        }
        let mut first = 1;
        let mut below = 0.0;
        while first < last && below + mass[first] <= TAIL {
            below += mass[first];
            first += 1;
        }
        mass[first] += below;
        mass[0] += below;
        points.truncate(last + 1);
        mass.truncate(last + 1);
        points.drain(1..first);
        mass.drain(1..first);
        // Products that underflow.
        mass[0] += 1e-300;
        *escaped += 1e-150;
        self
    }

    /// (loss, P-mass), ascending, and the P-mass at infinite loss.
    fn losses(&self, direction: Direction) -> (Vec<(f64, f64)>, f64) {
        let zero = self.points[0];
        let atoms = self.points.iter().zip(&self.mass).skip(1).filter(|(_, mass)| **mass > 0.0).map(|(point, mass)| {
            let loss = if zero == 0.0 { (point / self.terms).ln() } else { (point / self.terms).ln_1p() };
            // Rounding of the quotient, and of the points of X.
            (loss, 16.0 * UNIT, (point - zero) / self.terms, *mass)
        });
        match direction {
            Direction::Remove => {
                (atoms.map(|(l, slack, ratio, mass)| (l + slack, ratio * mass)).collect(), self.escaped)
            }
            Direction::Add => (atoms.rev().map(|(l, slack, _, mass)| (slack - l, mass)).collect(), self.mass[0]),
        }
    }

    /// δ(0) of one epoch.
    pub fn total_variation(&self) -> f64 {
        let mean = self.terms + self.points[0];
        let above = |(point, mass): (&f64, &f64)| (point - mean).max(0.0) / self.terms * mass;
        self.points.iter().zip(&self.mass).map(above).sum::<f64>() * (1.0 + 1e-12) + 1e-15 + self.escaped
    }

    pub fn range(&self, direction: Direction, tail: f64) -> (f64, f64) {
        let (atoms, infinity) = self.losses(direction);
        let low = end(&mut atoms.iter().copied(), 0.0, 1e-20);
        let high = end(&mut atoms.iter().rev().copied(), infinity, tail);
        (low.min(0.0), high.max(0.0))
    }

    pub fn lattice(&self, direction: Direction, step: f64, tail: f64) -> Lattice {
        let (low, high) = self.range(direction, tail);
        let mut builder = Builder::spanning(low, high, step);
        let (atoms, infinity) = self.losses(direction);
        for (loss, mass) in atoms {
            builder.add(loss, mass);
        }
        builder.at_infinity(infinity);
        builder.finish(MARGIN)
    }

    pub fn len(&self) -> usize {
        self.points.len()
    }
}

/// The first loss at which the mass so far, with `beyond` before all, exceeds `most`.
fn end(atoms: &mut dyn Iterator<Item = (f64, f64)>, mut beyond: f64, most: f64) -> f64 {
    let mut at = 0.0;
    for (loss, mass) in atoms {
        at = loss;
        beyond += mass;
        if beyond > most {
            break;
        }
    }
    at
}

/// Points of a sum, the first of which is S = 0.
struct Grid {
    points: Vec<f64>,
    /// Inverse width of the cell above each point except the last.
    inverse: Vec<f64>,
}

impl Grid {
    /// A grid for the sum of `terms` ratios of this `width`, from `low` to `high`; zero as in
    /// `like`.
    fn new(like: &Ratio, terms: f64, low: f64, high: f64, width: f64) -> Self {
        let zero = like.points[0] / like.terms * terms;
        let mean = terms + zero;
        let mut coarser = 1.0;
        loop {
            let mut points = vec![zero];
            let mut at = low;
            while at < high && points.len() < MOST_POINTS {
                points.push(at);
                let distance = (at - mean).abs();
                at += coarser * (FAR * (at - zero)).min((NEAR * width).max(FAR * distance));
            }
            if points.len() < MOST_POINTS {
                points.push(high);
                let inverse = points.array_windows().map(|[low, high]| 1.0 / (high - low)).collect();
                return Self { points, inverse };
            }
            coarser *= 1.25;
        }
    }
}

/// Mass in each cell of a grid, and the part of it for the upper end.
struct Shares {
    mass: Vec<f64>,
    upper: Vec<f64>,
}

impl Shares {
    fn new(grid: &Grid) -> Self {
        Self { mass: vec![0.0; grid.inverse.len()], upper: vec![0.0; grid.inverse.len()] }
    }

    /// Adds mass at `point` + each of `points` (ascending), `mass` times theirs, from `cell` on.
    /// Returns the first one's cell.
    // Not inlined: there would be four copies.
    #[inline(never)]
    fn add(&mut self, grid: &Grid, mut cell: usize, point: f64, mass: f64, points: &[f64], masses: &[f64]) -> usize {
        let mut first = None;
        let (mut low, mut high, mut inverse) = (grid.points[cell], grid.points[cell + 1], grid.inverse[cell]);
        // Mass within one cell is summed before it is added, so that no sum is long.
        let (mut whole, mut upper) = (0.0, 0.0);
        for (more, own) in points.iter().zip(masses) {
            let place = point + more;
            if place > high {
                self.mass[cell] += whole;
                self.upper[cell] += upper;
                (whole, upper) = (0.0, 0.0);
                while place > grid.points[cell + 1] {
                    cell += 1;
                }
                (low, high, inverse) = (grid.points[cell], grid.points[cell + 1], grid.inverse[cell]);
            }
            first.get_or_insert(cell);
            let both = mass * own;
            whole += both;
            upper += both * ((place - low) * inverse);
        }
        self.mass[cell] += whole;
        self.upper[cell] += upper;
        first.unwrap_or(cell)
    }

    /// The ratio; no sum had more than `added` terms.
    fn finish(self, grid: Grid, terms: f64, escaped: f64, added: usize) -> Ratio {
        let mut mass = vec![0.0; grid.points.len()];
        for (cell, (whole, upper)) in self.mass.iter().zip(&self.upper).enumerate() {
            // Points are off by units in the last place, widths by two, sums by one per term: added
            // at both ends.
            let reach = grid.points[cell].abs().max(grid.points[cell + 1].abs());
            let more = whole * UNIT * (4.0 * reach * grid.inverse[cell] + 2.0 * added as f64 + 16.0);
            mass[cell] += (whole - upper).max(0.0) + more;
            mass[cell + 1] += upper + more;
        }
        Ratio { terms, points: grid.points, mass, escaped: escaped * (1.0 + 8.0 * UNIT) }.trimmed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{envelope::EnvelopeProfile, noise::NoiseSpec, normal};

    fn ratio(unsampled: &Unsampled, batches: u64) -> Ratio {
        Ratio::of(unsampled, batches, &Work::new(1e10)).unwrap()
    }

    fn laplace(scale: f64) -> Unsampled {
        let profile = EnvelopeProfile::from_vectors_f64([[1.0].as_slice()]).unwrap();
        let noise = NoiseSpec::Laplace { scale }.build().unwrap();
        Unsampled::envelope(noise.as_ref(), &profile, &Work::new(1e10)).unwrap()
    }

    /// δ(ε) of one epoch in both directions.
    fn deltas(ratio: &Ratio, epsilon: f64) -> [f64; 2] {
        [Direction::Remove, Direction::Add].map(|direction| ratio.lattice(direction, 1e-4, 1e-30).delta(epsilon))
    }

    /// Each direction is above the reference's δ, by little.
    #[test]
    fn either_direction_matches_the_reference() {
        let file: serde_json::Value =
            serde_json::from_str(include_str!("../../tests/golden/random-allocation.json")).unwrap();
        let mut seen = 0;
        for case in file["cases"].as_array().unwrap().iter().filter(|case| case["inputs"]["epochs"] == 1) {
            let number = |part: &str, field: &str| case[part][field].as_f64();
            let unsampled = match number("inputs", "sigma") {
                Some(sigma) => Unsampled::gaussian(1.0 / sigma),
                None => laplace(number("inputs", "b").unwrap()),
            };
            let ratio = ratio(&unsampled, case["inputs"]["batches"].as_u64().unwrap());
            let delta = number("inputs", "delta").unwrap();
            for (at, field) in ["eps_remove", "eps_add"].into_iter().enumerate() {
                let epsilon = number("expected", field).unwrap();
                // As close as the reference, some of which is to 1e-7.
                let (low, high) = (deltas(&ratio, epsilon * (1.0 - 1e-6))[at], deltas(&ratio, epsilon * 1.005)[at]);
                assert!(low >= delta && high <= delta, "{} {field}: {low:e} {high:e}", case["id"]);
                seen += 1;
            }
        }
        assert!(seen >= 20, "{seen}");
    }

    /// Two Gaussian batches: the second ratio in closed form, the first by the trapezoidal rule.
    #[test]
    fn two_batches_by_quadrature() {
        for mu in [0.05, 0.5, 1.0, 2.5, 6.0] {
            let ratio = ratio(&Unsampled::gaussian(mu), 2);
            for epsilon in [0.0, 0.3 * mu, mu, 2.0 * mu, 3.0 * mu] {
                // E[(X − k)₊] of one.
                let call = |k: f64| {
                    if k <= 0.0 {
                        return 1.0 - k;
                    }
                    normal::survival(k.ln() / mu - 0.5 * mu) - k * normal::survival(k.ln() / mu + 0.5 * mu)
                };
                let mean = |of: &dyn Fn(f64) -> f64| -> f64 {
                    (-6000..6000 + (1000.0 * mu) as i32)
                        .map(|i| 0.002 * f64::from(i))
                        .map(|x| {
                            0.002 * (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt()
                                * of((mu * x - 0.5 * mu * mu).exp())
                        })
                        .sum()
                };
                let remove = mean(&|x| 0.5 * call(2.0 * epsilon.exp() - x));
                // (1 − e^ε·R)₊, by parity.
                let level = 2.0 * (-epsilon).exp();
                let add = 0.5 * epsilon.exp() * mean(&|x| call(level - x) - 1.0 + (level - x));
                for (truth, found) in [remove, add].into_iter().zip(deltas(&ratio, epsilon)) {
                    // Differences of numbers near 1 have no more digits.
                    assert!(
                        found >= truth - 1e-13 && found <= truth * 1.03 + 1e-12,
                        "μ {mu}, ε {epsilon}: {found:e} {truth:e}"
                    );
                }
            }
        }
    }

    /// Squaring agrees with adding one by one, and the mean stays 1, including infinite mass, which
    /// is nearly all where a release reveals nearly everything.
    #[test]
    fn sums_keep_their_mean() {
        for unsampled in [0.1, 1.0, 5.0, 20.0, 100.0].map(Unsampled::gaussian).into_iter().chain([laplace(0.3)]) {
            for batches in [1, 2, 3, 7, 64, 1000] {
                let ratio = ratio(&unsampled, batches);
                let zero = ratio.points[0];
                let mass: f64 = ratio.mass.iter().sum();
                let mean: f64 =
                    ratio.points.iter().zip(&ratio.mass).map(|(x, m)| (x - zero) * m).sum::<f64>() / ratio.terms;
                assert_eq!(ratio.terms, batches as f64);
                assert!(ratio.points.is_sorted() && (1.0..1.0 + 1e-8).contains(&mass), "{batches}: {mass}");
                assert!((mean + ratio.escaped - 1.0).abs() < 1e-8, "{batches}: {mean} {}", ratio.escaped);
            }
        }
    }

    /// More batches hide more, in both directions and at any ε, but never everything.
    #[test]
    fn more_batches_tell_less() {
        for unsampled in [Unsampled::gaussian(0.3), Unsampled::gaussian(2.0), laplace(0.5)] {
            let all = [1, 2, 3, 5, 16, 100].map(|batches| ratio(&unsampled, batches));
            for epsilon in [0.0, 0.1, 0.5, 1.0] {
                for pair in all.windows(2) {
                    let [fewer, more] = [&pair[0], &pair[1]].map(|ratio| deltas(ratio, epsilon));
                    for (fewer, more) in fewer.into_iter().zip(more) {
                        assert!(more <= fewer * (1.0 + 1e-3) + 1e-25, "{epsilon}: {more:e} {fewer:e}");
                    }
                }
            }
        }
    }

    /// Bounds the work to prepare an epoch, for any noise and number of batches.
    #[test]
    fn no_epoch_takes_more_than_its_share_of_work() {
        for mu in [LEAST_MU, 1e-3, 0.3, 1.0, 3.0, 12.0, 60.0, LARGEST_MU] {
            for batches in [2, 1_000_000_000, u64::from(u32::MAX)] {
                let work = Work::new(1e9);
                let ratio = Ratio::of(&Unsampled::gaussian(mu), batches, &work).unwrap();
                assert!(ratio.points.len() <= MOST_POINTS + 1);
                assert!(ratio.mass.iter().all(|mass| mass.is_finite() && *mass >= 0.0), "{mu} {batches}");
                assert!(Ratio::of(&Unsampled::gaussian(mu), batches, &Work::new(1.0)).is_none());
            }
        }
    }
}
