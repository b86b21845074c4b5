//! A run's cost in advance, and the noise scale that keeps a budget.

use serde::{Deserialize, Serialize};

use super::{
    config::RunConfig,
    error::{NoScale, PriceError},
    phases::shares,
    price::{self, PricedPhase},
};
use crate::accounting::{
    PrivacyError,
    books::Books,
    calibrate::{self, Method, Scales, Target},
    composition,
    ledger::{PrivacyUnit, Release},
    pld::Pld,
    rdp::{Epsilon, Orders, RdpAccountant, RdpCurve},
    selection::{self, Choice},
};

/// A point of a curve: x, y.
pub type Point = (f64, f64);

/// Points of a projected curve.
const POINTS: u64 = 40;
/// Noise scales that a budget may need; the first times 4^7 is the widest.
const SCALES: Scales = Scales { first: 1e4 / 16_384.0, least: 1e-2, most: 1e4 };
/// Number of four-digit scales tried upwards from the one found.
const ROUNDED: usize = 16;

/// A run's cost in advance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Projection {
    /// Step and ε (improved conversion), dense at the start.
    pub curve: Vec<Point>,
    /// The ε that a run reports after all these steps.
    pub end: Epsilon,
    pub steps: u64,
    /// With shared vectors: ε of one example, and of its micro-batch or user (improved conversion).
    pub shared: Option<[f64; 2]>,
}

/// Returns ε over `steps` steps of this configuration on `train` examples.
///
/// # Errors
/// Why there is none.
pub fn project(config: &RunConfig, train: u32, steps: u64) -> Result<Projection, PriceError> {
    let phases = phases(config, train)?;
    let mut points: Vec<Point> = vec![];
    for i in 1..=POINTS {
        let share = i as f64 / POINTS as f64;
        let step = ((steps as f64 * share * share).ceil() as u64).max(1);
        if points.last().is_none_or(|last| last.0 < step as f64) {
            points.push((step as f64, spent(&phases, step, config.delta)?.improved.epsilon));
        }
    }
    let shared = config.sharing.is_shared().then(|| of_both(&phases, steps, config.delta)).transpose()?;
    Ok(Projection { end: spent(&phases, steps, config.delta)?, curve: points, steps, shared })
}

fn of_both(phases: &[PricedPhase], steps: u64, delta: f64) -> Result<[f64; 2], PriceError> {
    let of = |unit: fn(PrivacyUnit) -> PrivacyUnit| {
        let priced = phases.iter().map(|phase| {
            let release = Release { unit: unit(phase.release.unit), ..phase.release.clone() };
            let curve = if release.unit == phase.release.unit { phase.curve.clone() } else { RdpCurve::of(&release)? };
            Ok(PricedPhase { steps: phase.steps, release, curve })
        });
        let priced: Vec<PricedPhase> = priced.collect::<Result<_, PriceError>>()?;
        // One example may have no finite bound where its user has one.
        Ok::<f64, PriceError>(spent(&priced, steps, delta).map_or(f64::INFINITY, |spent| spent.improved.epsilon))
    };
    Ok([of(PrivacyUnit::within)?, of(|unit| if unit == PrivacyUnit::User { unit } else { PrivacyUnit::MicroBatch })?])
}

/// Returns the cost of `steps` steps of this configuration on `train` examples.
///
/// # Errors
/// Why there is no price.
pub fn cost(config: &RunConfig, train: u32, steps: u64) -> Result<Epsilon, PriceError> {
    spent(&phases(config, train)?, steps, config.delta)
}

/// Returns the books of a run of this configuration after `steps` steps on `train` examples.
///
/// # Errors
/// Why there are none.
pub fn planned(config: &RunConfig, train: u32, steps: u64) -> Result<Books, PriceError> {
    books(&phases(config, train)?, steps)
}

/// The cost of a sweep's runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepPrice {
    /// ε if all of them are seen.
    pub all: f64,
    /// ε if the number of runs and their settings were random and only the best were seen.
    pub best: Choice,
}

/// Returns the cost of these runs (configuration, steps) on `train` examples, at the first one's δ: of
/// one example, if they group examples into users or micro-batches differently.
///
/// # Errors
/// Why there is no price.
pub fn sweep(runs: &[(RunConfig, u64)], train: u32) -> Result<SweepPrice, PriceError> {
    let same = runs.windows(2).all(|pair| pair[0].0.sharing == pair[1].0.sharing);
    let of = |(config, steps): &(RunConfig, u64)| {
        let books = planned(config, train, *steps)?;
        Ok(if same { books.ledger().clone() } else { books.ledger().per_example() })
    };
    let ledgers = runs.iter().map(of).collect::<Result<Vec<_>, PriceError>>()?;
    let delta = runs.first().map_or(0.0, |(config, _)| config.delta);
    let best = selection::best_of(&ledgers, runs.len() as f64, delta)?;
    let all = composition::total(&ledgers.iter().collect::<Vec<_>>(), delta)?.epsilon;
    Ok(SweepPrice { all, best })
}

/// Returns tight ε (privacy loss distributions) after each of these numbers of steps.
///
/// # Errors
/// Why there is none.
pub fn tight(config: &RunConfig, train: u32, steps: &[u64]) -> Result<Vec<Point>, PriceError> {
    let phases = phases(config, train)?;
    if let [only] = phases.as_slice() {
        let found = Pld::for_release(&only.release)?.epsilons(config.delta, steps)?;
        return Ok(steps.iter().zip(found).map(|(&steps, found)| (steps as f64, found.value)).collect());
    }
    let whole = planned(config, train, steps.iter().copied().max().unwrap_or(0))?;
    // The distributions of the whole serve its beginnings. Computed ε may fall in its last digits
    // although true ε grows.
    let mut least = 0.0_f64;
    let mut point = |&steps: &u64| {
        least = least.max(whole.after(steps)?.tight(config.delta)?.value);
        Ok((steps as f64, least))
    };
    whole.tight(config.delta)?;
    steps.iter().map(&mut point).collect()
}

/// Returns the smallest noise scale (to four digits, rounded up) that keeps `steps` steps within ε
/// `budget`, by the Rényi accounting that the run reports, applied to the returned scale itself.
///
/// # Errors
/// Why there is none.
pub fn scale_for(config: &RunConfig, train: u32, steps: u64, budget: f64) -> Result<f64, PriceError> {
    scale_or_least(config, train, steps, budget)?.map_err(|least| no_scale(config, train, steps, budget, least))
}

/// The same; if there is no such scale, `Err` is the cost at the widest. Needs no tight accounting.
///
/// # Errors
/// Why there is no price.
pub fn scale_or_least(config: &RunConfig, train: u32, steps: u64, budget: f64) -> Result<Result<f64, f64>, PriceError> {
    let cost = |scale: f64| -> Result<f64, PriceError> {
        let noise = config.noise.as_ref().map(|noise| noise.with_scale(scale));
        Ok(cost(&RunConfig { noise, ..config.clone() }, train, steps)?.improved.epsilon)
    };
    let least = cost(SCALES.most)?;
    if least > budget {
        return Ok(Err(least));
    }
    // A scale without a price is over any budget: at the low end ε overflows.
    let at = |scale: f64| Ok::<f64, PrivacyError>(cost(scale).unwrap_or(f64::INFINITY));
    let target = Target { epsilon: budget, delta: config.delta, method: Method::Improved, orders: Orders::All };
    let found = calibrate::least_scale(&target, SCALES, at)?;
    // The widest scale keeps the budget, as checked above.
    let scale = found.map_or(SCALES.most, |found| found.value);
    // On a grid ε may rise with the scale, so each rounded scale is priced itself; if none of those
    // tried keeps the budget, the scale found is returned with all its digits.
    let keeps = |scale: f64| cost(scale).is_ok_and(|epsilon| epsilon <= budget);
    let rounded = std::iter::successors(Some(round_up(scale)), |scale| Some(round_up(scale * (1.0 + 1e-6))));
    Ok(Ok(rounded.take(ROUNDED).find(|&scale| scale <= SCALES.most && keeps(scale)).unwrap_or(scale)))
}

/// Returns why no noise scale keeps the budget if the widest costs `least`, and what would.
fn no_scale(config: &RunConfig, train: u32, steps: u64, budget: f64, least: f64) -> PriceError {
    let (widest, delta) = (SCALES.most, config.delta);
    let noise = config.noise.as_ref().map(|noise| noise.with_scale(widest));
    let config = RunConfig { noise, ..config.clone() };
    let floor = cost(&config, train, 1).map_or(f64::INFINITY, |epsilon| epsilon.improved.epsilon);
    let reason = if floor <= budget {
        NoScale::StepsAddUp
    } else {
        // Only whether there is a tight bound: computing one close to 0 would take long.
        let priced = |phases: Vec<PricedPhase>| phases.iter().all(|phase| Pld::for_release(&phase.release).is_ok());
        NoScale::Conversion { delta, floor: round_up(floor), tight: phases(&config, train).is_ok_and(priced) }
    };
    PriceError::NoScale { widest, steps, budget, least: round_up(least), reason }
}

/// Rounds `x` up to four digits.
#[must_use]
pub fn round_up(x: f64) -> f64 {
    let decimals = 3 - x.log10().floor() as i32;
    let unit = 10f64.powi(decimals.abs());
    let digits = |units: f64| if decimals >= 0 { units / unit } else { units * unit };
    let units = if decimals >= 0 { (x * unit).ceil() } else { (x / unit).ceil() };
    // The product may have been rounded down to a whole number.
    if digits(units) < x { digits(units + 1.0) } else { digits(units) }
}

fn phases(config: &RunConfig, train: u32) -> Result<Vec<PricedPhase>, PriceError> {
    Ok(price::of(config, train)??)
}

fn spent(phases: &[PricedPhase], steps: u64, delta: f64) -> Result<Epsilon, PriceError> {
    if let [only] = phases {
        return Ok(RdpAccountant::of_steps(&only.curve, steps).epsilon(delta)?);
    }
    Ok(books(phases, steps)?.renyi(delta)?)
}

/// Returns the books of `steps` steps; surplus steps fall into the last phase.
fn books(phases: &[PricedPhase], steps: u64) -> Result<Books, PriceError> {
    let mut books = Books::default();
    for (phase, count) in phases.iter().zip(shares(phases.iter().map(|phase| phase.steps), steps)) {
        let id = books.register(phase.release.clone(), &phase.curve)?;
        books.record(id, count);
    }
    Ok(books)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        accounting::{
            books::account,
            ledger::Ledger,
            noise::{CustomDensity, NoiseSpec},
            pld::Rigor,
            rdp::epsilon_of,
            risk::{AttackBound, EpsilonDelta, PrivacyCurve},
        },
        config::SamplingPolicy,
        mechanism::{EncoderSpec, EnvelopeShape},
        plan::Plan,
    };

    fn under(shape: EnvelopeShape, vectors: u32, noise: NoiseSpec) -> RunConfig {
        let encoder = EncoderSpec::Envelope { shape, vectors, pre_scale: 1.0, seed: 5 };
        RunConfig { encoder, noise: Some(noise), ..RunConfig::default() }
    }

    /// Returns the ledger that a run's report reads after `steps` steps.
    fn books(config: &RunConfig, train: u32, steps: u64) -> Ledger {
        let plan = Plan::new(config.clone(), train).unwrap();
        Ledger::of([(plan.priced.unwrap().0, steps)]).unwrap()
    }

    /// A user of one grouping is no user of another.
    #[test]
    fn a_sweep_over_users_costs_what_one_image_pays() {
        use crate::data::sharing::Sharing;
        let users =
            |seed| RunConfig { sharing: Sharing::Users { users: 50, skew: 1.0, seed }, lot: 5, ..RunConfig::default() };
        let all = |seeds: [u64; 2]| sweep(&seeds.map(|seed| (users(seed), 10)), 500).unwrap().all;
        let both = Ledger::of([(Plan::new(users(1), 500).unwrap().priced.unwrap().0, 20)]).unwrap();
        let tight = |ledger: &Ledger| account(ledger, RunConfig::default().delta).unwrap().tight.unwrap().value;
        assert_eq!((all([1, 1]), all([1, 2])), (tight(&both), tight(&both.per_example())));
        assert!(all([1, 2]) > all([1, 1]));
    }

    fn families() -> [NoiseSpec; 5] {
        let density = CustomDensity::from_formula("1/cosh(x)").unwrap();
        [
            NoiseSpec::Gaussian { sigma: 1.0 },
            NoiseSpec::Laplace { scale: 1.0 },
            NoiseSpec::StudentT { nu: 9.0, scale: 1.0 },
            NoiseSpec::GeneralizedGaussian { exponent: 1.5, scale: 1.2 },
            NoiseSpec::Custom { density, scale: 0.8 },
        ]
    }

    #[test]
    fn a_projection_rises_to_what_the_run_will_cost() {
        let config = RunConfig::default();
        let projection = project(&config, 60_000, 3516).unwrap();
        // σ = 1.1, q = 256/60000, 15 epochs: 1.28 by the improved conversion.
        assert!((projection.end.improved.epsilon - 1.28).abs() < 0.02, "{}", projection.end.improved.epsilon);
        assert!(projection.curve.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 <= w[1].1));
        assert_eq!(projection.curve.last(), Some(&(3516.0, projection.end.improved.epsilon)));
        assert!(
            project(&RunConfig { noise: None, ..config.clone() }, 60_000, 10)
                .unwrap_err()
                .to_string()
                .contains("no noise")
        );
        assert_eq!(project(&config, 60_000, 1).unwrap().curve.len(), 1);
    }

    /// Independent of the number of points requested at once, as the page does before Play.
    #[test]
    fn tight_before_is_tight_after_for_heavy_tails() {
        for vectors in [20, 100] {
            let config = under(EnvelopeShape::Gaussian, vectors, NoiseSpec::StudentT { nu: 9.0, scale: 1.0 });
            let before = tight(&config, 60_000, &[5, 22, 50, 88, 138, 200]).unwrap();
            let after = planned(&config, 60_000, 200).unwrap().tight(config.delta).unwrap();
            assert_eq!(before.last(), Some(&(200.0, after.value)), "{vectors}");
            assert_eq!(after.rigor, Rigor::Proven);
        }
    }

    /// Even where the best order is the largest available.
    #[test]
    fn wide_noise_is_priced_at_once() {
        for sigma in [40.0, 300.0, 1e3, 1e4, 1e6, 1e20] {
            let config = RunConfig { noise: Some(NoiseSpec::Gaussian { sigma }), ..RunConfig::default() };
            let start = std::time::Instant::now();
            let projection = project(&config, 60_000, 3516).unwrap();
            let took = start.elapsed();
            assert!(took.as_secs_f64() < 2.0, "σ = {sigma}: {took:?}");
            assert!(projection.curve.windows(2).all(|pair| pair[0].1 <= pair[1].1));
            // At such orders the improved conversion may find that δ alone pays for all of it.
            let Epsilon { classic, improved } = projection.end;
            assert!(
                classic.epsilon > improved.epsilon && improved.order > 50.0,
                "σ = {sigma}: {classic:?} {improved:?}"
            );
        }
    }

    #[test]
    fn tight_accounting_is_below_the_projection() {
        let config = RunConfig::default();
        let end = project(&config, 60_000, 1172).unwrap().end.improved.epsilon;
        let points = tight(&config, 60_000, &[293, 1172]).unwrap();
        assert!(points[0].1 < points[1].1 && points[1].1 < end && points[1].1 > 0.6 * end, "{points:?} {end}");
        let books = planned(&config, 60_000, 1172).unwrap();
        let spent = books.tight(config.delta).unwrap();
        assert!(spent.value == points[1].1 && spent.rigor == Rigor::Proven, "{spent:?}");
        // The curve allows less than its point at δ, and never less than another accountant's.
        let points = books.curve_about(spent.value, config.delta).unwrap();
        let curve = PrivacyCurve::new(points.iter().copied()).unwrap();
        let point = EpsilonDelta::new(spent.value, config.delta).unwrap();
        assert!(points.contains(&(spent.value, config.delta)) && curve.advantage() < 0.7 * point.advantage());
        for (epsilon, delta) in points.into_iter().step_by(100) {
            let exact = books.tight(delta).unwrap().value;
            assert!(exact <= epsilon * 1.0005 + 1e-9, "{exact} > {epsilon} at {delta}");
        }
        assert!(tight(&RunConfig { noise: None, ..config.clone() }, 60_000, &[1]).is_err());
        assert!(planned(&RunConfig { noise: None, ..config }, 60_000, 1).is_err());
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
            scale_for(&RunConfig { delta, ..config.clone() }, 60_000, steps, budget).unwrap_err().to_string()
        };
        // At no order does the conversion cost less than about −ln δ ÷ order.
        let floor = refused(1e-300, 100, 0.001);
        assert!(floor.contains("its conversion to δ = 1e-300 alone") && floor.contains("no such floor"), "{floor}");
        let many = refused(1e-5, 1_000_000_000, 0.1);
        assert!(many.contains("plan fewer steps"), "{many}");
    }

    /// Of many vectors the most expensive is rarely among the first.
    #[test]
    fn a_budget_is_kept_by_all_vectors_of_an_envelope() {
        let student = NoiseSpec::StudentT { nu: 9.0, scale: 1.0 };
        let mut cases: Vec<RunConfig> =
            families().map(|noise| under(EnvelopeShape::HeavyTailed, 300, noise)).into_iter().collect();
        cases.push(under(EnvelopeShape::Mixed, 300, student.clone()));
        for sampling in [SamplingPolicy::FixedSize, SamplingPolicy::Shuffled, SamplingPolicy::RandomAllocation] {
            cases.push(RunConfig { sampling, ..under(EnvelopeShape::HeavyTailed, 300, student.clone()) });
        }
        // The cost of inexact noise on a grid jumps as the scale grows.
        cases.push(RunConfig { grid_bits: Some(8), ..under(EnvelopeShape::HeavyTailed, 300, student) });
        for config in cases {
            for (steps, budget) in [(234, 1.0), (40, 0.4)] {
                let scale = scale_for(&config, 60_000, steps, budget).unwrap();
                let at = |scale: f64| {
                    let noise = config.noise.as_ref().map(|noise| noise.with_scale(scale));
                    epsilon_of(&books(&RunConfig { noise, ..config.clone() }, 60_000, steps), 1e-5).unwrap()
                };
                let spent = at(scale).improved.epsilon;
                assert!(spent <= budget && spent > 0.99 * budget, "{config:?}: {spent} of {budget} at {scale}");
                assert!(scale.to_string().len() <= 6, "{scale}");
            }
        }
    }

    /// The projection equals the report and the books after the last step, to the last bit.
    #[test]
    fn a_run_costs_what_was_said_before_it() {
        let (train, steps) = (20_000, 12);
        let mut cases: Vec<RunConfig> = vec![RunConfig::default()];
        for noise in families() {
            cases.extend([1, 8].map(|vectors| under(EnvelopeShape::Mixed, vectors, noise.clone())));
        }
        let mut tightly = 0;
        for config in cases {
            for sampling in [
                SamplingPolicy::Poisson,
                SamplingPolicy::FixedSize,
                SamplingPolicy::Shuffled,
                SamplingPolicy::RandomAllocation,
            ] {
                let config = RunConfig { sampling, ..config.clone() };
                let ledger = books(&config, train, steps);
                let after = account(&ledger, config.delta).unwrap();
                let before = project(&config, train, steps).unwrap();
                let said = (before.end.classic, before.end.improved);
                assert_eq!(said, (after.classic, after.improved), "{config:?}");
                assert_eq!(before.curve.last(), Some(&(steps as f64, after.improved.epsilon)));
                let Some(tight) = after.tight else {
                    assert!(super::tight(&config, train, &[steps]).is_err(), "{config:?}");
                    continue;
                };
                tightly += 1;
                assert_eq!(
                    super::tight(&config, train, &[steps]).unwrap(),
                    [(steps as f64, tight.value)],
                    "{config:?}"
                );
                if sampling == SamplingPolicy::Poisson {
                    let planned = planned(&config, train, steps).unwrap();
                    assert_eq!(planned.tight(config.delta).unwrap().value, tight.value, "{config:?}");
                }
            }
        }
        // All but non-Gaussian noise under replacement.
        assert_eq!(tightly, 3 * 4 + 8 * 3);
    }

    #[test]
    fn scales_are_rounded_up() {
        for (x, up) in
            [(1.0, 1.0), (1.000_01, 1.001), (0.012_341, 0.012_35), (9999.1, 10_000.0), (123_456.0, 123_500.0)]
        {
            assert_eq!(round_up(x), up);
        }
        let mut x = 1e-3;
        while x < 1e6 {
            let up = round_up(x);
            assert!(up >= x && up <= x * 1.001_001, "{x}: {up}");
            x *= 1.0137;
        }
    }
}
