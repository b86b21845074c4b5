//! Steps of the CPU engine. Absolute times are noisy: compare within one run.
//!
//! `cargo bench --no-default-features --bench engine`

use std::{hint::black_box, sync::Arc, time::Duration};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hushgrad::{
    data::Dataset,
    engine::{Engine, Performance, StepInput, Task, cpu::CpuEngine},
    mechanism::{Denoiser, EncoderSpec, EnvelopeShape, envelope::Envelope},
    model::{Architecture, initial_parameters},
    privacy::noise::NoiseSpec,
};

const EXAMPLES: u32 = 20_000;
const KEY: [u32; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

/// Blots as sparse as digits are; speed depends on no pixel.
fn examples() -> Dataset {
    let images = (0..EXAMPLES as usize * 784).map(|i| {
        let (example, pixel) = (i / 784, i % 784);
        let (y, x) = (pixel / 28, pixel % 28);
        let inside = y.abs_diff(14) < 9 && x.abs_diff(14) < 9;
        if inside && (i.wrapping_mul(2_654_435_761) >> 13) % 5 < 2 { (example % 200 + 55) as u8 } else { 0 }
    });
    let images: Arc<[u8]> = images.collect();
    let labels: Arc<[u8]> = (0..EXAMPLES).map(|i| (i % 10) as u8).collect();
    Dataset { name: "blots".into(), images, labels }
}

fn engine(model: Architecture, envelope: Option<u32>, lot: u32, threads: u32, train: &Dataset) -> CpuEngine {
    let p = model.parameters();
    let task = match envelope {
        None => Task {
            model,
            encoder: EncoderSpec::Clip { norm: 1.0 },
            envelope: None,
            noise: Some(NoiseSpec::Gaussian { sigma: 1.1 }),
            grid: None,
            denoiser: Denoiser::None,
            expected_lot: lot as f32,
            momentum: 0.0,
        },
        Some(vectors) => Task {
            model,
            encoder: EncoderSpec::Envelope { shape: EnvelopeShape::Gaussian, vectors, pre_scale: 1.0, seed: 1 },
            envelope: Some(Arc::new(
                Envelope::draw(EnvelopeShape::Gaussian, vectors, p, 1).expect("vectors are drawn"),
            )),
            noise: Some(NoiseSpec::StudentT { nu: 9.0, scale: 1.0 }),
            grid: None,
            denoiser: Denoiser::KolmogorovSmirnov,
            expected_lot: lot as f32,
            momentum: 0.9,
        },
    };
    let performance = Performance { chunk: None, threads: Some(threads) };
    CpuEngine::new(task, train.clone(), &initial_parameters(model, 1), performance).expect("the task can be run")
}

/// A bench's name in the group "step" is "model, encoder, lot/threads": `cargo xtask bench` reads it.
fn steps(c: &mut Criterion) {
    use Architecture::{CnnRelu, CnnTanh, Linear, Mlp};
    /// Name, and vectors of an envelope.
    type Encoder = (&'static str, Option<u32>);
    const CLIP: Encoder = ("clip", None);
    const ENVELOPE: Encoder = ("envelope", Some(1));
    let train = examples();
    let mut cases: Vec<(Architecture, Encoder, u32, u32)> = Vec::new();
    for threads in [1, 2] {
        cases.extend([CLIP, ENVELOPE, ("envelope of 1000", Some(1000))].map(|e| (CnnTanh, e, 256, threads)));
        cases.extend([CnnRelu, Mlp, Linear].into_iter().flat_map(|m| [CLIP, ENVELOPE].map(|e| (m, e, 256, threads))));
    }
    cases.extend([64, 1024, 4096, 16_384].into_iter().flat_map(|lot| [CLIP, ENVELOPE].map(|e| (CnnTanh, e, lot, 2))));

    println!("engine: {}", CpuEngine::describe(Performance { chunk: None, threads: Some(2) }).device);
    let mut group = c.benchmark_group("step");
    group.measurement_time(Duration::from_secs(3)).warm_up_time(Duration::from_millis(500));
    for (model, (name, envelope), lot, threads) in cases {
        // Made where it is asked for: a filter may leave it out.
        let mut made = None;
        let indices: Vec<u32> = (0..lot).map(|i| i * (EXAMPLES / lot)).collect();
        // Short samples, where a step is short: the best of them is undisturbed.
        group.sample_size(if lot > 256 { 10 } else { 100 });
        group.throughput(Throughput::Elements(lot.into()));
        let id = BenchmarkId::new(format!("{model:?}, {name}, {lot}"), threads);
        group.bench_function(id, |b| {
            let engine = made.get_or_insert_with(|| engine(model, envelope, lot, threads, &train));
            b.iter(|| {
                let input = StepInput { lot: black_box(&indices), noise_key: KEY, learning_rate: 1e-3 };
                pollster::block_on(engine.step(input)).expect("a step");
            });
        });
    }
    group.finish();
}

fn evaluation(c: &mut Criterion) {
    let train = examples();
    let mut group = c.benchmark_group("evaluation of 20,000 images");
    group.sample_size(10);
    for model in [Architecture::CnnTanh, Architecture::Mlp] {
        let mut engine = engine(model, None, 256, 2, &train);
        group.bench_function(format!("{model:?}, 2 threads"), |b| {
            b.iter(|| pollster::block_on(engine.count_correct(&train)).expect("counted"));
        });
    }
    group.finish();
}

criterion_group!(benches, steps, evaluation);
criterion_main!(benches);
