//! Chebyshev series of G(τ) = ln I_k(τ)/τ² on intervals of |τ|, and the matching sums over ψ.

use serde::{Deserialize, Serialize};

use crate::{noise::Noise, numeric::max_or_infinite, parallel};

/// Chebyshev terms per panel.
pub(super) const TERMS: usize = 13;
/// Relative rounding error of the stored sums and of their evaluation.
pub(super) const ROUNDING: f64 = 4e-12;
/// Accepted error relative to a series' first term, else its panel is halved; ε grows by no more.
const SERIES_TOLERANCE: f64 = 1e-10;
/// The same where kinks slow the terms' fall, and halving gains little.
const ACCEPTED_OF_KINKS: f64 = 1e-8;
/// Relative part of G that steps too narrow for nodes may hide before a ceiling is consulted.
const HIDDEN: f64 = 1e-2;
/// Distance of the outermost node from its panel's end, relative to the panel.
const NEAREST: f64 = 0.0036;
/// Accepted error of the last panel's series, relative to its first term.
const USABLE_ERROR: f64 = 1e-2;
/// Approximate factor by which halving a panel reduces the error.
const ERROR_DROP_PER_BISECTION: f64 = 1e4;
/// Terms that add up to less than this part of the first are replaced by their maxima.
const NEGLIGIBLE_TAIL: f64 = 1e-12;

/// Σψ²·T_j(y) over the entries on one panel, j = 0.. .
pub(super) type Sums = [f64; TERMS];

/// An interval of |τ|, mapped to y in [−1, 1].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Panel {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Panel {
    /// Octave `p` below `largest`: [largest·2^−(p+1), largest·2^−p].
    pub(super) fn octave(largest: f64, p: usize) -> Self {
        Self { low: largest * 2f64.powi(-(p as i32) - 1), high: largest * 2f64.powi(-(p as i32)) }
    }

    /// The interval [0, largest·2^−p].
    pub(super) fn below(largest: f64, p: usize) -> Self {
        Self { low: 0.0, high: largest * 2f64.powi(-(p as i32)) }
    }

    /// Octaves below `largest` down to a bottom panel from 0 to `largest`·2^−octaves.
    pub(crate) fn ladder(largest: f64, octaves: usize) -> Vec<Self> {
        (0..octaves).map(|p| Self::octave(largest, p)).chain([Self::below(largest, octaves)]).collect()
    }

    /// Chebyshev points of the first kind, which exclude the ends, so τ is never 0.
    fn nodes(&self) -> impl Iterator<Item = f64> + use<> {
        let Self { low, high } = *self;
        (0..TERMS).map(move |m| {
            // (1 + cos θ)/2 = cos²(θ/2) does not cancel near 0.
            let half_angle = std::f64::consts::PI * (m as f64 + 0.5) / (2 * TERMS) as f64;
            low + (high - low) * half_angle.cos().powi(2)
        })
    }
}

/// cos(jπ(m+½)/N)·(2 − δ_j0)/N, from values at the nodes to coefficients.
fn transform() -> [[f64; TERMS]; TERMS] {
    std::array::from_fn(|j| {
        std::array::from_fn(|m| {
            let angle = std::f64::consts::PI * j as f64 * (m as f64 + 0.5) / TERMS as f64;
            angle.cos() * if j == 0 { 1.0 } else { 2.0 } / TERMS as f64
        })
    })
}

/// Chebyshev coefficients of G = ln I_k(factor·τ)/τ² on one panel for all orders, and their error.
pub(crate) struct Series {
    /// `coefficients[j][order]`.
    pub(super) coefficients: Vec<Vec<f64>>,
    /// Estimated upper bound on |G − series| on the panel, by order.
    error: Vec<f64>,
    accepted: f64,
    /// G at 0 over k(k − 1)/2, if kinks may bend G between 0 and the first node.
    information: Option<f64>,
}

impl Series {
    pub(crate) fn new(panel: &Panel, noise: &dyn Noise, factor: f64, orders: usize) -> Self {
        let nodes: Vec<f64> = panel.nodes().collect();
        let moments = parallel::map(&nodes, |tau| {
            let mut moments = vec![0.0; orders];
            noise.log_moments(factor * tau, &mut moments);
            moments
        });
        let mut coefficients = vec![vec![0.0; orders]; TERMS];
        let transform = transform();
        for (m, (tau, moments)) in nodes.iter().zip(&moments).enumerate() {
            for (row, coefficient) in transform.iter().zip(&mut coefficients) {
                let weight = row[m] / (tau * tau);
                for (c, f) in coefficient.iter_mut().zip(moments) {
                    *c += weight * f;
                }
            }
        }
        // On an octave, terms fall by at least 5.8 per degree if G is analytic (its nearest
        // singularity is at 0 or beyond), so the remainder is below a quarter of the last term. The
        // last two in full also cover functions differentiable a few times only, and wider panels,
        // which are kept only if they need no `halvings`.
        // With kinks beyond 0, G has no third derivative where τ is the distance of two (seemingly
        // no first where they are close): terms may fall as j⁻², and the remainder, and its share
        // in kept terms, is twice their sum. So, too, where ln z has no series at 0.
        let kinked = noise.kinks().len() > 1;
        let slow = kinked || panel.low == 0.0 && noise.smoothness(0.0, factor * panel.high).is_none();
        let error = (0..orders)
            .map(|k| {
                let at = |j: usize| coefficients[j][k].abs();
                let rest = if slow {
                    let level = (TERMS - 4..TERMS).map(|j| (j * j) as f64 * at(j)).fold(0.0, max_or_infinite);
                    2.0 * level / (TERMS as f64 - 0.5)
                } else {
                    at(TERMS - 1) + at(TERMS - 2)
                };
                rest + ROUNDING * (0..TERMS).map(at).sum::<f64>()
            })
            .collect();
        let accepted = if kinked { ACCEPTED_OF_KINKS } else { SERIES_TOLERANCE };
        let information = kinked.then(|| noise.fisher_information() * factor * factor);
        let mut series = Self { coefficients, error, accepted, information };
        series.raise(panel, noise, factor);
        series
    }

    /// Adds what a table's steps too narrow for nodes may hide: a small share of the first term, or
    /// the excess of a proven ceiling of G over the series.
    fn raise(&mut self, panel: &Panel, noise: &dyn Noise, factor: f64) {
        let orders = self.error.len();
        if orders == 0 {
            return;
        }
        let hidden = noise.hidden_below(factor * NEAREST * (panel.high - panel.low), orders);
        if hidden <= HIDDEN {
            return self
                .error
                .iter_mut()
                .zip(&self.coefficients[0])
                .for_each(|(error, first)| *error += hidden * first);
        }
        let ends = (factor * panel.low, factor * panel.high);
        let floor = |a: f64, b: f64| self.floor(panel, a / factor, b / factor);
        let excess = noise.excess_over(ends, factor, orders, &floor);
        self.error.iter_mut().zip(excess).for_each(|(error, excess)| *error += excess);
    }

    /// Lower bound, by order, on the series plus its error on [a, b].
    fn floor(&self, panel: &Panel, a: f64, b: f64) -> Vec<f64> {
        let scale = 2.0 / (panel.high - panel.low);
        let values = |tau: f64| {
            let y = ((tau - panel.low) * scale - 1.0).clamp(-1.0, 1.0);
            let (mut before, mut now) = (1.0, y);
            let mut sum: Vec<f64> = self.coefficients[0].iter().zip(&self.error).map(|(c, e)| c + e).collect();
            for row in &self.coefficients[1..] {
                sum.iter_mut().zip(row).for_each(|(sum, c)| *sum += now * c);
                (before, now) = (now, 2.0 * y * now - before);
            }
            sum
        };
        let (left, right) = (values(a), values(b));
        let half_square = 0.125 * ((b - a) * scale).powi(2);
        let bend = |k: usize| {
            // |T_j″| ≤ j²(j²−1)/3.
            let most = |j: usize| ((j * j) as f64) * ((j * j - 1) as f64) / 3.0;
            (2..TERMS).map(|j| most(j) * self.coefficients[j][k].abs()).sum::<f64>()
        };
        (0..left.len()).map(|k| left[k].min(right[k]) - half_square * bend(k)).collect()
    }

    /// True if the error is small relative to the series.
    pub(super) fn is_of_use(&self) -> bool {
        self.error.iter().zip(&self.coefficients[0]).all(|(error, first)| *error <= USABLE_ERROR * first)
    }

    /// About how often to halve a panel from 0 until terms fall fast at every order, so that
    /// halving gains nothing, and their value at 0 is right; 0 if so already.
    pub(super) fn halvings(&self) -> usize {
        // The largest ratio of the error to the accepted one.
        let mut excess = 0.0f64;
        let settled = (0..self.error.len()).fold(true, |settled, k| {
            let at = |j: usize| self.coefficients[j][k].abs();
            let accepted = self.accepted * at(0);
            excess = max_or_infinite(excess, self.error[k] / accepted);
            settled
                && self.error[k] <= accepted
                && at(TERMS - 3) + at(TERMS - 4) <= 100.0 * accepted
                && self.information.is_none_or(|information| {
                    let there = 0.5 * ((k + 1) * (k + 2)) as f64 * information;
                    let series: f64 =
                        (0..TERMS).map(|j| if j % 2 == 0 { 1.0 } else { -1.0 } * self.coefficients[j][k]).sum();
                    (series - there).abs() <= accepted + self.error[k]
                })
        });
        match excess {
            _ if settled => 0,
            excess if excess.is_finite() => ((excess.ln() / ERROR_DROP_PER_BISECTION.ln()).ceil() as usize).max(1),
            _ => 1,
        }
    }

    /// An upper bound on G over the whole panel, for one order.
    pub(crate) fn supremum(&self, order: usize) -> f64 {
        let sum = self.coefficients[1..].iter().map(|c| c[order].abs()).sum::<f64>();
        self.coefficients[0][order] + sum + self.error[order]
    }

    /// The coefficients, with the error added to the first: as T_0 = 1 and weights ψ² ≥ 0, all sums
    /// are then upper bounds. Negligible last ones move to the first, too, as |T_j| ≤ 1.
    pub(super) fn into_upper(mut self) -> Vec<Vec<f64>> {
        let orders = self.error.len();
        let mut spared = vec![0.0; orders];
        while self.coefficients.len() > 1 {
            let last = self.coefficients.len() - 1;
            let sum = |k: usize| spared[k] + self.coefficients[last][k].abs();
            // NaN is not dropped.
            if !(0..orders).all(|k| sum(k) <= NEGLIGIBLE_TAIL * self.coefficients[0][k]) {
                break;
            }
            spared = (0..orders).map(sum).collect();
            self.coefficients.pop();
        }
        for ((c, e), s) in self.coefficients[0].iter_mut().zip(&self.error).zip(&spared) {
            *c += e + s;
        }
        self.coefficients
    }
}

/// Sums over a panel in y to those over a wider one in y′ = `slope`·y + `offset`: row j of the
/// matrix holds T_j(y′) in the T_i(y), i ≤ j.
fn widened(slope: f64, offset: f64) -> [Sums; TERMS] {
    let mut rows = [[0.0; TERMS]; TERMS];
    rows[0][0] = 1.0;
    (rows[1][0], rows[1][1]) = (offset, slope);
    for j in 2..TERMS {
        let (now, before) = (rows[j - 1], rows[j - 2]);
        for i in 0..TERMS {
            // y·T_i = (T_{i+1} + T_{|i−1|})/2.
            let product = slope * now[i];
            rows[j][i] += 2.0 * offset * now[i] - before[i];
            if i + 1 < TERMS {
                rows[j][i + 1] += product;
            }
            rows[j][i.abs_diff(1)] += product;
        }
    }
    rows
}

/// Sums over [0, h] from those over [h/2, h] and [0, h/2]: exact, as polynomials keep their degree.
pub(super) struct Merge {
    upper: [Sums; TERMS],
    lower: [Sums; TERMS],
}

impl Merge {
    pub fn new() -> Self {
        Self { upper: widened(0.5, 0.5), lower: widened(0.5, -0.5) }
    }

    /// Σψ²T_j for j < `terms`, then zeros.
    pub fn sums(&self, upper: &Sums, lower: &Sums, terms: usize) -> Sums {
        let mut sums = [0.0; TERMS];
        for (j, sum) in sums[..terms].iter_mut().enumerate() {
            let dot = |row: &Sums, sums: &Sums| row[..=j].iter().zip(sums).map(|(r, s)| r * s).sum::<f64>();
            *sum = dot(&self.upper[j], upper) + dot(&self.lower[j], lower);
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(panel: &Panel, entries: &[f64]) -> Sums {
        let (middle, scale) = (0.5 * (panel.low + panel.high), 2.0 / (panel.high - panel.low));
        let mut sums = [0.0; TERMS];
        for &entry in entries {
            let angle = ((entry - middle) * scale).clamp(-1.0, 1.0).acos();
            for (j, sum) in sums.iter_mut().enumerate() {
                *sum += entry * entry * (j as f64 * angle).cos();
            }
        }
        sums
    }

    /// A step so narrow that no node of the panel sees it, only G at 0.
    #[test]
    fn steps_between_0_and_the_nodes_are_not_missed() {
        let settled = |step: f64| {
            let fall = |i: u32| (1.5 * 1.1f64.powi(i as i32 - 60)).cosh().recip();
            let mut points: Vec<(f64, f64)> = (0..100).map(|i| (1.1f64.powi(i as i32 - 60), fall(i))).collect();
            points.extend([(0.0, 1.0 + step), (1e-9, 1.0)]);
            let density = crate::noise::CustomDensity::from_points("step", &points).unwrap();
            let noise = crate::noise::NoiseSpec::Custom { density, scale: 1.0 }.build().unwrap();
            Series::new(&Panel { low: 0.0, high: 1e-3 }, &*noise, 1.0, 30).halvings() == 0
        };
        assert!(settled(1e-9));
        assert!(!settled(1e-6));
    }

    #[test]
    fn halves_merge_exactly() {
        let entries: Vec<f64> = (1..200).map(|i| 0.8 * (f64::from(i) / 200.0).powi(2)).collect();
        let (high, low): (Vec<f64>, Vec<f64>) = entries.iter().partition(|e| **e > 0.4);
        let merged = Merge::new().sums(
            &sums(&Panel { low: 0.4, high: 0.8 }, &high),
            &sums(&Panel { low: 0.0, high: 0.4 }, &low),
            TERMS,
        );
        for (got, want) in merged.iter().zip(sums(&Panel { low: 0.0, high: 0.8 }, &entries)) {
            assert!((got - want).abs() < 1e-12, "{got} {want}");
        }
    }
}
