//! The guarantee under attack: honest runs rarely exceed their claim, broken ones nearly always.
//!
//! Seeds are fixed; a stated probability is that of failure by chance, had they been drawn.

use futures_executor::block_on;
use rand::Rng as _;

use super::*;
use crate::{
    accounting::{
        audit::{Claimed, LowerBounds, SIGNIFICANCE},
        books::Books,
        error::PrivacyError,
        noise::{CustomDensity, NoiseSpec},
    },
    config::{RunConfig, SamplingPolicy},
    data::{Dataset, sharing::Sharing, synthetic},
    engine::{Engine, Performance, cpu::CpuEngine},
    mechanism::{AdaptiveClip, EncoderSpec, EnvelopeShape, LayerClip, PaidMetrics},
    rng::NotPrivateReplay,
    session::Session,
};
use hushgrad_testkit::rows;

#[cfg(feature = "gpu")]
mod gpu_tests;

const DELTA: f64 = 1e-5;
const SAMPLINGS: [SamplingPolicy; 4] =
    [SamplingPolicy::Poisson, SamplingPolicy::FixedSize, SamplingPolicy::RandomAllocation, SamplingPolicy::Shuffled];

fn digits(examples: usize) -> Dataset {
    synthetic::digits(1, examples, 1).train
}

fn engine(plan: &Plan, train: &Dataset) -> CpuEngine {
    let one = Performance { chunk: None, threads: Some(1) };
    CpuEngine::new(plan.task.clone(), train.clone(), &plan.initial_parameters(), one).unwrap()
}

/// Returns a run whose coins, lots and noise come from `rng`.
fn drawing(rng: Box<dyn RandomSource>, config: &RunConfig, train: &Dataset) -> Session<CpuEngine> {
    let plan = Plan::new(config.clone(), train.len() as u32).unwrap();
    let engine = engine(&plan, train);
    Session::drawing_from(rng, plan, engine).unwrap()
}

fn session(config: &RunConfig, train: &Dataset, seed: u64) -> Session<CpuEngine> {
    drawing(Box::new(NotPrivateReplay::new(seed)), config, train)
}

fn to_its_end<E: Engine>(session: &mut Session<E>) -> Evidence {
    while !session.complete() {
        block_on(session.step()).unwrap();
    }
    session.evidence().unwrap().0
}

/// Forty steps on 400 digits, with 400 canaries.
fn small(sampling: SamplingPolicy) -> RunConfig {
    RunConfig { sampling, lot: 20, canaries: 400, steps: Some(40), ..RunConfig::default() }
}

fn gaussian(sigma: f64) -> Option<NoiseSpec> {
    Some(NoiseSpec::Gaussian { sigma })
}

/// A run's claim: ε, and its privacy curve if it has one.
struct Held {
    epsilon: f64,
    curve: Option<Claimed>,
}

impl Held {
    /// `None` without a guarantee.
    fn of<E: Engine>(session: &Session<E>) -> Option<Self> {
        let ledger = session.ledger()?;
        let account = match Books::of(ledger.clone()).unwrap().account(DELTA) {
            Err(PrivacyError::Infinite | PrivacyError::Inexact | PrivacyError::NoBound) => return None,
            account => account.unwrap(),
        };
        let curve = account.tight.is_some().then(|| Claimed::of(ledger, DELTA).unwrap());
        Some(Self { epsilon: account.tight.map_or(account.improved.epsilon, |tight| tight.value), curve })
    }

    /// Which of the five bounds exceed the claim.
    fn exceeded(&self, evidence: &Evidence) -> [bool; 5] {
        let LowerBounds { guesses, gaussian, .. } = evidence.quick_bounds(DELTA).unwrap();
        let [curve, rates, steps] =
            self.curve.as_ref().map_or([false; 3], |claimed| evidence.contradicts(claimed, SIGNIFICANCE).unwrap());
        [guesses > self.epsilon, gaussian > self.epsilon, curve, rates, steps]
    }
}

/// Honest runs: samplers, encoders and noises in pairwise combination; users, grid, phases.
fn honest() -> Vec<RunConfig> {
    let envelope = EncoderSpec::Envelope { shape: EnvelopeShape::HeavyTailed, vectors: 4, pre_scale: 1.0, seed: 0 };
    let noises = [
        NoiseSpec::Gaussian { sigma: 1.0 },
        NoiseSpec::Laplace { scale: 0.8 },
        NoiseSpec::StudentT { nu: 9.0, scale: 0.9 },
        NoiseSpec::VarianceGamma { scale: 0.6 },
        NoiseSpec::HyperbolicSecant { scale: 0.8 },
        NoiseSpec::GeneralizedGaussian { exponent: 1.5, scale: 1.1 },
        NoiseSpec::Custom { density: CustomDensity::from_formula("exp(-abs(x)^1.5)").unwrap(), scale: 1.1 },
    ];
    let clip = EncoderSpec::Clip { norm: 0.5 };
    // With an envelope each canary needs several coordinates.
    let encoders = [(clip, 400), (EncoderSpec::Layers(LayerClip::even(1.0)), 400), (envelope, 100)];
    let rows = rows([SAMPLINGS.len(), noises.len(), encoders.len()]).into_iter();
    let combined = rows.map(|[sampling, noise, encoder]| {
        let (encoder, canaries) = encoders[encoder].clone();
        RunConfig { encoder, canaries, noise: Some(noises[noise].clone()), ..small(SAMPLINGS[sampling]) }
    });
    let mut all: Vec<RunConfig> = combined.collect();
    for sampling in SAMPLINGS {
        let phases = "20; 20 noise 1.5 clip 0.5".parse().unwrap();
        all.push(RunConfig { noise: gaussian(1.0), phases, ..small(sampling) });
    }
    let users = Sharing::Users { users: 200, skew: 1.0, seed: 0 };
    all.push(RunConfig { sharing: users, noise: gaussian(1.0), ..small(SamplingPolicy::Poisson) });
    all.push(RunConfig { grid_bits: Some(10), noise: gaussian(1.0), ..small(SamplingPolicy::Poisson) });
    all.extend(SAMPLINGS.map(|sampling| RunConfig { noise: gaussian(1.0), ..following(small(sampling)) }));
    all
}

/// An adaptive clip: half of the budget at noise 1 and lots of 20 is the count's.
fn following(config: RunConfig) -> RunConfig {
    RunConfig { adaptive_clip: Some(AdaptiveClip { quantile: 0.5, noise: 0.5_f64.sqrt() / 20.0 }), ..config }
}

/// Each bound is wrong in at most one of twenty runs. For each bound, the number of runs above the
/// claim must have a probability above 1e-4.
#[test]
fn honest_runs_exceed_their_claim_as_seldom_as_is_stated() {
    const EACH: u64 = 6;
    // Fewer kinds of runs have a curve.
    const EACH_WITH_CURVE: u64 = 12;
    let train = digits(400);
    let (mut runs, mut above) = ([0_u32; 5], [0_u32; 5]);
    for config in honest() {
        let mut held = None;
        let mut own = [0; 5];
        for seed in 0..EACH_WITH_CURVE {
            let mut session = session(&config, &train, seed);
            let evidence = to_its_end(&mut session);
            assert_eq!(evidence.scores.len(), config.canaries as usize);
            assert!(
                evidence
                    .scores
                    .iter()
                    .chain(&evidence.silent.iter().map(|&s| (s, false)).collect::<Vec<_>>())
                    .all(|(score, _)| score.is_finite())
            );
            // The claim is the same for all seeds.
            let held = held.get_or_insert_with(|| Held::of(&session));
            let Some(held) = held else { break };
            for (place, exceeded) in held.exceeded(&evidence).into_iter().enumerate() {
                runs[place] += u32::from(place < 2 || held.curve.is_some());
                own[place] += u32::from(exceeded);
            }
            if held.curve.is_none() && seed + 1 == EACH {
                break;
            }
        }
        assert!(own.iter().all(|&count| u64::from(count) < EACH), "{config:?}: {own:?}");
        above.iter_mut().zip(own).for_each(|(above, own)| *above += own);
    }
    println!("above the claim: {above:?} of {runs:?}");
    for (above, runs) in above.into_iter().zip(runs) {
        assert!(runs >= 200 && at_least(runs, above) > 1e-4, "{above} of {runs}");
    }
}

/// P[W ≥ k] for n runs, each of which exceeds its claim with probability 1/20.
fn at_least(n: u32, k: u32) -> f64 {
    let mass = |j: u32| {
        let choose: f64 = (0..j).map(|i| (f64::from(n - i) / f64::from(i + 1)).ln()).sum();
        (choose + f64::from(j) * 0.05_f64.ln() + f64::from(n - j) * 0.95_f64.ln()).exp()
    };
    (k..=n).map(mass).sum()
}

/// Runs on which each mutation shows well.
fn shows(mutation: InjectedBug) -> (RunConfig, usize) {
    let poisson = RunConfig { sampling: SamplingPolicy::Poisson, ..RunConfig::default() };
    match mutation {
        // Every second record is in a lot, so the doubled rate is 1.
        InjectedBug::DoubleSampling => {
            (RunConfig { lot: 1000, canaries: 1000, steps: Some(10), noise: gaussian(3.0), ..poisson }, 1000)
        }
        // What the divisor reveals shows in small lots.
        InjectedBug::DrawnLot => {
            (RunConfig { lot: 10, canaries: 8, steps: Some(200), noise: gaussian(1.0), ..poisson }, 100)
        }
        // Shows in single steps alone, with one guess of each kind per step.
        InjectedBug::CountUnpaid => {
            let clip = AdaptiveClip { quantile: 0.5, noise: 0.5 * 0.5_f64.sqrt() / 40.0 };
            let noise = gaussian(0.5);
            (RunConfig { lot: 40, canaries: 200, steps: Some(400), noise, adaptive_clip: Some(clip), ..poisson }, 400)
        }
        _ => (RunConfig { lot: 40, canaries: 400, steps: Some(50), noise: gaussian(1.0), ..poisson }, 400),
    }
}

/// In an honest run some bound exceeds the claim with probability ≤ ¼; nine of ten runs, 3·10⁻⁵.
#[test]
fn every_broken_promise_is_found_out() {
    const RUNS: u64 = 10;
    for mutation in InjectedBug::ALL {
        let (config, examples) = shows(mutation);
        let train = digits(examples);
        let mut held = None;
        let (mut each, mut caught) = ([0; 5], 0);
        for seed in 0..RUNS {
            let mut session = session(&config, &train, seed);
            session.inject_bug(mutation).unwrap();
            assert_eq!(session.broken(), Some(mutation));
            let evidence = to_its_end(&mut session);
            let held = held.get_or_insert_with(|| Held::of(&session).unwrap());
            let exceeded = held.exceeded(&evidence);
            each.iter_mut().zip(exceeded).for_each(|(count, exceeded)| *count += u32::from(exceeded));
            caught += u64::from(exceeded.contains(&true));
        }
        println!("{}: {caught} of {RUNS}; {each:?}, claimed {:.3}", mutation.name(), held.unwrap().epsilon);
        assert!(caught >= 9, "{mutation:?}: {caught} of {RUNS}");
    }
}

/// The bounds, which search for the refuted noise, agree with a direct test of the claim.
#[test]
fn bounds_exceed_a_claim_where_it_is_contradicted() {
    let train = digits(400);
    for (sampling, broken) in [
        (SamplingPolicy::Poisson, None),
        (SamplingPolicy::RandomAllocation, None),
        (SamplingPolicy::Poisson, Some(InjectedBug::HalfNoise)),
    ] {
        let mut session = session(&RunConfig { noise: gaussian(1.0), ..small(sampling) }, &train, 3);
        if let Some(mutation) = broken {
            session.inject_bug(mutation).unwrap();
        }
        let evidence = to_its_end(&mut session);
        let held = Held::of(&session).unwrap();
        let bounds = evidence.bounds(session.ledger().unwrap(), DELTA).unwrap();
        println!("{sampling:?} {broken:?}: {bounds:?} of {}", held.epsilon);
        assert_eq!(bounds.exceed(held.epsilon), held.exceeded(&evidence).contains(&true));
        // An honest run may be unlucky, but not so unlucky as to be refuted.
        assert_eq!(bounds.refute(held.epsilon), broken.is_some());
        let each: Vec<f64> = bounds.each().into_iter().flatten().collect();
        assert!(each.len() == 5 && each.iter().all(|bound| bound.is_finite() && *bound >= 0.0));
    }
}

#[test]
fn what_cannot_be_audited_is_refused_at_its_field() {
    let config = small(SamplingPolicy::Poisson);
    let most = most_canaries(&config, 400);
    for refused in [
        RunConfig { canaries: most + 1, ..config.clone() },
        RunConfig { canaries: u32::MAX, ..config.clone() },
        RunConfig { replay: Some(1), ..config.clone() },
        RunConfig { sharing: Sharing::MicroBatches { size: 4 }, ..config.clone() },
        RunConfig { bands: 4, ..config.clone() },
        RunConfig { metrics: Some(PaidMetrics { noise: 1.0 }), ..config.clone() },
    ] {
        let error = Plan::new(refused.clone(), 400).unwrap_err();
        assert_eq!(error.field(), "canaries", "{error} of {refused:?}");
        assert!(
            Plan::new(RunConfig { canaries: if refused.canaries > most { most } else { 0 }, ..refused }, 400).is_ok()
        );
    }
    // Without canaries there is no audit, and nothing can be broken.
    let train = digits(60);
    let mut none = session(&RunConfig { canaries: 0, ..config.clone() }, &train, 1);
    assert!(none.evidence().is_none());
    assert!(none.inject_bug(InjectedBug::HalfNoise).is_err());
    // Nor in a run that has begun, or where the promise was not made.
    let mut begun = session(&RunConfig { canaries: 20, ..config.clone() }, &train, 1);
    block_on(begun.step()).unwrap();
    assert!(begun.inject_bug(InjectedBug::HalfNoise).is_err());
    for (mutation, other) in [
        (InjectedBug::HalfNoise, RunConfig { noise: None, ..config.clone() }),
        (InjectedBug::HalfNoise, RunConfig { grid_bits: Some(10), ..config.clone() }),
        (InjectedBug::DoubleClip, RunConfig { encoder: EncoderSpec::Layers(LayerClip::even(1.0)), ..config.clone() }),
        (InjectedBug::DoubleSampling, RunConfig { sampling: SamplingPolicy::Shuffled, ..config.clone() }),
        (InjectedBug::FixedBatches, RunConfig { sampling: SamplingPolicy::FixedSize, ..config.clone() }),
        (InjectedBug::DrawnLot, RunConfig { sampling: SamplingPolicy::RandomAllocation, ..config.clone() }),
        (InjectedBug::CountUnpaid, config.clone()),
        (InjectedBug::DoubleClip, following(config.clone())),
        (InjectedBug::DrawnLot, following(config.clone())),
    ] {
        assert!(
            mutation.refused(&Plan::new(RunConfig { canaries: 20, ..other.clone() }, 400).unwrap()).is_some(),
            "{other:?}"
        );
    }
}

/// Nothing hides a canary: scores are infinite, and bounds as large as the canaries allow.
#[test]
fn without_noise_canaries_are_found_and_bounds_are_finite() {
    let train = digits(400);
    for sampling in SAMPLINGS {
        let mut session = session(&RunConfig { noise: None, ..small(sampling) }, &train, 4);
        let evidence = to_its_end(&mut session);
        assert!(session.ledger().is_none() && Held::of(&session).is_none());
        assert!(evidence.scores.iter().all(|(score, _)| !score.is_nan()), "{sampling:?}");
        let bounds = evidence.quick_bounds(DELTA).unwrap();
        assert!(
            bounds.guesses > 1.0 && bounds.gaussian > 1.0 && bounds.gaussian.is_finite(),
            "{sampling:?}: {bounds:?}"
        );
        assert!(evidence.auc() > 0.8, "{sampling:?}: {}", evidence.auc());
    }
}

/// Coins are in no file, so a continued run has no canary in and shows nothing.
#[test]
fn a_continued_run_is_no_longer_audited_and_draws_no_canary() {
    let train = digits(400);
    let config = RunConfig { noise: gaussian(1.0), ..small(SamplingPolicy::Poisson) };
    let mut session = session(&config, &train, 5);
    for _ in 0..3 {
        block_on(session.step()).unwrap();
    }
    assert_eq!(session.evidence().unwrap().1, 3);
    let plan = session.plan().clone();
    let mut resumed = Session::resume(plan.clone(), engine(&plan, &train), session.progress()).unwrap();
    assert!(resumed.evidence().is_none());
    block_on(resumed.step()).unwrap();
    assert!(resumed.evidence().is_none());
    assert_eq!(
        block_on(resumed.engine().witness()).unwrap().examples.len(),
        plan.task.canaries.as_ref().unwrap().coordinates().len()
    );
    // A run that has not begun has lost nothing.
    let fresh = Session::new(plan.clone(), engine(&plan, &train)).unwrap().progress();
    assert!(Session::resume(plan.clone(), engine(&plan, &train), fresh).unwrap().evidence().is_some());
}

/// A lost device takes no score with it, whether a promise is broken or not.
#[test]
fn scores_outlive_an_engine() {
    let train = digits(400);
    let config = RunConfig { noise: gaussian(1.0), ..small(SamplingPolicy::Poisson) };
    for broken in [None, Some(InjectedBug::DoubleClip), Some(InjectedBug::DrawnLot), Some(InjectedBug::CountUnpaid)] {
        let own = if broken == Some(InjectedBug::CountUnpaid) { following(config.clone()) } else { config.clone() };
        let run = |lost: bool| {
            let mut session = session(&own, &train, 6);
            broken.into_iter().for_each(|mutation| session.inject_bug(mutation).unwrap());
            for step in 0..10 {
                if lost && step == 5 {
                    let state = block_on(session.engine().state()).unwrap();
                    let plan = Plan::new(own.clone(), 400).unwrap();
                    let mut other = engine(&plan, &train);
                    block_on(other.set_state(&state)).unwrap();
                    session.replace_engine(other);
                }
                block_on(session.step()).unwrap();
            }
            session.evidence().unwrap()
        };
        assert_eq!(run(true), run(false), "{broken:?}");
    }
}

/// Coins that all fall alike, followed by random numbers.
struct Coins {
    left: u32,
    up: bool,
    then: NotPrivateReplay,
}

impl rand::rand_core::TryRng for Coins {
    type Error = core::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        if self.left == 0 {
            return Ok(self.then.next_u32());
        }
        self.left -= 1;
        Ok(if self.up { u32::MAX } else { 0 })
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        Ok(self.then.next_u64())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        self.then.fill_bytes(bytes);
        Ok(())
    }
}

impl RandomSource for Coins {}

/// With all canaries in, or all out, none is told from another, and no bound claims otherwise.
#[test]
fn coins_that_fall_alike_break_nothing() {
    let train = digits(400);
    for sampling in SAMPLINGS {
        for up in [true, false] {
            let config = RunConfig { noise: gaussian(1.0), canaries: 60, ..small(sampling) };
            let rng = Coins { left: 60, up, then: NotPrivateReplay::new(7) };
            let mut session = drawing(Box::new(rng), &config, &train);
            let evidence = to_its_end(&mut session);
            assert!(evidence.scores.iter().all(|&(score, is_in)| is_in == up && score.is_finite()));
            assert_eq!(evidence.auc(), 0.5);
            let bounds = evidence.quick_bounds(DELTA).unwrap();
            // All guesses are right where all are in.
            assert!(bounds.guesses.is_finite() && bounds.gaussian.is_finite());
            assert!(up || bounds.guesses == 0.0 && bounds.gaussian == 0.0, "{bounds:?}");
            let held = Held::of(&session).unwrap();
            let [.., rates, _] = held.exceeded(&evidence);
            assert!(!rates);
        }
    }
}

/// Canaries, longer than any clipping norm, add each step's norm and are scored by it.
#[test]
fn canaries_are_scored_by_the_clip_of_each_step() {
    let train = digits(400);
    let config =
        RunConfig { noise: gaussian(1.0), lot: 60, steps: Some(60), ..following(small(SamplingPolicy::Poisson)) };
    let mut session = session(&config, &train, 9);
    let evidence = to_its_end(&mut session);
    let clips = session.clips();
    let (first, last) = (clips[0], clips[clips.len() - 1]);
    assert!((first / last).ln().abs() > 0.5, "{first} {last}");
    // Scored by the first norm, scores would be far apart or all alike.
    assert!((0.52..0.75).contains(&evidence.auc()), "{}", evidence.auc());
    let [.., (_, errors)] = &evidence.steps[..] else { panic!("no step was judged") };
    // Φ(−½) of the noise multiplier 1 of count and gradient together.
    for (errors, of) in errors.counts() {
        assert!(of > 50 && (0.15..0.47).contains(&(f64::from(errors) / f64::from(of))), "{errors} of {of}");
    }
}
