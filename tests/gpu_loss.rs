//! A device lost during a run: an error that says so, no panic, and a new device for the next run.
//! This needs its own process, because the device is the process's.
#![cfg(feature = "gpu")]

use std::sync::Arc;

use hushgrad::{
    accounting::noise::NoiseSpec,
    data::{Dataset, sharing::Sharing},
    engine::{
        Engine, EngineError, LocalSteps, Performance, StepInput, Task,
        gpu::{Gpu, GpuEngine},
    },
    mechanism::{Denoiser, EncoderSpec, State, canaries::Canaries},
    model::{Architecture, PIXELS, initial_parameters},
};
use pollster::block_on;

#[path = "common/adapter.rs"]
mod adapter;

#[test]
fn a_lost_device_is_an_error_and_can_be_replaced() {
    let Some(gpu) = adapter::device() else { return };
    let data = Dataset::new("two", vec![100; 2 * PIXELS], [3, 4]);
    let encoder = EncoderSpec::Clip { norm: 1.0 };
    let canaries = Canaries::draw(3, &encoder, None, Architecture::Linear.parameters(), 1).unwrap();
    let task = Task {
        model: Architecture::Linear,
        encoder,
        envelope: None,
        noise: Some(NoiseSpec::Gaussian { sigma: 1.0 }),
        grid: None,
        bands: 1,
        denoiser: Denoiser::None,
        expected_lot: 2.0,
        momentum: 0.0,
        averaging: false,
        copies: 1,
        sharing: Sharing::Alone,
        local: LocalSteps::MEAN,
        counting: Default::default(),
        canaries: Some(Arc::new(canaries)),
    };
    let start = initial_parameters(task.model, 1);
    let input = || StepInput::alone(&[0, 1], [7; 8], 0.1);
    let mut engine = block_on(GpuEngine::new(&gpu, &task, &data, &start, Performance::default())).unwrap();
    block_on(engine.step(input())).unwrap();
    block_on(engine.witness()).unwrap();
    block_on(engine.step(input())).unwrap();

    gpu.device().destroy();
    // The first or the second call notices the loss, and so does every later one.
    let lost = |result: Result<(), EngineError>| matches!(result, Err(EngineError::DeviceLost(_)));
    let _ = block_on(engine.step(input()));
    assert!(lost(block_on(engine.metrics()).map(drop)));
    assert!(lost(block_on(engine.witness()).map(drop)));
    assert!(lost(block_on(engine.step(input()))));
    assert!(lost(block_on(engine.traced_step(input())).map(drop)));
    assert!(lost(block_on(engine.scores(&data)).map(drop)));
    assert!(lost(block_on(engine.predict(&[0.0; PIXELS])).map(drop)));
    assert!(lost(block_on(engine.state()).map(drop)));
    assert!(lost(block_on(engine.set_state(&State::start(start.clone(), false)))));
    assert!(lost(block_on(GpuEngine::new(&gpu, &task, &data, &start, Performance::default())).map(drop)));

    let fresh = block_on(Gpu::acquire()).unwrap();
    let mut engine = block_on(GpuEngine::new(&fresh, &task, &data, &start, Performance::default())).unwrap();
    block_on(engine.step(input())).unwrap();
    assert_ne!(block_on(engine.state()).unwrap().parameters, start);
}
