//! Noise of the user's own: a table of a symmetric unimodal density, or a formula that fills one.
//!
//! Between knots ln z is linear, beyond the last it goes on with the last slope. That *is* the noise: it is drawn, and accounted for, from
//! this one table, so how well the table follows a formula is no question of privacy.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    Formula, Noise, NoiseError, check_scale,
    moments::{Node, Sums},
    signed,
};
use crate::privacy::numeric::unit_from_words;

/// Most knots of a table.
const MOST_KNOTS: usize = 4096;

/// Where and how a density fails.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DensityError {
    #[error("the density needs at least two points with x ≥ 0 (and at most {MOST_KNOTS}); there are {0}")]
    Points(usize),
    #[error(
        "the density at x = {x} is {value}; it must be a finite number above 0 everywhere, or a shift would give itself away"
    )]
    NotPositive { x: f64, value: f64 },
    #[error("x = {0} is not a finite number, or comes twice")]
    Position(f64),
    #[error("the density is not symmetric: at x = {x} it is {right}, at −x it is {left}")]
    NotSymmetric { x: f64, left: f64, right: f64 },
    #[error("the density is not unimodal: it rises from {before} to {after} at x = {x}")]
    NotUnimodal { x: f64, before: f64, after: f64 },
    #[error("the density is not integrable: at x = {x} it still does not fall fast enough")]
    NotIntegrable { x: f64 },
    #[error("the formula cannot be read: {0}")]
    Formula(String),
}

/// A checked density table. Cheap to clone; its JSON is the table, checked again when read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Raw", into = "Raw")]
pub struct CustomDensity(Arc<Table>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Raw {
    /// The formula, or a name.
    source: String,
    /// 0 = x₀ < x₁ < …
    knots: Vec<f64>,
    /// ln z at the knots, up to a common constant.
    log_densities: Vec<f64>,
}

#[derive(Debug, PartialEq)]
struct Table {
    source: String,
    knots: Vec<f64>,
    /// ln z − ln z(0): what the rest is computed from, so that a table written and read is the same to the last bit.
    given: Vec<f64>,
    /// Normalised.
    log_densities: Vec<f64>,
    /// (ln z)′ on each interval and beyond the last knot; never above 0, the last below.
    slopes: Vec<f64>,
    /// P(X > knot).
    tails: Vec<f64>,
}

impl TryFrom<Raw> for CustomDensity {
    type Error = DensityError;

    fn try_from(raw: Raw) -> Result<Self, DensityError> {
        if raw.knots.len() != raw.log_densities.len() {
            return Err(DensityError::Points(raw.log_densities.len()));
        }
        Self::from_logs(raw.source, raw.knots, raw.log_densities)
    }
}

impl From<CustomDensity> for Raw {
    fn from(density: CustomDensity) -> Self {
        let Table { source, knots, given, .. } = density.0.as_ref();
        Self { source: source.clone(), knots: knots.clone(), log_densities: given.clone() }
    }
}

/// (∫, ∫u, ∫u²) of e^{−λu} over [0, w], λ ≥ 0; w may be infinite if λ > 0.
fn exponential_moments(lambda: f64, w: f64) -> [f64; 3] {
    if lambda * w < 0.3 {
        return std::array::from_fn(|j| {
            let (mut term, mut sum) = (w.powi(j as i32 + 1), 0.0);
            for n in 0..18 {
                sum += term / (n + j + 1) as f64;
                term *= -lambda * w / (n + 1) as f64;
            }
            sum
        });
    }
    let end = (-lambda * w).exp();
    let edge = |power: i32| if end == 0.0 { 0.0 } else { w.powi(power) * end };
    let zeroth = -(-lambda * w).exp_m1() / lambda;
    let first = (zeroth - edge(1)) / lambda;
    [zeroth, first, (2.0 * first - edge(2)) / lambda]
}

impl CustomDensity {
    /// From points (x, z(x)), in any order, normalised or not. With points at x < 0 the density is checked for symmetry there;
    /// without one at 0 it is flat up to the first.
    ///
    /// # Errors
    /// Where the density is not positive, not symmetric, not unimodal, or its tail does not fall.
    pub fn from_points(source: &str, points: &[(f64, f64)]) -> Result<Self, DensityError> {
        for &(x, value) in points {
            if !x.is_finite() || x.abs() > 1e100 {
                return Err(DensityError::Position(x));
            }
            if !(value > 0.0 && value.is_finite()) {
                return Err(DensityError::NotPositive { x, value });
            }
        }
        let mut right: Vec<(f64, f64)> = points.iter().copied().filter(|p| p.0 >= 0.0).collect();
        right.sort_by(|a, b| a.0.total_cmp(&b.0));
        if right.len() < 2 || right.len() >= MOST_KNOTS {
            return Err(DensityError::Points(right.len()));
        }
        if right[0].0 > 0.0 {
            right.insert(0, (0.0, right[0].1));
        }
        let (knots, logs) = right.iter().map(|&(x, z)| (x, z.ln())).unzip();
        let density = Self::from_logs(source.to_owned(), knots, logs)?;
        // Compared with the table made of the right side, up to its normalisation.
        let offset = right[0].1.ln() - density.0.log_densities[0];
        for &(x, left) in points.iter().filter(|p| p.0 < 0.0) {
            let right = (density.0.log_density(-x) + offset).exp();
            if (left - right).abs() > 1e-6 * left.max(right) {
                return Err(DensityError::NotSymmetric { x: -x, left, right });
            }
        }
        Ok(density)
    }

    fn from_logs(source: String, knots: Vec<f64>, logs: Vec<f64>) -> Result<Self, DensityError> {
        if knots.len() < 2 || knots.len() > MOST_KNOTS || source.len() > 4096 {
            return Err(DensityError::Points(knots.len()));
        }
        for (i, (&x, &value)) in knots.iter().zip(&logs).enumerate() {
            let in_order = if i == 0 { x == 0.0 } else { x > knots[i - 1] * (1.0 + 1e-12) && x < 1e101 };
            if !in_order {
                return Err(DensityError::Position(x));
            }
            if value.is_nan() || value.abs() >= 1e6 {
                return Err(DensityError::NotPositive { x, value: value.exp() });
            }
            if i > 0 && value > logs[i - 1] + 1e-12 {
                return Err(DensityError::NotUnimodal { x, before: logs[i - 1].exp(), after: value.exp() });
            }
        }
        let given: Vec<f64> = logs.iter().map(|v| v - logs[0]).collect();
        let mut slopes: Vec<f64> =
            knots.windows(2).zip(given.windows(2)).map(|(x, v)| ((v[1] - v[0]) / (x[1] - x[0])).min(0.0)).collect();
        let last = slopes[slopes.len() - 1];
        let far = knots[knots.len() - 1];
        if !(last < 0.0 && last.is_finite() && last * far < -1e-6) {
            return Err(DensityError::NotIntegrable { x: far });
        }
        slopes.push(last);
        // Masses from the outside in, relative to the peak.
        let mut tails = vec![0.0; knots.len()];
        let mut beyond = 0.0;
        for i in (0..knots.len()).rev() {
            let width = if i + 1 < knots.len() { knots[i + 1] - knots[i] } else { f64::INFINITY };
            beyond += given[i].exp() * exponential_moments(-slopes[i], width)[0];
            tails[i] = beyond;
        }
        let half = tails[0];
        if !(half > 1e-200 && half.is_finite()) {
            return Err(DensityError::NotIntegrable { x: far });
        }
        for tail in &mut tails {
            *tail *= 0.5 / half;
        }
        let norm = (2.0 * half).ln();
        let log_densities = given.iter().map(|v| v - norm).collect();
        Ok(Self(Arc::new(Table { source, knots, given, log_densities, slopes, tails })))
    }

    /// From a formula in `x`, such as `exp(-abs(x)^1.5)` or `1/cosh(x)`, normalised or not: sampled sixteen times an octave, from far inside its
    /// core to where less than 1e-12 of it is left.
    ///
    /// # Errors
    /// A formula that cannot be read, or a density that fails, with the place.
    pub fn from_formula(formula: &str) -> Result<Self, DensityError> {
        let read = Formula::read(formula)?;
        Self::from_function(formula, |x| Ok(read.at(x)))
    }

    /// From a function, as `CustomDensity::from_formula` samples one.
    ///
    /// # Errors
    /// What the function fails with, or where the density fails.
    pub fn from_function(source: &str, f: impl Fn(f64) -> Result<f64, DensityError>) -> Result<Self, DensityError> {
        const AN_OCTAVE: i32 = 16;
        let check = |x: f64, value: f64| {
            if value >= 0.0 && value.is_finite() { Ok(value) } else { Err(DensityError::NotPositive { x, value }) }
        };
        let peak = f(0.0)?;
        if !(peak > 0.0 && peak.is_finite()) {
            return Err(DensityError::NotPositive { x: 0.0, value: peak });
        }
        // The core: where the density has fallen to half its peak.
        let mut core = 2f64.powi(-60);
        while check(core, f(core)?)? > 0.5 * peak {
            core *= 2.0;
            if core > 1e60 {
                return Err(DensityError::NotIntegrable { x: core });
            }
        }
        let (mut knots, mut logs) = (vec![0.0], vec![0.0]);
        let mut mass = core * peak;
        let mut octave_start = f64::INFINITY;
        let mut before = peak;
        for step in -6 * AN_OCTAVE..64 * AN_OCTAVE {
            let x = core * (f64::from(step) / f64::from(AN_OCTAVE)).exp2();
            let (right, left) = (check(x, f(x)?)?, check(-x, f(-x)?)?);
            if (left - right).abs() > 1e-9 * left.max(right) {
                return Err(DensityError::NotSymmetric { x, left, right });
            }
            if right > before * (1.0 + 1e-12) {
                return Err(DensityError::NotUnimodal { x, before, after: right });
            }
            let ratio = right / peak;
            if ratio < 1e-290 {
                if right == 0.0 && before > 1e-12 * peak {
                    return Err(DensityError::NotPositive { x, value: right });
                }
                break;
            }
            mass += x * right / f64::from(AN_OCTAVE);
            knots.push(x);
            logs.push(ratio.ln());
            before = right;
            if step % AN_OCTAVE == 0 {
                // x·z must shrink octave by octave; where it hardly does, the integral diverges.
                let shell = x * right;
                if step >= 40 * AN_OCTAVE && shell > 0.9 * octave_start {
                    return Err(DensityError::NotIntegrable { x });
                }
                octave_start = shell;
                if shell < 1e-13 * mass {
                    break;
                }
            }
        }
        Self::from_logs(source.to_owned(), knots, logs)
    }

    /// The formula or name it was made from.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.0.source
    }

    /// One draw at a scale from four uniform words: by the quantile of the first two, sign from the third.
    #[must_use]
    pub fn draw(&self, scale: f64, [w0, w1, w2, _]: [u32; 4]) -> f64 {
        signed(scale * self.0.tail_quantile(0.5 * unit_from_words(w0, w1)), w2)
    }
}

impl Table {
    /// The interval that holds x ≥ 0.
    fn interval(&self, x: f64) -> usize {
        self.knots.partition_point(|&k| k <= x).saturating_sub(1)
    }

    fn log_density(&self, x: f64) -> f64 {
        let i = self.interval(x);
        self.log_densities[i] + self.slopes[i] * (x - self.knots[i])
    }

    /// P(X > x) for x ≥ 0: what is between x and the next knot, and beyond that.
    fn tail(&self, x: f64) -> f64 {
        let i = self.interval(x);
        let here = (self.log_densities[i] + self.slopes[i] * (x - self.knots[i])).exp();
        match self.knots.get(i + 1) {
            Some(next) => here * exponential_moments(-self.slopes[i], next - x)[0] + self.tails[i + 1],
            None => here / -self.slopes[i],
        }
    }

    fn tail_quantile(&self, q: f64) -> f64 {
        // tails fall: the last knot whose tail is at least q.
        let i = self.tails.partition_point(|&t| t >= q).saturating_sub(1);
        let (slope, mass) = (self.slopes[i], (self.tails[i] - q).max(0.0));
        let peak = self.log_densities[i].exp();
        // peak·(e^{su} − 1)/s = mass.
        let ratio = slope * mass / peak;
        let u = if i + 1 == self.knots.len() {
            (q / self.tails[i]).ln() / slope
        } else if ratio.abs() < 1e-8 {
            mass / peak * (1.0 - 0.5 * ratio)
        } else {
            ratio.max(-1.0).ln_1p() / slope
        };
        let end = self.knots.get(i + 1).copied().unwrap_or(f64::MAX);
        (self.knots[i] + u.max(0.0)).min(end)
    }

    /// 2·Σ over intervals of ∫ x^j z, j = `power` (1 or 2).
    fn moment(&self, power: usize) -> f64 {
        let mut sum = 0.0;
        for (i, &a) in self.knots.iter().enumerate() {
            let width = self.knots.get(i + 1).map_or(f64::INFINITY, |b| b - a);
            let [m0, m1, m2] = exponential_moments(-self.slopes[i], width);
            let of_power = if power == 1 { a * m0 + m1 } else { a * a * m0 + 2.0 * a * m1 + m2 };
            sum += self.log_densities[i].exp() * of_power;
        }
        2.0 * sum
    }

    /// ln z and its slope just right of x, any sign.
    fn log_density_and_slope(&self, x: f64) -> (f64, f64) {
        if x >= 0.0 {
            let i = self.interval(x);
            return (self.log_densities[i] + self.slopes[i] * (x - self.knots[i]), self.slopes[i]);
        }
        // Just right of x < 0 is just left of |x|.
        let i = self.knots.partition_point(|&k| k < -x).saturating_sub(1);
        (self.log_densities[i] + self.slopes[i] * (-x - self.knots[i]), -self.slopes[i])
    }

    /// The line cut where ln z(x) or ln z(x − τ) bends: (left end, width, ln z, its slope, ln r, its slope) for each piece of finite width.
    fn pieces(&self, tau: f64) -> Vec<[f64; 6]> {
        let signed = || self.knots.iter().skip(1).rev().map(|k| -k).chain(self.knots.iter().copied());
        let mut cuts: Vec<f64> = signed().chain(signed().map(|k| k + tau)).collect();
        cuts.sort_by(f64::total_cmp);
        cuts.dedup();
        cuts.windows(2)
            .filter(|w| w[1] > w[0])
            .map(|w| {
                let middle = 0.5 * (w[0] + w[1]);
                let (z, z_slope) = self.log_density_and_slope(middle);
                let (shifted, shifted_slope) = self.log_density_and_slope(middle - tau);
                let half = 0.5 * (w[1] - w[0]);
                let slope = shifted_slope - z_slope;
                [w[0], w[1] - w[0], z - half * z_slope, z_slope, shifted - z - half * slope, slope]
            })
            .collect()
    }
}

/// Nodes and weights of Gauss–Legendre rules on [−1, 1], positive half: 4, 8 and 16 points.
fn gauss_legendre(points: usize) -> &'static [(f64, f64)] {
    use std::sync::LazyLock;
    static RULES: LazyLock<[Vec<(f64, f64)>; 3]> = LazyLock::new(|| {
        [4usize, 8, 16].map(|n| {
            (0..n)
                .map(|i| {
                    // Newton on P_n from the usual cosine.
                    let mut x = (std::f64::consts::PI * (i as f64 + 0.75) / (n as f64 + 0.5)).cos();
                    let mut slope = 1.0;
                    for _ in 0..50 {
                        let (mut before, mut now) = (1.0, x);
                        for k in 2..=n {
                            let k = k as f64;
                            (before, now) = (now, ((2.0 * k - 1.0) * x * now - (k - 1.0) * before) / k);
                        }
                        slope = n as f64 * (x * now - before) / (x * x - 1.0);
                        let step = now / slope;
                        x -= step;
                        if step.abs() < 1e-16 {
                            break;
                        }
                    }
                    (x, 2.0 / ((1.0 - x * x) * slope * slope))
                })
                .collect()
        })
    });
    &RULES[match points {
        4 => 0,
        8 => 1,
        _ => 2,
    }]
}

/// A custom density at a scale.
#[derive(Clone, Debug)]
pub struct Custom {
    density: CustomDensity,
    scale: f64,
}

impl Custom {
    /// The distribution of `scale`·X, X from the table.
    ///
    /// # Errors
    /// Unless 0 < scale < ∞.
    pub fn new(density: CustomDensity, scale: f64) -> Result<Self, NoiseError> {
        check_scale("custom", "scale", scale)?;
        Ok(Self { density, scale })
    }

    fn table(&self) -> &Table {
        &self.density.0
    }
}

impl Noise for Custom {
    fn log_density(&self, x: f64) -> f64 {
        self.table().log_density((x / self.scale).abs()) - self.scale.ln()
    }

    fn tail(&self, x: f64) -> f64 {
        self.table().tail(x / self.scale)
    }

    fn tail_quantile(&self, q: f64) -> f64 {
        self.scale * self.table().tail_quantile(q)
    }

    fn draw(&self, words: [u32; 4]) -> f64 {
        self.density.draw(self.scale, words)
    }

    fn mean_absolute(&self) -> f64 {
        self.scale * self.table().moment(1)
    }

    fn standard_deviation(&self) -> f64 {
        self.scale * self.table().moment(2).sqrt()
    }

    fn fisher_information(&self) -> f64 {
        let Table { slopes, tails, .. } = self.table();
        let next = |i: usize| tails.get(i + 1).copied().unwrap_or(0.0);
        let sum: f64 = slopes.iter().enumerate().map(|(i, s)| s * s * (tails[i] - next(i))).sum();
        2.0 * sum / (self.scale * self.scale)
    }

    fn scale(&self) -> f64 {
        self.scale
    }

    fn kinks(&self) -> &[f64] {
        &self.table().knots
    }

    fn log_ratio(&self, x: f64, tau: f64) -> f64 {
        let (y, t) = (x / self.scale, tau / self.scale);
        self.table().log_density((y - t).abs()) - self.table().log_density(y.abs())
    }

    /// Piece by piece, ln r and ln z being linear there: Gauss–Legendre of I_k − 1 where r^k is moderate, the exact integral of z·r^k where
    /// it is not, and beyond the last knots, where r is constant, the exact masses.
    fn log_moments(&self, tau: f64, out: &mut [f64]) {
        let table = self.table();
        let t = (tau / self.scale).abs();
        if t == 0.0 || out.is_empty() {
            out.fill(0.0);
            return;
        }
        if !t.is_finite() {
            out.fill(f64::INFINITY);
            return;
        }
        let (last, far) = (table.knots.len() - 1, table.knots[table.knots.len() - 1]);
        let steep = -table.slopes[last];
        // Beyond far + τ, r = e^{steep·τ}; below −far, its inverse.
        let ends = [
            Node { log_ratio: steep * t, log_weight: table.tails[last].ln() - steep * t },
            Node { log_ratio: -steep * t, log_weight: table.tails[last].ln() },
        ];
        let pieces = table.pieces(t);
        debug_assert!(pieces.last().is_some_and(|p| p[0] + p[1] >= far));
        let highest = pieces.iter().flat_map(|p| [p[4], p[4] + p[5] * p[1]]).fold(ends[0].log_ratio, f64::max);
        let linear = ((400.0 / highest).min(1e6) as usize).saturating_sub(1).min(out.len());
        if linear > 0 {
            let mut nodes = Vec::new();
            for &[_, width, z, z_slope, rho, slope] in &pieces {
                let variation = ((linear + 1) as f64 * slope.abs() + z_slope.abs()) * width;
                // A rule of n points on e^{±V/2} errs by less than (V/4)^{2n}/(2n)!.
                let parts = (variation / 6.0).ceil().clamp(1.0, 1e5);
                let points = if variation < 0.15 {
                    4
                } else if variation < 2.0 {
                    8
                } else {
                    16
                };
                let part = width / parts;
                for p in 0..parts as usize {
                    for &(y, weight) in gauss_legendre(points) {
                        let u = part * (p as f64 + 0.5 * (1.0 + y));
                        nodes.push(Node {
                            log_ratio: rho + slope * u,
                            log_weight: z + z_slope * u + (0.5 * weight * part).ln(),
                        });
                    }
                }
            }
            nodes.extend(ends.iter().map(|n| Node { ..*n }));
            let mut sums = Sums::linear(linear);
            sums.add(&nodes);
            sums.log_moments(1.0, &mut out[..linear]);
        }
        let mut logs = Vec::with_capacity(pieces.len() + 2);
        for (j, value) in out.iter_mut().enumerate().skip(linear) {
            let k = (j + 2) as f64;
            logs.clear();
            logs.extend(ends.iter().map(|n| k * n.log_ratio + n.log_weight));
            logs.extend(pieces.iter().map(|&[_, width, z, z_slope, rho, slope]| {
                let rise = (k * slope + z_slope) * width;
                let start = k * rho + z + if rise > 0.0 { rise } else { 0.0 };
                let fall = rise.abs();
                let share = if fall < 1e-8 { -0.5 * fall } else { (-(-fall).exp_m1() / fall).ln() };
                start + width.ln() + share
            }));
            *value = crate::privacy::numeric::log_sum_exp(&logs);
        }
        for value in out {
            *value *= 1.0 + 1e-12;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::noise::Laplace;

    /// A table of two points is the Laplace distribution.
    #[test]
    fn two_points_are_laplace() {
        let density = CustomDensity::from_points("Laplace", &[(0.0, 1.0), (1.0, (-1.0f64).exp())]).unwrap();
        let custom = Custom::new(density, 0.7).unwrap();
        let laplace = Laplace::new(0.7).unwrap();
        for x in [0.0, 1e-3, 0.3, 1.0, 20.0] {
            assert!((custom.log_density(x) - laplace.log_density(x)).abs() < 1e-13);
            assert!((custom.tail(x) / laplace.tail(x) - 1.0).abs() < 1e-12, "{x}");
        }
        for q in [1e-12, 0.01, 0.3, 0.5] {
            assert!((custom.tail_quantile(q) - laplace.tail_quantile(q)).abs() < 1e-12, "{q}");
        }
        assert!((custom.mean_absolute() / 0.7 - 1.0).abs() < 1e-13);
        assert!((custom.standard_deviation() / laplace.standard_deviation() - 1.0).abs() < 1e-13);
        assert!((custom.fisher_information() / laplace.fisher_information() - 1.0).abs() < 1e-13);
        for tau in [1e-6, 1e-3, 0.1, 1.0, 7.0] {
            let (mut a, mut b) = (vec![0.0; 255], vec![0.0; 255]);
            custom.log_moments(tau, &mut a);
            laplace.log_moments(tau, &mut b);
            for (k, (x, y)) in a.iter().zip(&b).enumerate() {
                assert!((x / y - 1.0).abs() < 1e-10, "k = {}, τ = {tau}: {x} {y}", k + 2);
            }
        }
    }

    #[test]
    fn bad_densities_are_refused_with_the_place() {
        let refuse = |points: &[(f64, f64)]| CustomDensity::from_points("test", points).unwrap_err();
        assert!(matches!(refuse(&[(0.0, 1.0), (1.0, 0.5), (2.0, 0.6)]), DensityError::NotUnimodal { x: 2.0, .. }));
        assert!(matches!(refuse(&[(0.0, 1.0), (1.0, 0.5), (-1.0, 0.4)]), DensityError::NotSymmetric { x: 1.0, .. }));
        assert!(matches!(refuse(&[(0.0, 1.0), (1.0, 0.0)]), DensityError::NotPositive { x: 1.0, .. }));
        assert!(matches!(refuse(&[(0.0, 1.0), (1.0, 0.5), (2.0, 0.5)]), DensityError::NotIntegrable { x: 2.0 }));
        assert!(matches!(refuse(&[(0.0, 1.0), (f64::NAN, 0.5)]), DensityError::Position(_)));
        assert_eq!(refuse(&[(0.0, 1.0)]), DensityError::Points(1));
        let f = |f: fn(f64) -> f64| CustomDensity::from_function("test", |x| Ok(f(x))).unwrap_err();
        assert!(matches!(f(|x| 1.0 / (1.0 + x.abs())), DensityError::NotIntegrable { .. }));
        assert!(matches!(
            f(|x| (-(x - 0.1) * (x - 0.1)).exp()),
            DensityError::NotSymmetric { .. } | DensityError::NotUnimodal { .. }
        ));
        assert!(matches!(f(|x| (-x * x).exp() * (1.0 + 2.0 * x.powi(4))), DensityError::NotUnimodal { .. }));
        assert!(matches!(f(|x| if x.abs() < 1.0 { 1.0 } else { 0.0 }), DensityError::NotPositive { .. }));
        assert!(matches!(f(|_| f64::NAN), DensityError::NotPositive { .. }));
    }

    #[test]
    fn formulas_become_tables() {
        let density = CustomDensity::from_formula("exp(-abs(x)^3)").unwrap();
        let noise = Custom::new(density.clone(), 1.0).unwrap();
        let exact = crate::privacy::noise::GeneralizedGaussian::new(3.0, 1.0).unwrap();
        assert!((noise.standard_deviation() / exact.standard_deviation() - 1.0).abs() < 1e-2);
        let json = serde_json::to_string(&density).unwrap();
        assert_eq!(serde_json::from_str::<CustomDensity>(&json).unwrap(), density);
        for bad in ["exp(-y)", "exp(", "x+*", "", "1", "exp(-abs(x)) + 0*z"] {
            assert!(CustomDensity::from_formula(bad).is_err(), "{bad}");
        }
    }
}
