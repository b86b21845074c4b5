//! Steps of the CPU engine. Absolute times are noisy: compare within one run.
//!
//! `cargo bench --no-default-features --bench engine`

use std::{hint::black_box, time::Duration};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hushgrad::{
    data::{Dataset, Shift},
    engine::{Engine, Performance, StepInput, cpu::CpuEngine},
    model::{Architecture, initial_parameters},
};

use tasks::{KEY, examples, task};

#[path = "engine/tasks.rs"]
mod tasks;

const EXAMPLES: u32 = 20_000;

fn engine(model: Architecture, envelope: Option<u32>, lot: u32, threads: u32, train: &Dataset) -> CpuEngine {
    let performance = Performance { chunk: None, threads: Some(threads) };
    let task = task(model, envelope, lot);
    CpuEngine::new(task, train.clone(), &initial_parameters(model, 1), performance).expect("the task can be run")
}

/// A bench's name in the group "step" is "model, encoder, lot/threads": `cargo xtask bench` reads it.
fn steps(c: &mut Criterion) {
    use Architecture::{CnnRelu, CnnTanh, Linear, Mlp};
    /// Name, and vectors of an envelope.
    type Encoder = (&'static str, Option<u32>);
    const CLIP: Encoder = ("clip", None);
    const ENVELOPE: Encoder = ("envelope", Some(1));
    let train = examples(EXAMPLES);
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
        let indices = tasks::lot(lot, EXAMPLES);
        // Short samples, where a step is short: the best of them is undisturbed.
        group.sample_size(if lot > 256 { 10 } else { 100 });
        group.throughput(Throughput::Elements(lot.into()));
        let id = BenchmarkId::new(format!("{model:?}, {name}, {lot}"), threads);
        group.bench_function(id, |b| {
            let engine = made.get_or_insert_with(|| engine(model, envelope, lot, threads, &train));
            b.iter(|| {
                let input = StepInput {
                    lot: black_box(&indices),
                    shifts: Shift::ALONE,
                    noise_key: KEY,
                    position: 0,
                    learning_rate: 1e-3,
                    average_keeps: 0.0,
                };
                pollster::block_on(engine.step(input)).expect("a step");
            });
        });
    }
    group.finish();
}

fn evaluation(c: &mut Criterion) {
    let train = examples(EXAMPLES);
    let mut group = c.benchmark_group("evaluation of 20,000 images");
    group.sample_size(10);
    for model in [Architecture::CnnTanh, Architecture::Mlp] {
        let mut engine = engine(model, None, 256, 2, &train);
        group.bench_function(format!("{model:?}, 2 threads"), |b| {
            b.iter(|| pollster::block_on(engine.scores(&train)).expect("read"));
        });
    }
    group.finish();
}

criterion_group!(benches, steps, evaluation);
criterion_main!(benches);
