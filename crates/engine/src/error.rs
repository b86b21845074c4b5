//! Errors of engines and tasks.

use crate::{
    accounting::noise::NoiseError,
    data::{Picture, sharing::SharingError},
    mechanism::MechanismError,
};
use hushgrad_message::{Message, message, word};

/// An engine that is unavailable, cannot run a task, or fails during one.
#[derive(Debug, hushgrad_message::Error)]
pub enum EngineError {
    #[error("no usable WebGPU adapter: {0}")]
    NoAdapter(Message),
    #[error("no graphics adapter here is called `{wanted}`; {}", those(.there))]
    UnknownAdapter { wanted: String, there: Vec<String> },
    #[error("the graphics device was lost ({0}); the run is kept and can go on from its last checkpoint")]
    DeviceLost(Message),
    /// `difference` is relative; NaN if the result is wrong whatever the size of the difference.
    #[error("{adapter} computed {what} wrongly in {}, so it is not used", known_step(*.difference))]
    WrongResult { adapter: String, what: Message, difference: f64 },
    #[error("this engine cannot run this: {0}")]
    Unsupported(#[from] Unsupported),
    #[error(transparent)]
    Sharing(#[from] SharingError),
    /// Detected before anything is allocated.
    #[error("{needed} bytes are needed for {what}, and the graphics device allows {limit} in one piece")]
    TooLarge { what: &'static str, needed: u64, limit: u64 },
    #[error("the run needs {needed} bytes on the graphics device, and this program uses at most {limit}")]
    OverBudget { needed: u64, limit: u64 },
    #[error("the graphics device has no memory left for {what}")]
    OutOfMemory { what: &'static str },
}

/// A part of a task, a dataset, a state or a lot that an engine does not support.
#[derive(Debug, hushgrad_message::Error)]
pub enum Unsupported {
    #[error("sums on a grid: WebGPU has 32-bit integers, and their noise needs 64 bits")]
    GridOnGpu,
    /// The kernels cannot derive the norm of a mean over copies from the copies' norms.
    #[error("augmentation on the graphics device: only the CPU averages over copies of each image")]
    AugmentationOnGpu,
    /// No kernel keeps separate parameters for each unit.
    #[error("several local steps of a user on the graphics device: only the CPU computes them")]
    SharingOnGpu,
    /// The kernel holds a plane in workgroup memory, twice.
    #[error("smoothing planes of {side}×{side} on the graphics device: its limit is {most}×{most}, the CPU has none")]
    SmoothingOnGpu { side: usize, most: usize },
    /// The kernels find a supremum without sorting; these distances are sums over sorted values.
    #[error("this distance from the noise, on the graphics device: only the CPU computes it")]
    DistanceOnGpu,
    /// Measured: 7 ms per image on lavapipe, 0.08 ms on one thread of the same processor.
    #[error("scattering features on this adapter: it is software, and the CPU alone is a hundred times faster")]
    ScatteringOnSoftware,
    /// A browser fetches the file when a run begins.
    #[error("features of a network whose file was not fetched")]
    NoExtractor,
    /// The named model's kernels read features of digits; those of built networks read pixels.
    #[error("layers on fixed features, on the graphics device: only the CPU computes them")]
    LayersOnFeatures,
    /// The CPU draws this noise from its own density.
    #[error("noise whose density changes this steeply: 32-bit quantiles on the graphics device would not match it")]
    SteepNoise,
    #[error("{what} on this device: {reason}")]
    Refused { what: &'static str, reason: Message },
    #[error(transparent)]
    Mechanism(#[from] MechanismError),
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// Noise, clipping norm, expected lot and values derived from them may change between phases.
    #[error("a task of another kind than the engine was made for")]
    OtherTask,
    #[error("an envelope encoder without its vectors")]
    NoEnvelope,
    #[error("an envelope over {parameters} parameters; the limit is {most}")]
    EnvelopeTooLong { parameters: usize, most: usize },
    #[error("{found} {what} where {expected} are needed")]
    Length { what: &'static str, found: usize, expected: usize },
    #[error("a dataset without examples")]
    NoExamples,
    #[error("the label {label}; labels of {classes} classes must be below {classes}")]
    Label { label: u8, classes: usize },
    #[error("images of {found} classes; the model has {expected}")]
    Classes { found: usize, expected: usize },
    #[error("images of {found}; the model reads {expected}")]
    Images { found: Picture, expected: Picture },
    #[error("example {index} of a training set of {examples} examples")]
    Example { index: u32, examples: usize },
    #[error("canary {canary} of an audit of {canaries}")]
    Canary { canary: u32, canaries: usize },
    #[error("features of {images} images: no memory for {bytes} bytes")]
    Features { images: usize, bytes: usize },
    #[cfg(not(target_arch = "wasm32"))]
    #[error("{count} threads: {error}")]
    Threads { count: usize, error: rayon::ThreadPoolBuildError },
    /// An error of an engine from another crate.
    #[error(transparent)]
    Other(Box<dyn core::error::Error + Send + Sync>),
}

impl From<MechanismError> for EngineError {
    fn from(error: MechanismError) -> Self {
        Unsupported::from(error).into()
    }
}

impl From<NoiseError> for EngineError {
    fn from(error: NoiseError) -> Self {
        Unsupported::from(error).into()
    }
}

/// Names the step with the relative difference found there, unless it is NaN.
fn known_step(difference: f64) -> Message {
    if difference.is_nan() {
        word!("a self-test").into()
    } else {
        message!("a self-test (relative difference {difference:.1e})")
    }
}

/// Lists adapters by number and name.
fn those(there: &[String]) -> Message {
    if there.is_empty() {
        return word!("there is none at all").into();
    }
    let numbered: Vec<String> = there.iter().enumerate().map(|(number, name)| format!("{number}: {name}")).collect();
    message!("available: {}", numbered.join("; "))
}
