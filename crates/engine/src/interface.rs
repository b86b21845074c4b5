//! The [`Engine`] trait, its inputs and its results.

use hushgrad_message::word;
use serde::{Deserialize, Serialize};

use super::{
    error::{EngineError, Unsupported},
    scores::{Probabilities, Scores},
    task::Task,
};
use crate::{
    data::{Dataset, Shift},
    mechanism::{
        State,
        canaries::{Canaries, DrawnCanary, Witness},
        counts::ReleasedCounts,
    },
    model::Architecture,
};

/// Inputs of one step.
#[derive(Clone, Debug)]
pub struct StepInput<'a> {
    /// Strictly ascending indices of the sampled training examples or, if examples share vectors,
    /// units ([`crate::data::sharing::Units`]). If empty, only noise is released.
    pub lot: &'a [u32],
    /// Shifted copies of each image. An example's gradient is the mean over its copies, then
    /// encoded (augmentation multiplicity, De et al. 2022). Not empty, as many as the task says,
    /// and the same for all examples of the lot.
    pub shifts: &'a [Shift],
    /// Canaries of the task that the step also sampled, each once.
    pub canaries: &'a [DrawnCanary],
    /// ChaCha20 key of this step's noise, drawn fresh from the run's CSPRNG.
    pub noise_key: [u32; 8],
    /// For correlated noise: number of earlier steps in the current sequence. 0 begins a sequence;
    /// a step that does not follow the last one is refused.
    pub position: u64,
    pub learning_rate: f32,
    /// Weight of the old mean when the mean of iterates is updated, in [0, 1].
    pub average_keeps: f32,
}

impl<'a> StepInput<'a> {
    /// A step without augmentation, canaries or mean of iterates, and the first of a noise
    /// sequence.
    #[must_use]
    pub const fn alone(lot: &'a [u32], noise_key: [u32; 8], learning_rate: f32) -> Self {
        Self { lot, shifts: Shift::ALONE, canaries: &[], noise_key, position: 0, learning_rate, average_keeps: 0.0 }
    }
}

/// Describes an engine, for display.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EngineInfo {
    pub backend: Backend,
    /// Adapter or CPU description, e.g. "SwiftShader (Vulkan)" or "wasm simd128, 1 thread".
    pub device: String,
}

/// Where an engine computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    Cpu,
    Gpu,
}

/// Counters that some engines must read back from the device, so they are read every n-th step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Examples with a non-finite gradient so far; each contributed zero. Derived from private
    /// data.
    pub non_finite: u64,
    /// Factor by which the last step's denoiser scaled the noisy sum; 1 if it did not scale.
    pub denoise_factor: f32,
}

/// Sums of one step over the lot, before division. `raw` and `encoded` come from private data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepTrace {
    pub raw: Vec<f32>,
    pub encoded: Vec<f32>,
    pub noisy: Vec<f32>,
    pub denoised: Vec<f32>,
}

/// Checks that `found` equals `expected`.
///
/// # Errors
/// [`Unsupported::Length`].
pub fn check_length(what: &'static str, found: usize, expected: usize) -> Result<(), EngineError> {
    if found == expected { Ok(()) } else { Err(Unsupported::Length { what, found, expected }.into()) }
}

/// Checks that `model` reads images like those of `data` and knows each label.
///
/// # Errors
/// [`Unsupported::Images`], [`Unsupported::NoExtractor`], [`Unsupported::Classes`],
/// [`Unsupported::Length`], [`Unsupported::Label`].
pub fn check_dataset(model: Architecture, data: &Dataset) -> Result<(), EngineError> {
    if data.picture != model.picture() {
        return Err(Unsupported::Images { found: data.picture, expected: model.picture() }.into());
    }
    if model.features().is_some_and(|map| !map.are_there()) {
        return Err(Unsupported::NoExtractor.into());
    }
    check_length(word!("bytes of images"), data.images.len(), data.labels.len() * data.pixels())?;
    let classes = model.classes();
    if data.classes.count() > classes {
        return Err(Unsupported::Classes { found: data.classes.count(), expected: classes }.into());
    }
    match data.labels.iter().find(|&&label| usize::from(label) >= classes) {
        Some(&label) => Err(Unsupported::Label { label, classes }.into()),
        None => Ok(()),
    }
}

/// Checks that the task's model reads the training set, and that it can be shared out as the task says.
///
/// # Errors
/// As [`check_dataset`], and [`EngineError::Sharing`].
pub fn check_training(task: &Task, train: &Dataset) -> Result<(), EngineError> {
    check_dataset(task.model, train)?;
    Ok(task.sharing.check(train)?)
}

/// Checks that every vector of `state` has length `dimension`.
///
/// # Errors
/// [`EngineError::Unsupported`].
pub fn check_state(state: &State, dimension: usize) -> Result<(), EngineError> {
    let State { parameters, momentum, average } = state;
    let average = average.as_ref().map_or(dimension, Vec::len);
    match [("parameters", parameters.len()), ("momenta", momentum.len()), (word!("mean parameters"), average)]
        .iter()
        .find(|(_, length)| *length != dimension)
    {
        Some((what, length)) => Err(Unsupported::Length { what, found: *length, expected: dimension }.into()),
        None => Ok(()),
    }
}

/// Checks that each drawn canary is one of the task's.
///
/// # Errors
/// [`Unsupported::Canary`].
pub fn check_canaries(canaries: Option<&Canaries>, drawn: &[DrawnCanary]) -> Result<(), EngineError> {
    let there = canaries.map_or(0, Canaries::len);
    match drawn.iter().find(|drawn| drawn.canary as usize >= there) {
        Some(drawn) => Err(Unsupported::Canary { canary: drawn.canary, canaries: there }.into()),
        None => Ok(()),
    }
}

/// Runs Algorithm 1 on the training set given to the constructor.
///
/// Contract, checked for every engine by `tests/engines.rs`: after one step with the same input,
/// parameters equal those of [`crate::mechanism`]'s reference within 1e-4 relative error; an
/// example with a non-finite gradient contributes zero and is counted.
#[expect(async_fn_in_trait, reason = "engines live on one thread in the browser; no Send bound is wanted")]
pub trait Engine {
    fn info(&self) -> &EngineInfo;

    /// Precomputes what up to `most` training examples need before their first step, and returns
    /// how many examples remain. A step computes the rest itself; earlier calls split that work.
    ///
    /// # Errors
    /// If memory runs out.
    async fn prepare(&mut self, _most: usize) -> Result<usize, EngineError> {
        Ok(0)
    }

    /// Performs one step: gradients → encode → sum → + noise → denoise → momentum → parameters. May
    /// return before the device has finished.
    ///
    /// # Errors
    /// When the device is lost; then no later call succeeds.
    async fn step(&mut self, input: StepInput<'_>) -> Result<(), EngineError>;

    /// Performs one step as [`Engine::step`] and reads its intermediate sums back.
    ///
    /// # Errors
    /// As [`Engine::step`].
    async fn traced_step(&mut self, input: StepInput<'_>) -> Result<StepTrace, EngineError>;

    /// Returns what the last step released besides the noisy sum; nothing if the engine never
    /// counts.
    ///
    /// # Errors
    /// As [`Engine::step`].
    async fn released_counts(&mut self) -> Result<ReleasedCounts, EngineError> {
        Ok(ReleasedCounts::default())
    }

    /// Returns an auditor's view of the last step; empty without canaries, or if already taken.
    ///
    /// # Errors
    /// As [`Engine::step`].
    async fn witness(&mut self) -> Result<Witness, EngineError> {
        Ok(Witness::default())
    }

    /// Waits for all steps and reads the counters.
    ///
    /// # Errors
    /// As [`Engine::step`].
    async fn metrics(&mut self) -> Result<Metrics, EngineError>;

    /// Switches to `task`, with other noise, clipping norm or expected lot. The state stays.
    ///
    /// # Errors
    /// [`Unsupported::OtherTask`] if anything else differs ([`Task::check_next`]); as
    /// [`Engine::step`].
    async fn set_task(&mut self, task: &Task) -> Result<(), EngineError>;

    /// Returns the logits of each image of `data`, by the mean of iterates if there is one.
    /// [`reading`](super::reading) turns them into digits.
    ///
    /// # Errors
    /// As [`Engine::step`].
    async fn scores(&mut self, data: &Dataset) -> Result<Scores, EngineError>;

    /// Returns the class probabilities of one image with values in [0, 1], by the same parameters.
    ///
    /// # Errors
    /// As [`Engine::step`].
    async fn predict(&mut self, image: &[f32]) -> Result<Probabilities, EngineError>;

    /// Returns what steps change.
    ///
    /// # Errors
    /// As [`Engine::step`].
    async fn state(&mut self) -> Result<State, EngineError>;

    /// Replaces the state. If the engine keeps a mean of iterates and `state` has none, the mean
    /// starts at the parameters.
    ///
    /// # Errors
    /// As [`Engine::step`]; if `state` belongs to another model.
    async fn set_state(&mut self, state: &State) -> Result<(), EngineError>;
}
