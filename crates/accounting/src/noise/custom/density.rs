//! User-supplied densities as points, formulas or JSON, each checked; errors name the place.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    super::{Formula, signed},
    error::{DensityError, MOST_KNOTS},
    table::Table,
};
use crate::numeric::unit_from_words;

/// Largest |ln z| in a table: beyond what f64 values reach. Quadrature time is proportional to it.
const STEEPEST: f64 = 2000.0;

/// Samples of a formula per octave: all seventy octaves fit into a table.
const AN_OCTAVE: i32 = 56;
/// Allowed deviation of a table from ln z of the samples at the peak, and more per e-fold below it.
const CLOSE: f64 = 3e-4;

/// A checked density table. Cheap to clone; its JSON is the table, checked again when read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Raw", into = "Raw")]
pub struct CustomDensity(pub(super) Arc<Table>);

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

impl CustomDensity {
    /// From points (x, z(x)) in any order, normalised or not. Points at x < 0 are checked for
    /// symmetry; without a point at 0 the density is constant up to the first.
    ///
    /// # Errors
    /// Wrong number or position of points; not positive, symmetric, unimodal or integrable.
    pub fn from_points(source: &str, points: &[(f64, f64)]) -> Result<Self, DensityError> {
        Self::through(source, points).map_err(DensityError::short)
    }

    fn through(source: &str, points: &[(f64, f64)]) -> Result<Self, DensityError> {
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
        // Compares with the table of the right side, up to normalisation.
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
            if value.is_nan() || value.abs() >= STEEPEST {
                return Err(DensityError::NotPositive { x, value: value.exp() });
            }
            if i > 0 && value > logs[i - 1] + 1e-12 {
                return Err(DensityError::NotUnimodal { x, before: logs[i - 1].exp(), after: value.exp() });
            }
        }
        Table::new(source, knots, &logs).map(|table| Self(Arc::new(table)))
    }

    /// From a formula in `x` such as `exp(-abs(x)^1.5)` or `1/cosh(x)`, normalised or not: sampled
    /// 56 times per octave, from far inside its core to where less than 1e-12 of its mass is left.
    /// The table keeps the samples needed for ln z to be within 3e-4·(1 + ln z(0) − ln z) of all.
    ///
    /// # Errors
    /// A formula that cannot be parsed, or a density that fails a check, with the place.
    pub fn from_formula(formula: &str) -> Result<Self, DensityError> {
        let read = Formula::read(formula)?;
        Self::from_function(formula, |x| Ok(read.at(x)))
    }

    /// From a function, sampled as by `CustomDensity::from_formula`.
    ///
    /// # Errors
    /// The function's error, or where the density fails a check.
    pub fn from_function(source: &str, f: impl Fn(f64) -> Result<f64, DensityError>) -> Result<Self, DensityError> {
        Self::sampled(source, f).map_err(DensityError::short)
    }

    fn sampled(source: &str, f: impl Fn(f64) -> Result<f64, DensityError>) -> Result<Self, DensityError> {
        let check = |x: f64, value: f64| {
            if value >= 0.0 && value.is_finite() { Ok(value) } else { Err(DensityError::NotPositive { x, value }) }
        };
        let peak = f(0.0)?;
        if !(peak > 0.0 && peak.is_finite()) {
            return Err(DensityError::NotPositive { x: 0.0, value: peak });
        }
        // The core ends where the density has fallen to half its peak.
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
                // x·z must shrink octave by octave; if it hardly does, the integral diverges.
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
        let (knots, logs) = thinned(&knots, &logs);
        Self::from_logs(source.to_owned(), knots, logs)
    }

    /// Returns k where the density falls like |x|^−k between its last two knots. A formula that goes
    /// on so has no moment of order k − 1 or more, though its table, which ends, has all.
    #[must_use]
    pub fn tail_power(&self) -> f64 {
        let Table { knots, given, .. } = self.0.as_ref();
        let fall = |at: usize| -(given[at] - given[at - 1]) / (knots[at] / knots[at - 1]).ln();
        fall(knots.len() - 1)
    }

    /// The formula or name it was made from.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.0.source
    }

    /// One draw at a scale from four uniform words: the quantile from two, the sign from the third.
    #[must_use]
    pub fn draw(&self, scale: f64, [w0, w1, w2, _]: [u32; 4]) -> f64 {
        signed(scale * self.0.survival_quantile(0.5 * unit_from_words(w0, w1)), w2)
    }
}

/// The points between which lines pass all others of ln z (0 at the first) within [`CLOSE`]: from
/// each the longest line, by the cone of slopes that fit.
fn thinned(knots: &[f64], logs: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (mut kept, mut from) = (vec![0], 0);
    let (mut least, mut most) = (f64::NEG_INFINITY, f64::INFINITY);
    for i in 1..knots.len() {
        let slope = |from: usize, log: f64| (log - logs[from]) / (knots[i] - knots[from]);
        if !(least..=most).contains(&slope(from, logs[i])) {
            from = i - 1;
            kept.push(from);
            (least, most) = (f64::NEG_INFINITY, f64::INFINITY);
        }
        let close = CLOSE * (1.0 - logs[i]);
        least = least.max(slope(from, logs[i] - close));
        most = most.min(slope(from, logs[i] + close));
    }
    kept.push(knots.len() - 1);
    // A single sample is both ends.
    kept.dedup();
    kept.iter().map(|i| (knots[*i], logs[*i])).unzip()
}
