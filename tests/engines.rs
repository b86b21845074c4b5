//! The property suite (`common/suite.rs`) on this package's engines, and properties of single ones.
//!
//! To add an engine, add a line at the end with a function that makes it.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use hushgrad::{
    accounting::{noise::NoiseSpec, rounding::GridRounding},
    data::{Dataset, FeatureKind, Shift, synthetic::colour},
    engine::{
        Builder, Engine, EngineError, EngineFactory, Outside, Performance, StepInput, Task, cpu::CpuEngine,
        reference::ReferenceEngine,
    },
    mechanism::{EncoderSpec, EnvelopeShape},
    model::{Architecture, PIXELS, initial_parameters},
};
#[cfg(feature = "gpu")]
use hushgrad::{
    data::{sharing::Sharing, synthetic},
    engine::{
        LocalSteps, Unsupported,
        gpu::{Gpu, GpuEngine},
    },
    mechanism::{AdaptiveClip, Denoiser, PaidMetrics},
    train::{config::RunConfig, plan::Plan, session::Session},
};
use pollster::block_on;

#[cfg(feature = "gpu")]
#[path = "common/adapter.rs"]
mod adapter;
#[path = "common/canaries.rs"]
mod canaries;
#[path = "common/counts.rs"]
mod counts;
#[path = "common/helpers.rs"]
mod helpers;
#[path = "common/replays.rs"]
mod replays;
#[path = "common/suite.rs"]
mod suite;
#[path = "common/units.rs"]
mod units;

use suite::*;

#[test]
fn every_model_has_both_engines() {
    every_named_model_is_taken(CpuEngine::new);
    assert!(!refuses_summed_distances(CpuEngine::new));
    #[cfg(feature = "gpu")]
    if with_adapter() {
        every_named_model_is_taken(on_gpu);
        assert!(refuses_summed_distances(on_gpu));
    }
}

/// An engine of another crate, as a factory builds it.
#[test]
fn an_engine_from_outside_takes_the_same_steps() {
    let (task, data) = (clip(Architecture::Linear), examples());
    let start = initial_parameters(task.model, SEED);
    let cpu = |task: &Task, data: &Dataset, start: &[f32], performance| {
        CpuEngine::new(task.clone(), data.clone(), start, performance)
    };
    let info = CpuEngine::describe(Performance::default());
    let builder: Builder =
        Box::new(move |task, data, start, performance| Ok(Outside::new(cpu(task, data, start, performance)?)));
    let mut outside = block_on(EngineFactory::outside(info, builder).build(&task, &data, &start)).unwrap();
    let mut inside = cpu(&task, &data, &start, Performance::default()).unwrap();
    for number in 1..4 {
        step(&mut outside, &[2, 3, 4], number);
        step(&mut inside, &[2, 3, 4], number);
    }
    assert_eq!(parameters(&mut outside), parameters(&mut inside));
    assert_eq!(block_on(outside.scores(&data)).unwrap(), block_on(inside.scores(&data)).unwrap());
}

/// Features that the device computes, in pieces and for an evaluation: one byte in some hundred
/// differs from the CPU's, by one step of 24 for a standard deviation.
#[cfg(feature = "gpu")]
#[test]
fn a_device_computes_features_itself() {
    if !with_adapter() {
        return;
    }
    let task = clip(Architecture::Scattering);
    let start = initial_parameters(task.model, SEED);
    let data = examples();
    let mut here =
        on_gpu(task.clone(), data.clone(), &start, Performance { chunk: Some(13), ..Performance::default() }).unwrap();
    let mut there = CpuEngine::new(task, examples(), &start, Performance::default()).unwrap();
    assert_eq!(block_on(here.prepare(7)).unwrap(), EXAMPLES - 7);
    let lot: Vec<u32> = (0..37).collect();
    for number in 1..4 {
        step(&mut here, &lot, number);
        step(&mut there, &lot, number);
    }
    assert_eq!(block_on(here.prepare(0)).unwrap(), 0);
    assert!(data.features().of(&data, FeatureKind::Scattering).is_empty(), "nothing was computed on the CPU");
    let (ours, theirs) = (parameters(&mut here), parameters(&mut there));
    assert!(relative_difference(&minus(&ours, &start), &minus(&theirs, &start)) < 1e-3);
    let (ours, theirs) = (block_on(here.scores(&data)).unwrap(), block_on(there.scores(&data)).unwrap());
    assert!(relative_difference(ours.values(), theirs.values()) < 1e-2);
    assert_eq!(ours.len(), EXAMPLES);
}

/// In pieces or at once, for one engine or two, features are the same, and only for their images.
#[test]
fn features_are_computed_once_and_belong_to_their_images() {
    const EACH: usize = hushgrad::model::scattering::FEATURES;
    let task = clip(Architecture::Scattering);
    let start = initial_parameters(task.model, SEED);
    let engine = |data: &Dataset| CpuEngine::new(task.clone(), data.clone(), &start, Performance::default()).unwrap();
    let data = examples();
    let mut pieces = engine(&data);
    assert_eq!(block_on(pieces.prepare(7)).unwrap(), EXAMPLES - 7);
    assert_eq!(data.features().of(&data, FeatureKind::Scattering).len(), 7 * EACH);
    assert_eq!(block_on(pieces.prepare(1000)).unwrap(), 0);
    let at_once = examples();
    step(&mut engine(&at_once), &[1], 1);
    assert_eq!(
        at_once.features().of(&at_once, FeatureKind::Scattering),
        data.features().of(&data, FeatureKind::Scattering)
    );
    assert_eq!(block_on(engine(&data.clone()).prepare(0)).unwrap(), 0, "a clone shares them");

    let mut other = data.clone();
    other.images = data.images.iter().rev().copied().collect();
    assert!(data.features().of(&other, FeatureKind::Scattering).is_empty());
    let mut engine = engine(&other);
    let mut reference = ReferenceEngine::new(&task, other, SEED).unwrap();
    step(&mut engine, &[2, 3, 4], 1);
    step(&mut reference, &[2, 3, 4], 1);
    let (ours, theirs) = (parameters(&mut engine), parameters(&mut reference));
    assert!(relative_difference(&minus(&ours, &start), &minus(&theirs, &start)) < 1e-4);
}

/// Layers on fixed features, of digits and of colour images, shifted or not: each engine that
/// supports them steps as the reference does.
#[test]
fn layers_on_features_take_the_same_step() {
    let colours = colour::dataset(4, 0, 12);
    for (list, data) in [
        ("scattering, dense 10", &examples()),
        ("extractor, dense 9, tanh, dense 10", &examples()),
        ("input 3x32x32, scattering, dense 10", &colours),
        ("input 3x32x32, scattering, groupnorm 3, conv 4 3x3, tanh, dense 10", &colours),
        ("input 3x32x32, extractor, conv 3 2x2, relu, dense 10", &colours),
    ] {
        for copies in [1, 2] {
            let shifts = &[Shift::NONE, Shift { right: 2, down: -1 }][..copies as usize];
            let task = Task { copies, ..clip(built(list)) };
            let start = initial_parameters(task.model, SEED);
            let mut engine = CpuEngine::new(task.clone(), data.clone(), &start, Performance::default()).unwrap();
            let mut reference = ReferenceEngine::new(&task, data.clone(), SEED).unwrap();
            for number in 1..3 {
                let input = || StepInput { shifts, ..input(&[0, 3, 4, 7, 11], number) };
                block_on(engine.step(input())).unwrap();
                block_on(reference.step(input())).unwrap();
            }
            let (ours, theirs) = (parameters(&mut engine), parameters(&mut reference));
            let difference = relative_difference(&minus(&ours, &start), &minus(&theirs, &start));
            assert!(difference < 1e-4, "{list}, {copies} copies: {difference:e}");
            let (ours, theirs) = (block_on(engine.scores(data)).unwrap(), block_on(reference.scores(data)).unwrap());
            assert!(relative_difference(ours.values(), theirs.values()) < 1e-4, "{list}");
            let image: Vec<f32> = data.image(5).iter().map(|&byte| f32::from(byte) / 255.0).collect();
            let (ours, theirs) =
                (block_on(engine.predict(&image)).unwrap(), block_on(reference.predict(&image)).unwrap());
            assert!(ours.iter().zip(&theirs).all(|(a, b)| (a - b).abs() < 1e-4), "{list}");
        }
        #[cfg(feature = "gpu")]
        if with_adapter() {
            let start = initial_parameters(built(list), SEED);
            let refused = on_gpu(clip(built(list)), data.clone(), &start, Performance::default()).map(drop);
            assert!(refused.unwrap_err().to_string().contains("fixed features"), "{list}");
        }
    }
    // Features of another kind replace those that are there.
    let data = examples();
    let known = |kind| data.features().of(&data, kind).len();
    for (list, there, gone) in [
        ("scattering, dense 10", FeatureKind::Scattering, FeatureKind::Learned),
        ("extractor, dense 10", FeatureKind::Learned, FeatureKind::Scattering),
    ] {
        let start = initial_parameters(built(list), SEED);
        let mut engine = CpuEngine::new(clip(built(list)), data.clone(), &start, Performance::default()).unwrap();
        assert_eq!(block_on(engine.prepare(EXAMPLES)).unwrap(), 0);
        assert_eq!((known(there), known(gone)), (EXAMPLES * built(list).inputs(), 0));
    }
}

/// Images of a single grey: a norm divides by hardly more than its floor, and a ReLU after a group
/// of equal values is at its kink.
///
/// Of scattering features, the middle of three evenly spaced bytes may equal its group's mean to
/// f32's last digit: a ReLU could be on in one engine and off in the other, both rightly (the steps
/// differ by 2.5e-3 at most), so tanh is used.
#[test]
fn images_of_one_grey_take_the_same_step() {
    const GREYS: [u8; 6] = [0, 1, 60, 128, 201, 255];
    let images: Vec<u8> = GREYS.iter().flat_map(|&grey| [grey; PIXELS]).collect();
    let data = Dataset::new("greys", images, (0..6).collect::<Vec<_>>());
    for (list, on_card) in [
        ("scattering, groupnorm 27, tanh, dense 10", false),
        ("scattering, groupnorm 81, tanh, dense 10", false),
        ("groupnorm 1, dense 10", true),
        ("conv 4 5x5/3 same, groupnorm 2, relu, dense 10", true),
        ("conv 4 3x3, groupnorm 4, relu, dense 10", true),
    ] {
        let task = Task { encoder: EncoderSpec::None, ..clip(built(list)) };
        let start = initial_parameters(task.model, SEED);
        for (place, grey) in (0..).zip(GREYS) {
            let mut reference = ReferenceEngine::new(&task, data.clone(), SEED).unwrap();
            step(&mut reference, &[place], 1);
            let theirs = parameters(&mut reference);
            let agrees = |ours: &[f32], on: &str| {
                let difference = relative_difference(&minus(ours, &start), &minus(&theirs, &start));
                assert!(difference < 1e-4, "{list}, grey {grey}, {on}: {difference:e}");
            };
            let mut engine = CpuEngine::new(task.clone(), data.clone(), &start, Performance::default()).unwrap();
            step(&mut engine, &[place], 1);
            agrees(&parameters(&mut engine), "CPU");
            #[cfg(feature = "gpu")]
            if on_card && with_adapter() {
                let mut engine = on_gpu(task.clone(), data.clone(), &start, Performance::default()).unwrap();
                step(&mut engine, &[place], 1);
                agrees(&parameters(&mut engine), "WebGPU");
            }
            #[cfg(not(feature = "gpu"))]
            let _ = on_card;
        }
    }
}

/// Concurrent runs share a dataset: reading its features does not block the others.
#[test]
fn reading_features_does_not_block_other_runs() {
    let data = examples();
    let prepare = |model| {
        let task = clip(model);
        let start = initial_parameters(model, SEED);
        let mut engine = CpuEngine::new(task, data.clone(), &start, Performance::default()).unwrap();
        block_on(engine.prepare(EXAMPLES)).unwrap();
        engine
    };
    let engines = [Architecture::Scattering, Architecture::Linear].map(prepare);
    let _reader = data.features();
    for mut engine in engines {
        std::thread::spawn(move || step(&mut engine, &[0, 1], 1)).join().unwrap();
    }
}

/// Sums are multiples of the grid and equal the reference's, up to coordinates that f32 gradients
/// move to the other side; each example is inside its bound.
#[test]
fn sums_on_a_grid_are_the_references() {
    let noise = NoiseSpec::Gaussian { sigma: 0.7 };
    let grid = GridRounding::below(&*noise.build().unwrap(), 16).unwrap();
    let envelope = EncoderSpec::Envelope { shape: EnvelopeShape::Mixed, vectors: 7, pre_scale: 1.0, seed: 3 };
    for (model, encoder) in [
        (Architecture::Linear, EncoderSpec::Clip { norm: 0.1 }),
        (Architecture::CnnTanh, EncoderSpec::Clip { norm: 3.0 }),
        (Architecture::Mlp, envelope),
    ] {
        let on_grid = Task { grid: Some(grid), ..task(model, encoder, Some(noise.clone())) };
        assert_same_step(CpuEngine::new, &on_grid, &[0, 3, 7, 8, 40, 79]);
        assert_same_step(CpuEngine::new, &on_grid, &[]);
        let (mut engine, mut reference) = pair(CpuEngine::new, &on_grid);
        let whole = |x: &f32| (f64::from(*x) / grid.spacing()).fract() == 0.0;
        for lot in [&[5][..], &[3, 9, 20, 21]] {
            let (ours, theirs) = (traced(&mut engine, lot, 2), traced(&mut reference, lot, 2));
            assert!(ours.encoded.iter().chain(&ours.noisy).chain(&theirs.noisy).all(whole), "{model:?}");
            assert!(relative_difference(&ours.noisy, &theirs.noisy) < 1e-4, "{model:?}");
            if let (EncoderSpec::Clip { norm }, 1) = (&on_grid.encoder, lot.len()) {
                let square: f64 = ours.encoded.iter().map(|&x| f64::from(x).powi(2)).sum();
                assert!(square.sqrt() <= *norm && square > 0.0, "{}", square.sqrt());
            }
        }
    }
}

#[test]
fn an_example_without_a_gradient_adds_nothing_on_a_grid() {
    let model = Architecture::CnnTanh;
    let grid = GridRounding::new(-16).unwrap();
    let on_grid = Task { grid: Some(grid), ..clip(model) };
    let mut engine = CpuEngine::new(on_grid, examples(), &vec![f32::NAN; model.parameters()], Performance::default());
    let engine = engine.as_mut().unwrap();
    let trace = traced(engine, &[1, 2, 3], 1);
    assert!(trace.encoded.iter().all(|x| *x == 0.0) && trace.noisy.iter().any(|x| *x != 0.0));
    assert_eq!(metrics(engine).non_finite, 3);
}

#[cfg(feature = "gpu")]
#[test]
fn the_gpu_leaves_sums_on_a_grid_to_the_cpu() {
    if with_adapter() {
        let task = Task { grid: Some(GridRounding::new(-16).unwrap()), ..clip(Architecture::Linear) };
        let start = initial_parameters(task.model, SEED);
        let refused = on_gpu(task, examples(), &start, Performance::default());
        assert!(matches!(refused, Err(EngineError::Unsupported(Unsupported::GridOnGpu))));
    }
}

/// Local steps have no kernels, and planes larger than an image of digits no room.
#[cfg(feature = "gpu")]
#[test]
fn the_gpu_leaves_local_steps_and_large_planes_to_the_cpu() {
    if !with_adapter() {
        return;
    }
    let shared = Task { sharing: Sharing::Users { users: 5, skew: 1.0, seed: 0 }, ..clip(Architecture::Linear) };
    let smoothed = Task {
        denoiser: Denoiser::LaplacianSmoothing { strength: 1.0 },
        ..clip(built("conv 2 29x29 pad 1, dense 10"))
    };
    for task in [Task { local: LocalSteps { steps: 2, rate: 0.3 }, ..shared }, smoothed] {
        let start = initial_parameters(task.model, SEED);
        let refused = on_gpu(task, examples(), &start, Performance::default());
        assert!(matches!(
            refused,
            Err(EngineError::Unsupported(Unsupported::SharingOnGpu | Unsupported::SmoothingOnGpu { side: 29, .. }))
        ));
    }
}

fn always() -> bool {
    true
}

#[cfg(feature = "gpu")]
fn on_gpu(task: Task, data: Dataset, start: &[f32], performance: Performance) -> Result<GpuEngine, EngineError> {
    block_on(async { GpuEngine::new(&Gpu::acquire().await?, &task, &data, start, performance).await })
}

/// Only for built networks.
#[cfg(feature = "gpu")]
fn built_on_gpu(task: Task, data: Dataset, start: &[f32], performance: Performance) -> Result<GpuEngine, EngineError> {
    if task.model.is_named() { Err(Unsupported::OtherTask.into()) } else { on_gpu(task, data, start, performance) }
}

#[cfg(feature = "gpu")]
fn with_adapter() -> bool {
    adapter::device().is_some()
}

suite!(cpu, super::CpuEngine::new, super::always);
suite!(cpu_copies, super::CpuEngine::new, super::always;
    copies_are_averaged_before_they_are_encoded
    one_broken_copy_breaks_its_example);

#[test]
fn units_take_the_same_step_on_the_cpu() {
    units::units_take_the_same_step(CpuEngine::new);
}

#[test]
fn layers_of_units_are_clipped_on_the_cpu() {
    units::layers_of_units_are_clipped(CpuEngine::new, 2);
}

#[test]
fn counts_of_the_cpu_are_the_references() {
    counts::counts_are_the_references(CpuEngine::new);
    counts::counts_follow_the_clip(CpuEngine::new);
    counts::what_is_not_finite_is_not_counted(CpuEngine::new);
}

#[test]
fn canaries_take_the_same_step_on_the_cpu() {
    canaries::canaries_take_the_same_step(CpuEngine::new);
}

/// Also checks the reference, with which the other engines are compared.
#[test]
fn an_auditor_sees_noise_and_canaries() {
    canaries::an_auditor_sees_noise_and_canaries(CpuEngine::new);
    canaries::an_auditor_sees_noise_and_canaries(plainly);
}

#[test]
fn canaries_that_are_not_there_are_refused() {
    canaries::canaries_that_are_not_there_are_refused(CpuEngine::new);
    canaries::canaries_that_are_not_there_are_refused(plainly);
}

/// The reference at the parameters where the suite's engines begin.
fn plainly(task: Task, data: Dataset, _: &[f32], _: Performance) -> Result<ReferenceEngine, EngineError> {
    Ok(ReferenceEngine::new(&task, data, SEED)?)
}

#[cfg(feature = "gpu")]
#[test]
fn canaries_take_the_same_step_on_the_gpu() {
    if with_adapter() {
        canaries::canaries_take_the_same_step(on_gpu);
        canaries::an_auditor_sees_noise_and_canaries(on_gpu);
        canaries::canaries_that_are_not_there_are_refused(on_gpu);
    }
}

#[cfg(feature = "gpu")]
suite!(gpu, super::on_gpu, super::with_adapter);

#[cfg(feature = "gpu")]
suite!(gpu_built, super::built_on_gpu, super::with_adapter;
    every_combination_takes_the_same_step
    several_steps_stay_together
    layers_keep_their_norms
    denoisers_do_the_same
    correlated_noise_is_the_references
    a_traced_step_is_a_step
    one_broken_example_counts_and_adds_nothing
    broken_parameters_release_noise_alone
    performance_flags_change_nothing
    predictions_equal_the_references
    training_learns
    state_is_kept_and_replaced
    a_task_that_changes_is_the_next_one
    images_are_read_with_the_mean);

#[cfg(feature = "gpu")]
#[test]
fn built_networks_count_as_the_reference_does() {
    if with_adapter() {
        counts::counts_are_the_references(built_on_gpu);
        counts::counts_follow_the_clip(built_on_gpu);
        counts::what_is_not_finite_is_not_counted(built_on_gpu);
    }
}

#[cfg(feature = "gpu")]
#[test]
fn units_of_built_networks_take_the_same_step() {
    if with_adapter() {
        units::units_take_the_same_step(built_on_gpu);
        units::layers_of_units_are_clipped(built_on_gpu, 1);
    }
}

/// No layer may hide it: a NaN parameter of any layer breaks every example.
#[cfg(feature = "gpu")]
#[test]
fn a_broken_parameter_of_any_layer_shows() {
    if !with_adapter() {
        return;
    }
    for list in BUILT {
        let model = built(list);
        for layer in model.layers() {
            let mut start = initial_parameters(model, SEED);
            start[layer.biases()].fill(f32::NAN);
            let mut engine = on_gpu(clip(model), examples(), &start, Performance::default()).unwrap();
            let trace = traced(&mut engine, &[0, 1, 2], 1);
            assert_eq!(metrics(&mut engine).non_finite, 3, "{list}, {}", layer.name);
            assert!(trace.encoded.iter().all(|&v| v == 0.0), "{list}, {}", layer.name);
        }
    }
}

#[cfg(feature = "gpu")]
#[test]
fn counts_of_the_gpu_are_the_references() {
    if with_adapter() {
        counts::counts_are_the_references(on_gpu);
        counts::counts_follow_the_clip(on_gpu);
        counts::what_is_not_finite_is_not_counted(on_gpu);
    }
}

/// Whole runs: the clip takes the same course, and the released accuracy is the same. A norm at the
/// clip may count on either side, which moves the clip by a 300th.
#[cfg(feature = "gpu")]
#[test]
fn a_clip_that_follows_the_norms_goes_the_same_way_on_both_engines() {
    const STEPS: usize = 30;
    let Some(gpu) = adapter::device() else { return };
    let config = RunConfig {
        model: Architecture::Mlp,
        encoder: EncoderSpec::Clip { norm: 60.0 },
        adaptive_clip: Some(AdaptiveClip { quantile: 0.5, noise: AdaptiveClip::noise() }),
        metrics: Some(PaidMetrics { noise: PaidMetrics::NOISE }),
        lot: 60,
        replay: Some(5),
        ..RunConfig::default()
    };
    let plan = Plan::new(config, 300).unwrap();
    let digits = synthetic::digits(1, 300, 1).train;
    let runs = [EngineFactory::on(gpu), EngineFactory::cpu()].map(|factory| {
        let engine = block_on(factory.build(&plan.task, &digits, &plan.initial_parameters())).unwrap();
        let mut session = Session::new(plan.clone(), engine).unwrap();
        (0..STEPS).for_each(|_| block_on(session.step()).unwrap());
        (session.clips().to_vec(), block_on(session.report(None)).unwrap().counted)
    });
    let [(ours, told), (theirs, expected)] = &runs;
    assert_eq!(ours.len(), STEPS);
    assert!(ours.iter().zip(theirs).all(|(a, b)| (a / b - 1.0).abs() < 0.02), "{ours:?}\n{theirs:?}");
    assert!(ours[STEPS - 1] < 0.8 * ours[0], "{ours:?}");
    let [told, expected] = [told, expected].map(|counted| counted.answers.unwrap());
    assert_eq!(told.digits, expected.digits);
    assert!((told.accuracy - expected.accuracy).abs() < 0.02, "{told:?} {expected:?}");
}

#[cfg(feature = "gpu")]
#[test]
fn units_take_the_same_step_on_the_gpu() {
    if with_adapter() {
        units::units_take_the_same_step(on_gpu);
    }
}

#[cfg(feature = "gpu")]
#[test]
fn layers_of_units_are_clipped_on_the_gpu() {
    if with_adapter() {
        units::layers_of_units_are_clipped(on_gpu, 1);
    }
}
