//! Why the CPU engine has its own kernels: a batched dense product in burn-flex against the MLP's
//! whole forward pass in the engine, which includes the same product (256×784 by 784×128).
//!
//! `cargo bench -p burn-engine --bench product`

use std::hint::black_box;

use burn::tensor::{Device, Tensor, TensorData};
use criterion::{Criterion, criterion_group, criterion_main};
use hushgrad::{
    data::Dataset,
    engine::{Engine, Performance, Task, cpu::CpuEngine},
    model::{Architecture, MLP_HIDDEN, PIXELS, initial_parameters},
};

const LOT: usize = 256;

fn product(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("256×784 by 784×128");
    let device = Device::flex();
    let matrix = |rows: usize, columns: usize| {
        let values: Vec<f32> = (0..rows * columns).map(|k| (k % 255) as f32 / 255.0).collect();
        Tensor::<2>::from_data(TensorData::new(values, [rows, columns]), &device)
    };
    let (images, weights) = (matrix(LOT, PIXELS), matrix(PIXELS, MLP_HIDDEN));
    group.bench_function("burn-flex, the product", |bencher| {
        bencher.iter(|| black_box(images.clone()).matmul(black_box(weights.clone())).into_data());
    });

    let images: Vec<u8> = (0..LOT * PIXELS).map(|k| (k % 255) as u8).collect();
    let labels: Vec<u8> = (0..LOT).map(|k| (k % 10) as u8).collect();
    let data = Dataset::new("grey", images, labels);
    let model = Architecture::Mlp;
    let task = Task::without_privacy(model);
    for threads in [1, 2] {
        let performance = Performance { chunk: None, threads: Some(threads) };
        let mut engine = CpuEngine::new(task.clone(), data.clone(), &initial_parameters(model, 1), performance)
            .expect("the task can be run");
        group.bench_function(format!("the CPU engine, {threads} threads, the whole forward pass"), |bencher| {
            bencher.iter(|| pollster::block_on(engine.scores(black_box(&data))).expect("read"));
        });
    }
    group.finish();
}

criterion_group!(benches, product);
criterion_main!(benches);
