//! The same on WebGPU.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::*;
use crate::engine::gpu::{Gpu, GpuEngine};

/// Returns the process's device, for one test at a time: tests that share a software adapter are
/// far slower together. A missing device must be declared by `HUSHGRAD_NO_GPU=1`, and is announced.
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

/// The same coins, lots and noise give the CPU's scores, to the rounding of sums: for honest runs
/// by each sampler and encoder, of users and with phases, and for broken promises.
#[test]
fn scores_are_those_of_the_cpu() {
    let Some((_turn, gpu)) = device() else { return };
    let train = digits(400);
    let envelope = EncoderSpec::Envelope { shape: EnvelopeShape::HeavyTailed, vectors: 4, pre_scale: 1.0, seed: 0 };
    let with_noise = |sampling| RunConfig { noise: gaussian(1.0), steps: Some(8), ..small(sampling) };
    let poisson = with_noise(SamplingPolicy::Poisson);
    let mut all: Vec<(RunConfig, Option<InjectedBug>)> = SAMPLINGS.map(|sampling| (with_noise(sampling), None)).into();
    for honest in [
        RunConfig { encoder: EncoderSpec::Layers(LayerClip::even(1.0)), ..poisson.clone() },
        RunConfig { phases: "4; 4 noise 1.5 clip 0.5".parse().unwrap(), ..poisson.clone() },
        RunConfig { sharing: Sharing::Users { users: 200, skew: 1.0, seed: 0 }, ..poisson.clone() },
        following(poisson.clone()),
        RunConfig {
            encoder: envelope,
            noise: Some(NoiseSpec::StudentT { nu: 9.0, scale: 0.9 }),
            canaries: 100,
            ..poisson.clone()
        },
    ] {
        all.push((honest, None));
    }
    for mutation in [InjectedBug::HalfNoise, InjectedBug::DoubleClip, InjectedBug::DrawnLot] {
        all.push((poisson.clone(), Some(mutation)));
    }
    all.push((following(poisson), Some(InjectedBug::CountUnpaid)));
    for (config, mutation) in all {
        let (mut ours, mut theirs) = (session(&gpu, &config, &train, 8), super::session(&config, &train, 8));
        if let Some(mutation) = mutation {
            ours.inject_bug(mutation).unwrap();
            theirs.inject_bug(mutation).unwrap();
        }
        let (ours, theirs) = (to_its_end(&mut ours), to_its_end(&mut theirs));
        assert_eq!(ours.scores.len(), config.canaries as usize);
        for ((ours, is_in), (theirs, was_in)) in ours.scores.iter().zip(&theirs.scores) {
            let alike = is_in == was_in && (ours - theirs).abs() < 1e-3 * (1.0 + theirs.abs());
            assert!(alike, "{mutation:?} of {config:?}: {ours} {theirs}");
        }
    }
}
