//! Private steps on a GPU and the limits of its memory and arithmetic, one JSON line each.
//!
//! `cargo run --release --no-default-features --features gpu --example gpu_bench [-- ADAPTER]`
//! with an adapter's number or name; the default is the first hardware one, if there is any.

#[cfg(not(target_arch = "wasm32"))]
#[path = "tasks.rs"]
mod tasks;

#[cfg(target_arch = "wasm32")]
fn main() {}

#[cfg(not(target_arch = "wasm32"))]
fn main() -> Result<(), native::EngineError> {
    pollster::block_on(native::run(std::env::args().nth(1)))
}

#[cfg(not(target_arch = "wasm32"))]
mod native {
    use std::time::{Duration, Instant};

    use hushgrad::{
        data::Dataset,
        engine::{
            Engine, EngineFactory, Performance, Task,
            gpu::{Gpu, GpuEngine, adapters},
        },
        mechanism::Denoiser,
        model::{Architecture, PIXELS, initial_parameters},
    };
    use serde_json::json;

    pub use hushgrad::engine::EngineError;

    use super::tasks;

    const MODEL: Architecture = Architecture::CnnTanh;
    /// Number of positions of each layer's filters.
    const PLACES: [usize; 4] = [14 * 14, 5 * 5, 1, 1];
    /// MNIST's size.
    const EXAMPLES: u32 = 60_000;
    const LOTS: [u32; 2] = [256, 4096];
    /// Smallest number of samples of each measurement.
    const SAMPLES: usize = 3;
    /// Duration of each measurement; a sample takes a tenth.
    const LOOK: Duration = Duration::from_secs(3);
    const MEMORY: &str = include_str!("memory.wgsl");
    const ARITHMETIC: &str = include_str!("arithmetic.wgsl");
    /// Largest size of each of two buffers, beyond a device's caches.
    const COPIED: u64 = 256 << 20;
    const GROUPS: u32 = 4096;
    const ROUNDS: u32 = 256;

    pub async fn run(wanted: Option<String>) -> Result<(), EngineError> {
        let there = adapters().await;
        let names: Vec<String> = there.iter().map(ToString::to_string).collect();
        println!("{}", json!({ "adapters": names }));
        let candidates: Vec<String> = wanted.map_or_else(
            || (0..there.len()).filter(|&n| !there[n].software).map(|n| n.to_string()).collect(),
            |wanted| vec![wanted],
        );
        let mut refused = None;
        for name in candidates {
            // A device often appears once per graphics API, not all with sufficient limits.
            match EngineFactory::gpu_called(&name).await {
                Ok(_) => return measure(&Gpu::acquire().await?).await,
                Err(why) => refused = Some(why),
            }
        }
        refused.map_or(Ok(()), Err)
    }

    async fn measure(gpu: &Gpu) -> Result<(), EngineError> {
        let report = gpu.report();
        let limits = Limits::new(gpu).await?;
        let (bandwidth, arithmetic) = (limits.bandwidth()?, limits.arithmetic()?);
        println!(
            "{}",
            json!({ "device": report.to_string(), "software": report.software, "processor": processor(), "bandwidth": bandwidth, "arithmetic": arithmetic })
        );
        drop(limits);
        let train = tasks::examples(EXAMPLES);
        for envelope in [false, true] {
            for lot in LOTS {
                steps(gpu, &train, envelope, lot).await?;
            }
        }
        for (name, denoiser) in tasks::DENOISERS {
            let [plain, with] = denoised(gpu, &train, denoiser).await?;
            println!("{}", json!({ "denoiser": name, "plain": plain, "samples": with }));
        }
        Ok(())
    }

    /// Returns the CPU's name, if the system reports it.
    fn processor() -> Option<String> {
        let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
        text.lines().find_map(|line| Some(line.strip_prefix("model name")?.split_once(": ")?.1.to_owned()))
    }

    /// Returns the milliseconds of steps without and with a denoiser, in alternating batches.
    async fn denoised(gpu: &Gpu, train: &Dataset, denoiser: Denoiser) -> Result<[Vec<f64>; 2], EngineError> {
        let initial = initial_parameters(MODEL, 1);
        let indices = tasks::lot(LOTS[0], EXAMPLES);
        let mut engines = Vec::new();
        for denoiser in [Denoiser::None, denoiser] {
            let task = Task { denoiser, ..tasks::task(MODEL, None, LOTS[0]) };
            engines.push((GpuEngine::new(gpu, &task, train, &initial, Performance::default()).await?, vec![]));
        }
        let start = Instant::now();
        let mut together = 0;
        while engines[1].1.len() < SAMPLES || start.elapsed() < LOOK {
            for (engine, samples) in &mut engines {
                let begin = Instant::now();
                for _ in 0..together.max(10) {
                    engine.step(tasks::input(&indices)).await?;
                }
                engine.metrics().await?;
                if together > 0 {
                    samples.push(1e3 * begin.elapsed().as_secs_f64() / f64::from(together));
                }
            }
            // The first batch is slower, as the device wakes up.
            together = 100;
        }
        Ok([0, 1].map(|engine| std::mem::take(&mut engines[engine].1)))
    }

    /// Measures the time per step, pipelined and alone.
    async fn steps(gpu: &Gpu, train: &Dataset, envelope: bool, lot: u32) -> Result<(), EngineError> {
        let task = tasks::task(MODEL, envelope.then_some(1), lot);
        let initial = initial_parameters(MODEL, 1);
        let mut engine = GpuEngine::new(gpu, &task, train, &initial, Performance::default()).await?;
        let indices = tasks::lot(lot, EXAMPLES);
        let mut some = async |count: u32| -> Result<f64, EngineError> {
            let start = Instant::now();
            for _ in 0..count {
                engine.step(tasks::input(&indices)).await?;
            }
            engine.metrics().await?;
            Ok(start.elapsed().as_secs_f64() / f64::from(count))
        };
        // The first steps are slower, as the device wakes up.
        some(2).await?;
        let once = some(1).await?;
        let together = (0.1 * LOOK.as_secs_f64() / once).clamp(1.0, 1000.0) as u32;
        let (mut samples, mut alone) = (vec![], vec![]);
        let start = Instant::now();
        while samples.len() < SAMPLES || start.elapsed() < LOOK {
            samples.push(1e3 * some(together).await?);
            alone.push(1e3 * some(1).await?);
        }
        let bytes = u64::from(lot) * (PIXELS as u64 + 4 + 2 * engine.kept_bytes());
        println!(
            "{}",
            json!({
                "envelope": envelope, "lot": lot, "samples": samples, "alone": alone,
                "operations": f64::from(lot) * operations(), "bytes": bytes,
            })
        );
        // Not for envelopes: repeats inflate the rank counts, which slows the search in them.
        if !envelope {
            for (kernel, seconds) in engine.kernel_seconds(tasks::input(&indices)).await? {
                println!("{}", json!({ "kernel": kernel, "lot": lot, "chunk": engine.chunk(), "ms": 1e3 * seconds }));
            }
        }
        Ok(())
    }

    /// Returns operations per example: two for each weight and position, forwards, for the weight
    /// gradient, and for the input gradient, which the first layer omits.
    fn operations() -> f64 {
        let layers = MODEL.layers();
        let all: Vec<f64> = layers
            .iter()
            .zip(PLACES)
            .map(|(layer, places)| 2.0 * (places * layer.outputs * layer.fan_in) as f64)
            .collect();
        3.0 * all.iter().sum::<f64>() - all[0]
    }

    /// Performance limits of a device.
    struct Limits<'a> {
        gpu: &'a Gpu,
        buffers: [wgpu::Buffer; 2],
    }

    impl Drop for Limits<'_> {
        fn drop(&mut self) {
            self.buffers.iter().for_each(wgpu::Buffer::destroy);
        }
    }

    impl<'a> Limits<'a> {
        async fn new(gpu: &'a Gpu) -> Result<Self, EngineError> {
            let size = COPIED.min(gpu.device().limits().max_storage_buffer_binding_size) & !255;
            let usage = wgpu::BufferUsages::STORAGE;
            let descriptor = wgpu::BufferDescriptor { label: Some("limit"), size, usage, mapped_at_creation: false };
            let make = || [0, 1].map(|_| gpu.device().create_buffer(&descriptor));
            Ok(Self { gpu, buffers: gpu.guarded("a copy", make).await? })
        }

        /// Returns bytes per second, half read and half written.
        fn bandwidth(&self) -> Result<f64, EngineError> {
            Ok(2.0 * self.buffers[0].size() as f64 / self.seconds(MEMORY, &[])?)
        }

        /// Returns operations per second, two per multiply–add.
        fn arithmetic(&self) -> Result<f64, EngineError> {
            let operations = f64::from(GROUPS) * 256.0 * 16.0 * 2.0 * 2.0 * f64::from(ROUNDS);
            Ok(operations / self.seconds(ARITHMETIC, &[("ROUNDS", f64::from(ROUNDS))])?)
        }

        /// Returns the seconds of one dispatch of `source`, best of all samples.
        fn seconds(&self, source: &str, constants: &[(&str, f64)]) -> Result<f64, EngineError> {
            let device = self.gpu.device();
            let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
                label: Some("limit"),
                source: wgpu::ShaderSource::Wgsl(source.into()),
            });
            let compilation_options =
                wgpu::PipelineCompilationOptions { constants, ..wgpu::PipelineCompilationOptions::default() };
            let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some("limit"),
                layout: None,
                module: &module,
                entry_point: Some("main"),
                compilation_options,
                cache: None,
            });
            let entries: Vec<_> = (0..)
                .zip(&self.buffers)
                .map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() })
                .collect();
            let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some("limit"),
                layout: &pipeline.get_bind_group_layout(0),
                entries: &entries,
            });
            let some = |count: u32| -> Result<f64, EngineError> {
                let start = Instant::now();
                let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                pass.set_pipeline(&pipeline);
                pass.set_bind_group(0, &group, &[]);
                (0..count).for_each(|_| pass.dispatch_workgroups(GROUPS, 1, 1));
                drop(pass);
                self.gpu.queue().submit([encoder.finish()]);
                let waited = device.poll(wgpu::PollType::wait_indefinitely());
                waited.map_err(|e| EngineError::DeviceLost(hushgrad_message::Message::text(e)))?;
                self.gpu.check()?;
                Ok(start.elapsed().as_secs_f64() / f64::from(count))
            };
            some(1)?;
            let together = (0.1 * LOOK.as_secs_f64() / some(1)?).clamp(1.0, 1000.0) as u32;
            let mut best = f64::INFINITY;
            let (start, mut samples) = (Instant::now(), 0);
            while samples < SAMPLES || start.elapsed() < LOOK {
                best = best.min(some(together)?);
                samples += 1;
            }
            Ok(best)
        }
    }
}
