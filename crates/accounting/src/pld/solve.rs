//! Answers a question, ε(δ) or δ(ε): chooses a tilt and a grid, and composes.
//!
//! Each direction may use half of a question's work. A finer grid, another round or a transform
//! that would exceed the rest is not begun; Chernoff's bound on the last grid stands, or none.

use std::cell::Cell;

use super::{
    compose::{self, Reach, Sum, Window},
    direction::Direction,
    lattice::Lattice,
    sampled::SampledPair,
    work::{self, MOMENT_POINT, Work},
};

/// Most grid points of one release's lattice.
const MOST_CELLS: f64 = 300_000.0;
/// Most points of one transform; longer compositions take two levels.
const MOST_POINTS: f64 = 300_000.0;
/// Grid points of the first look at a release.
pub(super) const PILOT_CELLS: f64 = 2048.0;
/// Share of the remaining work that lattices may take; composing them takes more.
pub(super) const LATTICES: f64 = 0.4;
/// Above this ε nothing is protected, and Chernoff's bound suffices.
const MEANINGLESS: f64 = 100.0;
/// P-mass that may become infinite loss, relative to δ.
const TAIL: f64 = 1e-7;

#[derive(Clone, Copy, Debug)]
pub(super) enum Question {
    Epsilon { log_delta: f64 },
    Delta { epsilon: f64 },
}

impl Question {
    /// True if this value, as ε, is not worth sharpening.
    fn is_hopeless(self, value: f64) -> bool {
        matches!(self, Self::Epsilon { .. }) && (value.is_nan() || value > MEANINGLESS)
    }

    /// The trivial bound.
    pub fn no_answer(self) -> f64 {
        match self {
            Self::Epsilon { .. } => f64::INFINITY,
            Self::Delta { .. } => 1.0,
        }
    }
}

/// Releases on one grid, ready to be composed, and the tilt for the question.
pub(super) struct Plan {
    pub parts: Vec<(Lattice, u64)>,
    pub lambda: f64,
    epsilon: f64,
    log_tail: f64,
    /// Chernoff's answer, itself an upper bound.
    fallback: f64,
    tolerance: f64,
}

/// The answer; `convolved` if by convolution, not by Chernoff.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    pub value: f64,
    pub convolved: bool,
    /// The true ε is at least this; 0 if nothing is known.
    pub least: f64,
}

impl Answer {
    fn bound(value: f64, convolved: bool) -> Self {
        Self { value, convolved, least: 0.0 }
    }

    pub fn max(self, other: Self) -> Self {
        let larger = if other.value > self.value { other } else { self };
        Self { least: self.least.max(other.least), ..larger }
    }

    /// The smaller of two valid bounds.
    fn min(self, other: Self) -> Self {
        let smaller = if other.value <= self.value { other } else { self };
        Self { least: self.least.max(other.least), ..smaller }
    }
}

/// The larger answer of both directions, one example less or more; a single one if both are alike.
pub(super) fn answer(sources: &[(SampledPair, u64)], question: Question, tolerance: f64, work: &Work) -> Answer {
    if let Question::Epsilon { log_delta } = question {
        // δ(0) is the total variation distance, which adds up; the margin covers underflow.
        let at_most = |source: &SampledPair| source.total_variation() + f64::MIN_POSITIVE;
        let variation: f64 = sources.iter().map(|(source, count)| *count as f64 * at_most(source)).sum();
        if variation > 0.0 && variation.ln() + 1e-9 <= log_delta {
            return Answer::bound(0.0, true);
        }
    }
    let each = 0.5 * work.left();
    let ask = |direction, known| -> Answer {
        work.of_which(each, |work| one_direction(sources, direction, question, tolerance, known, work))
    };
    let remove = ask(Direction::Remove, f64::NEG_INFINITY);
    if sources.iter().all(|(source, _)| source.is_symmetric()) {
        return remove;
    }
    remove.max(ask(Direction::Add, remove.value))
}

/// The answer in one direction. If a cheap bound is at most `known`, returns that.
fn one_direction(
    sources: &[(SampledPair, u64)],
    direction: Direction,
    question: Question,
    tolerance: f64,
    known: f64,
    work: &Work,
) -> Answer {
    let Some(pilot) = Pilot::new(sources, direction, question, tolerance, work) else {
        return Answer::bound(question.no_answer(), false);
    };
    let cheap = Answer::bound(pilot.fallback, false);
    let hopeless = question.is_hopeless(cheap.value);
    if cheap.value <= known || hopeless {
        return cheap;
    }
    let mut best = cheap;
    if known.is_finite() {
        let Some(plan) = pilot.plan(sources, direction, 30.0 * tolerance, work) else { return cheap };
        best = best.min(plan.solve(question, work));
        if best.value <= known {
            return best;
        }
    }
    // Without enough work for the finer grid, the coarser answer stands.
    pilot.plan(sources, direction, tolerance, work).map_or(best, |plan| best.min(plan.solve(question, work)))
}

/// A first look on a coarse grid, to choose the tilt and the step.
pub(super) struct Pilot {
    pub lambda: f64,
    pub epsilon: f64,
    pub deviation: f64,
    pub tail: f64,
    pub log_tail: f64,
    pub fallback: f64,
    pub steps: f64,
}

impl Pilot {
    /// `None` without work for a first round, or if a release has all P-mass at infinite loss.
    fn new(
        sources: &[(SampledPair, u64)],
        direction: Direction,
        question: Question,
        tolerance: f64,
        work: &Work,
    ) -> Option<Self> {
        let steps: f64 = sources.iter().map(|(_, count)| *count as f64).sum();
        let mut log_delta = match question {
            Question::Epsilon { log_delta } => log_delta,
            Question::Delta { .. } => 1e-10_f64.ln(),
        };
        let mut cells = vec![PILOT_CELLS; sources.len()];
        let mut rounds = 0;
        if !work.spend(round_work(sources, &cells)) {
            return None;
        }
        loop {
            let log_tail = (log_delta + TAIL.ln()).max(1e-300_f64.ln());
            let tail = (log_tail.exp() / steps).max(1e-318);
            let (spans, parts) = lattices(sources, direction, &cells, tail)?;
            let finest = parts.iter().map(|(lattice, _)| lattice.step).fold(f64::INFINITY, f64::min);
            let largest = 30.0 / finest;
            let moments = Cell::new(0.0);
            let moment = |lambda: f64| {
                let more: f64 = parts.iter().map(|(lattice, _)| lattice.moment_work(lambda)).sum();
                moments.set(moments.get() + more);
                compose::log_moment(&parts, lambda)
            };
            let (lambda, fallback) = match question {
                Question::Epsilon { .. } => compose::chernoff(moment, log_delta, largest),
                Question::Delta { epsilon } => chernoff_delta(moment, epsilon, largest),
            };
            let variance: f64 =
                parts.iter().map(|(lattice, count)| *count as f64 * lattice.cumulants(lambda).variance).sum();
            let deviation = variance.sqrt();
            let epsilon = match question {
                Question::Epsilon { .. } => fallback,
                Question::Delta { epsilon } => epsilon,
            };
            let step = grid_step(lambda, epsilon, deviation, steps, tolerance);
            rounds += 1;
            let mut again = refine(&mut cells, &spans, step);
            if let Question::Delta { .. } = question {
                // The tail must be small against the resulting δ.
                let estimate = fallback.max(1e-290).ln() - 5.0;
                if estimate < log_delta {
                    log_delta = estimate;
                    again = true;
                }
            }
            let hopeless = question.is_hopeless(fallback);
            work.spend(moments.get());
            let next = round_work(sources, &cells);
            if !again || rounds >= 6 || hopeless || next > LATTICES * work.left() || !work.spend(next) {
                let escaped: f64 = parts.iter().map(|(lattice, count)| *count as f64 * lattice.infinity).sum();
                let fallback = match question {
                    Question::Epsilon { log_delta } => {
                        let left = compose::left_of(escaped, log_delta);
                        if left > 0.0 {
                            compose::chernoff(moment, log_delta + left.ln(), largest).1.max(0.0)
                        } else {
                            f64::INFINITY
                        }
                    }
                    Question::Delta { .. } => (fallback * (1.0 + 1e-9) + escaped + f64::MIN_POSITIVE).min(1.0),
                };
                return Some(Self { lambda, epsilon, deviation, tail, log_tail, fallback, steps });
            }
        }
    }

    /// `None` if even coarse lattices would exceed the work left.
    pub fn plan(
        &self,
        sources: &[(SampledPair, u64)],
        direction: Direction,
        tolerance: f64,
        work: &Work,
    ) -> Option<Plan> {
        let spans: Vec<f64> = sources
            .iter()
            .map(|(source, _)| source.range(direction, self.tail))
            .map(|(low, high)| high - low)
            .collect();
        let widest = spans.iter().copied().fold(0.0, f64::max);
        let mut step = grid_step(self.lambda, self.epsilon, self.deviation, self.steps, tolerance)
            .max(widest / MOST_CELLS)
            .max(1e-300);
        let lattices = |step: f64| -> f64 {
            sources.iter().zip(&spans).map(|((source, _), span)| source.lattice_work(span / step)).sum()
        };
        // Coarsens the grid until the work suffices.
        while lattices(step) > LATTICES * work.left() && widest > step {
            step *= 1.5;
        }
        if !work.spend(lattices(step)) {
            return None;
        }
        let parts =
            sources.iter().map(|(source, count)| (source.lattice(direction, step, self.tail), *count)).collect();
        Some(Plan {
            parts,
            epsilon: self.epsilon,
            lambda: self.lambda,
            log_tail: self.log_tail,
            fallback: self.fallback,
            tolerance,
        })
    }
}

/// Releases on their grids, with counts.
type Parts = Vec<(Lattice, u64)>;

/// Each release on a grid of `cells`, and its losses' span. `None` if one's P-mass is all infinite.
pub(super) fn lattices(
    sources: &[(SampledPair, u64)],
    direction: Direction,
    cells: &[f64],
    tail: f64,
) -> Option<(Vec<f64>, Parts)> {
    let mut spans = Vec::with_capacity(sources.len());
    let parts: Parts = sources
        .iter()
        .zip(cells)
        .map(|((source, count), cells)| {
            let (low, high) = source.range(direction, tail);
            let span = (high - low).max(f64::MIN_POSITIVE * 1e10);
            spans.push(span);
            (source.lattice(direction, span / cells, tail), *count)
        })
        .collect();
    (!parts.iter().any(|(lattice, _)| lattice.is_infinite())).then_some((spans, parts))
}

/// Adds cells where a grid is much coarser than `step`; returns whether it did.
pub(super) fn refine(cells: &mut [f64], spans: &[f64], step: f64) -> bool {
    let mut again = false;
    for (cells, span) in cells.iter_mut().zip(spans) {
        let wanted = (span / step).min(MOST_CELLS);
        // At a quarter of the final resolution the variance is already within a few per cent.
        if *cells * 5.0 < wanted {
            *cells = (wanted / 3.0).max(*cells * 4.0).min(MOST_CELLS);
            again = true;
        }
    }
    again
}

/// Work of one round of [`Pilot`], without the search for λ.
pub(super) fn round_work(sources: &[(SampledPair, u64)], cells: &[f64]) -> f64 {
    let each =
        |((source, _), cells): (&(SampledPair, u64), &f64)| source.lattice_work(*cells) + 60.0 * MOMENT_POINT * cells;
    sources.iter().zip(cells).map(each).sum()
}

/// The grid step for a relative error of ε of about `tolerance`.
///
/// The safe split adds a variance of up to step²/4 per release (step²/6 on average over a cell) to
/// the tilted loss, so e^{K}, and δ, grow by the factor 1 + λ(λ+1)·v/2, and ε by that over λ. Sums
/// of few releases are not smooth at that scale, and cheap.
pub(super) fn grid_step(lambda: f64, epsilon: f64, deviation: f64, releases: f64, tolerance: f64) -> f64 {
    let by_tilt = 8.0 * tolerance * epsilon.max(0.1 / (1.0 + lambda)) / ((1.0 + lambda) * releases);
    let by_deviation = 12.0 * tolerance * deviation * deviation / releases;
    let rough = if releases < 4000.0 { 2.5 } else { 1.0 };
    by_tilt.min(by_deviation).sqrt() / rough
}

/// min over λ ≥ 0 of e^{K(λ) − λε}·λ^λ/(1+λ)^{1+λ}, with its λ.
fn chernoff_delta(moment: impl Fn(f64) -> f64, epsilon: f64, largest: f64) -> (f64, f64) {
    let log_delta = |log_lambda: f64| {
        let lambda = log_lambda.exp();
        let moment = moment(lambda);
        let rounding = compose::chernoff_rounding(moment.abs() + lambda * epsilon, lambda);
        moment - lambda * epsilon + lambda * log_lambda - (1.0 + lambda) * lambda.ln_1p() + rounding
    };
    let shrink = 0.5 * (5.0_f64.sqrt() - 1.0);
    let (mut low, mut high) = (1e-6_f64.ln(), largest.ln());
    for _ in 0..40 {
        let (left, right) = (high - shrink * (high - low), low + shrink * (high - low));
        if log_delta(left) < log_delta(right) { high = right } else { low = left }
    }
    let at = 0.5 * (low + high);
    (at.exp(), log_delta(at).exp().min(1.0))
}

impl Plan {
    fn solve(mut self, question: Question, work: &Work) -> Answer {
        let mut best = Answer::bound(self.fallback, false);
        for _ in 0..3 {
            let Some((sum, window)) = self.compose(work) else { break };
            let found = match question {
                Question::Epsilon { log_delta } => Answer {
                    value: sum.epsilon(log_delta).max(0.0),
                    convolved: true,
                    least: sum.least_epsilon(log_delta),
                },
                Question::Delta { epsilon } => Answer::bound(sum.delta(epsilon), true),
            };
            let value = found.value;
            best = best.min(found);
            // Precision is best near the tilted mean: move it if the answer lies elsewhere.
            let at = match question {
                Question::Epsilon { .. } => value,
                Question::Delta { epsilon } => epsilon,
            };
            let off = (at - window.mean) / window.deviation;
            let settled = off.abs() < 3.5 || off.is_nan() || self.lambda == 0.0 && off < 0.0;
            if settled || at.is_infinite() {
                break;
            }
            let moved = (self.lambda + off.clamp(-20.0, 20.0) / window.deviation).max(0.0);
            if moved == self.lambda {
                break;
            }
            self.lambda = moved;
        }
        best
    }

    /// The convolution under the plan's tilt, in two levels if one transform would be too long.
    /// `None` if even those are (at rates or counts of no real training), or if work runs out.
    pub fn compose(&self, work: &Work) -> Option<(Sum, Window)> {
        let window = find_window(&self.parts, self.lambda, self.log_tail, Reach::Final, work)?;
        let step = self.parts[0].0.step;
        let releases: f64 = self.parts.iter().map(|(_, count)| *count as f64).sum();
        if compose::points(&window, step) <= MOST_POINTS || releases < 64.0 {
            let cap = 2.0 * MOST_POINTS;
            if compose::points(&window, step) > cap {
                // Few releases of very different scales: a coarser grid is safe.
                let coarse = (window.high - window.low) / cap;
                let regridded = |(lattice, count): &(Lattice, u64)| Some((regrid(lattice, coarse, work)?, *count));
                let parts = self.parts.iter().map(regridded).collect::<Option<Vec<_>>>()?;
                return self.sum(&parts, work);
            }
            return self.sum(&self.parts, work);
        }
        let group = 2.0_f64.powi((0.5 * releases.log2()).ceil() as i32) as u64;
        let copies: u64 = self.parts.iter().map(|(_, count)| count / group + u64::from(count % group > 0)).sum();
        let coarse = grid_step(self.lambda, self.epsilon, window.deviation, copies as f64, self.tolerance)
            .max((window.high - window.low) / (2.0 * MOST_POINTS))
            .max(step);
        // Grids nest.
        let coarse = step * (coarse / step).ceil();
        let log_tail = self.log_tail - (copies as f64).ln();
        let mut parts = Vec::new();
        for (lattice, count) in &self.parts {
            for (size, copies) in [(group, count / group), (count % group, 1)] {
                if size > 0 && copies > 0 {
                    let mut inner = [(lattice.clone(), size)];
                    let mut bounds = find_window(&inner, self.lambda, log_tail, Reach::Composed, work)?;
                    let most = 2.0 * MOST_POINTS;
                    if compose::points(&bounds, step) > most {
                        let cells = (coarse * most / (bounds.high - bounds.low)).floor().max(1.0);
                        inner = [(regrid(lattice, coarse / cells, work)?, size)];
                        bounds = find_window(&inner, self.lambda, log_tail, Reach::Composed, work)?;
                    }
                    let sum = compose::sum(&inner, self.lambda, &bounds, work)?;
                    parts.push((sum.coarsen(coarse), copies));
                }
            }
        }
        self.sum(&parts, work)
    }

    fn sum(&self, parts: &[(Lattice, u64)], work: &Work) -> Option<(Sum, Window)> {
        let window = find_window(parts, self.lambda, self.log_tail, Reach::Final, work)?;
        Some((compose::sum(parts, self.lambda, &window, work)?, window))
    }
}

/// [`compose::window`], if enough work is left.
fn find_window(parts: &[(Lattice, u64)], lambda: f64, log_tail: f64, reach: Reach, work: &Work) -> Option<Window> {
    work.spend(compose::window_work(parts)).then(|| compose::window(parts, lambda, log_tail, reach))
}

/// [`compose::regrid`], if enough work is left.
fn regrid(lattice: &Lattice, step: f64, work: &Work) -> Option<Lattice> {
    work.spend(work::ATOM * lattice.weight.len() as f64).then(|| compose::regrid(lattice, step))
}
