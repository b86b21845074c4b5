//! Releases as lattices: sampling applied to an unsampled pair.
//!
//! *Where sampling exchanges a vector for another.* Let μ₀ be the release without the example, μ₁ and μ₁′ with the one vector and the other:
//! the pair is M = (1−q)μ₀ + qμ₁ and M′ = (1−q)μ₀ + qμ₁′. For α ≥ 1, α′ = 1 + q(α−1) and β = α′/α, advanced joint convexity (Balle, Barthe &
//! Gaboardi 2018, Theorem 2) says H_α′(M‖M′) = q·H_α(μ₁‖(1−β)μ₀ + βμ₁′) ≤ q·max(H_α(μ₁‖μ₀), H_α(μ₁‖μ₁′)). Both are at most H_α(P‖Q) of the
//! doubled sensitivity's pair, and q·H_α(P‖Q) = H_α′((1−q)Q + qP‖Q): the curve of "remove". For α′ < 1, H_α′(M‖M′) = 1 − α′ + α′·H_{1/α′}(M′‖M),
//! and M′ against M is as bad: the mirror image, which is the curve of "add". "Remove" alone would not do there: its loss is never below
//! ln(1−q), and that of M against M′ can be. So for Poisson sampling (μ₀: without the example's micro-batch), and for fixed sizes (μ₀:
//! another example in its place).

use super::{
    Direction,
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
    /// The same where the example's vector becomes another, the pair's sensitivity being doubled: either direction alike.
    Exchanged(Box<Source>),
}

/// Rounding of a mapped atom's mass.
const MARGIN: f64 = 1e-14;

impl Source {
    /// Whether "remove" and "add" have the same curve.
    pub fn is_symmetric(&self) -> bool {
        match self {
            Self::Gaussian(pair) => pair.rate == 1.0,
            Self::Atoms { rate, .. } => *rate == 1.0,
            Self::Exchanged(_) => true,
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
            Self::Exchanged(sampled) => sampled.total_variation(),
        }
    }

    /// Smallest and largest loss that needs a grid point, where P-mass of about `tail` may be left above.
    pub fn range(&self, direction: Direction, tail: f64) -> (f64, f64) {
        match self {
            Self::Gaussian(pair) => pair.range(direction, tail),
            Self::Atoms { pair, rate } => atoms_range(pair, *rate, direction, tail),
            Self::Exchanged(sampled) => {
                let (low, _) = sampled.range(Direction::Add, tail);
                let (_, high) = sampled.range(Direction::Remove, tail);
                (low.min(0.0), high.max(0.0))
            }
        }
    }

    /// The lattice on `step`, from above.
    pub fn lattice(&self, direction: Direction, step: f64, tail: f64) -> Lattice {
        match self {
            Self::Gaussian(pair) => pair.lattice(direction, step, tail),
            Self::Exchanged(sampled) => {
                let above = sampled.lattice(Direction::Remove, step, tail);
                let below = sampled.lattice(Direction::Add, step, tail);
                join(&above, &below)
            }
            Self::Atoms { pair, rate } => {
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
