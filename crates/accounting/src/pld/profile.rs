//! The whole privacy curve δ(ε) from a few compositions, tilted so that each ε is near the middle
//! of one, each read once from top to bottom, rather than one composition per ε.
//!
//! Every composition bounds δ(ε) in its whole window, and Chernoff's bound holds at any tilt, so
//! the least of all is a bound; the tilts decide how tight it is.

use super::{
    compose,
    direction::Direction,
    lattice::{Cumulants, Lattice},
    sampled::SampledPair,
    solve::{LATTICES, PILOT_CELLS, Pilot, Plan, grid_step, lattices, refine, round_work},
    work::{CUMULANT_POINT, MOMENT_POINT, Work},
};
use crate::normal;

const POINTS: u32 = 1200;
/// Fraction of points spaced evenly; the rest are denser near ε = 0.
const EVEN: f64 = 0.2;
/// Standard deviations between the middles of two compositions.
const APART: f64 = 6.5;
/// Most compositions in one direction.
const MOST_TILTS: u32 = 8;
/// Beyond this ε nothing is protected.
const MEANINGLESS: f64 = 500.0;
/// Factor of a coarser tolerance, enough to show that one direction is never the worse one.
const COARSE: f64 = 30.0;

/// P-mass that may become infinite loss, over the cut-off; a best test's TPR is at least its FPR.
const TAIL: f64 = 1e-7;
/// Bisection steps in a search for a tilt.
const TRIES: u32 = 24;

/// (ε, δ(ε)) from ε = 0 to where the best test has a false-positive rate of at most `cut_off`;
/// empty if δ is nearly 1 even there, or work runs out.
pub(super) fn curve(sources: &[(SampledPair, u64)], cut_off: f64, tolerance: f64, work: &Work) -> Vec<(f64, f64)> {
    let directions: &[Direction] = if sources.iter().all(|(source, _)| source.is_symmetric()) {
        &[Direction::Remove]
    } else {
        &[Direction::Remove, Direction::Add]
    };
    let look = |direction: &Direction| find_pilot(sources, *direction, cut_off, tolerance, work);
    let Some(pilots) = directions.iter().map(look).collect::<Option<Vec<Pilot>>>() else { return Vec::new() };
    let farthest = pilots.iter().map(|pilot| pilot.epsilon).fold(0.0, f64::max);
    if farthest.is_nan() || farthest <= 0.0 || farthest > MEANINGLESS {
        return Vec::new();
    }
    let epsilons = spaced(farthest);
    let mut worst = vec![0.0; epsilons.len()];
    for (direction, pilot) in directions.iter().zip(pilots) {
        let each = work.left() / if *direction == Direction::Remove { directions.len() as f64 } else { 1.0 };
        let found = work.of_which(each, |work| {
            let of = |tolerance| {
                let plan = pilot.plan(sources, *direction, tolerance, work);
                plan.map_or_else(|| vec![1.0; epsilons.len()], |plan| deltas(plan, &epsilons, work))
            };
            // The second direction is mostly smaller everywhere, which a coarse grid shows.
            let coarse = (*direction == Direction::Add).then(|| of(COARSE * tolerance));
            match coarse {
                Some(coarse) if coarse.iter().zip(&worst).all(|(new, known)| new <= known) => coarse,
                Some(coarse) => coarse.iter().zip(of(tolerance)).map(|(coarse, fine)| coarse.min(fine)).collect(),
                None => of(tolerance),
            }
        });
        worst.iter_mut().zip(found).for_each(|(worst, new)| *worst = worst.max(new));
    }
    // δ(ε) does not grow with ε, which ascends here.
    let mut least = 1.0_f64;
    worst.iter_mut().for_each(|delta| {
        least = least.min(*delta);
        *delta = least;
    });
    epsilons.into_iter().zip(worst).filter(|(_, delta)| *delta < 1.0).collect()
}

/// The same for N(μ, 1) against N(0, 1): the false-positive rate P[L > ε], L ~ N(−μ²/2, μ²), is
/// `cut_off` at ε = μ·Φ⁻¹(1 − `cut_off`) − μ²/2.
pub(super) fn of_gaussian(mu: f64, cut_off: f64) -> Vec<(f64, f64)> {
    let farthest = (mu * normal::survival_quantile(cut_off) - 0.5 * mu * mu).max(0.5 * mu * mu);
    spaced(farthest.min(MEANINGLESS))
        .into_iter()
        .map(|epsilon| (epsilon, normal::delta_gaussian(mu, epsilon)))
        .collect()
}

/// [`POINTS`] + 1 values from 0 to `farthest`.
fn spaced(farthest: f64) -> Vec<f64> {
    let part = |i: u32| f64::from(i) / f64::from(POINTS);
    (0..=POINTS).map(part).map(|part| farthest * part * (EVEN + (1.0 - EVEN) * part)).collect()
}

/// Mean and standard deviation of the sum under a tilt.
fn spread(parts: &[(Lattice, u64)], lambda: f64) -> (f64, f64) {
    let (mut mean, mut variance) = (0.0, 0.0);
    for (lattice, count) in parts {
        let Cumulants { mean: own, variance: more, .. } = lattice.cumulants(lambda);
        mean += *count as f64 * own;
        variance += *count as f64 * more;
    }
    (mean, variance.sqrt())
}

/// The largest λ from `low` to `high` at which `holds`, which is true for small λ only.
fn last(low: f64, high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    if holds(high) {
        return high;
    }
    let (mut low, mut high) = (low, high);
    for _ in 0..TRIES {
        // Geometric steps, except near 0.
        let middle = if low > 1e-3 * high { (low * high).sqrt() } else { 0.03 * high };
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}

/// A first look on a coarse grid. The curve ends where the best test's false-positive rate is below
/// `cut_off`, Q(L > ε) = E_P[e^{−L}; L > ε] ≤ e^{K(λ) − (1+λ)ε}, or δ(ε) is negligible against it.
fn find_pilot(
    sources: &[(SampledPair, u64)],
    direction: Direction,
    cut_off: f64,
    tolerance: f64,
    work: &Work,
) -> Option<Pilot> {
    let steps: f64 = sources.iter().map(|(_, count)| *count as f64).sum();
    let log_tail = (TAIL * cut_off).ln();
    let tail = (log_tail.exp() / steps).max(1e-318);
    let mut cells = vec![PILOT_CELLS; sources.len()];
    let mut rounds = 0;
    loop {
        if !work.spend(round_work(sources, &cells)) {
            return None;
        }
        let (spans, parts) = lattices(sources, direction, &cells, tail)?;
        let points: f64 = parts.iter().map(|(lattice, _)| lattice.weight.len() as f64).sum();
        work.spend((90.0 * MOMENT_POINT + 30.0 * CUMULANT_POINT) * points);
        let finest = parts.iter().map(|(lattice, _)| lattice.step).fold(f64::INFINITY, f64::min);
        let largest = 30.0 / finest;
        let moment = |lambda: f64| compose::log_moment(&parts, lambda);
        let alarms = |log_lambda: f64| {
            let lambda = log_lambda.exp();
            (moment(lambda) - cut_off.ln()) / (1.0 + lambda)
        };
        let (mut low, mut high) = (1e-3_f64.ln(), largest.ln());
        for _ in 0..TRIES {
            let third = (high - low) / 3.0;
            if alarms(low + third) < alarms(high - third) { high -= third } else { low += third }
        }
        let epsilon = alarms(low).min(compose::chernoff(moment, log_tail, largest).1);
        let reaches = |lambda: f64| {
            let (mean, deviation) = spread(&parts, lambda);
            mean + 0.5 * APART * deviation < epsilon
        };
        let lambda = if reaches(0.0) { last(0.0, largest, reaches) } else { 0.0 };
        let deviation = spread(&parts, 0.0).1.min(spread(&parts, lambda).1);
        let step = grid_step(lambda, epsilon, deviation, steps, tolerance);
        rounds += 1;
        let again = refine(&mut cells, &spans, step);
        if !again || rounds >= 6 || round_work(sources, &cells) > LATTICES * work.left() {
            return Some(Pilot { lambda, epsilon, deviation, tail, log_tail, fallback: 1.0, steps });
        }
    }
}

/// δ at each ε, from compositions under tilts from 0 to the plan's.
fn deltas(mut plan: Plan, epsilons: &[f64], work: &Work) -> Vec<f64> {
    let mut deltas = vec![1.0; epsilons.len()];
    let top = plan.lambda;
    let points: f64 = plan.parts.iter().map(|(lattice, _)| lattice.weight.len() as f64).sum();
    plan.lambda = 0.0;
    for _ in 0..MOST_TILTS {
        chernoff(&plan, epsilons, &mut deltas);
        let Some((sum, window)) = plan.compose(work) else { break };
        sum.lower(epsilons, &mut deltas);
        if plan.lambda >= top || !work.spend(f64::from(TRIES) * CUMULANT_POINT * points) {
            break;
        }
        // The next begins where this ends, so that they cover every ε; deviations may differ.
        let end = window.mean + 0.5 * APART * window.deviation;
        let begins = |lambda: f64| {
            let (mean, deviation) = spread(&plan.parts, lambda);
            mean - 0.5 * APART * deviation < end
        };
        let next = last(plan.lambda, top, begins);
        if next <= plan.lambda {
            break;
        }
        plan.lambda = next;
    }
    deltas
}

/// Chernoff: δ(ε) ≤ e^{K(λ) − λε}·λ^λ/(1+λ)^{1+λ} plus the mass at infinity, for every ε.
fn chernoff(plan: &Plan, epsilons: &[f64], deltas: &mut [f64]) {
    let lambda = plan.lambda;
    let moment = compose::log_moment(&plan.parts, lambda);
    let slack = compose::chernoff_slack(lambda);
    let infinite: f64 = plan.parts.iter().map(|(lattice, count)| *count as f64 * lattice.infinity).sum();
    for (epsilon, delta) in epsilons.iter().zip(deltas) {
        let rounding = compose::chernoff_rounding(moment.abs() + lambda * epsilon, lambda.max(f64::MIN_POSITIVE));
        let log_delta = moment - lambda * epsilon + slack + rounding;
        *delta = delta.min(log_delta.exp() * (1.0 + 1e-9) + infinite + f64::MIN_POSITIVE);
    }
}
