//! Times a step on both engines before a run, on made-up images, so that the faster one trains.
//! Nothing is released: the timed engines are dropped with all that they computed.

use std::time::Duration;

use web_time::Instant;

use super::{
    Engine, EngineError, LocalSteps, Performance, StepInput, Task, Timings, check,
    cpu::{CpuEngine, helpers::Helpers},
    gpu::{Gpu, GpuEngine},
    made_up::made_up,
};
use crate::{data::sharing::Sharing, model::initial_parameters};

/// Approximate time that each engine may be timed for.
const CPU: Duration = Duration::from_millis(40);
const GPU: Duration = Duration::from_millis(80);
/// Examples of the first steps, which decide how many the later steps get.
const FEW: usize = 16;
/// Most images; the time for a larger lot is extrapolated.
const MOST: usize = 4096;
/// Most steps timed together: waiting for a device takes longer than a small step.
const STEPS: u32 = 32;

/// Times a step of `task` on a device, after checking it, and on the CPU, with helpers if they pay.
///
/// # Errors
/// If either engine cannot run the task, or the device fails.
pub async fn timings(gpu: &Gpu, task: &Task, helpers: Option<Helpers>) -> Result<Timings, EngineError> {
    check::check(gpu, task).await?;
    let lot = (task.expected_lot as usize).max(1);
    // Sharing costs both about the same, and the steps form no sequence.
    let task = Task { sharing: Sharing::Alone, local: LocalSteps::MEAN, bands: 1, canaries: None, ..task.clone() };
    let data = made_up(task.model, lot.min(MOST));
    let start = initial_parameters(task.model, 1);
    let mut here = CpuEngine::new(task.clone(), data.clone(), &start, Performance::default())?;
    let mut there = GpuEngine::new(gpu, &task, &data, &start, Performance::default()).await?;
    here.set_helpers(helpers);
    let (mut cpu, gpu) = (step_of(&mut here, lot, CPU).await?, step_of(&mut there, lot, GPU).await?);
    if gpu < cpu {
        // Preparing measures the helpers, which may be faster.
        here.prepare(0).await?;
        cpu = step_of(&mut here, lot, CPU / 2).await?;
    }
    Ok(Timings { cpu, gpu })
}

/// Milliseconds of a step on a lot of `lot` examples.
async fn step_of(engine: &mut impl Engine, lot: usize, within: Duration) -> Result<f64, EngineError> {
    let all: Vec<u32> = (0..lot.min(MOST) as u32).collect();
    let few = &all[..all.len().min(FEW)];
    let fits = |one: Duration, whole: Duration| (whole.as_nanos() / one.as_nanos().max(1)) as usize;
    // Untimed: the first run allocates and compiles.
    several(engine, few, 1).await?;
    let first = several(engine, few, 1).await?;
    let first = several(engine, few, (fits(first, within / 16) as u32).clamp(1, STEPS)).await?.min(first);
    let more = &all[..all.len().min(few.len().saturating_mul(fits(first, within / 8).max(1)))];
    let milliseconds = |time: Duration| 1e3 * time.as_secs_f64();
    if more.len() <= few.len() {
        return Ok(milliseconds(first) * lot as f64 / few.len() as f64);
    }
    let second = several(engine, more, 1).await?;
    let second = several(engine, more, (fits(second, within / 4) as u32).clamp(1, STEPS)).await?.min(second);
    let each = (milliseconds(second) - milliseconds(first)).max(0.0) / (more.len() - few.len()) as f64;
    Ok(milliseconds(second) + each * (lot - more.len()) as f64)
}

/// Mean time of one of `steps` steps.
async fn several(engine: &mut impl Engine, lot: &[u32], steps: u32) -> Result<Duration, EngineError> {
    let start = Instant::now();
    for _ in 0..steps {
        engine.step(StepInput::alone(lot, [1; 8], 1e-3)).await?;
    }
    engine.metrics().await?;
    Ok(start.elapsed() / steps)
}
