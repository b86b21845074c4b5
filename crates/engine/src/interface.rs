//! What the rest of the program may ask of an engine.

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
        counts::Told,
    },
    model::Architecture,
};

/// What one step needs from outside.
#[derive(Clone, Debug)]
pub struct StepInput<'a> {
    /// The sampled examples, by index into the training set, strictly ascending; where some share a vector, the sampled units ([`crate::data::sharing::Units`]). May be
    /// empty: then noise alone is released.
    pub lot: &'a [u32],
    /// An example's gradient is the mean over these copies of its image, then encoded: its augmentation multiplicity
    /// (De et al. 2022). Not empty, as many as the task says, and the same for all examples of the lot.
    pub shifts: &'a [Shift],
    /// Canaries of the task that the step drew as well, each once.
    pub canaries: &'a [DrawnCanary],
    /// ChaCha20 key of this step's noise, drawn fresh from the run's CSPRNG.
    pub noise_key: [u32; 8],
    /// Where noise is correlated: steps of the present sequence before this one. 0 begins a sequence; a step that does not follow the last one is refused.
    pub position: u64,
    pub learning_rate: f32,
    /// What a mean of iterates keeps of itself: its weight beside the new parameters', in [0, 1].
    pub average_keeps: f32,
}

impl<'a> StepInput<'a> {
    /// A step by itself: each example alone, no mean of iterates, and the first of a sequence where noise is correlated.
    #[must_use]
    pub const fn alone(lot: &'a [u32], noise_key: [u32; 8], learning_rate: f32) -> Self {
        Self { lot, shifts: Shift::ALONE, canaries: &[], noise_key, position: 0, learning_rate, average_keeps: 0.0 }
    }
}

/// What runs, in words for the page.
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

/// Whether there are as many of `what` as are needed.
///
/// # Errors
/// [`Unsupported::Length`].
pub fn check_length(what: &'static str, found: usize, expected: usize) -> Result<(), EngineError> {
    if found == expected { Ok(()) } else { Err(Unsupported::Length { what, found, expected }.into()) }
}

/// Whether `data` has images that `model` reads, and a label that it knows for each.
///
/// # Errors
/// [`Unsupported::Images`], [`Unsupported::Classes`], [`Unsupported::Length`], [`Unsupported::Label`].
pub fn check_dataset(model: Architecture, data: &Dataset) -> Result<(), EngineError> {
    if data.picture != model.picture() {
        return Err(Unsupported::Images { found: data.picture, expected: model.picture() }.into());
    }
    if model.features().is_some_and(|map| !map.are_there()) {
        return Err(Unsupported::NoExtractor.into());
    }
    check_length("bytes of images", data.images.len(), data.labels.len() * data.pixels())?;
    let classes = model.classes();
    if data.classes.count() > classes {
        return Err(Unsupported::Classes { found: data.classes.count(), expected: classes }.into());
    }
    match data.labels.iter().find(|&&label| usize::from(label) >= classes) {
        Some(&label) => Err(Unsupported::Label { label, classes }.into()),
        None => Ok(()),
    }
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
        Some((what, length)) => Err(Unsupported::Length { what, found: *length, expected: dimension }.into()),
        None => Ok(()),
    }
}

/// Whether canaries that a step drew are among those of its task, if it has any.
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

    /// What the last step released beside the noisy sum; an engine that takes no task with counts tells nothing.
    ///
    /// # Errors
    /// As [`Engine::step`].
    async fn told(&mut self) -> Result<Told, EngineError> {
        Ok(Told::default())
    }

    /// What the last step released at the canaries' coordinates. Empty where the task has no canaries, and once it was asked for.
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

    /// Goes on with another noise, clipping norm or expected lot: the steps from here on are those of `task`. What steps have changed stays.
    ///
    /// # Errors
    /// [`Unsupported::OtherTask`] where anything else differs ([`Task::check_next`]), and nothing changes; as [`Engine::step`].
    async fn set_task(&mut self, task: &Task) -> Result<(), EngineError>;

    /// The logits of each image of `data`, of the mean of iterates where there is one. [`reading`](super::reading) makes digits of them.
    ///
    /// # Errors
    /// As [`Engine::step`].
    async fn scores(&mut self, data: &Dataset) -> Result<Scores, EngineError>;

    /// Class probabilities of one image, of values in [0, 1], by the same parameters.
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
