//! Unsampled pairs, and the pair of an envelope with any noise.
//!
//! An encoded gradient v lies inside an arrangement of some ψ: |v_i| ≤ ψ_i. With independent
//! coordinates of Z, the worst pair is (Z + ψ, Z):
//! 1. *One coordinate.* For symmetric unimodal z and α ≥ 1, H_α(τ) = ∫(z(x−τ) − α·z(x))₊ dx does
//!    not decrease in τ ≥ 0. Its derivative is −∫_B z′ with B = {u : z(u) > α·z(u+τ)}, where |u| <
//!    |u+τ|, so u > −τ/2. If −u ∈ B for some u > 0, so is u, as z(u) = z(−u) > α·z(τ−u) ≥ α·z(τ+u);
//!    so over B the rise of z at negative arguments is outweighed by its fall at positive ones. For
//!    α < 1, H_α(P‖Q) = 1 − α + α·H_{1/α}(Q‖P), and by symmetry P and Q may be exchanged. ∎
//! 2. *All coordinates.* Products of dominating pairs dominate products (Zhu, Dong & Wang 2022);
//!    signs and order do not matter.
//! 3. *Many ψ, many entries.* By 1 and 2, a vector that exceeds ψ at every rank has a larger curve:
//!    a few dominating vectors cover all ([`EnvelopeProfile::dominating_vectors`]).
//! 4. *Several dominating vectors.* Each step may use another ψ, so the pair must dominate all: the
//!    pointwise maximum of the curves, convex and so the curve of a pair (Blackwell). The maximum
//!    of the ε of single ψ would be too small.
//!
//! `cells.rs` puts a coordinate's loss on a grid.

use super::{
    cells::coordinate,
    compose::{self, Reach},
    finite::Finite,
    lattice::Lattice,
    mixture::Mixture,
    symmetric::Symmetric,
    work::{COORDINATE_CELL, Work},
};
use crate::{
    PrivacyError,
    envelope::EnvelopeProfile,
    noise::Noise,
    pair::{Kind, Pair},
    parallel,
};
use hushgrad_message::word;

/// The pair of an example that participates for certain.
#[derive(Clone, Debug)]
pub(super) enum Unsampled {
    Gaussian { mu: f64 },
    Atoms(Symmetric),
    Finite(Finite),
    Mixture(Mixture),
}

/// P-mass of a whole vector's loss that may become infinite.
const TAIL: f64 = 1e-27;
/// Relative accuracy of the variance for vectors of few distinct entries …
const ACCURACY: f64 = 1e-5;
const FEW_ENTRIES: usize = 96;
/// … and of many, whose rounding up exceeds that.
const ACCURACY_OF_MANY: f64 = 1e-4;

impl Unsampled {
    /// N(μ, 1) against N(0, 1). Tiny μ are rounded up, to avoid underflow.
    pub fn gaussian(mu: f64) -> Self {
        Self::Gaussian { mu: mu.max(1e-60) }
    }

    pub fn mu(&self) -> Option<f64> {
        match self {
            Self::Gaussian { mu } => Some(*mu),
            Self::Atoms(_) | Self::Finite(_) | Self::Mixture(_) => None,
        }
    }

    /// The answer with an example against the answer without it.
    pub fn answer(pair: &Pair) -> Self {
        match pair.kind() {
            Kind::Masses { p, q } => Self::Finite(Finite::new(p, q, pair.is_symmetric())),
            Kind::Mixture { sigma, shifts, probabilities } => {
                Self::Mixture(Mixture::new(*sigma, shifts, probabilities))
            }
        }
    }

    /// Z + ψ against Z, for all ψ of the profile at once.
    ///
    /// # Errors
    /// [`PrivacyError::TooMuchWork`]; [`PrivacyError::Unpriced`] if a tail is not covered.
    pub fn envelope(noise: &dyn Noise, profile: &EnvelopeProfile, work: &Work) -> Result<Self, PrivacyError> {
        let dominating = profile.dominating_vectors();
        let vectors: Vec<Vec<Rung>> = dominating.iter().map(|vector| rungs(vector)).collect();
        // One grid for all, so that the curves can be compared.
        let squares =
            |vector: &Vec<(f64, u64)>| vector.iter().map(|(tau, count)| tau * tau * *count as f64).sum::<f64>();
        let deviation = (dominating.iter().map(squares).fold(0.0, f64::max) * noise.fisher_information()).sqrt();
        let most_rungs = vectors.iter().map(Vec::len).max().unwrap_or(1) as f64;
        let many = dominating.iter().any(|vector| vector.len() > FEW_ENTRIES);
        let accuracy = if many { ACCURACY_OF_MANY } else { ACCURACY };
        let single = vectors.iter().all(|rungs| rungs.len() == 1 && rungs[0].is_single());
        let fine = if single { 1e-3 } else { (12.0 * accuracy / most_rungs).sqrt() };
        // Losses of entries far beyond the scale are bounded or huge; 1e5 grid points suit both.
        let step = (deviation.min(40.0) * fine).max(1e-250);
        let mut curves = Vec::new();
        for rungs in &vectors {
            curves.push(product(noise, rungs, step, accuracy, work)?);
        }
        let pair = if curves.len() == 1 { curves.swap_remove(0) } else { maximum(&curves) };
        Ok(Self::Atoms(pair))
    }
}

/// Entries of similar size, (entry, count), in descending order; they share a grid.
struct Rung<'a>(&'a [(f64, u64)]);

impl Rung<'_> {
    fn is_single(&self) -> bool {
        matches!(self.0, [(_, 1)])
    }

    fn smallest(&self) -> f64 {
        self.0.last().map_or(0.0, |(tau, _)| *tau)
    }
}

/// Groups a vector's entries by octave.
fn rungs(vector: &[(f64, u64)]) -> Vec<Rung<'_>> {
    let mut rungs = Vec::new();
    let mut rest = vector;
    while let Some((largest, _)) = rest.first() {
        let (rung, below) = rest.split_at(rest.partition_point(|(tau, _)| *tau > 0.5 * largest));
        rungs.push(Rung(rung));
        rest = below;
    }
    rungs
}

/// The whole vector's loss: similar coordinates composed on their own fine grid, all on `step`.
fn product(
    noise: &dyn Noise,
    rungs: &[Rung<'_>],
    step: f64,
    accuracy: f64,
    work: &Work,
) -> Result<Symmetric, PrivacyError> {
    let too_much = || PrivacyError::TooMuchWork {
        what: word!("tight accounting of this noise inside this envelope"),
        remedy: word!(
            "use fewer distinct entries, more similar vectors, a smoother density or a scale closer to the entries; Rényi accounting gives a bound"
        ),
    };
    let information = noise.fisher_information();
    let log_tail = TAIL.ln();
    let mut single: Vec<(Lattice, u64)> = Vec::new();
    let mut fine: Vec<Vec<(Lattice, u64)>> = Vec::new();
    for rung in rungs {
        let own = (rung.smallest() * information.sqrt()).min(40.0) * (12.0 * accuracy).sqrt();
        // Grids nest.
        let own = if rung.is_single() { step } else { step / (step / own).ceil().max(1.0) };
        let price = |&(tau, count): &(f64, u64)| {
            let lattice = coordinate(noise, tau, own, |cells| work.spend(COORDINATE_CELL * cells as f64))?;
            work.spend(2.0 * lattice.weight.len() as f64).then_some((lattice, count))
        };
        let lattices = parallel::map(rung.0, price).into_iter().collect::<Option<Vec<_>>>().ok_or_else(too_much)?;
        if lattices.iter().any(|(lattice, _)| lattice.is_infinite()) {
            return Ok(Symmetric::certain(step));
        }
        if rung.is_single() { single.extend(lattices) } else { fine.push(lattices) }
    }
    if let ([(lattice, _)], []) = (single.as_slice(), fine.as_slice()) {
        return Ok(Symmetric::upper(lattice));
    }
    // Tilts from 0 until a window reaches the tail; each is precise near its own mean.
    let mut mass: Vec<f64> = Vec::new();
    let mut infinity = 0.0;
    let mut tilt = 0.0;
    for _ in 0..24 {
        let mut coarse = single.clone();
        let sums = parallel::map(&fine, |inner| {
            let affordable = work.spend(compose::window_work(inner));
            let window = affordable.then(|| compose::window(inner, tilt, log_tail, Reach::Composed))?;
            compose::sum(inner, tilt, &window, work).map(|sum| sum.coarsen(step))
        });
        for sum in sums {
            coarse.push((sum.ok_or_else(too_much)?, 1));
        }
        if !work.spend(compose::window_work(&coarse)) {
            return Err(too_much());
        }
        let window = compose::window(&coarse, tilt, log_tail, Reach::Final);
        let sum = compose::sum(&coarse, tilt, &window, work).ok_or_else(too_much)?;
        infinity = sum.bounds(&mut mass).max(infinity);
        // Under tilt 0 the window already reaches the tail; further tilts sharpen it.
        tilt += 4.0 / window.deviation;
        if window.mean > window.high - 4.0 * window.deviation
            || window.mean + 6.0 * window.deviation > mass.len() as f64 * step
        {
            break;
        }
    }
    // The first window starts below 0, or leaves P-mass of at most 1e-13 below: infinite loss.
    if let Some(start) = mass.iter().position(|m| m.is_finite()).filter(|start| *start > 0) {
        mass[..start].fill(0.0);
        infinity += compose::LOW_TAIL;
    }
    if mass.iter().any(|m| !m.is_finite()) {
        return Err(PrivacyError::Unpriced(word!(
            "privacy loss distributions of this noise, as its tail is not covered"
        )));
    }
    // Negligible mass at the end becomes infinite loss.
    while let [_, .., last] = mass.as_slice() {
        if *last >= 1e-305 {
            break;
        }
        infinity += last;
        mass.pop();
    }
    Ok(Symmetric { step, mass: mass.into(), infinity: infinity + 1e-300 })
}

/// The pair of the pointwise largest δ(ε), on the common grid.
///
/// A grid point's mass depends on the curve at its neighbours: it is a pair's own where that pair
/// leads at all three; where the lead changes, a kink of the curve adds mass.
fn maximum(curves: &[Symmetric]) -> Symmetric {
    let step = curves[0].step;
    let lattices: Vec<Lattice> = curves.iter().map(Symmetric::lattice).collect();
    let last = curves.iter().map(|c| c.mass.len()).max().unwrap_or(1) as i64;
    // δ at every grid point from −1 on, by a recursion of positive terms.
    let deltas: Vec<Vec<f64>> = lattices
        .iter()
        .map(|lattice| {
            let (mut c, mut d) = (0.0, lattice.infinity);
            let gap = -(-step).exp_m1();
            let decay = (-step).exp();
            let mut values = vec![0.0; last as usize + 3];
            for k in (-1..=last + 1).rev() {
                // From point k+1 to k, every loss above is one step further away.
                d += gap * c;
                values[(k + 1) as usize] = d;
                let index = k - lattice.first;
                let own = if (0..lattice.weight.len() as i64).contains(&index) {
                    lattice.weight[index as usize]
                } else {
                    0.0
                };
                c = own + decay * c;
            }
            values
        })
        .collect();
    let leader = |k: i64| {
        let at = (k + 1) as usize;
        (0..deltas.len()).max_by(|a, b| deltas[*a][at].total_cmp(&deltas[*b][at])).unwrap_or(0)
    };
    let mut mass = Vec::with_capacity(last as usize + 1);
    for k in 0..=last {
        let own = leader(k);
        let mut p = curves[own].mass.get(k as usize).copied().unwrap_or(0.0);
        // Slopes are per e^ε: a lead of d at the next point adds P-mass d·e^l/(e^{l+step} − e^l).
        let above = leader(k + 1);
        p += (deltas[above][(k + 2) as usize] - deltas[own][(k + 2) as usize]).max(0.0) / step.exp_m1();
        let below = leader(k - 1);
        p += (deltas[below][k as usize] - deltas[own][k as usize]).max(0.0) / -(-step).exp_m1();
        mass.push(p);
    }
    let infinity = curves.iter().map(|c| c.infinity).fold(0.0, f64::max);
    Symmetric { step, mass: mass.into(), infinity }
}
