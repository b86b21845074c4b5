//! The same on WebGPU, with fewer runs: a software adapter takes its time.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::*;
use crate::engine::gpu::{Gpu, GpuEngine};

/// This process's device, for one test at a time: those that share a software adapter wait for one another far longer. Its absence must be known (`HUSHGRAD_NO_GPU=1`), and is announced.
fn device() -> Option<(MutexGuard<'static, ()>, Gpu)> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    match block_on(Gpu::acquire()) {
        Ok(gpu) => Some((turn, gpu)),
        Err(error) if std::env::var_os("HUSHGRAD_NO_GPU").is_some_and(|v| v == "1") => {
            eprintln!("**** NOT RUN: {error}. HUSHGRAD_NO_GPU=1 allows it; nothing on the GPU was tested. ****");
            None
        }
        Err(error) => panic!("{error}; install a software adapter (mesa-vulkan-drivers) or set HUSHGRAD_NO_GPU=1"),
    }
}

fn session(gpu: &Gpu, config: &RunConfig, train: &Dataset, seed: u64) -> Session<GpuEngine> {
    let plan = Plan::new(config.clone(), train.len() as u32).unwrap();
    let start = plan.initial_parameters();
    let engine = block_on(GpuEngine::new(gpu, &plan.task, train, &start, Performance::default())).unwrap();
    Session::drawing_from(Box::new(NotPrivateReplay::new(seed)), plan, engine).unwrap()
}

/// Runs by each sampler and encoder, of users and with phases: as seldom above their claim as is stated, bound by bound.
#[test]
fn honest_runs_on_webgpu_exceed_their_claim_as_seldom_as_is_stated() {
    const EACH: u64 = 2;
    let Some((_turn, gpu)) = device() else { return };
    let train = digits(400);
    let envelope = EncoderSpec::Envelope { shape: EnvelopeShape::HeavyTailed, vectors: 4, pre_scale: 1.0, seed: 0 };
    let with_noise = |sampling| RunConfig { noise: gaussian(1.0), ..small(sampling) };
    let mut all: Vec<RunConfig> = SAMPLINGS.into_iter().map(with_noise).collect();
    let poisson = with_noise(SamplingPolicy::Poisson);
    all.push(RunConfig { encoder: EncoderSpec::Layers(LayerClip::even(1.0)), ..poisson.clone() });
    all.push(RunConfig { phases: "20; 20 noise 1.5 clip 0.5".parse().unwrap(), ..poisson.clone() });
    all.push(RunConfig { sharing: Sharing::Users { users: 200, skew: 1.0, seed: 0 }, ..poisson.clone() });
    all.push(following(poisson.clone()));
    let noise = Some(NoiseSpec::StudentT { nu: 9.0, scale: 0.9 });
    all.push(RunConfig { encoder: envelope, noise, canaries: 100, ..poisson });
    let (mut runs, mut above) = ([0_u32; 5], [0_u32; 5]);
    for config in all {
        let mut held = None;
        for seed in 0..EACH {
            let mut session = session(&gpu, &config, &train, seed);
            let evidence = to_its_end(&mut session);
            assert!(evidence.scores.iter().all(|(score, _)| score.is_finite()), "{config:?}");
            let held = held.get_or_insert_with(|| Held::of(&session).unwrap());
            for (place, exceeded) in held.exceeded(&evidence).into_iter().enumerate() {
                runs[place] += u32::from(place < 2 || held.curve.is_some());
                above[place] += u32::from(exceeded);
            }
        }
    }
    println!("above the claim: {above:?} of {runs:?}");
    for (above, runs) in above.into_iter().zip(runs) {
        assert!(runs >= 14 && at_least(runs, above) > 1e-4, "{above} of {runs}");
    }
}

/// A promise that noise, clip, divisor or counts break shows as on the CPU: two of two have a probability of 6 % where a run is honest.
#[test]
fn broken_promises_are_found_out_on_webgpu() {
    let Some((_turn, gpu)) = device() else { return };
    for mutation in [Mutation::HalfNoise, Mutation::DoubleClip, Mutation::DrawnLot, Mutation::CountUnpaid] {
        let (config, examples) = shows(mutation);
        let train = digits(examples);
        let mut caught = 0;
        for seed in 0..2 {
            let mut session = session(&gpu, &config, &train, seed);
            session.break_promise(mutation).unwrap();
            let evidence = to_its_end(&mut session);
            caught += u32::from(Held::of(&session).unwrap().exceeded(&evidence).contains(&true));
        }
        assert_eq!(caught, 2, "{mutation:?}");
    }
}

/// The same coins, lots and noise: the same scores as on the CPU, to the rounding of sums.
#[test]
fn scores_are_those_of_the_cpu() {
    let Some((_turn, gpu)) = device() else { return };
    let train = digits(400);
    let config = RunConfig { noise: gaussian(1.0), ..small(SamplingPolicy::Poisson) };
    let ours = to_its_end(&mut session(&gpu, &config, &train, 8));
    let theirs = to_its_end(&mut super::session(&config, &train, 8));
    for ((ours, is_in), (theirs, was_in)) in ours.scores.iter().zip(&theirs.scores) {
        assert!(is_in == was_in && (ours - theirs).abs() < 1e-3 * (1.0 + theirs.abs()), "{ours} {theirs}");
    }
}
