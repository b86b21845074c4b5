//! Chooses an engine once and builds one for every run.

#[cfg(feature = "gpu")]
use super::{
    Backend,
    gpu::{Gpu, GpuEngine},
};
use super::{
    Engine, EngineError, EngineInfo, Metrics, Performance, Probabilities, Scores, StepInput, StepTrace, Task,
    cpu::CpuEngine,
};
use crate::{data::Dataset, mechanism::State};
#[cfg(feature = "gpu")]
use crate::{
    data::{self, Shift},
    mechanism::{Denoiser, EncoderSpec},
    model::{self, Architecture},
    privacy::noise::NoiseSpec,
};

/// Largest relative difference (L2) between the parameters of both engines after the known step.
#[cfg(feature = "gpu")]
const CHECK_TOLERANCE: f64 = 1e-4;

/// Measured: 7 ms an image on lavapipe, 0.08 ms on one thread of the same processor.
#[cfg(feature = "gpu")]
const SOFTWARE: &str =
    "scattering features on this adapter: it is software, and the CPU finds them a hundred times sooner by itself";

/// Either engine. An enum, because an async trait makes no trait objects.
pub enum AnyEngine {
    Cpu(Box<CpuEngine>),
    #[cfg(feature = "gpu")]
    Gpu(Box<GpuEngine>),
}

macro_rules! forward {
    ($self:ident, $engine:ident => $call:expr) => {
        match $self {
            AnyEngine::Cpu($engine) => $call,
            #[cfg(feature = "gpu")]
            AnyEngine::Gpu($engine) => $call,
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
    async fn metrics(&mut self) -> Result<Metrics, EngineError> {
        forward!(self, engine => engine.metrics().await)
    }
    async fn scores(&mut self, data: &Dataset) -> Result<Vec<Scores>, EngineError> {
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

/// Makes engines of one backend.
pub struct EngineFactory {
    #[cfg(feature = "gpu")]
    gpu: Option<Gpu>,
    performance: Performance,
    info: EngineInfo,
}

impl EngineFactory {
    /// The CPU engine: always there.
    #[must_use]
    pub fn cpu() -> Self {
        Self {
            #[cfg(feature = "gpu")]
            gpu: None,
            performance: Performance::default(),
            info: CpuEngine::describe(Performance::default()),
        }
    }

    /// WebGPU, after one known step whose result agrees with the CPU's: some drivers return wrong numbers without an error.
    ///
    /// # Errors
    /// With a sentence for the page: why the CPU is used instead.
    #[cfg(feature = "gpu")]
    pub async fn gpu_checked() -> Result<Self, EngineError> {
        Self::checked(Gpu::acquire().await?).await
    }

    /// As [`Self::gpu_checked`], on the adapter of this number or name among [`Self::adapters`].
    ///
    /// # Errors
    /// As [`Self::gpu_checked`], and [`EngineError::UnknownAdapter`].
    #[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
    pub async fn gpu_called(adapter: &str) -> Result<Self, EngineError> {
        Self::checked(Gpu::acquire_called(adapter)?).await
    }

    #[cfg(feature = "gpu")]
    async fn checked(gpu: Gpu) -> Result<Self, EngineError> {
        let info = EngineInfo { backend: Backend::Gpu, device: gpu.report().to_string() };
        let factory = Self { gpu: Some(gpu), performance: Performance::default(), info };
        factory.check_known_step().await?;
        Ok(factory)
    }

    /// This build has no WebGPU.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(feature = "gpu"))]
    pub async fn gpu_checked() -> Result<Self, EngineError> {
        Err(EngineError::NoAdapter("this build was made without the WebGPU engine".to_owned()))
    }

    /// This build has no WebGPU.
    ///
    /// # Errors
    /// Always.
    #[cfg(all(not(feature = "gpu"), not(target_arch = "wasm32")))]
    pub async fn gpu_called(_: &str) -> Result<Self, EngineError> {
        Self::gpu_checked().await
    }

    /// The graphics adapters of this machine, in words; each one's place is its number.
    #[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
    pub async fn adapters() -> Vec<String> {
        super::gpu::adapters().await.iter().map(ToString::to_string).collect()
    }

    /// None that this build could use.
    #[cfg(all(not(feature = "gpu"), not(target_arch = "wasm32")))]
    pub async fn adapters() -> Vec<String> {
        Vec::new()
    }

    /// CPU threads of the engines to come; `None`: all. Without effect on the results.
    pub fn threads(&mut self, threads: Option<u32>) {
        self.performance.threads = threads;
    }

    #[must_use]
    pub fn info(&self) -> EngineInfo {
        self.info.clone()
    }

    /// An engine that trains on `train` from `initial` parameters.
    ///
    /// # Errors
    /// When the device has too little memory or is lost.
    pub async fn build(&self, task: &Task, train: &Dataset, initial: &[f32]) -> Result<AnyEngine, EngineError> {
        #[cfg(feature = "gpu")]
        if let Some(gpu) = &self.gpu {
            if gpu.report().software && task.model == Architecture::Scattering {
                return Err(EngineError::Unsupported(SOFTWARE.to_owned()));
            }
            let engine = GpuEngine::new(gpu, task, train, initial, self.performance).await?;
            return Ok(AnyEngine::Gpu(Box::new(engine)));
        }
        let engine = CpuEngine::new(task.clone(), train.clone(), initial, self.performance)?;
        Ok(AnyEngine::Cpu(Box::new(engine)))
    }

    #[cfg(feature = "gpu")]
    async fn check_known_step(&self) -> Result<(), EngineError> {
        let train = data::synthetic::digits(1, 40, 1).train;
        let task = Task {
            model: Architecture::Linear,
            encoder: EncoderSpec::Clip { norm: 1.0 },
            envelope: None,
            noise: Some(NoiseSpec::Gaussian { sigma: 0.5 }),
            grid: None,
            denoiser: Denoiser::KolmogorovSmirnov,
            expected_lot: 32.0,
            copies: 1,
            momentum: 0.5,
            averaging: false,
        };
        let initial = model::initial_parameters(task.model, 1);
        let lot: Vec<u32> = (0..33).collect();
        let input = || StepInput {
            lot: &lot,
            shifts: Shift::ALONE,
            noise_key: [1, 2, 3, 4, 5, 6, 7, 8],
            learning_rate: 1.0,
            average_keeps: 0.0,
        };
        let mut here = self.build(&task, &train, &initial).await?;
        let mut there = Self::cpu().build(&task, &train, &initial).await?;
        here.step(input()).await?;
        there.step(input()).await?;
        let here = here.state().await?.parameters;
        let there = there.state().await?.parameters;
        let difference = difference(&initial, &there, &here);
        // Also false for NaN.
        if difference <= CHECK_TOLERANCE {
            Ok(())
        } else {
            Err(EngineError::WrongResult { adapter: self.info.device.clone(), difference })
        }
    }
}

/// How far `found` is from `expected`, relative to how far that is from `initial`; NaN where any of it is.
#[cfg(feature = "gpu")]
fn difference(initial: &[f32], expected: &[f32], found: &[f32]) -> f64 {
    let apart = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>().sqrt();
    apart(expected, found) / apart(initial, expected)
}

#[cfg(all(test, feature = "gpu"))]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_step_is_told_from_a_right_one() {
        let (initial, expected) = ([0.0, 1.0, 2.0], [0.5, 1.5, 1.0]);
        let rounded = [0.5 + 1e-7, 1.5, 1.0 - 1e-7];
        assert!(difference(&initial, &expected, &rounded) <= CHECK_TOLERANCE);
        let wrong: [[f32; 3]; 5] =
            [initial, [0.5, 1.5, 1.01], [0.5, 1.5, f32::NAN], [f32::INFINITY, 1.5, 1.0], [-0.5, -1.5, -1.0]];
        for wrong in wrong {
            let difference = difference(&initial, &expected, &wrong);
            assert!(difference.is_nan() || difference > CHECK_TOLERANCE, "{wrong:?}: {difference}");
        }
        // A step that moved nothing proves nothing.
        assert!(difference(&initial, &initial, &initial).is_nan());
    }
}
