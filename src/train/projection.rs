//! What a run will have cost, before it is played; and the noise that a budget asks for.

use serde::{Deserialize, Serialize};

use super::{config::RunConfig, plan::Plan};
use crate::{
    mechanism::EncoderSpec,
    privacy::{
        ledger::Release,
        pld::{Pld, Rigor, Tight},
        rdp::{Accountant, Epsilon, RdpCurve},
    },
};

/// A point of a curve: x, y.
pub type Point = (f64, f64);

/// Vectors of an envelope that are drawn for a projection: a run draws all, and they differ little in what they cost.
const VECTORS: u32 = 8;
/// Points of a projected curve.
const POINTS: u64 = 40;
/// Points of a privacy curve up to ε, and as many beyond; how precise they are: it is waited for, and only drawn.
const CURVE: u32 = 4;
const CURVE_TOLERANCE: f64 = 1e-2;
/// Noise scales that a budget may ask for.
const SCALES: (f64, f64) = (1e-2, 1e4);

/// A run's cost in advance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Projection {
    /// Step and ε (improved conversion), dense at the start.
    pub curve: Vec<Point>,
    pub end: Epsilon,
    pub steps: u64,
    /// Whether a run may come out a little higher: not all vectors were looked at.
    pub about: bool,
}

/// What a run gave away, by tight accounting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    pub epsilon: f64,
    /// What in it is computed without a proven error.
    pub numerical: Option<String>,
}

/// ε by step of `steps` steps of this configuration on `train` examples.
///
/// # Errors
/// Why there is none, in words.
pub fn project(config: &RunConfig, train: u32, steps: u64) -> Result<Projection, String> {
    let (curve, about) = price(config, train)?;
    let mut points: Vec<Point> = vec![];
    for i in 1..=POINTS {
        let share = i as f64 / POINTS as f64;
        let step = ((steps as f64 * share * share).ceil() as u64).max(1);
        if points.last().is_none_or(|last| last.0 < step as f64) {
            points.push((step as f64, spent(&curve, step, config.delta)?.improved.epsilon));
        }
    }
    Ok(Projection { end: spent(&curve, steps, config.delta)?, curve: points, steps, about })
}

/// What `steps` steps of this configuration cost on `train` examples.
///
/// # Errors
/// Why there is no price, in words.
pub fn cost(config: &RunConfig, train: u32, steps: u64) -> Result<Epsilon, String> {
    spent(&price(config, train)?.0, steps, config.delta)
}

/// Tight ε (privacy loss distributions) after each of these numbers of steps, from a few of an envelope's vectors.
///
/// # Errors
/// Why there is none, in words.
pub fn tight(config: &RunConfig, train: u32, steps: &[u64]) -> Result<Vec<Point>, String> {
    let step = step_loss(config, train, VECTORS)?;
    let found = step.epsilons(config.delta, steps).map_err(|error| error.to_string())?;
    Ok(steps.iter().zip(found).map(|(&steps, found)| (steps as f64, found.value)).collect())
}

/// What steps that ran gave away by tight accounting, from all of an envelope's vectors.
///
/// # Errors
/// Why there is no price, in words.
pub fn spent_tightly(config: &RunConfig, train: u32, steps: u64) -> Result<Spent, String> {
    let step = step_loss(config, train, u32::MAX)?;
    let tight = tight_epsilon(&step, config.delta, steps)?;
    let numerical = match tight.rigor {
        Rigor::Proven => None,
        Rigor::Numerical(what) => Some(what.to_owned()),
    };
    Ok(Spent { epsilon: tight.value, numerical })
}

/// ε and δ(ε) of steps that ran, about their tight `epsilon`: for [`crate::privacy::risk::PrivacyCurve`].
///
/// # Errors
/// Why there is none, in words.
pub fn spent_curve(config: &RunConfig, train: u32, steps: u64, epsilon: f64) -> Result<Vec<Point>, String> {
    let whole = step_loss(config, train, u32::MAX)?.compose(steps).with_tolerance(CURVE_TOLERANCE);
    whole.curve_about(epsilon, config.delta, CURVE).map_err(|error| error.to_string())
}

/// The privacy loss of one step, from at `most` so many of an envelope's vectors.
fn step_loss(config: &RunConfig, train: u32, most: u32) -> Result<Pld, String> {
    let (release, _, _) = priced(config, train, most)?;
    Pld::for_release(&release).map_err(|error| error.to_string())
}

fn tight_epsilon(step: &Pld, delta: f64, steps: u64) -> Result<Tight, String> {
    step.compose(steps).epsilon(delta).map_err(|error| error.to_string())
}

/// The smallest noise scale (to four digits, rounded up) with which `steps` steps stay within ε `budget`.
///
/// # Errors
/// Why there is none, in words.
pub fn scale_for(config: &RunConfig, train: u32, steps: u64, budget: f64) -> Result<f64, String> {
    let cost = |scale: f64| -> Result<f64, String> {
        let noise = config.noise.as_ref().map(|noise| noise.with_scale(scale));
        Ok(cost(&RunConfig { noise, ..config.clone() }, train, steps)?.improved.epsilon)
    };
    let (mut low, mut high) = SCALES;
    let least = cost(high)?;
    if least > budget {
        return Err(no_scale(config, train, steps, budget, least));
    }
    // An ε that overflows at the low end is over any budget.
    while high / low > 1.00002 {
        let middle = (low * high).sqrt();
        if cost(middle).is_ok_and(|epsilon| epsilon <= budget) { high = middle } else { low = middle }
    }
    Ok(round_up(high))
}

/// Why no noise scale keeps a budget that the widest misses by `least`, and what does, by either accounting.
fn no_scale(config: &RunConfig, train: u32, steps: u64, budget: f64, least: f64) -> String {
    let (widest, delta) = (SCALES.1, config.delta);
    let noise = config.noise.as_ref().map(|noise| noise.with_scale(widest));
    let config = RunConfig { noise, ..config.clone() };
    let floor = cost(&config, train, 1).map_or(f64::INFINITY, |epsilon| epsilon.improved.epsilon);
    let why = if floor <= budget {
        "so many steps add up, by tight accounting, too; plan fewer steps, smaller lots or a larger δ".to_owned()
    } else {
        // To compute the tight ε of next to nothing would take long.
        let tight = match step_loss(&config, train, VECTORS) {
            Ok(_) => "has no such floor: to go by it, set the noise scale yourself and read the tight ε below",
            Err(_) => "has no price for this",
        };
        let floor = round_up(floor);
        format!("its conversion to δ = {delta:e} alone costs {floor}; choose a larger ε or δ. Tight accounting {tight}")
    };
    let least = round_up(least);
    format!(
        "no noise scale up to {widest} keeps {steps} steps within ε = {budget}: there Rényi accounting says {least}, because {why}"
    )
}

/// Four digits, never less than `x`.
fn round_up(x: f64) -> f64 {
    let decimals = 3 - x.log10().floor() as i32;
    let unit = 10f64.powi(decimals.abs());
    if decimals >= 0 { (x * unit).ceil() / unit } else { (x / unit).ceil() * unit }
}

fn price(config: &RunConfig, train: u32) -> Result<(RdpCurve, bool), String> {
    priced(config, train, VECTORS).map(|(_, curve, about)| (curve, about))
}

/// What a step releases, what it costs, and whether an envelope has more vectors than the `most` that were looked at.
fn priced(config: &RunConfig, train: u32, most: u32) -> Result<(Release, RdpCurve, bool), String> {
    let mut config = config.clone();
    let mut about = false;
    if let EncoderSpec::Envelope { vectors, .. } = &mut config.encoder {
        about = *vectors > most;
        *vectors = (*vectors).min(most);
    }
    let plan = Plan::new(config, train).map_err(|error| error.to_string())?;
    plan.priced.map(|(release, curve)| (release, curve, about))
}

fn spent(curve: &RdpCurve, steps: u64, delta: f64) -> Result<Epsilon, String> {
    let mut accountant = Accountant::new();
    let id = accountant.add_curve(curve.clone()).map_err(|error| error.to_string())?;
    accountant.compose(id, steps);
    accountant.epsilon(delta).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        mechanism::EnvelopeShape,
        privacy::{
            noise::NoiseSpec,
            risk::{AttackBound, EpsilonDelta, PrivacyCurve},
        },
    };

    #[test]
    fn a_projection_rises_to_what_the_run_will_cost() {
        let config = RunConfig::default();
        let projection = project(&config, 60_000, 3516).unwrap();
        // σ = 1.1, q = 256/60000, 15 epochs: 1.28 by the improved conversion.
        assert!((projection.end.improved.epsilon - 1.28).abs() < 0.02, "{}", projection.end.improved.epsilon);
        assert!(projection.curve.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 <= w[1].1));
        assert_eq!(projection.curve.last(), Some(&(3516.0, projection.end.improved.epsilon)));
        assert!(!projection.about);
        assert!(project(&RunConfig { noise: None, ..config.clone() }, 60_000, 10).unwrap_err().contains("no noise"));
        assert_eq!(project(&config, 60_000, 1).unwrap().curve.len(), 1);
    }

    #[test]
    fn tight_accounting_is_below_the_projection() {
        let config = RunConfig::default();
        let end = project(&config, 60_000, 1172).unwrap().end.improved.epsilon;
        let points = tight(&config, 60_000, &[293, 1172]).unwrap();
        assert!(points[0].1 < points[1].1 && points[1].1 < end && points[1].1 > 0.6 * end, "{points:?} {end}");
        let spent = spent_tightly(&config, 60_000, 1172).unwrap();
        assert!(spent.epsilon == points[1].1 && spent.numerical.is_none(), "{spent:?}");
        // The whole curve leaves an attacker less than its point at δ, and never less than the curve of another accountant.
        let points = spent_curve(&config, 60_000, 1172, spent.epsilon).unwrap();
        let curve = PrivacyCurve::new(points.iter().copied()).unwrap();
        let point = EpsilonDelta::new(spent.epsilon, config.delta).unwrap();
        assert!(points.contains(&(spent.epsilon, config.delta)) && curve.advantage() < 0.7 * point.advantage());
        for (epsilon, delta) in points {
            let exact = tight_epsilon(&step_loss(&config, 60_000, 1).unwrap(), delta, 1172).unwrap().value;
            assert!(exact <= epsilon * 1.0005 + 1e-9, "{exact} > {epsilon} at {delta}");
        }
        assert!(tight(&RunConfig { noise: None, ..config.clone() }, 60_000, &[1]).is_err());
        assert!(spent_tightly(&RunConfig { noise: None, ..config }, 60_000, 1).is_err());
    }

    #[test]
    fn a_budget_asks_for_just_enough_noise() {
        let config = RunConfig { lot: 1024, ..RunConfig::default() };
        for (steps, budget) in [(1172, 3.0), (879, 1.0), (10, 0.1)] {
            let scale = scale_for(&config, 60_000, steps, budget).unwrap();
            let at = |scale| {
                let config = RunConfig { noise: Some(NoiseSpec::Gaussian { sigma: scale }), ..config.clone() };
                project(&config, 60_000, steps).unwrap().end.improved.epsilon
            };
            assert!(at(scale) <= budget, "{scale}: {} > {budget}", at(scale));
            assert!(at(scale * 0.995) > budget, "{scale} is more than needed");
            assert!(scale.to_string().len() <= 6, "{scale}");
        }
        let refused = |delta, steps, budget| {
            scale_for(&RunConfig { delta, ..config.clone() }, 60_000, steps, budget).unwrap_err()
        };
        // At no order does the conversion cost less than about −ln δ ÷ order.
        let floor = refused(1e-300, 100, 0.001);
        assert!(floor.contains("its conversion to δ = 1e-300 alone") && floor.contains("no such floor"), "{floor}");
        let many = refused(1e-5, 1_000_000_000, 0.1);
        assert!(many.contains("plan fewer steps"), "{many}");
    }

    #[test]
    fn an_envelope_is_projected_from_a_few_of_its_vectors() {
        let encoder = EncoderSpec::Envelope { shape: EnvelopeShape::Gaussian, vectors: 1000, pre_scale: 1.0, seed: 0 };
        let config =
            RunConfig { encoder, noise: Some(NoiseSpec::StudentT { nu: 9.0, scale: 1.0 }), ..RunConfig::default() };
        let projection = project(&config, 60_000, 234).unwrap();
        let end = projection.end.improved.epsilon;
        assert!(projection.about && end > 0.1 && end < 1.0);
        // The curve of the page looks at a few vectors, the account of a run at all.
        let few = tight(&config, 60_000, &[234]).unwrap()[0].1;
        let all = spent_tightly(&config, 60_000, 234).unwrap().epsilon;
        assert!(few > 0.2 * end && few <= end && all >= few && all < 1.2 * few, "{few} {all} {end}");
    }
}
