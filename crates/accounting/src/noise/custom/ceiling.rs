//! A proven upper bound (ceiling) on G(τ) = ln I_k(τ)/τ² of a table over a range of shifts, from ln
//! I_k at a few of them, wherever steps and kinks lie. It uses three facts about I_k(τ) = ∫
//! z(v)^k·z(v+τ)^{1−k} dv between two shifts a < b.
//!
//! *It does not decrease*, as z is symmetric and unimodal: G ≤ ln I_k(b)/a².
//!
//! *It is nearly convex.* With s = (ln z)′, (ln I_k)″ = k·E s′ + k²·Var s under the density p_τ =
//! z(v)^k·z(v+τ)^{1−k}/I_k(τ). A table's s′ is a jump Δ at each knot κ; downward jumps take at most
//! K = k·Σ|Δ|·p_τ(κ), where z^{1−k} is largest at a or b, and I_k least at a. So ln I_k ≤ chord +
//! K·(τ−a)(b−τ)/2: a second-order error unless a kink is strong.
//!
//! *It is quadratic near 0.* With g = √(z(y−τ/2)·z(y+τ/2)) and ρ = ln z(y−τ/2) − ln z(y+τ/2),
//!
//! ```text
//! I_k − 1 = ∫ g·(cosh (k−½)ρ − cosh ρ/2) dy,
//! cosh (k−½)ρ − cosh ρ/2 = 2·sinh(kρ/2)·sinh((k−1)ρ/2),
//! ```
//!
//! which divided by ρ² grows with |ρ|; and ρ² ≤ τ·∫ s(u)² du over |u − y| ≤ τ/2. Where s is between
//! s₋ and s₊ on [u−τ, u+τ], the mean of g over those y is at most z(u)·e^{τ(s₊−s₋)/4}·sinh(c)/c, c
//! = τ(s₊+s₋)/4, and |ρ| ≤ R = τ·max|s|; by the variation V of ln z there, also at most
//! z(u)·e^{V/2}, and |ρ| ≤ V. So for all shifts up to τ
//!
//! ```text
//! G ≤ ½k(k−1)·∫ s²·z·(that factor)·shc(kR/2)·shc((k−1)R/2) du,   shc x = sinh(x)/x.
//! ```
//!
//! The range whose ceiling most exceeds the known G is cut until close, or the budget is spent.

use super::{Custom, line::Line};
use crate::{numeric::max_or_infinite, parallel};

/// Accepted relative excess of the ceiling over the largest known G.
const CLOSE: f64 = 5e-4;
/// Fewest and most shifts evaluated, and the total of shifts times knots times orders.
const SHIFTS: (usize, usize) = (24, 400);
const WORK: usize = 20_000_000;
/// The same for checking a series, which has many panels.
const CHECKS: (usize, usize) = (6, 40);
const CHECK_WORK: usize = 4_000_000;
/// Relative excess of G over its value at 0 that a density without narrow steps may have.
const BENT: f64 = 5e-4;
/// Ranges cut at a time.
const CUTS: usize = 8;
/// Orders with Σ ln I_k above this are useless for any ε.
const USELESS: f64 = 1e7;
/// Bins per octave of R that group parts of the table.
const STEPS: f64 = 8.0;

/// sinh(x)/x.
fn shc(x: f64) -> f64 {
    if x < 1e-4 { 1.0 + x * x / 5.9 } else { x.sinh() / x }
}

/// ln I_k at a shift, in units of the reach.
struct Spot {
    shift: f64,
    moments: Vec<f64>,
    /// The near-0 ceiling for all smaller shifts, if it may help.
    near: Option<Vec<f64>>,
}

/// A range between two spots, or from 0 to one.
struct Range {
    low: Option<usize>,
    high: usize,
    ceiling: Vec<f64>,
    /// Largest excess of the ceiling over its target.
    excess: f64,
}

struct Search<'a> {
    noise: &'a Custom,
    line: Line,
    /// In the table's units.
    reach: f64,
    orders: usize,
    /// J·reach².
    information: f64,
    spots: Vec<Spot>,
}

impl Search<'_> {
    /// The near-0 ceiling of G, by order, for all shifts up to `shift` (in reaches).
    fn near(&self, shift: f64) -> Vec<f64> {
        self.near_from(0, shift)
    }

    /// The same from order index `first` on.
    fn near_from(&self, first: usize, shift: f64) -> Vec<f64> {
        let Self { noise, line, reach, orders, .. } = self;
        let table = noise.table();
        let tau = shift * reach;
        let least = 1e-5 / (*orders + 1) as f64;
        // ∫ s²·z·factor, binned by R.
        let mut parts: Vec<f64> = Vec::new();
        let mut add = |log_start: f64, slope: f64, width: f64, (low, high, variation): (f64, f64, f64)| {
            let squares = log_start.exp() * slope * -(-slope * width).exp_m1();
            if squares == 0.0 {
                return;
            }
            let factor = (0.25 * tau * (high - low)).exp() * shc((0.25 * tau * (high + low)).abs());
            let factor = factor.min((0.5 * variation).exp());
            let ratio = (tau * high.abs().max(low.abs())).min(variation);
            let place = ((ratio / least).log2() * STEPS).ceil().clamp(0.0, 1e5) as usize;
            if parts.len() <= place {
                parts.resize(place + 1, 0.0);
            }
            parts[place] += squares * factor;
        };
        let middle = table.knots.len() - 1;
        for (i, (&log_density, &slope)) in table.log_densities.iter().zip(&table.slopes).enumerate() {
            let (bend, slope) = (middle + i, -slope);
            let own = (-slope, -slope, f64::INFINITY);
            let Some(width) = line.bends.get(bend + 1).map(|next| next - line.bends[bend]) else {
                add(log_density, slope, tau, line.window(bend, tau, bend, 2.0 * tau));
                add(log_density - slope * tau, slope, f64::INFINITY, own);
                continue;
            };
            if slope == 0.0 {
                continue;
            }
            if width <= 2.0 * tau {
                add(log_density, slope, width, line.window(bend, tau, bend + 1, tau));
                continue;
            }
            add(log_density, slope, tau, line.window(bend, tau, bend, 2.0 * tau));
            add(log_density - slope * tau, slope, width - 2.0 * tau, own);
            add(log_density - slope * (width - tau), slope, tau, line.window(bend + 1, 2.0 * tau, bend + 1, tau));
        }
        let parts: Vec<(f64, f64)> = (0u32..)
            .zip(parts)
            .filter(|(_, part)| *part > 0.0)
            .map(|(place, part)| (least * (f64::from(place) / STEPS).exp2(), part))
            .collect();
        let unit = reach * reach * (1.0 + 1e-12);
        (first + 2..*orders + 2)
            .map(|k| {
                let k = k as f64;
                let sum: f64 =
                    parts.iter().map(|(ratio, part)| part * shc(0.5 * k * ratio) * shc(0.5 * (k - 1.0) * ratio)).sum();
                // Both sides of 0: twice ½k(k−1).
                k * (k - 1.0) * sum * unit
            })
            .collect()
    }

    /// G at 0, by order.
    fn limit(&self, order: usize) -> f64 {
        0.5 * ((order + 1) * (order + 2)) as f64 * self.information
    }

    fn spot(&self, shift: f64) -> Spot {
        let mut moments = vec![0.0; self.orders];
        self.noise.moments(shift * self.reach, &mut moments);
        let near = (shift * shift * self.information < 1.0).then(|| self.near(shift));
        Spot { shift, moments, near }
    }

    /// Upper bound on G between two spots, by order.
    fn ceiling(&self, low: &Spot, high: &Spot) -> Vec<f64> {
        let (a, b) = (low.shift, high.shift);
        let bends = (b < 2.0 * a).then(|| self.bends(low, high));
        (0..self.orders)
            .map(|j| {
                let (start, end) = (low.moments[j], high.moments[j]);
                let mut ceiling = end / a / a;
                if let Some(near) = &high.near {
                    ceiling = ceiling.min(near[j]);
                }
                if let Some(bend) = bends.as_ref().map(|bends| bends[j]).filter(|bend| bend.is_finite()) {
                    // p/τ² + q/τ − K/2, a quadratic in 1/τ.
                    let rise = (end - start) / (b - a);
                    let p = start - rise * a - 0.5 * bend * a * b;
                    let q = rise + 0.5 * bend * (a + b);
                    let at = |v: f64| (p * v + q) * v - 0.5 * bend;
                    let mut top = at(a.recip()).max(at(b.recip()));
                    let vertex = -0.5 * q / p;
                    if p < 0.0 && vertex > b.recip() && vertex < a.recip() {
                        top = top.max(at(vertex));
                    }
                    ceiling = ceiling.min(top * (1.0 + 1e-9));
                }
                // NaN bounds nothing.
                if ceiling >= 0.0 { ceiling } else { f64::INFINITY }
            })
            .collect()
    }

    /// K by order.
    fn bends(&self, low: &Spot, high: &Spot) -> Vec<f64> {
        let Self { noise, line, reach, orders, .. } = self;
        let table = noise.table();
        let log_unit = 2.0 * reach.ln();
        // `place` may be off by its last digit, which counts where ln z is steep.
        let log_ratio = |place: f64, log_density: f64, shift: f64| {
            log_density - table.log_density((place + shift * reach).abs() * (1.0 + 4.0 * f64::EPSILON))
        };
        let jumps: Vec<(f64, f64)> = line
            .jumps
            .iter()
            .map(|&(place, log_jump, log_density)| {
                let ratio = |spot: &Spot| log_ratio(place, log_density, spot.shift);
                (log_jump + log_unit, ratio(low).max(ratio(high)))
            })
            .collect();
        (0..*orders)
            .map(|j| {
                let k = (j + 2) as f64;
                let known = low.moments[j] * (1.0 - 4e-12) - 4e-14;
                let terms = jumps.iter().map(|(log_jump, ratio)| (log_jump + ((k - 1.0) * ratio - known)).exp());
                k * terms.sum::<f64>() * (1.0 + 1e-9)
            })
            .collect()
    }
}

/// Upper bound on ‖v‖²·G(τ), ‖v‖ = `norm`, 0 < τ ≤ `reach`, by order; infinite for useless orders.
pub(super) fn supremum(noise: &Custom, norm: f64, reach: f64, orders: usize) -> Vec<f64> {
    let mut all = vec![f64::INFINITY; orders];
    let mut search = Search::new(noise, reach, orders);
    let share = (norm / reach).powi(2);
    search.orders = (0..orders).take_while(|j| search.limit(*j) * share <= USELESS).count();
    if search.orders == 0 || reach.is_nan() || reach <= 0.0 {
        return all;
    }
    let budget = search.budget(WORK, SHIFTS);
    let useful = |known: f64| known * share <= USELESS;
    let excess = |ceiling: &[f64], known: &[f64], _: (f64, f64)| {
        let ratios = ceiling.iter().zip(known).filter(|(_, known)| useful(**known));
        ratios.map(|(ceiling, known)| ceiling / known - 1.0).fold(0.0, f64::max)
    };
    let Covered { ranges, known } = search.covered(0.0, CLOSE, budget, &excess);
    for (j, value) in all.iter_mut().enumerate().take(known.len()).filter(|(j, _)| useful(known[*j])) {
        *value = share * ranges.iter().map(|range| range.ceiling[j]).fold(0.0, max_or_infinite);
    }
    all
}

/// Upper bound, by order, on the excess of G(τ)·`unit`² over a function on `low` ≤ τ ≤ `high`.
/// `floor` bounds the function from below on a range; ranges are refined until that is close.
pub(super) fn excess_over(
    noise: &Custom,
    (low, high): (f64, f64),
    unit: f64,
    orders: usize,
    floor: &dyn Fn(f64, f64) -> Vec<f64>,
) -> Vec<f64> {
    let mut search = Search::new(noise, high, orders);
    let share = (unit / high).powi(2);
    if !search.limit(0).is_finite() {
        return vec![f64::INFINITY; orders];
    }
    let gaps = |ceiling: &[f64], (a, b): (f64, f64)| -> Vec<f64> {
        ceiling.iter().zip(floor(a * high, b * high)).map(|(ceiling, floor)| ceiling * share - floor).collect()
    };
    let excess = |ceiling: &[f64], known: &[f64], ends: (f64, f64)| {
        let gaps = gaps(ceiling, ends);
        gaps.iter().zip(known).map(|(gap, known)| gap / (share * known)).filter(|e| e.is_finite()).fold(0.0, f64::max)
    };
    let budget = search.budget(CHECK_WORK, CHECKS);
    let Covered { ranges, .. } = search.covered(low / high, CLOSE, budget, &excess);
    let mut all = vec![0.0; orders];
    for range in &ranges {
        let ends = (range.low.map_or(low / high, |low| search.spots[low].shift), search.spots[range.high].shift);
        all.iter_mut().zip(gaps(&range.ceiling, ends)).for_each(|(all, gap)| *all = max_or_infinite(*all, gap));
    }
    all
}

/// Upper bound on the relative excess of G over its limit at 0, for shifts up to `shift`, all
/// orders. 0 if as small as without narrow steps, where ln I_k = ½k(k−1)·J·τ² to about (k·τ)²·J.
pub(super) fn hidden_below(noise: &Custom, shift: f64, orders: usize) -> f64 {
    let search = Search::new(noise, shift, orders);
    let last = orders - 1;
    let bent = (((orders + 1) * (orders + 1)) as f64 * search.information).max(BENT);
    let excess = search.near_from(last, 1.0)[0] / search.limit(last) - 1.0;
    if excess <= 2.0 * bent { 0.0 } else { max_or_infinite(excess, 0.0) }
}

/// Excess over the target, from a range's ceiling, the known G, and the range's ends in reaches.
type Excess<'a> = &'a dyn Fn(&[f64], &[f64], (f64, f64)) -> f64;

/// Ranges with ceilings that cover the requested shifts, and the largest known G, by order.
struct Covered {
    ranges: Vec<Range>,
    known: Vec<f64>,
}

impl<'a> Search<'a> {
    fn new(noise: &'a Custom, reach: f64, orders: usize) -> Self {
        let reach = reach / noise.scale;
        let information = noise.table().information() * reach * reach;
        Self { noise, line: Line::new(noise.table()), reach, orders, information, spots: Vec::new() }
    }

    fn budget(&self, work: usize, (least, most): (usize, usize)) -> usize {
        (work / (self.noise.table().knots.len() * self.orders)).clamp(least, most)
    }

    /// About the largest shift (in reaches) up to which the near-0 ceiling is close to G at 0.
    fn first(&self, close: f64) -> f64 {
        let is_close =
            |shift: f64| self.near(shift).iter().enumerate().all(|(j, c)| *c <= self.limit(j) * (1.0 + close));
        if is_close(1.0) {
            return 1.0;
        }
        let steepest = self.line.slopes.iter().fold(0.0f64, |most, slope| most.max(slope.abs()));
        let most = close.sqrt() / (self.orders + 1) as f64;
        let mut low = (most.min(close) / steepest / self.reach).clamp(f64::MIN_POSITIVE, 0.5);
        let mut high = 1.0f64;
        while high > 2.0 * low {
            let middle = (0.5 * (low.ln() + high.ln())).exp().clamp(low, high);
            if is_close(middle) { low = middle } else { high = middle }
        }
        low
    }

    /// Ranges from `from` (may be 0) to the reach, cut until close or the budget is spent.
    fn covered(&mut self, from: f64, close: f64, budget: usize, excess: Excess<'_>) -> Covered {
        let mut known: Vec<f64> = (0..self.orders).map(|j| if from > 0.0 { 0.0 } else { self.limit(j) }).collect();
        let first = if from > 0.0 { from } else { self.first(close) };
        let mut ranges = Vec::new();
        self.spots.push(self.spot(first));
        if from == 0.0 {
            ranges.push(Range { low: None, high: 0, ceiling: self.near(first), excess: 0.0 });
        }
        if first < 1.0 {
            self.spots.push(self.spot(1.0));
            ranges.push(self.range(0, 1));
        }
        self.spots.iter().for_each(|spot| learn(&mut known, spot));
        loop {
            for range in &mut ranges {
                let low = range.low.map_or(0.0, |low| self.spots[low].shift);
                range.excess = excess(&range.ceiling, &known, (low, self.spots[range.high].shift));
            }
            ranges.sort_by(|x, y| y.excess.total_cmp(&x.excess));
            let room = budget.saturating_sub(self.spots.len()).min(CUTS);
            let far: Vec<usize> = (0..ranges.len())
                .filter(|i| ranges[*i].excess > close && ranges[*i].low.is_some())
                .take(room)
                .collect();
            if far.is_empty() {
                return Covered { ranges, known };
            }
            let ends: Vec<(usize, usize)> = far
                .iter()
                .rev()
                .map(|i| ranges.swap_remove(*i))
                .filter_map(|range| Some((range.low?, range.high)))
                .collect();
            let middle = |&(low, high): &(usize, usize)| {
                self.spot((0.5 * (self.spots[low].shift.ln() + self.spots[high].shift.ln())).exp())
            };
            let found = parallel::map(&ends, middle);
            let mut halves = Vec::with_capacity(2 * ends.len());
            for ((low, high), spot) in ends.into_iter().zip(found) {
                learn(&mut known, &spot);
                halves.extend([(low, self.spots.len()), (self.spots.len(), high)]);
                self.spots.push(spot);
            }
            let this = &*self;
            ranges.extend(parallel::map(&halves, |&(low, high)| this.range(low, high)));
        }
    }

    fn range(&self, low: usize, high: usize) -> Range {
        let ceiling = self.ceiling(&self.spots[low], &self.spots[high]);
        Range { low: Some(low), high, ceiling, excess: 0.0 }
    }
}

fn learn(known: &mut [f64], spot: &Spot) {
    for (known, moment) in known.iter_mut().zip(&spot.moments) {
        *known = known.max(moment / spot.shift / spot.shift);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{CustomDensity, Noise};

    fn tables() -> Vec<Custom> {
        let of = |points: &[(f64, f64)]| CustomDensity::from_points("test", points).unwrap();
        let stairs: Vec<(f64, f64)> =
            (0..30).map(f64::from).flat_map(|x| [(x, (-0.3 * x).exp()), (x + 0.97, (-0.3 * x - 1e-4).exp())]).collect();
        let formula = |formula| CustomDensity::from_formula(formula).unwrap();
        let densities = [
            formula("1/cosh(x)"),
            formula("exp(-abs(x)^1.3)"),
            formula("exp(-x^4)"),
            of(&stairs),
            of(&[(0.0, 1.0), (1.0, 0.4), (1.000_1, 0.02), (3.0, 1e-3)]),
            of(&[(0.0, 1.0), (1e-6, 0.3), (1.0, 0.1)]),
        ];
        densities.into_iter().map(|density| Custom::new(density, 0.7).unwrap()).collect()
    }

    /// The bounds on a range are above G within it, and close to G where they should be.
    #[test]
    fn range_bounds_hold_within_their_range() {
        let mut close = [0; 2];
        for noise in tables() {
            for reach in [1e-5, 0.02, 0.3, 2.0] {
                let search = Search::new(&noise, reach, 40);
                for ratio in [1.02, 1.3, 1.9, 5.0] {
                    let ends = [search.spot(1.0 / ratio), search.spot(1.0)].map(|spot| Spot { near: None, ..spot });
                    let (between, near) = (search.ceiling(&ends[0], &ends[1]), search.near(1.0));
                    for step in 0..=20 {
                        let shift = ratio.powf(-f64::from(step) / 20.0);
                        let there = search.spot(shift);
                        for (j, moment) in there.moments.iter().enumerate() {
                            let known = moment / shift / shift;
                            assert!(between[j] >= known * (1.0 - 1e-9), "{reach}, {ratio}, {shift}, order {}", j + 2);
                            assert!(near[j] >= known * (1.0 - 1e-9), "{reach}, {shift}, order {}", j + 2);
                            close[0] += usize::from(ratio == 1.02 && between[j] < known * 1.002);
                            close[1] += usize::from(reach == 1e-5 && near[j] < known * 1.001);
                        }
                    }
                }
            }
        }
        assert!(close.iter().all(|close| *close > 5000), "{close:?}");
    }

    /// Ceilings are above the known maximum of G, and near it.
    #[test]
    fn ceilings_approach_the_known_maximum() {
        for noise in tables() {
            for norm in [1e-3, 0.1, 3.0] {
                let ceiling = supremum(&noise, norm, norm, 30);
                let limit = |j: usize| 0.5 * ((j + 1) * (j + 2)) as f64 * noise.fisher_information() * norm * norm;
                let mut known: Vec<f64> = (0..30).map(limit).collect();
                for shift in (0..500).map(|i| 0.96f64.powi(i)) {
                    let mut moments = vec![0.0; 30];
                    noise.log_moments(norm * shift, &mut moments);
                    known.iter_mut().zip(moments).for_each(|(known, m)| *known = known.max(m / shift / shift));
                }
                for (j, (ceiling, known)) in ceiling.iter().zip(known).enumerate().filter(|(_, (c, _))| c.is_finite()) {
                    assert!(*ceiling >= known * (1.0 - 1e-9), "{norm}, order {}: {ceiling} below {known}", j + 2);
                    assert!(*ceiling <= known * 1.03, "{norm}, order {}: {ceiling} above {known}", j + 2);
                }
            }
        }
    }
}
