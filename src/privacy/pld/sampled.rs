//! Releases as lattices: sampling applied to an unsampled pair.

use super::{
    Direction, Neighbour,
    coordinates::Symmetric,
    gaussian::SampledGaussian,
    lattice::{Builder, Lattice},
};

/// What the composer composes.
#[derive(Clone, Debug)]
pub(super) enum Source {
    Gaussian(SampledGaussian),
    /// Any symmetric pair on a lattice, sampled at `rate`.
    Atoms {
        pair: Symmetric,
        rate: f64,
    },
}

/// Rounding of a mapped atom's mass.
const MARGIN: f64 = 1e-14;

impl Source {
    /// Whether "remove" and "add" have the same curve.
    pub fn is_symmetric(&self) -> bool {
        match self {
            Self::Gaussian(pair) => pair.rate == 1.0,
            Self::Atoms { rate, .. } => *rate == 1.0,
        }
    }

    /// δ(0) of one release: the same for every neighbour.
    pub fn total_variation(&self) -> f64 {
        match self {
            Self::Gaussian(pair) => pair.rate * libm::erf(pair.mu / 8.0_f64.sqrt()),
            Self::Atoms { pair, rate } => {
                let above: f64 = pair.atoms().map(|(_, p, q)| (p - q).max(0.0)).sum();
                rate * (above + pair.infinity())
            }
        }
    }

    /// Smallest and largest loss that needs a grid point, where P-mass of about `tail` may be left above.
    pub fn range(&self, neighbour: Neighbour, tail: f64) -> (f64, f64) {
        match (neighbour, self) {
            (Neighbour::Another, _) => {
                let (low, _) = self.range(Neighbour::One(Direction::Add), tail);
                let (_, high) = self.range(Neighbour::One(Direction::Remove), tail);
                (low.min(0.0), high.max(0.0))
            }
            (Neighbour::One(direction), Self::Gaussian(pair)) => pair.range(direction, tail),
            (Neighbour::One(direction), Self::Atoms { pair, rate }) => atoms_range(pair, *rate, direction, tail),
        }
    }

    /// The lattice on `step`, from above.
    pub fn lattice(&self, neighbour: Neighbour, step: f64, tail: f64) -> Lattice {
        match (neighbour, self) {
            (Neighbour::Another, _) => {
                let above = self.lattice(Neighbour::One(Direction::Remove), step, tail);
                let below = self.lattice(Neighbour::One(Direction::Add), step, tail);
                join(&above, &below)
            }
            (Neighbour::One(direction), Self::Gaussian(pair)) => pair.lattice(direction, step, tail),
            (Neighbour::One(direction), Self::Atoms { pair, rate }) => {
                let (low, high) = atoms_range(pair, *rate, direction, tail);
                let first = (low / step).floor() as i64;
                let last = ((high / step).ceil() as i64).max(first + 1);
                let mut builder = Builder::new(first, last, step);
                each_atom(pair, *rate, direction, |loss, mass| builder.add(loss, mass));
                let mut lattice = builder.finish(MARGIN);
                lattice.infinity += 1e-320;
                lattice
            }
        }
    }
}

/// The curve that is `above`'s for ε ≥ 0 and `below`'s for ε < 0: a point's mass depends on the curve at its two neighbours
/// alone, so only the mass at 0 is new, and it is what is left.
fn join(above: &Lattice, below: &Lattice) -> Lattice {
    let first = below.first.min(-1);
    let last = (above.first + above.weight.len() as i64 - 1).max(1);
    let mut weight = vec![0.0; (last - first) as usize + 1];
    let mut rest = 1.0 - above.infinity;
    for (lattice, wanted) in [(above, 1), (below, -1)] {
        for (index, mass) in lattice.weight.iter().enumerate() {
            let k = lattice.first + index as i64;
            if k.signum() == wanted {
                weight[(k - first) as usize] += mass;
                rest -= mass;
            }
        }
    }
    weight[-first as usize] = rest.max(0.0) + 1e-13;
    let mut joined = Lattice::untilted(first, above.step, weight, above.infinity);
    joined.trim();
    joined
}

/// The sampled loss and P-mass of each atom of the unsampled pair. With y = e^l: "remove" has P-mass (1−q)·Q + q·P at
/// ln(1 − q + q·y), "add" Q at −ln(1 − q + q·y).
fn each_atom(pair: &Symmetric, rate: f64, direction: Direction, mut put: impl FnMut(f64, f64)) {
    let sampled = |l: f64| {
        if rate == 1.0 {
            l
        } else if l > 600.0 {
            l + rate.ln()
        } else {
            (rate * l.exp_m1()).ln_1p()
        }
    };
    let none = (-rate).ln_1p();
    for (l, p, q) in pair.atoms() {
        match direction {
            Direction::Remove => put(sampled(l), (1.0 - rate) * q + rate * p),
            Direction::Add => put(-sampled(l), q),
        }
    }
    // y = ∞ has only P-mass, y = 0 only Q-mass, equal by symmetry.
    match direction {
        Direction::Remove => {
            put(f64::INFINITY, rate * pair.infinity());
            if rate < 1.0 {
                put(none, (1.0 - rate) * pair.infinity());
            }
        }
        Direction::Add => put(-none, pair.infinity()),
    }
}

fn atoms_range(pair: &Symmetric, rate: f64, direction: Direction, tail: f64) -> (f64, f64) {
    // Atoms come in order of l; each end is cut where what lies beyond is too little.
    let mut atoms = Vec::new();
    each_atom(pair, rate, direction, |loss, mass| {
        if loss.is_finite() {
            atoms.push((loss, mass));
        }
    });
    atoms.sort_by(|a, b| a.0.total_cmp(&b.0));
    let end = |atoms: &mut dyn Iterator<Item = &(f64, f64)>, most: f64| {
        let mut beyond = 0.0;
        let mut at = 0.0;
        for (loss, mass) in atoms {
            at = *loss;
            beyond += mass;
            if beyond > most {
                break;
            }
        }
        at
    };
    let low = end(&mut atoms.iter(), 1e-20);
    let high = end(&mut atoms.iter().rev(), tail);
    (low.min(0.0), high.max(0.0))
}
