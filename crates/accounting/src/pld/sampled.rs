//! Lattices of sampled releases, from unsampled pairs.
//!
//! *Sampling that exchanges vectors.* Let μ₀ be the release without the example, μ₁ and μ₁′ with
//! either vector; the pair is M = (1−q)μ₀ + qμ₁ and M′ = (1−q)μ₀ + qμ₁′. For α ≥ 1,
//! α′ = 1 + q(α−1), β = α′/α, advanced joint convexity (Balle, Barthe & Gaboardi 2018, Theorem 2)
//! gives H_α′(M‖M′) = q·H_α(μ₁‖(1−β)μ₀ + βμ₁′) ≤ q·max(H_α(μ₁‖μ₀), H_α(μ₁‖μ₁′)). Both are at most
//! H_α(P‖Q) of the doubled sensitivity's pair, and q·H_α(P‖Q) = H_α′((1−q)Q + qP‖Q): the curve of
//! "remove". For α′ < 1, H_α′(M‖M′) = 1 − α′ + α′·H_{1/α′}(M′‖M), and M′ against M is as bad: the
//! mirror image, the curve of "add". "Remove" alone is no bound there: its loss is at least
//! ln(1−q), that of M against M′ may be less. This covers fixed sizes (μ₀: another example in its
//! place) and Poisson sampling (μ₀: without the example's micro-batch), where Gaussian noise has
//! the smaller price of `exchange.rs`.

use std::sync::Arc;

use super::{
    allocation::Ratio,
    coordinates::Unsampled,
    direction::Direction,
    exchange::ExchangedGaussian,
    finite::{Finite, Losses},
    gap::Raised,
    gaussian::{self, LARGEST_MU, SampledGaussian},
    lattice::{Builder, Lattice, MOST_POINTS, sum_by_blocks, sum_rounding},
    mixture::Mixture,
    symmetric::Symmetric,
    work::{ATOM, GAUSSIAN_POINT},
};
use crate::{numeric::sampled_loss, pair::SUM};

#[derive(Clone, Debug)]
pub(super) enum SampledPair {
    Gaussian(SampledGaussian),
    /// Any symmetric pair on a lattice, sampled at `rate`.
    Atoms {
        pair: Symmetric,
        rate: f64,
    },
    /// Two mass functions, sampled at `rate`.
    Finite {
        pair: Finite,
        rate: f64,
    },
    /// Shifts chosen by chance.
    Mixture(Mixture),
    /// An epoch of random allocation.
    Allocated(Arc<Ratio>),
    /// A sampled pair of doubled sensitivity, for exchanged vectors; both directions are alike.
    ReplaceOne(Box<SampledPair>),
    /// Opposite vectors under Poisson sampling.
    Exchanged(ExchangedGaussian),
}

/// Relative rounding of a mapped atom's mass.
const MARGIN: f64 = 1e-14;
/// How far the sums of given masses may be from 1, twice.
const NOT_ONE: f64 = 2.0 * SUM;

impl SampledPair {
    /// `unsampled` with participation probability `rate`.
    pub fn of(unsampled: &Unsampled, rate: f64) -> Self {
        // Tiny rates are rounded up.
        let rate = rate.max(1e-60);
        match unsampled {
            // Beyond this the pair is fully distinguishable: all P-mass at infinite loss.
            Unsampled::Gaussian { mu } if *mu > LARGEST_MU => Self::Atoms { pair: Symmetric::certain(1.0), rate },
            Unsampled::Gaussian { mu } => Self::Gaussian(SampledGaussian { mu: *mu, rate }),
            Unsampled::Atoms(pair) => Self::Atoms { pair: pair.clone(), rate },
            Unsampled::Finite(pair) => Self::Finite { pair: pair.clone(), rate },
            Unsampled::Mixture(mixture) => Self::Mixture(mixture.sampled(rate)),
        }
    }

    /// Vectors exchanged under sampling, from the pair of their distance.
    pub fn replace_one(unsampled: &Unsampled, rate: f64) -> Self {
        Self::ReplaceOne(Box::new(Self::of(unsampled, rate)))
    }

    /// The same if the rest of the mixture is the sum without either.
    pub fn exchange(unsampled: &Unsampled, rate: f64) -> Self {
        match unsampled {
            Unsampled::Gaussian { mu } if *mu <= LARGEST_MU && rate < 1.0 => {
                Self::Exchanged(ExchangedGaussian { mu: 0.5 * mu, rate: rate.max(1e-60) })
            }
            _ => Self::replace_one(unsampled, rate),
        }
    }

    /// True if "remove" and "add" have the same curve.
    pub fn is_symmetric(&self) -> bool {
        match self {
            Self::Gaussian(pair) => pair.rate == 1.0,
            Self::Atoms { rate, .. } => *rate == 1.0,
            Self::Finite { pair, rate } => pair.symmetric && *rate == 1.0,
            Self::Allocated(_) | Self::Mixture(_) => false,
            Self::ReplaceOne(_) | Self::Exchanged(_) => true,
        }
    }

    /// δ(0) of one release, the same for either neighbour.
    pub fn total_variation(&self) -> f64 {
        match self {
            Self::Gaussian(pair) => pair.rate * libm::erf(pair.mu / 8.0_f64.sqrt()),
            Self::Atoms { pair, rate } => rate * total_variation(pair),
            Self::Finite { pair, rate } => rate * total_variation(pair),
            Self::Mixture(mixture) => mixture.total_variation(),
            Self::Allocated(ratio) => ratio.total_variation(),
            Self::ReplaceOne(sampled) => sampled.total_variation(),
            Self::Exchanged(pair) => pair.total_variation(),
        }
    }

    /// Smallest and largest loss that need grid points, with P-mass of about `tail` above.
    pub fn range(&self, direction: Direction, tail: f64) -> (f64, f64) {
        match self {
            Self::Gaussian(pair) => pair.range(direction, tail),
            Self::Atoms { pair, rate } => atoms_range(pair, *rate, direction, tail),
            Self::Finite { pair, rate } => atoms_range(pair, *rate, direction, tail),
            Self::Mixture(mixture) => mixture.range(direction, tail),
            Self::Allocated(ratio) => ratio.range(direction, tail),
            Self::Exchanged(pair) => pair.range(tail),
            Self::ReplaceOne(sampled) => {
                let (low, _) = sampled.range(Direction::Add, tail);
                let (_, high) = sampled.range(Direction::Remove, tail);
                (low.min(0.0), high.max(0.0))
            }
        }
    }

    /// An upper bound on a grid of `step`.
    pub fn lattice(&self, direction: Direction, step: f64, tail: f64) -> Lattice {
        let bound = match self {
            Self::Gaussian(pair) => return pair.lattice(direction, step, tail),
            Self::Exchanged(pair) => return pair.lattice(step, tail),
            Self::Mixture(mixture) => return mixture.lattice(direction, step, tail),
            Self::Finite { pair, rate } => {
                let (low, high) = atoms_range(pair, *rate, direction, tail);
                return atoms_lattice(pair, *rate, direction, Builder::spanning(low, high, step), NOT_ONE);
            }
            Self::Allocated(ratio) => ratio.lattice(direction, step, tail),
            Self::ReplaceOne(sampled) => {
                join(&sampled.half(Direction::Remove, step, tail), &sampled.half(Direction::Add, step, tail), step)
            }
            Self::Atoms { pair, rate } => {
                let (low, high) = atoms_range(pair, *rate, direction, tail);
                atoms_lattice(pair, *rate, direction, Builder::spanning(low, high, step), MARGIN)
            }
        };
        // These pairs are themselves upper bounds.
        Lattice { raised: Raised::UNKNOWN, ..bound }
    }

    pub fn lattice_work(&self, points: f64) -> f64 {
        let points = points.min(2.0 * MOST_POINTS as f64);
        match self {
            Self::Gaussian(_) => GAUSSIAN_POINT * points,
            Self::Exchanged(_) => 3.0 * GAUSSIAN_POINT * points,
            Self::Atoms { pair, .. } => ATOM * (2.0 * pair.atoms().len() as f64 + points),
            Self::Finite { pair, .. } => ATOM * (2.0 * pair.atoms().len() as f64 + points),
            Self::Mixture(mixture) => (3.0 + mixture.components() as f64) * GAUSSIAN_POINT * points,
            Self::Allocated(ratio) => ATOM * (4.0 * ratio.len() as f64 + points),
            Self::ReplaceOne(sampled) => sampled.lattice_work(points),
        }
    }

    /// The part above 0 of "remove", or below 0 of "add", which is all that [`join`] reads.
    fn half(&self, direction: Direction, step: f64, tail: f64) -> Lattice {
        match self {
            Self::Gaussian(pair) => pair.half(direction, step, tail),
            Self::Atoms { pair, rate } => atoms_half(pair, *rate, direction, step, tail, MARGIN),
            Self::Finite { pair, rate } => atoms_half(pair, *rate, direction, step, tail, NOT_ONE),
            Self::Allocated(_) | Self::Mixture(_) | Self::ReplaceOne(_) | Self::Exchanged(_) => {
                self.lattice(direction, step, tail)
            }
        }
    }
}

/// δ(0) of an unsampled pair.
fn total_variation(pair: &impl Losses) -> f64 {
    pair.atoms().map(|(_, p, q)| (p - q).max(0.0)).sum::<f64>() + pair.only_p()
}

fn atoms_half(pair: &impl Losses, rate: f64, direction: Direction, step: f64, tail: f64, margin: f64) -> Lattice {
    let (low, high) = atoms_range(pair, rate, direction, tail);
    let builder = match direction {
        Direction::Remove => Builder::spanning(0.0, high, step),
        Direction::Add => Builder::spanning(low, 0.0, step),
    };
    atoms_lattice(pair, rate, direction, builder, margin)
}

/// `margin` covers both masses: those of P grow by it, and losses by as much again.
fn atoms_lattice(pair: &impl Losses, rate: f64, direction: Direction, mut builder: Builder, margin: f64) -> Lattice {
    each_atom(pair, rate, direction, |loss, mass| builder.add(loss + margin, mass));
    let mut lattice = builder.finish(margin);
    lattice.infinity += 1e-320;
    lattice
}

/// The curve of `above` for ε ≥ 0 and of `below` for ε < 0. A point's mass depends only on the
/// curve at its neighbours, so only the mass at 0 is new: it is the rest.
fn join(above: &Lattice, below: &Lattice, step: f64) -> Lattice {
    let first = below.first.min(-1);
    let last = (above.first + above.weight.len() as i64 - 1).max(1);
    let mut weight = vec![0.0; (last - first) as usize + 1];
    for (lattice, wanted) in [(above, 1), (below, -1)] {
        for (index, mass) in lattice.weight.iter().enumerate() {
            let k = lattice.first + index as i64;
            if k.signum() == wanted {
                weight[(k - first) as usize] += mass;
            }
        }
    }
    // Masses are too large by up to their margin, which makes the rest too small.
    let taken = sum_by_blocks(&weight) + above.infinity;
    let margin = gaussian::MARGIN + sum_rounding(weight.len());
    weight[-first as usize] = (1.0 - taken).max(0.0) + 2.0 * margin;
    let mut joined = Lattice::untilted(first, step, weight, above.infinity);
    joined.trim();
    joined
}

/// Sampled loss and P-mass of each atom of the unsampled pair. With y = e^l: "remove" has P-mass
/// (1−q)·Q + q·P at ln(1 − q + q·y), "add" Q at −ln(1 − q + q·y).
fn each_atom(pair: &impl Losses, rate: f64, direction: Direction, mut put: impl FnMut(f64, f64)) {
    let none = (-rate).ln_1p();
    for (l, p, q) in pair.atoms() {
        match direction {
            Direction::Remove => put(sampled_loss(rate, l), (1.0 - rate) * q + rate * p),
            Direction::Add => put(-sampled_loss(rate, l), q),
        }
    }
    // y = ∞ has only P-mass, y = 0 only Q-mass.
    match direction {
        Direction::Remove => {
            put(f64::INFINITY, rate * pair.only_p());
            if rate < 1.0 {
                put(none, (1.0 - rate) * pair.only_q());
            }
        }
        Direction::Add => put(-none, pair.only_q()),
    }
}

fn atoms_range(pair: &impl Losses, rate: f64, direction: Direction, tail: f64) -> (f64, f64) {
    // Atoms come in order of l, Q-mass without P-mass last; each end is cut at negligible mass.
    let none = (-rate).ln_1p();
    let end = |atoms: &mut dyn Iterator<Item = (f64, f64)>, most: f64| {
        let (mut beyond, mut at) = (0.0, 0.0);
        for (loss, mass) in atoms {
            at = loss;
            beyond += mass;
            if beyond > most {
                break;
            }
        }
        at
    };
    let left = (none.is_finite()).then_some(none);
    let (low, high) = match direction {
        Direction::Remove => {
            let mapped = || pair.atoms().map(|(l, p, q)| (sampled_loss(rate, l), (1.0 - rate) * q + rate * p));
            let last = left.map(|none| (none, (1.0 - rate) * pair.only_q()));
            (end(&mut last.into_iter().chain(mapped()), 1e-20), end(&mut mapped().rev().chain(last), tail))
        }
        Direction::Add => {
            let mapped = || pair.atoms().map(|(l, _, q)| (-sampled_loss(rate, l), q));
            let first = left.map(|none| (-none, pair.only_q()));
            (end(&mut mapped().rev().chain(first), 1e-20), end(&mut first.into_iter().chain(mapped()), tail))
        }
    };
    (low.min(0.0), high.max(0.0))
}
