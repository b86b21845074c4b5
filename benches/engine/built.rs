//! Private steps of user-built networks and the named models on both engines, one JSON line each.
//!
//! `cargo run --release --no-default-features --features gpu --example built_bench [-- ADAPTER]`
//! with an adapter's number or name; the default is the first, even if it is software.

#[cfg(not(target_arch = "wasm32"))]
#[path = "tasks.rs"]
mod tasks;

#[cfg(target_arch = "wasm32")]
fn main() {}

#[cfg(not(target_arch = "wasm32"))]
fn main() -> Result<(), Box<dyn core::error::Error>> {
    pollster::block_on(native::run(std::env::args().nth(1)))
}

#[cfg(not(target_arch = "wasm32"))]
mod native {
    use std::time::{Duration, Instant};

    use hushgrad::{
        engine::{
            Engine, EngineError, Performance,
            cpu::CpuEngine,
            gpu::{Gpu, GpuEngine},
        },
        model::{Architecture, initial_parameters, layers::LayersError},
    };
    use serde_json::json;

    use super::tasks;

    const LISTS: [&str; 3] = [
        "conv 8 5x5/2 same, tanh, maxpool 2, dense 10",
        "conv 16 3x3/2 same, groupnorm 4, relu, conv 32 3x3/2 same, relu, avgpool 7, dense 10",
        "dense 64, relu, dense 64, relu, dense 10",
    ];
    /// Small, as software adapters take 7 ms per image to compute features.
    const EXAMPLES: u32 = 1024;
    const LOT: u32 = 256;
    /// Smallest number of samples of each.
    const SAMPLES: usize = 5;
    const LOOK: Duration = Duration::from_secs(3);

    /// Prints adapter and processor, then the milliseconds of each model on each.
    pub async fn run(wanted: Option<String>) -> Result<(), Box<dyn core::error::Error>> {
        let gpu = match wanted {
            Some(wanted) => Gpu::acquire_called(&wanted)?,
            None => Gpu::acquire().await?,
        };
        let train = tasks::examples(EXAMPLES);
        let cpu = CpuEngine::describe(Performance::default()).device;
        println!("{}", json!({ "adapter": gpu.report().to_string(), "software": gpu.report().software, "cpu": cpu }));
        let lists = LISTS.iter().map(|list| Ok(Architecture::Built(list.parse()?)));
        let models = Architecture::ALL.into_iter().map(Ok).chain(lists).collect::<Result<Vec<_>, LayersError>>()?;
        for model in models {
            let (task, start) = (tasks::task(model, None, LOT), initial_parameters(model, 1));
            let mut here = CpuEngine::new(task.clone(), train.clone(), &start, Performance::default())?;
            let mut there = GpuEngine::new(&gpu, &task, &train, &start, Performance::default()).await?;
            let (cpu, gpu) = (samples(&mut here).await?, samples(&mut there).await?);
            for (backend, samples) in [("cpu", cpu), ("gpu", gpu)] {
                let parameters = model.parameters();
                println!(
                    "{}",
                    json!({ "model": model.to_string(), "parameters": parameters, "backend": backend, "samples": samples })
                );
            }
        }
        Ok(())
    }

    /// Returns the milliseconds per step, for batches of pipelined steps.
    async fn samples(engine: &mut impl Engine) -> Result<Vec<f64>, EngineError> {
        const TOGETHER: u32 = 4;
        let indices = tasks::lot(LOT, EXAMPLES);
        let mut found = Vec::new();
        let mut start = Instant::now();
        for number in 0.. {
            let begin = Instant::now();
            for _ in 0..TOGETHER {
                engine.step(tasks::input(&indices)).await?;
            }
            engine.metrics().await?;
            // Discard the first batch: it compiles kernels and computes features.
            if number == 0 {
                start = Instant::now();
                continue;
            }
            found.push(1e3 * begin.elapsed().as_secs_f64() / f64::from(TOGETHER));
            if found.len() >= SAMPLES && start.elapsed() > LOOK {
                break;
            }
        }
        Ok(found)
    }
}
