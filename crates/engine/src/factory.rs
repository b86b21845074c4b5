//! Selects a backend once and builds an engine for each run.

#[cfg(feature = "gpu")]
use super::{
    Backend, Unsupported, check,
    gpu::{Gpu, GpuEngine},
    timing,
};
use super::{
    Engine, EngineError, EngineInfo, Metrics, Performance, Probabilities, Scores, StepInput, StepTrace, Task, Timings,
    cpu::{CpuEngine, helpers::Helpers},
    outside::Outside,
};
#[cfg(feature = "gpu")]
use crate::model::Architecture;
use crate::{
    data::Dataset,
    mechanism::{State, canaries::Witness, counts::ReleasedCounts},
};

/// An engine of either backend. An enum, because async trait methods are not dyn-compatible.
pub enum AnyEngine {
    Cpu(Box<CpuEngine>),
    #[cfg(feature = "gpu")]
    Gpu(Box<GpuEngine>),
    Outside(Outside),
}

macro_rules! forward {
    ($self:ident, $engine:ident => $call:expr) => {
        match $self {
            AnyEngine::Cpu($engine) => $call,
            #[cfg(feature = "gpu")]
            AnyEngine::Gpu($engine) => $call,
            AnyEngine::Outside($engine) => $call,
        }
    };
}

impl Engine for AnyEngine {
    fn info(&self) -> &EngineInfo {
        forward!(self, engine => engine.info())
    }
    async fn prepare(&mut self, most: usize) -> Result<usize, EngineError> {
        forward!(self, engine => engine.prepare(most).await)
    }
    async fn step(&mut self, input: StepInput<'_>) -> Result<(), EngineError> {
        forward!(self, engine => engine.step(input).await)
    }
    async fn traced_step(&mut self, input: StepInput<'_>) -> Result<StepTrace, EngineError> {
        forward!(self, engine => engine.traced_step(input).await)
    }
    async fn released_counts(&mut self) -> Result<ReleasedCounts, EngineError> {
        forward!(self, engine => engine.released_counts().await)
    }

    async fn witness(&mut self) -> Result<Witness, EngineError> {
        forward!(self, engine => engine.witness().await)
    }
    async fn metrics(&mut self) -> Result<Metrics, EngineError> {
        forward!(self, engine => engine.metrics().await)
    }
    async fn set_task(&mut self, task: &Task) -> Result<(), EngineError> {
        #[cfg(feature = "gpu")]
        if let Self::Gpu(engine) = self {
            check::check(&engine.gpu().clone(), task).await?;
        }
        forward!(self, engine => engine.set_task(task).await)
    }
    async fn scores(&mut self, data: &Dataset) -> Result<Scores, EngineError> {
        forward!(self, engine => engine.scores(data).await)
    }
    async fn predict(&mut self, image: &[f32]) -> Result<Probabilities, EngineError> {
        forward!(self, engine => engine.predict(image).await)
    }
    async fn state(&mut self) -> Result<State, EngineError> {
        forward!(self, engine => engine.state().await)
    }
    async fn set_state(&mut self, state: &State) -> Result<(), EngineError> {
        forward!(self, engine => engine.set_state(state).await)
    }
}

/// True if `task` is left to the CPU although the device could run it.
#[cfg(feature = "gpu")]
fn refuses(gpu: &Gpu, task: &Task) -> bool {
    gpu.report().software && task.model == Architecture::Scattering
}

/// Builds an engine of another crate, as [`EngineFactory::build`].
pub type Builder = Box<dyn Fn(&Task, &Dataset, &[f32], Performance) -> Result<Outside, EngineError>>;

/// Builds engines of one backend.
pub struct EngineFactory {
    outside: Option<Builder>,
    #[cfg(feature = "gpu")]
    gpu: Option<Gpu>,
    performance: Performance,
    info: EngineInfo,
}

impl EngineFactory {
    /// Returns a factory of CPU engines; always available.
    #[must_use]
    pub fn cpu() -> Self {
        Self {
            outside: None,
            #[cfg(feature = "gpu")]
            gpu: None,
            performance: Performance::default(),
            info: CpuEngine::describe(Performance::default()),
        }
    }

    /// Returns a factory of another crate's engines.
    #[must_use]
    pub fn outside(info: EngineInfo, builder: Builder) -> Self {
        Self { outside: Some(builder), info, ..Self::cpu() }
    }

    /// Opens WebGPU and compares known steps of the smallest model with the CPU's: some drivers
    /// return wrong numbers without an error. [`Self::build`] also checks each kind of run.
    ///
    /// # Errors
    /// Why the CPU is used instead, as a sentence for the page.
    #[cfg(feature = "gpu")]
    pub async fn gpu_checked() -> Result<Self, EngineError> {
        Self::checked(Gpu::acquire().await?).await
    }

    /// As [`Self::gpu_checked`], on the adapter with this number or name in [`Self::adapters`].
    ///
    /// # Errors
    /// As [`Self::gpu_checked`], and [`EngineError::UnknownAdapter`].
    #[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
    pub async fn gpu_called(adapter: &str) -> Result<Self, EngineError> {
        Self::checked(Gpu::acquire_called(adapter)?).await
    }

    #[cfg(feature = "gpu")]
    async fn checked(gpu: Gpu) -> Result<Self, EngineError> {
        check::check(&gpu, &check::opening_task()).await?;
        Ok(Self::on(gpu))
    }

    /// Wraps a device without the check on opening, for tests.
    #[doc(hidden)]
    #[cfg(feature = "gpu")]
    #[must_use]
    pub fn on(gpu: Gpu) -> Self {
        let info = EngineInfo { backend: Backend::Gpu, device: gpu.report().to_string() };
        Self { outside: None, gpu: Some(gpu), performance: Performance::default(), info }
    }

    /// Fails: this build has no WebGPU.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(feature = "gpu"))]
    pub async fn gpu_checked() -> Result<Self, EngineError> {
        Err(EngineError::NoAdapter(hushgrad_message::word!("this build was made without the WebGPU engine").into()))
    }

    /// Fails: this build has no WebGPU.
    ///
    /// # Errors
    /// Always.
    #[cfg(all(not(feature = "gpu"), not(target_arch = "wasm32")))]
    pub async fn gpu_called(_: &str) -> Result<Self, EngineError> {
        Self::gpu_checked().await
    }

    /// Describes this machine's graphics adapters; an adapter's index is its number.
    #[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
    pub async fn adapters() -> Vec<String> {
        super::gpu::adapters().await.iter().map(ToString::to_string).collect()
    }

    /// Returns an empty list: this build has no WebGPU.
    #[cfg(all(not(feature = "gpu"), not(target_arch = "wasm32")))]
    pub async fn adapters() -> Vec<String> {
        Vec::new()
    }

    /// Sets the CPU threads of future engines; `None` means all. Does not affect results.
    pub fn threads(&mut self, threads: Option<u32>) {
        self.performance.threads = threads;
    }

    /// Times a step of `task` on both engines. `None` if this factory builds CPU engines anyway, or
    /// if the device cannot run the task; [`Self::build`] then returns the reason.
    pub async fn timings(&self, task: &Task, helpers: Option<Helpers>) -> Option<Timings> {
        #[cfg(feature = "gpu")]
        if let Some(gpu) = self.gpu.as_ref().filter(|gpu| !refuses(gpu, task)) {
            return timing::timings(gpu, task, helpers).await.ok();
        }
        let _ = (task, helpers);
        None
    }

    #[must_use]
    pub fn info(&self) -> EngineInfo {
        self.info.clone()
    }

    /// Builds an engine that trains on `train` from `initial` parameters. Before the first run of a
    /// kind, a graphics device is checked with known steps of that kind.
    ///
    /// # Errors
    /// If the task is not supported, or the device lacks memory, is lost, or computes wrongly.
    pub async fn build(&self, task: &Task, train: &Dataset, initial: &[f32]) -> Result<AnyEngine, EngineError> {
        #[cfg(feature = "gpu")]
        if let Some(gpu) = &self.gpu {
            if refuses(gpu, task) {
                return Err(Unsupported::ScatteringOnSoftware.into());
            }
            check::check(gpu, task).await?;
            let engine = GpuEngine::new(gpu, task, train, initial, self.performance).await?;
            return Ok(AnyEngine::Gpu(Box::new(engine)));
        }
        if let Some(builder) = &self.outside {
            return Ok(AnyEngine::Outside(builder(task, train, initial, self.performance)?));
        }
        let engine = CpuEngine::new(task.clone(), train.clone(), initial, self.performance)?;
        Ok(AnyEngine::Cpu(Box::new(engine)))
    }
}
