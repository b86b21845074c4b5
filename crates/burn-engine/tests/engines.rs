//! Runs hushgrad's engine suite on this engine, and compares its steps with the CPU engine's.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::sync::Arc;

use burn_engine::{BurnEngine, BurnError, Device};
use hushgrad::{
    accounting::{noise::NoiseSpec, rounding::GridRounding},
    data::{Dataset, Shift},
    engine::{Engine, EngineError, Performance, StepInput, Task, cpu::CpuEngine},
    mechanism::{Denoiser, EncoderSpec, canaries::Canaries},
    model::{Architecture, initial_parameters},
};
use pollster::block_on;

#[path = "../../../tests/common/suite.rs"]
mod suite;

use suite::*;

fn on_flex(task: Task, data: Dataset, start: &[f32], performance: Performance) -> Result<BurnEngine, EngineError> {
    Ok(BurnEngine::new(&task, data, start, performance, &Device::flex())?)
}

fn always() -> bool {
    true
}

#[test]
fn every_model_is_trained() {
    every_named_model_is_taken(on_flex);
}

/// Both engines with the same start, on the same examples with known features.
fn beside(task: &Task) -> (BurnEngine, CpuEngine) {
    let (start, data) = (initial_parameters(task.model, SEED), known_examples());
    let burn = on_flex(task.clone(), data.clone(), &start, Performance::default()).unwrap();
    (burn, CpuEngine::new(task.clone(), data, &start, Performance::default()).unwrap())
}

/// Full steps: both encoders, same noise key, momentum, averaging, two copies, an empty lot.
#[test]
fn steps_match_the_cpu_engine() {
    let shifts = [Shift { right: -1, down: 2 }, Shift { right: 3, down: 0 }];
    for model in Architecture::ALL {
        for encoder in [EncoderSpec::Clip { norm: 1.0 }, encoders().remove(5)] {
            let mut task = task(model, encoder, Some(NoiseSpec::Gaussian { sigma: 0.3 }));
            (task.momentum, task.averaging, task.copies) = (0.9, true, 2);
            let (mut ours, mut theirs) = beside(&task);
            for (number, lot) in (1..).zip([&[1, 2, 3, 40, 41][..], &[], &[7, 20, 21, 22]]) {
                let input = || StepInput { shifts: &shifts, ..input(lot, number) };
                let ours = block_on(ours.traced_step(input())).unwrap();
                let theirs = block_on(theirs.traced_step(input())).unwrap();
                assert_same_trace(&format!("{model:?}, {:?}", task.encoder), &ours, &theirs);
                if number == 1 {
                    assert_same_steps(&task, &ours.encoded, &theirs.encoded, lot.len());
                }
            }
            let (ours, theirs) = (block_on(ours.state()).unwrap(), block_on(theirs.state()).unwrap());
            for (name, ours, theirs, most) in [
                ("parameters", &ours.parameters[..], &theirs.parameters[..], 1e-4),
                ("momenta", &ours.momentum, &theirs.momentum, 1e-3),
                ("means", ours.read_with(), theirs.read_with(), 1e-4),
            ] {
                let difference = relative_difference(ours, theirs);
                assert!(difference < most, "{model:?}, {:?}, {name}: {difference:.2e}", task.encoder);
            }
        }
    }
}

/// For an empty lot, both engines release the noise alone.
#[test]
fn an_empty_lot_is_noise_alone() {
    for model in Architecture::ALL {
        let (mut ours, mut theirs) = beside(&clip(model));
        let ours = traced(&mut ours, &[], 4);
        assert!(ours.raw.iter().chain(&ours.encoded).all(|&v| v == 0.0));
        assert!(ours.noisy.iter().any(|&v| v != 0.0));
        let difference = relative_difference(&ours.noisy, &traced(&mut theirs, &[], 4).noisy);
        assert!(difference < 1e-6, "{model:?}: {difference:.2e}");
    }
}

#[test]
fn scores_match_the_cpu_engine() {
    let data = known_examples();
    for model in Architecture::ALL {
        let (mut ours, mut theirs) = beside(&clip(model));
        for number in 1..3 {
            step(&mut ours, &[3, 9], number);
        }
        let state = block_on(ours.state()).unwrap();
        block_on(theirs.set_state(&state)).unwrap();
        let (our_scores, their_scores) =
            (block_on(ours.scores(&data)).unwrap(), block_on(theirs.scores(&data)).unwrap());
        assert!(relative_difference(our_scores.values(), their_scores.values()) < 1e-5, "{model:?}");
        let image = hushgrad::engine::reference::pixels(data.image(7));
        let (ours, theirs) = (block_on(ours.predict(&image)).unwrap(), block_on(theirs.predict(&image)).unwrap());
        assert!(relative_difference(&ours, &theirs) < 1e-5, "{model:?}: {ours:?} against {theirs:?}");
    }
}

#[test]
fn sums_on_a_grid_are_the_references() {
    let noise = NoiseSpec::Gaussian { sigma: 0.7 };
    let grid = GridRounding::below(&*noise.build().unwrap(), 16).unwrap();
    for encoder in [EncoderSpec::Clip { norm: 0.1 }, encoders().remove(5)] {
        let mut task = Task { grid: Some(grid), ..task(Architecture::CnnTanh, encoder, Some(noise.clone())) };
        task.denoiser = Denoiser::KolmogorovSmirnov;
        assert_same_step(on_flex, &task, &[0, 3, 7, 8, 40, 79]);
        assert_same_step(on_flex, &task, &[]);
    }
}

/// Audited runs need the CPU engine.
#[test]
fn canaries_are_refused() {
    let linear = clip(Architecture::Linear);
    let canaries = Canaries::draw(10, &linear.encoder, None, linear.model.parameters(), 9).unwrap();
    let task = Task { canaries: Some(Arc::new(canaries)), ..linear };
    let start = initial_parameters(task.model, SEED);
    let refused = BurnEngine::new(&task, examples(), &start, Performance::default(), &Device::flex());
    assert!(matches!(refused, Err(BurnError::Canaries)));
}

suite!(flex, super::on_flex, super::always);
suite!(flex_copies, super::on_flex, super::always;
    copies_are_averaged_before_they_are_encoded
    one_broken_copy_breaks_its_example);
