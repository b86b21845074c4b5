//! One trait, two engines. What an engine computes is fixed by [`Task`]; how fast, by [`Performance`], which can
//! change nothing else.

#[cfg(feature = "gpu")]
mod check;
pub mod cpu;
mod factory;
#[cfg(feature = "gpu")]
pub mod gpu;

use std::sync::Arc;

pub mod reading;
pub mod reference;

use serde::{Deserialize, Serialize};

pub use self::{
    factory::{AnyEngine, EngineFactory},
    reading::{Probabilities, Reading, Scores},
};
use crate::{
    accounting::{noise::NoiseSpec, rounding::GridRounding},
    data::{Dataset, Shift},
    mechanism::{
        Algorithm, Denoiser, Encoder, EncoderSpec, MechanismError, State, envelope::Envelope, exact_sum::SumGrid,
    },
    model::{Architecture, CLASSES},
};

/// Algorithm 1 as an engine runs it: the part of the plan that tensors need.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    pub model: Architecture,
    pub encoder: EncoderSpec,
    /// Ψ, where the encoder is an envelope: the very vectors that are accounted for.
    pub envelope: Option<Arc<Envelope>>,
    pub noise: Option<NoiseSpec>,
    /// Sums are exact on this grid and noise is rounded to it, as [`crate::mechanism::grid`] does; the CPU alone has the numbers for it.
    pub grid: Option<GridRounding>,
    pub denoiser: Denoiser,
    /// The sum is divided by this (the *expected* lot: the drawn size is private).
    pub expected_lot: f32,
    pub momentum: f32,
    /// Whether a mean of the parameters' iterates is kept, and images are read with it.
    pub averaging: bool,
    /// Copies of each example that its gradient is the mean of, at least one.
    pub copies: u32,
}

impl Task {
    /// Nothing bounded, no noise, sums of gradients as they are: for public digits, and for reading alone.
    #[must_use]
    pub const fn without_privacy(model: Architecture) -> Self {
        Self {
            model,
            encoder: EncoderSpec::None,
            envelope: None,
            noise: None,
            grid: None,
            denoiser: Denoiser::None,
            expected_lot: 1.0,
            momentum: 0.0,
            averaging: false,
            copies: 1,
        }
    }

    /// Algorithm 1 of this task, over gradients of length `p`.
    ///
    /// # Errors
    /// When encoder, noise or denoiser is refused, or Ψ's vectors are not of length `p`.
    pub fn algorithm(&self, p: usize) -> Result<Algorithm, MechanismError> {
        let encoder = match &self.envelope {
            Some(envelope) => Encoder::with_envelope(&self.encoder, Arc::clone(envelope), p)?,
            None => Encoder::new(&self.encoder, p)?,
        };
        let algorithm = Algorithm::new(encoder, self.noise.as_ref(), self.denoiser, self.expected_lot, self.momentum)?;
        Ok(algorithm.on_grid(self.grid))
    }

    /// The grid that encoded coordinates are rounded to, so that their sums are exact: where noise and a bound make a guarantee, and no
    /// `grid` does.
    #[must_use]
    pub fn sum_grid(&self) -> Option<SumGrid> {
        if self.noise.is_none() || self.grid.is_some() {
            return None;
        }
        match (&self.encoder, &self.envelope) {
            (EncoderSpec::Clip { norm }, _) => Some(SumGrid::of(*norm)),
            (EncoderSpec::Envelope { .. }, Some(envelope)) => Some(SumGrid::of(envelope.largest().into())),
            _ => None,
        }
    }
}

/// Flags that change speed and memory, never the result's distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Performance {
    /// Examples whose gradients are in memory at a time; `None`: the engine's choice.
    pub chunk: Option<u32>,
    /// CPU threads (native only); `None`: all.
    pub threads: Option<u32>,
}

/// What one step needs from outside.
#[derive(Clone, Debug)]
pub struct StepInput<'a> {
    /// The sampled examples, by index into the training set, strictly ascending. May be empty: then noise alone is released.
    pub lot: &'a [u32],
    /// An example's gradient is the mean over these copies of its image, then encoded: its augmentation multiplicity
    /// (De et al. 2022). Not empty, as many as the task says, and the same for all examples of the lot.
    pub shifts: &'a [Shift],
    /// ChaCha20 key of this step's noise, drawn fresh from the run's CSPRNG.
    pub noise_key: [u32; 8],
    pub learning_rate: f32,
    /// What a mean of iterates keeps of itself: its weight beside the new parameters', in [0, 1].
    pub average_keeps: f32,
}

/// What runs, in words for the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EngineInfo {
    pub backend: Backend,
    /// Adapter or CPU description, e.g. "SwiftShader (Vulkan)" or "wasm simd128, 1 thread".
    pub device: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    Cpu,
    Gpu,
}

/// Counters that need a readback on some engines: asked for every n-th step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Examples whose gradient was not finite since the start: each contributed zero. Looks at private data.
    pub non_finite: u64,
    /// Kolmogorov–Smirnov factor of the last step; 1 without denoiser.
    pub denoise_factor: f32,
}

/// The four pictures of one step: sums over the lot, before division. `raw` and `encoded` look at private data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepTrace {
    pub raw: Vec<f32>,
    pub encoded: Vec<f32>,
    pub noisy: Vec<f32>,
    pub denoised: Vec<f32>,
}

/// How often each digit (row) was read as each other (column).
pub type Confusion = [[u32; CLASSES]; CLASSES];

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("no usable WebGPU adapter: {0}")]
    NoAdapter(String),
    #[error("no graphics adapter here is called `{wanted}`; {}", those(.there))]
    UnknownAdapter { wanted: String, there: Vec<String> },
    #[error("the graphics device was lost ({0}); the run is kept and can go on from its last checkpoint")]
    DeviceLost(String),
    /// `difference` is relative; NaN where something is wrong whatever its size.
    #[error("{adapter} computed {what} wrongly in a known step{}, so it is not used", by(*.difference))]
    WrongResult { adapter: String, what: String, difference: f64 },
    #[error("this engine cannot run {0}")]
    Unsupported(String),
    /// Known before anything is allocated.
    #[error("{needed} bytes are needed for {what}, and the graphics device allows {limit} in one piece")]
    TooLarge { what: &'static str, needed: u64, limit: u64 },
    #[error("the run needs {needed} bytes on the graphics device, and this program takes {limit} of one at most")]
    OverBudget { needed: u64, limit: u64 },
    #[error("the graphics device has no memory left for {what}")]
    OutOfMemory { what: &'static str },
}

/// Whether `state` is one of so many parameters.
///
/// # Errors
/// [`EngineError::Unsupported`].
pub fn check_state(state: &State, dimension: usize) -> Result<(), EngineError> {
    let State { parameters, momentum, average } = state;
    let average = average.as_ref().map_or(dimension, Vec::len);
    match [("parameters", parameters.len()), ("momenta", momentum.len()), ("mean parameters", average)]
        .iter()
        .find(|(_, length)| *length != dimension)
    {
        Some((what, length)) => {
            Err(EngineError::Unsupported(format!("{length} {what} where the model has {dimension} parameters")))
        }
        None => Ok(()),
    }
}

/// A difference in words, if it is a number.
fn by(difference: f64) -> String {
    if difference.is_nan() { String::new() } else { format!(" (relative difference {difference:.1e})") }
}

/// Adapters by number and name.
fn those(there: &[String]) -> String {
    if there.is_empty() {
        return "there is none at all".to_owned();
    }
    let numbered: Vec<String> = there.iter().enumerate().map(|(number, name)| format!("{number}: {name}")).collect();
    format!("there are {}", numbered.join("; "))
}

/// Runs Algorithm 1 on a training set that was given to its constructor.
///
/// Contract, checked by `tests/engines.rs` for every engine: after one step with the same input, parameters equal those of
/// [`crate::mechanism`]'s reference within 1e-4 relative error; an example with a non-finite gradient contributes zero and is counted.
#[expect(async_fn_in_trait, reason = "engines live on one thread in the browser; no Send bound is wanted")]
pub trait Engine {
    fn info(&self) -> &EngineInfo;

    /// Computes what training examples need before their first step, for `most` of them, and answers how many are left. A step does
    /// what is left of it; asked for before, it is done a piece at a time.
    ///
    /// # Errors
    /// When there is no memory for it.
    async fn prepare(&mut self, _most: usize) -> Result<usize, EngineError> {
        Ok(0)
    }

    /// One step: gradients → encode → sum → + noise → denoise → momentum → parameters. May return before the device is done.
    ///
    /// # Errors
    /// When the device is lost; then no later call succeeds.
    async fn step(&mut self, input: StepInput<'_>) -> Result<(), EngineError>;

    /// One step as [`Engine::step`], with its intermediate sums read back.
    ///
    /// # Errors
    /// As [`Engine::step`].
    async fn traced_step(&mut self, input: StepInput<'_>) -> Result<StepTrace, EngineError>;

    /// Waits for all steps and reads the counters.
    ///
    /// # Errors
    /// As [`Engine::step`].
    async fn metrics(&mut self) -> Result<Metrics, EngineError>;

    /// The logits of each image of `data`, of the mean of iterates where there is one. [`reading`] makes digits of them.
    ///
    /// # Errors
    /// As [`Engine::step`].
    async fn scores(&mut self, data: &Dataset) -> Result<Vec<Scores>, EngineError>;

    /// Class probabilities of one image of 784 pixels in [0, 1], by the same parameters.
    ///
    /// # Errors
    /// As [`Engine::step`].
    async fn predict(&mut self, image: &[f32]) -> Result<Probabilities, EngineError>;

    /// What steps change.
    ///
    /// # Errors
    /// As [`Engine::step`].
    async fn state(&mut self) -> Result<State, EngineError>;

    /// Replaces it. Where a mean of iterates is to be kept and `state` has none, the parameters are taken for it.
    ///
    /// # Errors
    /// As [`Engine::step`]; when `state` is of another model.
    async fn set_state(&mut self, state: &State) -> Result<(), EngineError>;
}
