use futures_executor::block_on;

use super::*;
use crate::{
    accounting::{audit::SIGNIFICANCE, noise::NoiseSpec},
    data::{Dataset, synthetic},
    engine::{Engine as _, Performance, cpu::CpuEngine},
    mechanism::{EncoderSpec, EnvelopeShape, LayerClip},
    rng::NotPrivateReplay,
    train::{
        config::{RunConfig, SamplingPolicy},
        session::Session,
    },
};

const EXAMPLES: u32 = 1000;

fn digits() -> Dataset {
    synthetic::digits(1, EXAMPLES as usize, 1).train
}

/// A run whose coins, lots and noise are those of a seed.
fn session(config: &RunConfig, train: &Dataset, seed: u64) -> Session<CpuEngine> {
    let plan = Plan::new(config.clone(), train.len() as u32).unwrap();
    let start = plan.initial_parameters();
    let one = Performance { chunk: None, threads: Some(1) };
    let engine = CpuEngine::new(plan.task.clone(), train.clone(), &start, one).unwrap();
    Session::drawing_from(Box::new(NotPrivateReplay::new(seed)), plan, engine).unwrap()
}

fn config(sampling: SamplingPolicy) -> RunConfig {
    RunConfig {
        sampling,
        lot: 40,
        canaries: 400,
        steps: Some(200),
        noise: Some(NoiseSpec::Gaussian { sigma: 0.8 }),
        ..RunConfig::default()
    }
}

fn run(session: &mut Session<CpuEngine>) -> Evidence {
    while !session.complete() {
        block_on(session.step()).unwrap();
    }
    session.evidence().unwrap().0
}

/// What is claimed of a run.
fn claim(session: &Session<CpuEngine>) -> f64 {
    crate::accounting::books::Books::of(session.ledger().unwrap().clone()).unwrap().tight(1e-5).unwrap().value
}

#[test]
fn one_run() {
    let train = digits();
    for sampling in
        [SamplingPolicy::Poisson, SamplingPolicy::FixedSize, SamplingPolicy::RandomAllocation, SamplingPolicy::Shuffled]
    {
        let mut session = session(&config(sampling), &train, 5);
        let evidence = run(&mut session);
        let start = std::time::Instant::now();
        println!(
            "{sampling:?}: {:?} of {}; {:?}; {:?}",
            evidence.bounds(session.ledger().unwrap(), 1e-5).unwrap(),
            claim(&session),
            evidence.steps,
            start.elapsed()
        );
    }
    for mutation in Mutation::ALL {
        let own = if mutation == Mutation::DrawnLot {
            RunConfig { canaries: 4, lot: 10, steps: Some(400), ..config(SamplingPolicy::Poisson) }
        } else {
            config(SamplingPolicy::Poisson)
        };
        let mut session = session(&own, &train, 5);
        session.break_promise(mutation).unwrap();
        let evidence = run(&mut session);
        println!(
            "{mutation:?}: {:?} of {}; {:?}",
            evidence.bounds(session.ledger().unwrap(), 1e-5).unwrap(),
            claim(&session),
            evidence.steps
        );
    }
}
