//! Theorem 1: the losses of steps add up at each order; then the best order is taken.

use super::{
    conversion::{Bound, Epsilon, classic, improved},
    curve::{INTEGERS, LEVELS, RdpCurve},
    orders::{FIRST_ORDER, LAST_ORDER, Orders},
};
use crate::{
    error::{PrivacyError, require},
    ledger::{Ledger, Release, Sensitivity},
    noise::NoiseSpec,
    numeric::max_or_infinite,
    rounding::{OnGrid, RoundingCost, cost_of_all},
    sequence::{CompositionTerm, SATURATED, Sequence},
};
use hushgrad_message::word;

/// Most curves of one accountant.
pub const MOST_CURVES: usize = 1024;
/// Most curves of non-Gaussian noise, each taking up to some tenths of a second.
pub const MOST_SLOW_CURVES: usize = 64;
/// Terms per conversion for the search of a better order than the best of 2..=256: half a second.
const MOST_TERMS: f64 = 5e6;

/// Adds up the losses of releases and converts the sum to (ε, δ).
#[derive(Clone, Debug, Default)]
pub struct RdpAccountant {
    curves: Vec<RdpCurve>,
    /// Number of slow curves.
    slow: usize,
    releases: Sequence<CurveId>,
}

/// Identifies a curve of one accountant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CurveId(u32);

impl RdpAccountant {
    /// An empty accountant.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// `steps` releases of one curve.
    #[must_use]
    pub fn of_steps(curve: &RdpCurve, steps: u64) -> Self {
        let mut releases = Sequence::default();
        releases.push(0, steps);
        Self::of_sequence(vec![curve.clone()], &releases)
    }

    /// Adds a curve.
    ///
    /// # Errors
    /// [`PrivacyError::MixedNeighbours`] or [`PrivacyError::MixedUnits`] for another guarantee;
    /// [`PrivacyError::TooManyKinds`] above `MOST_CURVES`, or `MOST_SLOW_CURVES` slow ones.
    pub fn add_curve(&mut self, curve: RdpCurve) -> Result<CurveId, PrivacyError> {
        // All curves must share the privacy unit and the neighbouring relation.
        if let Some(first) = self.curves.first() {
            first.protected().same(curve.protected())?;
        }
        let slow = self.slow + usize::from(!curve.is_quick());
        check_kind_count(self.curves.len() + 1, slow)?;
        self.slow = slow;
        self.curves.push(curve);
        Ok(CurveId(self.curves.len() as u32 - 1))
    }

    /// Adds `steps` releases of a curve.
    pub fn compose(&mut self, curve: CurveId, steps: u64) {
        self.releases.push(curve, steps);
    }

    /// The releases of `sequence`, which refers to `curves` by index.
    pub(crate) fn of_sequence(curves: Vec<RdpCurve>, sequence: &Sequence<usize>) -> Self {
        let mut releases = Sequence::default();
        releases.append(sequence, &|index| CurveId(index as u32));
        let slow = curves.iter().filter(|curve| !curve.is_quick()).count();
        Self { curves, slow, releases }
    }

    /// Number of releases.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.releases.steps()
    }

    /// ε at `delta`, at the best order.
    ///
    /// # Errors
    /// δ outside (0, 1); [`PrivacyError::Infinite`] if no order gives a finite bound;
    /// [`PrivacyError::Inexact`] if inexact noise uses up δ.
    pub fn epsilon(&self, delta: f64) -> Result<Epsilon, PrivacyError> {
        self.epsilon_at(delta, Orders::All)
    }

    /// ε at `delta`, at the best of the given orders.
    ///
    /// # Errors
    /// As [`RdpAccountant::epsilon`].
    pub fn epsilon_at(&self, delta: f64, orders: Orders<'_>) -> Result<Epsilon, PrivacyError> {
        let Some(cost) = self.rounding_at(delta, orders)? else { return self.exact_at(delta, orders) };
        let by = |conversion: fn(&Epsilon) -> &Bound| -> Result<Bound, PrivacyError> {
            let order = std::cell::Cell::new(f64::from(LAST_ORDER));
            let epsilon = cost.epsilon_at(delta, |delta| {
                let bound = *conversion(&self.exact_at(delta, orders)?);
                order.set(bound.order);
                Ok(bound.epsilon)
            })?;
            Ok(Bound { epsilon, order: order.get() })
        };
        let result = Epsilon { classic: by(|e| &e.classic)?, improved: by(|e| &e.improved)? };
        if result.classic.epsilon.is_finite() || result.improved.epsilon.is_finite() {
            Ok(result)
        } else {
            Err(PrivacyError::Inexact)
        }
    }

    /// What inexact noise adds to the exact mechanism's (ε, δ), such that [`RdpAccountant::epsilon`]
    /// holds at `delta`; `None` without releases on a grid.
    ///
    /// # Errors
    /// As [`RdpAccountant::epsilon`].
    pub fn rounding(&self, delta: f64) -> Result<Option<RoundingCost>, PrivacyError> {
        self.rounding_at(delta, Orders::All)
    }

    fn rounding_at(&self, delta: f64, orders: Orders<'_>) -> Result<Option<RoundingCost>, PrivacyError> {
        require(delta > 0.0 && delta < 1.0, "delta", delta, word!("strictly between 0 and 1"))?;
        let releases = self.on_grid();
        if releases.is_empty() {
            return Ok(None);
        }
        let exact = |delta| {
            let Epsilon { classic, improved } = self.exact_at(delta, orders)?;
            Ok(classic.epsilon.min(improved.epsilon))
        };
        cost_of_all(&releases, delta, exact).map(Some)
    }

    /// The releases on a grid, with their counts.
    fn on_grid(&self) -> Vec<(&OnGrid, u64)> {
        if self.curves.iter().all(|curve| curve.on_grid().is_none()) {
            return Vec::new();
        }
        let steps = self.releases.steps_of_each();
        let on_grid = |(id, steps): (CurveId, u64)| Some((self.curves[id.0 as usize].on_grid()?, steps));
        steps.into_iter().filter_map(on_grid).collect()
    }

    /// ε for real-valued noise, at a valid δ.
    fn exact_at(&self, delta: f64, orders: Orders<'_>) -> Result<Epsilon, PrivacyError> {
        let terms = self.terms();
        if self.is_free(&terms) {
            let none = Bound { epsilon: 0.0, order: f64::from(LAST_ORDER) };
            return Ok(Epsilon { classic: none, improved: none });
        }
        if is_saturated(&terms) {
            return Err(PrivacyError::Infinite);
        }
        let first = self.first_level(&terms, delta);
        let result = match orders {
            Orders::Listed(list) => {
                let known: Vec<(f64, f64)> = list
                    .iter()
                    .filter_map(|&order| Some((order, self.total_at(&terms, order)? * summed(&terms))))
                    .collect();
                best_of_each(&known, delta)
            }
            Orders::Integers | Orders::All => {
                let mut result = self.best_integers(&terms, delta, first);
                if orders == Orders::All {
                    result.classic = self.refine(&terms, delta, result.classic, classic);
                    result.improved = self.refine(&terms, delta, result.improved, improved);
                }
                result
            }
        };
        if result.classic.epsilon.is_finite() || result.improved.epsilon.is_finite() {
            Ok(result)
        } else {
            Err(PrivacyError::Infinite)
        }
    }

    /// Total ε(α) at an order, if every curve has one. `None` with releases on a grid, whose
    /// rounding is no Rényi divergence.
    #[must_use]
    pub fn rdp(&self, order: f64) -> Option<f64> {
        let terms = self.terms_off_grid()?;
        let total = self.total_at(&terms, order)?;
        Some(if is_saturated(&terms) { f64::INFINITY } else { total })
    }

    /// (order, total ε) at the integers from 2 to `last`. `None` as for [`RdpAccountant::rdp`].
    pub(super) fn at_integers(&self, last: f64) -> Option<Vec<(f64, f64)>> {
        let level = LEVELS.iter().position(|level| last <= f64::from(*level))?;
        let terms = self.terms_off_grid()?;
        let mut totals = self.integer_totals(&terms, level);
        totals.retain(|(order, _)| *order <= last);
        if is_saturated(&terms) {
            totals.iter_mut().for_each(|(_, total)| *total = f64::INFINITY);
        }
        Some(totals)
    }

    /// True if no example is ever drawn, so that ε = 0 at every δ. A loss may round to 0 as well.
    pub(super) fn is_free(&self, terms: &[CompositionTerm<CurveId>]) -> bool {
        self.that_happened(terms).all(|curve| curve.sampling().rate() == 0.0)
    }

    pub(super) fn terms_off_grid(&self) -> Option<Vec<CompositionTerm<CurveId>>> {
        self.on_grid().is_empty().then(|| self.terms())
    }

    /// ρ with ε(α) ≤ ρα at every order, without amplification by sampling; `None` for noise that is
    /// not Gaussian, or on a grid.
    pub(super) fn unsampled_slope(&self) -> Option<f64> {
        let mut rho = 0.0;
        let terms = self.terms();
        for (set, count) in &terms {
            let slopes = set.iter().map(|id| self.curves[id.0 as usize].unsampled_slope());
            rho += slopes.collect::<Option<Vec<f64>>>()?.into_iter().fold(0.0, max_or_infinite) * *count as f64;
        }
        Some(rho * summed(&terms))
    }

    /// Sets of curves of which the costliest is paid, with counts: single curves, except for epochs
    /// that mix curves, which cost the maximum over their batches.
    fn terms(&self) -> Vec<CompositionTerm<CurveId>> {
        self.releases.terms(|id| self.curves[id.0 as usize].sampling())
    }

    /// The first of [`LEVELS`] that may hold the best order for losses ρ·α ([`RdpCurve::slope`])
    /// and above [`RdpCurve::at_least`]; the last if small orders do not bound large ones.
    fn first_level(&self, terms: &[(Vec<CurveId>, u64)], delta: f64) -> usize {
        if !self.that_happened(terms).all(RdpCurve::is_divergence) {
            return INTEGERS;
        }
        let level_of = |best: f64| LEVELS[..INTEGERS].partition_point(|last| 1.6 * best > f64::from(*last));
        let slope = |set: &[CurveId]| set.iter().map(|id| self.curves[id.0 as usize].slope()).fold(0.0, f64::max);
        let rho: f64 = terms.iter().map(|(set, count)| slope(set) * *count as f64).sum();
        // The minimum of ρα + ln(1/δ)/(α − 1).
        let level = level_of(1.0 + (-delta.ln() / rho).sqrt());
        if level == 0 {
            return level;
        }
        let mut guess: Vec<(f64, f64)> =
            (FIRST_ORDER..=LEVELS[level]).map(f64::from).map(|order| (order, rho * order)).collect();
        for (set, count) in terms {
            for id in set {
                let least = self.curves[id.0 as usize].at_least(level);
                for ((_, total), least) in guess.iter_mut().zip(least) {
                    *total = total.max(least * *count as f64);
                }
            }
        }
        level_of(best(&guess, delta, classic).order)
    }

    /// The best of 2..=256. Rényi divergences do not fall in α, so the first orders often suffice.
    fn best_integers(&self, terms: &[(Vec<CurveId>, u64)], delta: f64, first: usize) -> Epsilon {
        for level in first..INTEGERS {
            let totals = self.integer_totals(terms, level);
            let epsilon = best_of_each(&totals, delta);
            let (last, total) = totals.last().copied().unwrap_or((f64::from(FIRST_ORDER), 0.0));
            let beyond = |convert: fn(f64, f64, f64) -> f64| {
                (last as u32 + 1..=LAST_ORDER)
                    .map(|a| convert(total, f64::from(a), delta))
                    .fold(f64::INFINITY, f64::min)
            };
            if epsilon.classic.epsilon <= beyond(classic) && epsilon.improved.epsilon <= beyond(improved) {
                return epsilon;
            }
        }
        best_of_each(&self.integer_totals(terms, INTEGERS), delta)
    }

    /// (order, total), from order 2 on.
    fn integer_totals(&self, terms: &[(Vec<CurveId>, u64)], level: usize) -> Vec<(f64, f64)> {
        let mut totals: Vec<(f64, f64)> = Vec::new();
        for (set, count) in terms {
            let curves = self.of_one_epoch(set);
            for curve in &curves {
                let length = curve.level(level).len();
                totals.extend((totals.len()..length).map(|j| (f64::from(FIRST_ORDER) + j as f64, 0.0)));
            }
            for (j, (_, total)) in totals.iter_mut().enumerate() {
                let maximum = curves.iter().map(|curve| curve.level(level)[j]).fold(0.0, max_or_infinite);
                *total += maximum * *count as f64;
            }
        }
        totals.iter_mut().for_each(|(_, total)| *total *= summed(terms));
        totals
    }

    /// The curves of all terms.
    fn that_happened(&self, terms: &[CompositionTerm<CurveId>]) -> impl Iterator<Item = &RdpCurve> {
        terms.iter().flat_map(|(set, _)| set).map(|id| &self.curves[id.0 as usize])
    }

    fn of_one_epoch(&self, set: &[CurveId]) -> Vec<RdpCurve> {
        RdpCurve::of_one_epoch(set.iter().map(|id| self.curves[id.0 as usize].clone()).collect())
    }

    fn total_at(&self, terms: &[(Vec<CurveId>, u64)], order: f64) -> Option<f64> {
        let mut total = 0.0;
        for (set, count) in terms {
            let mut maximum = 0.0f64;
            for curve in self.of_one_epoch(set) {
                maximum = max_or_infinite(maximum, curve.at(order)?);
            }
            total += maximum * *count as f64;
        }
        Some(total)
    }

    /// Searches beyond the integers 2..=256: between them if every curve allows it, above 256 if
    /// that is best. ε is quasi-convex in the order, up to small logarithms of the improved
    /// conversion, and every order gives a valid bound, so a ternary search suffices, and may stop
    /// early.
    fn refine(
        &self,
        terms: &[(Vec<CurveId>, u64)],
        delta: f64,
        start: Bound,
        convert: fn(f64, f64, f64) -> f64,
    ) -> Bound {
        let mut best = start;
        let mut work = 0.0;
        let mut at = |order: f64| {
            work += self.that_happened(terms).map(|curve| curve.terms_at(order)).sum::<f64>();
            if work > MOST_TERMS {
                return f64::INFINITY;
            }
            let Some(total) = self.total_at(terms, order) else { return f64::INFINITY };
            let epsilon = convert(total * summed(terms), order, delta);
            if epsilon < best.epsilon {
                best = Bound { epsilon, order };
            }
            epsilon
        };
        if start.order >= f64::from(LAST_ORDER) {
            let last = self.that_happened(terms).map(RdpCurve::last_order).min().unwrap_or(LAST_ORDER);
            let (mut low, mut high) = (f64::from(LAST_ORDER), f64::from(LAST_ORDER));
            let mut value = start.epsilon;
            while high < f64::from(last) {
                let next = (high * 1.5).floor().min(f64::from(last));
                let reached = at(next);
                if reached >= value {
                    high = next;
                    break;
                }
                (low, high, value) = (high, next, reached);
            }
            while high - low > 3.0 {
                let (a, b) = ((low + (high - low) / 3.0).floor(), (high - (high - low) / 3.0).ceil());
                if at(a) <= at(b) { high = b } else { low = a }
            }
            at((0.5 * (low + high)).floor());
        } else if self.that_happened(terms).all(RdpCurve::has_fractions) {
            let floor = if start.order <= f64::from(FIRST_ORDER) { 1.02 } else { start.order - 1.0 };
            let (mut low, mut high) = (floor, start.order + 1.0);
            while high - low > 1e-3 {
                let (a, b) = (low + (high - low) * 0.382, high - (high - low) * 0.382);
                if at(a) <= at(b) { high = b } else { low = a }
            }
        }
        best
    }
}

fn is_saturated(terms: &[CompositionTerm<CurveId>]) -> bool {
    terms.iter().any(|(_, count)| *count == SATURATED)
}

/// Factor that covers the rounding of a sum over the terms.
fn summed(terms: &[CompositionTerm<CurveId>]) -> f64 {
    1.0 + terms.len() as f64 * f64::EPSILON
}

/// # Errors
/// [`PrivacyError::TooManyKinds`].
pub fn check_kind_count(kinds: usize, slow: usize) -> Result<(), PrivacyError> {
    let limits = [
        (kinds, MOST_CURVES, word!("Rényi accounting")),
        (slow, MOST_SLOW_CURVES, word!("Rényi accounting of non-Gaussian noise")),
    ];
    match limits.into_iter().find(|(kinds, most, _)| kinds > most) {
        Some((kinds, most, whom)) => Err(PrivacyError::TooManyKinds { kinds, most, whom }),
        None => Ok(()),
    }
}

fn best_of_each(known: &[(f64, f64)], delta: f64) -> Epsilon {
    Epsilon { classic: best(known, delta, classic), improved: best(known, delta, improved) }
}

fn best(known: &[(f64, f64)], delta: f64, convert: fn(f64, f64, f64) -> f64) -> Bound {
    known.iter().map(|&(order, total)| Bound { epsilon: convert(total, order, delta), order }).fold(
        Bound { epsilon: f64::INFINITY, order: f64::from(FIRST_ORDER) },
        |best, bound| {
            if bound.epsilon < best.epsilon { bound } else { best }
        },
    )
}

/// Upper bounds on the ε of a ledger at `delta`, by Rényi accounting.
///
/// # Errors
/// A release without noise or bound (no guarantee), mixed neighbouring relations or units, too many
/// kinds of release, δ outside (0, 1), no finite bound.
pub fn epsilon_of(ledger: &Ledger, delta: f64) -> Result<Epsilon, PrivacyError> {
    RdpAccountant::of(ledger)?.epsilon(delta)
}

impl RdpAccountant {
    /// Makes the accountant of a ledger's events.
    ///
    /// # Errors
    /// As [`epsilon_of`], except for δ.
    pub fn of(ledger: &Ledger) -> Result<Self, PrivacyError> {
        ledger.validate()?;
        Self::of_priced(ledger, &mut Vec::new(), |_| None)
    }

    /// As [`RdpAccountant::of`], for a validated ledger and `known` curves. Fills `curves` with those
    /// of the releases that happened, in the ledger's order.
    pub(crate) fn of_priced(
        ledger: &Ledger,
        curves: &mut Vec<Option<(CurveId, RdpCurve)>>,
        known: impl Fn(&Release) -> Option<RdpCurve>,
    ) -> Result<Self, PrivacyError> {
        let mut happened = vec![false; ledger.releases().len()];
        ledger.events().iter().for_each(|event| happened[event.release as usize] = true);
        let happened = || ledger.releases().iter().zip(&happened).filter(|(_, happened)| **happened);
        let slow = |release: &Release| {
            !matches!(release.noise, Some(NoiseSpec::Gaussian { .. }) | None)
                || matches!(release.sensitivity, Sensitivity::Pair(_))
        };
        check_kind_count(happened().count(), happened().filter(|(release, _)| slow(release)).count())?;
        let mut accountant = Self::new();
        *curves = vec![None; ledger.releases().len()];
        for event in ledger.events() {
            let index = event.release as usize;
            let id = match &curves[index] {
                Some((id, _)) => *id,
                None => {
                    let release = &ledger.releases()[index];
                    let curve = known(release).map_or_else(|| RdpCurve::of(release), Ok)?;
                    let id = accountant.add_curve(curve.clone())?;
                    curves[index] = Some((id, curve));
                    id
                }
            };
            accountant.compose(id, event.count);
        }
        Ok(accountant)
    }
}
