//! Sums on WebGPU are exact: sums of two lots that differ in one example differ by exactly its
//! encoded gradient, whatever else they hold, in any order and chunks.
#![cfg(feature = "gpu")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use hushgrad::{
    accounting::noise::NoiseSpec,
    data::Dataset,
    engine::{
        Engine, Performance, StepInput, Task,
        gpu::{Gpu, GpuEngine},
    },
    mechanism::{EncoderSpec, EnvelopeShape, envelope::Envelope},
    model::{Architecture, PIXELS},
};
use pollster::block_on;

#[path = "common/adapter.rs"]
mod adapter;

const CLIP: f64 = 1.0;

/// Images that all pull the same weights the same way, so that sums grow to many times the clip; no
/// two have the same shades.
fn aligned(count: usize) -> Dataset {
    let image = |example: usize| {
        (0..PIXELS).map(move |pixel| {
            let shade = (example * 7919 + pixel * 104_729) % 251;
            if pixel % 3 == 0 { 0 } else { (128 + shade / 2) as u8 }
        })
    };
    let images: Vec<u8> = (0..count).flat_map(image).collect();
    let labels: Vec<u8> = (0..count).map(|example| u8::from(example % 5 == 0)).collect();
    Dataset::new("aligned", images, labels)
}

fn task(envelope: bool) -> Task {
    let model = Architecture::Linear;
    let spec = EncoderSpec::Envelope { shape: EnvelopeShape::Gaussian, vectors: 2, pre_scale: 1.0, seed: 4 };
    let drawn = Envelope::draw(EnvelopeShape::Gaussian, 2, model.parameters(), 4).unwrap();
    Task {
        encoder: if envelope { spec } else { EncoderSpec::Clip { norm: CLIP } },
        envelope: envelope.then(|| Arc::new(drawn)),
        noise: Some(NoiseSpec::Gaussian { sigma: 1.0 }),
        ..Task::without_privacy(model)
    }
}

fn engine(gpu: &Gpu, task: &Task, data: &Dataset, chunk: Option<u32>) -> GpuEngine {
    let start = vec![0.0; task.model.parameters()];
    let performance = Performance { chunk, ..Performance::default() };
    block_on(GpuEngine::new(gpu, task, data, &start, performance)).unwrap()
}

fn input(lot: &[u32]) -> StepInput<'_> {
    StepInput::alone(lot, [3; 8], 0.0)
}

fn steps(engine: &mut GpuEngine, lot: &[u32]) -> Vec<i64> {
    block_on(engine.step(input(lot))).unwrap();
    block_on(engine.encoded_steps()).unwrap().unwrap()
}

/// Compares sums of `lots` examples, clipped or in an envelope: with and without one of them, and
/// of that one alone.
fn a_neighbour_differs_by_its_own_gradient(lots: &[(usize, &[bool])]) {
    let Some(gpu) = adapter::device() else { return };
    for &(lot, envelopes) in lots {
        let data = aligned(lot);
        let all: Vec<u32> = (0..lot as u32).collect();
        for &envelope in envelopes {
            let task = task(envelope);
            let grid = task.sum_grid().unwrap();
            let mut whole = engine(&gpu, &task, &data, None);
            let mut in_pieces = engine(&gpu, &task, &data, Some(37));
            let sum = steps(&mut whole, &all);
            if lot < 5000 {
                assert_eq!(steps(&mut in_pieces, &all), sum, "chunks change nothing");
            }
            assert!(sum.iter().any(|&v| v.unsigned_abs() > 128 * lot as u64), "{lot}: the data pulls one way");
            for example in [0, lot / 2 + 1, lot - 1] {
                let others: Vec<u32> = all.iter().copied().filter(|&i| i as usize != example).collect();
                let alone = steps(&mut whole, &[example as u32]);
                let without = steps(&mut whole, &others);
                let difference: Vec<i64> = sum.iter().zip(&without).map(|(a, b)| a - b).collect();
                assert!(difference == alone, "{task:?}: example {example} of {lot}");
                let length = alone.iter().map(|&v| (v * v) as f64).sum::<f64>().sqrt() * f64::from(grid.step());
                assert!(length <= CLIP && length > 0.9 * CLIP, "{length}");
                if let Some(psi) = &task.envelope {
                    let mut magnitudes: Vec<f64> =
                        alone.iter().map(|v| v.abs() as f64 * f64::from(grid.step())).collect();
                    magnitudes.sort_by(|a, b| b.total_cmp(a));
                    let inside = |k| magnitudes.iter().zip(psi.vector(k)).all(|(m, v)| *m <= f64::from(*v));
                    assert!((0..psi.vectors()).any(inside), "example {example} leaves the envelope");
                }
            }
        }
    }
}

#[test]
fn a_neighbour_differs_by_its_own_gradient_alone() {
    a_neighbour_differs_by_its_own_gradient(&[(256, &[false, true]), (2048, &[false, true])]);
}

/// Lots of a whole training set.
#[test]
fn a_neighbour_of_a_whole_training_set_differs_by_its_own_gradient() {
    a_neighbour_differs_by_its_own_gradient(&[(20_000, &[true]), (60_000, &[false])]);
}

/// The data above can tell: in f32, in which sums without noise are still computed, neighbours
/// differ by more than one example's gradient.
#[test]
fn sums_without_noise_are_not_exact() {
    let Some(gpu) = adapter::device() else { return };
    let data = aligned(2048);
    let all: Vec<u32> = (0..2048).collect();
    let task = Task { noise: None, ..task(false) };
    let mut engine = engine(&gpu, &task, &data, None);
    let mut sum = |lot: &[u32]| block_on(engine.traced_step(input(lot))).unwrap().encoded;
    let (whole, without, alone) = (sum(&all), sum(&all[1..]), sum(&all[..1]));
    assert!(
        whole.iter().zip(&without).zip(&alone).any(|((a, b), own)| f64::from(*a) - f64::from(*b) != f64::from(*own))
    );
    assert!(block_on(engine.encoded_steps()).unwrap().is_none());
}

/// The released value is S + z to a 256th of a step for any lot, even if z is far larger than S.
#[test]
fn released_values_are_the_exact_sum_plus_noise() {
    let Some(gpu) = adapter::device() else { return };
    let data = aligned(300);
    let all: Vec<u32> = (0..300).collect();
    for scale in [1e-6, 1e-2, 1.0, 1e3, 1e7] {
        let noise = NoiseSpec::Cauchy { scale };
        let task = Task { noise: Some(noise.clone()), ..task(false) };
        let step = f64::from(task.sum_grid().unwrap().step());
        let mut engine = engine(&gpu, &task, &data, None);
        let noise = noise.build().unwrap();
        for lot in [&all[..], &all[..1], &[]] {
            let trace = block_on(engine.traced_step(input(lot))).unwrap();
            let sums = block_on(engine.encoded_steps()).unwrap().unwrap();
            for (i, (&noisy, &sum)) in (0..).zip(trace.noisy.iter().zip(&sums)) {
                let sum = sum as f64 * step;
                // The device's own noise is right to f32's last bits.
                let z = hushgrad::mechanism::noise::noise_at(&[3; 8], i, &*noise).clamp(-2e9 * CLIP, 2e9 * CLIP);
                let expected =
                    (sum + z).clamp(-f64::from(1 << 29) * 65_536.0 * step, f64::from(1 << 29) * 65_536.0 * step);
                let allowed = step / 512.0 + 2e-6 * (z.abs() + scale) + f64::from(f32::EPSILON) * sum.abs();
                assert!((f64::from(noisy) - expected).abs() <= allowed, "{scale}, {i}: {noisy} against {expected}");
            }
            if lot.len() == 1 {
                // Multiples of g/256, as far as f32 represents them.
                let fine =
                    |v: &f32| v.abs() >= (step * 65_536.0) as f32 || (f64::from(*v) * 256.0 / step).fract() == 0.0;
                assert!(trace.noisy.iter().all(fine));
            }
        }
    }
}
