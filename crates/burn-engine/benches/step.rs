//! A private CNN step over 64 examples, on this engine's CPU backend and on the CPU engine.
//!
//! `cargo bench -p burn-engine --bench step`

use burn_engine::{BurnEngine, Device};
use criterion::{Criterion, criterion_group, criterion_main};
use hushgrad::{
    accounting::noise::NoiseSpec,
    data::Dataset,
    engine::{Engine, Performance, StepInput, Task, cpu::CpuEngine},
    mechanism::EncoderSpec,
    model::{Architecture, PIXELS, initial_parameters},
};

const LOT: usize = 64;

fn step(criterion: &mut Criterion) {
    let images: Vec<u8> = (0..LOT * PIXELS).map(|k| (k * k % 255) as u8).collect();
    let labels: Vec<u8> = (0..LOT).map(|k| (k % 10) as u8).collect();
    let data = Dataset::new("grey", images, labels);
    let lot: Vec<u32> = (0..LOT as u32).collect();
    let model = Architecture::CnnTanh;
    let mut task = Task::without_privacy(model);
    task.encoder = EncoderSpec::Clip { norm: 1.0 };
    task.noise = Some(NoiseSpec::Gaussian { sigma: 1.0 });
    task.expected_lot = LOT as f32;
    let start = initial_parameters(model, 1);

    let mut group = criterion.benchmark_group("a step of the CNN (tanh), lot 64");
    group.sample_size(20);
    let mut burn = BurnEngine::new(&task, data.clone(), &start, Performance::default(), &Device::flex())
        .expect("the task can be run");
    group.bench_function("Burn on flex", |bencher| bencher.iter(|| one(&mut burn, &lot)));
    for threads in [1, 2] {
        let performance = Performance { chunk: None, threads: Some(threads) };
        let mut cpu = CpuEngine::new(task.clone(), data.clone(), &start, performance).expect("the task can be run");
        group.bench_function(format!("the CPU engine, {threads} threads"), |bencher| {
            bencher.iter(|| one(&mut cpu, &lot));
        });
    }
    group.finish();
}

fn one(engine: &mut impl Engine, lot: &[u32]) {
    pollster::block_on(engine.step(StepInput::alone(lot, [7; 8], 1e-3))).expect("a step");
}

criterion_group!(benches, step);
criterion_main!(benches);
