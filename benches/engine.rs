//! Steps of the CPU engine. Absolute times are noisy: compare within one run.
//!
//! `cargo bench --no-default-features --bench engine`

use std::{hint::black_box, time::Duration};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hushgrad::{
    data::Dataset,
    engine::{Engine, Performance, Task, cpu::CpuEngine},
    mechanism::Denoiser,
    model::{Architecture, initial_parameters},
};

use tasks::{DENOISERS, examples, task};

#[path = "engine/tasks.rs"]
mod tasks;

const EXAMPLES: u32 = 20_000;

fn engine(task: Task, threads: u32, train: &Dataset) -> CpuEngine {
    let performance = Performance { chunk: None, threads: Some(threads) };
    let model = task.model;
    CpuEngine::new(task, train.clone(), &initial_parameters(model, 1), performance).expect("the task can be run")
}

/// Names in group "step" are "model, encoder, lot/threads", as `cargo xtask bench` expects.
fn steps(c: &mut Criterion) {
    use Architecture::{CnnRelu, CnnTanh, Linear, Mlp};
    /// Name, number of envelope vectors, and a denoiser that replaces the task's.
    type Encoder = (&'static str, Option<u32>, Option<Denoiser>);
    const CLIP: Encoder = ("clip", None, None);
    const ENVELOPE: Encoder = ("envelope", Some(1), None);
    let train = examples(EXAMPLES);
    let mut cases: Vec<(Architecture, Encoder, u32, u32)> = Vec::new();
    for threads in [1, 2] {
        cases.extend([CLIP, ENVELOPE, ("envelope of 1000", Some(1000), None)].map(|e| (CnnTanh, e, 256, threads)));
        cases.extend([CnnRelu, Mlp, Linear].into_iter().flat_map(|m| [CLIP, ENVELOPE].map(|e| (m, e, 256, threads))));
    }
    cases.extend(DENOISERS.map(|(name, denoiser)| (CnnTanh, (name, None, Some(denoiser)), 256, 2)));
    cases.extend([64, 1024, 4096, 16_384].into_iter().flat_map(|lot| [CLIP, ENVELOPE].map(|e| (CnnTanh, e, lot, 2))));

    println!("engine: {}", CpuEngine::describe(Performance { chunk: None, threads: Some(2) }).device);
    let mut group = c.benchmark_group("step");
    group.measurement_time(Duration::from_secs(3)).warm_up_time(Duration::from_millis(500));
    for (model, (name, envelope, denoiser), lot, threads) in cases {
        // Built on demand, as a filter may skip it.
        let mut made = None;
        let indices = tasks::lot(lot, EXAMPLES);
        // Many short samples for short steps: the fastest is undisturbed.
        group.sample_size(if lot > 256 { 10 } else { 100 });
        group.throughput(Throughput::Elements(lot.into()));
        let id = BenchmarkId::new(format!("{model:?}, {name}, {lot}"), threads);
        group.bench_function(id, |b| {
            let engine = made.get_or_insert_with(|| {
                let task = task(model, envelope, lot);
                engine(Task { denoiser: denoiser.unwrap_or(task.denoiser), ..task }, threads, &train)
            });
            b.iter(|| pollster::block_on(engine.step(tasks::input(black_box(&indices)))).expect("a step"));
        });
    }
    group.finish();
}

fn evaluation(c: &mut Criterion) {
    let train = examples(EXAMPLES);
    let mut group = c.benchmark_group("evaluation of 20,000 images");
    group.sample_size(10);
    for model in [Architecture::CnnTanh, Architecture::Mlp] {
        let mut engine = engine(task(model, None, 256), 2, &train);
        group.bench_function(format!("{model:?}, 2 threads"), |b| {
            b.iter(|| pollster::block_on(engine.scores(&train)).expect("read"));
        });
    }
    group.finish();
}

criterion_group!(benches, steps, evaluation);
criterion_main!(benches);
