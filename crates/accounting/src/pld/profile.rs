//! The whole privacy curve δ(ε) at once: a few compositions under tilts that lie so that each ε is near the middle of one of them, and each read once from top to
//! bottom. A question for each ε would compose anew for each.
//!
//! Every composition bounds δ(ε) at every ε of its window, and Chernoff's bound holds at any tilt, so the least of all is a bound; tilts decide how near it is.

use super::{
    compose,
    direction::Direction,
    sampled::Pair,
    solve::{Pilot, Plan, Question},
    work::{MOMENT_POINT, Work},
};

/// Points of the curve.
const POINTS: u32 = 1200;
/// Share of even spacing: the rest grows with ε, as what is near 0 has more of all tests.
const EVEN: f64 = 0.2;
/// Standard deviations between the middles of two compositions.
const APART: f64 = 6.5;
/// Compositions in one direction, at most.
const MOST_TILTS: u32 = 8;
/// Beyond this ε nothing is protected, and lines of that slope are nearly upright.
const MEANINGLESS: f64 = 500.0;
/// A coarser grid is enough to show that one direction is the worse one.
const COARSE: f64 = 30.0;

/// (ε, δ(ε)) from ε = 0 to where the best test has `cut_off` of false alarms, or fewer; empty where even there δ is as good as 1, or there is no work for it.
pub(super) fn curve(sources: &[(Pair, u64)], cut_off: f64, tolerance: f64, work: &Work) -> Vec<(f64, f64)> {
    let directions: &[Direction] = if sources.iter().all(|(source, _)| source.is_symmetric()) {
        &[Direction::Remove]
    } else {
        &[Direction::Remove, Direction::Add]
    };
    let most = |direction: &Direction| farthest(sources, *direction, cut_off, tolerance, work);
    let Some(farthest) = directions.iter().map(most).collect::<Option<Vec<f64>>>() else { return Vec::new() };
    let farthest = farthest.into_iter().fold(0.0, f64::max);
    if farthest.is_nan() || farthest <= 0.0 || farthest > MEANINGLESS {
        return Vec::new();
    }
    let epsilons: Vec<f64> = (0..=POINTS)
        .map(|i| f64::from(i) / f64::from(POINTS))
        .map(|part| farthest * part * (EVEN + (1.0 - EVEN) * part))
        .collect();
    let mut worst = vec![0.0; epsilons.len()];
    for direction in directions {
        let each = work.left() / if *direction == Direction::Remove { directions.len() as f64 } else { 1.0 };
        let found = work.of_which(each, |work| {
            let of = |tolerance| one_direction(sources, *direction, &epsilons, tolerance, work);
            // The second direction is mostly the better one everywhere, and a coarse look shows it.
            let coarse = (*direction == Direction::Add).then(|| of(COARSE * tolerance));
            match coarse {
                Some(coarse) if coarse.iter().zip(&worst).all(|(new, known)| new <= known) => coarse,
                _ => of(tolerance),
            }
        });
        worst.iter_mut().zip(found).for_each(|(worst, new)| *worst = worst.max(new));
    }
    // δ(ε) does not grow with ε, and these ε do.
    let mut least = 1.0_f64;
    worst.iter_mut().for_each(|delta| {
        least = least.min(*delta);
        *delta = least;
    });
    epsilons.into_iter().zip(worst).filter(|(_, delta)| *delta < 1.0).collect()
}

/// An ε at which the best test has at most `cut_off` of false alarms: those are Q(L > ε) = E_P[e^{−L}; L > ε] ≤ e^{K(λ) − (1+λ)ε}.
fn farthest(sources: &[(Pair, u64)], direction: Direction, cut_off: f64, tolerance: f64, work: &Work) -> Option<f64> {
    let question = Question::Epsilon { log_delta: cut_off.ln() };
    let Pilot { parts, .. } = Pilot::new(sources, direction, question, tolerance, work)?;
    let finest = parts.iter().map(|(lattice, _)| lattice.step).fold(f64::INFINITY, f64::min);
    let points: f64 = parts.iter().map(|(lattice, _)| lattice.weight.len() as f64).sum();
    let most = |log_lambda: f64| {
        let lambda = log_lambda.exp();
        (compose::log_moment(&parts, lambda) - cut_off.ln()) / (1.0 + lambda)
    };
    let (mut low, mut high) = (1e-3_f64.ln(), (30.0 / finest).ln());
    work.spend(60.0 * MOMENT_POINT * points);
    for _ in 0..30 {
        let third = (high - low) / 3.0;
        if most(low + third) < most(high - third) { high -= third } else { low += third }
    }
    Some(most(low))
}

fn one_direction(
    sources: &[(Pair, u64)],
    direction: Direction,
    epsilons: &[f64],
    tolerance: f64,
    work: &Work,
) -> Vec<f64> {
    let mut deltas = vec![1.0; epsilons.len()];
    let question = Question::Delta { epsilon: epsilons[epsilons.len() - 1] };
    let plan = Pilot::new(sources, direction, question, tolerance, work)
        .and_then(|pilot| pilot.plan(sources, direction, tolerance, work));
    let Some(mut plan) = plan else { return deltas };
    // From the farthest down, so that no ε is left out between two: what is far out is as a rule the wider.
    for _ in 0..MOST_TILTS {
        chernoff(&plan, epsilons, &mut deltas);
        let Some((sum, window)) = plan.compose(work) else { break };
        sum.lower(epsilons, &mut deltas);
        if plan.lambda == 0.0 || window.mean - 0.5 * APART * window.deviation < 0.0 {
            break;
        }
        plan.lambda = (plan.lambda - APART / window.deviation).max(0.0);
    }
    deltas
}

/// δ(ε) ≤ e^{K(λ) − λε}·λ^λ/(1+λ)^{1+λ} and what is infinite, for every ε.
fn chernoff(plan: &Plan, epsilons: &[f64], deltas: &mut [f64]) {
    let lambda = plan.lambda;
    let moment = compose::log_moment(&plan.parts, lambda);
    let slack = if lambda == 0.0 { 0.0 } else { lambda * lambda.ln() - (1.0 + lambda) * lambda.ln_1p() };
    let infinite: f64 = plan.parts.iter().map(|(lattice, count)| *count as f64 * lattice.infinity).sum();
    for (epsilon, delta) in epsilons.iter().zip(deltas) {
        let rounding = compose::chernoff_rounding(moment.abs() + lambda * epsilon, lambda.max(f64::MIN_POSITIVE));
        let log_delta = moment - lambda * epsilon + slack + rounding;
        *delta = delta.min(log_delta.exp() * (1.0 + 1e-9) + infinite + f64::MIN_POSITIVE);
    }
}
