//! Times private steps with a loop that also runs in a browser, printing one JSON object per case.
//!
//! `cargo run --release --no-default-features --example engine_bench` on one native thread;
//! in Chromium by `cargo xtask bench browser`.

use hushgrad::{
    data::Dataset,
    engine::{Backend, Engine, EngineError, EngineFactory},
    model::{Architecture, initial_parameters},
};
use serde_json::{Value, json};
use web_time::Instant;

#[path = "tasks.rs"]
mod tasks;

/// MNIST's size, for a realistic use of device memory.
const EXAMPLES: u32 = 60_000;
/// Steps queued on a graphics device before waiting, as many as the engine allows in flight.
const UNDER_WAY: u32 = 4;
/// Number of individually timed calls.
const CALLS: u32 = 20;

struct Bench {
    factory: EngineFactory,
    train: Dataset,
}

/// A step, measured for `seconds`.
struct Case {
    model: Architecture,
    /// If false, a flat clip.
    envelope: bool,
    lot: u32,
    seconds: f64,
}

impl Bench {
    fn new(mut factory: EngineFactory) -> Self {
        factory.threads(Some(1));
        Self { factory, train: tasks::examples(EXAMPLES) }
    }

    /// Returns the milliseconds per step of each sample: until completion, and until the call
    /// returns on an otherwise idle device (a software device computes on the caller's CPU).
    async fn measure(&self, case: &Case) -> Result<Value, EngineError> {
        let &Case { model, envelope, lot, seconds } = case;
        let task = tasks::task(model, envelope.then_some(1), lot);
        let mut engine = self.factory.build(&task, &self.train, &initial_parameters(model, 1)).await?;
        let indices = tasks::lot(lot, EXAMPLES);
        // Large lots keep a device busy on their own.
        let together = if engine.info().backend == Backend::Gpu && lot <= 256 { UNDER_WAY } else { 1 };
        let mut samples = vec![];
        let input = tasks::input(&indices);
        // Warm up first: browsers recompile functions that have run for a while.
        let start = Instant::now();
        let mut warm = false;
        let mut measured = 0.0;
        while measured < seconds || samples.len() < 3 {
            let batch = Instant::now();
            for _ in 0..together {
                engine.step(input.clone()).await?;
            }
            engine.metrics().await?;
            let took = batch.elapsed().as_secs_f64();
            if warm {
                measured += took;
                samples.push(1e3 * took / f64::from(together));
            }
            warm = warm || start.elapsed().as_secs_f64() > 0.4 * seconds;
        }
        let mut calling = vec![];
        for _ in 0..if together > 1 { CALLS } else { 1 } {
            let call = Instant::now();
            engine.step(input.clone()).await?;
            calling.push(1e3 * call.elapsed().as_secs_f64());
            engine.metrics().await?;
        }
        Ok(json!({ "device": engine.info().device, "samples": samples, "calling": calling }))
    }
}

#[cfg(not(target_arch = "wasm32"))]
fn main() -> Result<(), EngineError> {
    let bench = Bench::new(EngineFactory::cpu());
    for model in [Architecture::CnnTanh, Architecture::Mlp] {
        for envelope in [false, true] {
            let case = Case { model, envelope, lot: 256, seconds: 2.0 };
            let mut found = pollster::block_on(bench.measure(&case))?;
            found["model"] = json!(format!("{model:?}"));
            found["envelope"] = json!(envelope);
            found["lot"] = json!(case.lot);
            println!("{found}");
        }
    }
    Ok(())
}

#[cfg(target_arch = "wasm32")]
fn main() {
    console_error_panic_hook::set_once();
}

/// Entry points for the page.
#[cfg(target_arch = "wasm32")]
mod page {
    use hushgrad::{
        data::Dataset,
        engine::EngineFactory,
        model::Architecture,
        train::{plan::Plan, presets::Preset, projection::tight, session::Session},
    };
    use serde_json::json;
    use wasm_bindgen::prelude::{JsError, wasm_bindgen};
    use web_time::Instant;

    use super::{Bench, Case};

    /// Number of evaluations per run.
    const LOOKS: u64 = 10;

    #[wasm_bindgen]
    pub struct PageBench(Bench);

    #[wasm_bindgen]
    impl PageBench {
        /// Opens the benchmark on WebGPU if `gpu`, else on the CPU.
        pub async fn open(gpu: bool) -> Result<PageBench, JsError> {
            let factory = if gpu { EngineFactory::gpu_checked().await? } else { EngineFactory::cpu() };
            Ok(Self(Bench::new(factory)))
        }

        /// `model` is in the `Debug` form of `Architecture`. Returns JSON.
        pub async fn measure(&self, model: &str, envelope: bool, lot: u32, seconds: f64) -> Result<String, JsError> {
            let found = Architecture::ALL.into_iter().find(|m| format!("{m:?}") == model);
            let unknown = || JsError::new(&format!("no model is called {model}"));
            let case = Case { model: found.ok_or_else(unknown)?, envelope, lot, seconds };
            Ok(self.0.measure(&case).await?.to_string())
        }
    }

    /// Trains a preset on the CPU engine until it reaches test accuracy `goal` or its end, on
    /// MNIST's four files. Returns JSON with the seconds from files to result, planning and
    /// evaluations included, and the ε of the whole plan by tight accounting.
    #[wasm_bindgen]
    pub async fn reach(
        preset: &str,
        goal: f64,
        train_images: &[u8],
        train_labels: &[u8],
        test_images: &[u8],
        test_labels: &[u8],
    ) -> Result<String, JsError> {
        let start = Instant::now();
        let train = Dataset::from_idx("train", ("images", train_images), ("labels", train_labels))?;
        let test = Dataset::from_idx("test", ("images", test_images), ("labels", test_labels))?;
        let config = Preset::by_key(preset).ok_or_else(|| JsError::new("no such preset"))?.config();
        let plan = Plan::new(config.clone(), train.len() as u32)?;
        let steps = config.steps.ok_or_else(|| JsError::new("the preset has no end"))?;
        let engine = EngineFactory::cpu().build(&plan.task, &train, &plan.initial_parameters()).await?;
        let mut session = Session::new(plan, engine)?;
        let every = steps.div_ceil(LOOKS);
        let mut accuracy = 0.0;
        while !session.complete() && accuracy < goal {
            session.step().await?;
            if session.step_count().is_multiple_of(every) || session.complete() {
                accuracy = session.accuracy(&test).await?;
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        let epsilon = tight(&config, train.len() as u32, &[steps])?.last().map(|point| point.1);
        Ok(json!({
            "preset": preset, "goal": goal, "reached": accuracy >= goal, "seconds": seconds, "accuracy": accuracy,
            "steps": session.step_count(), "of": steps, "epsilon": epsilon,
        })
        .to_string())
    }
}
