//! What this layer refuses.

use crate::accounting::noise::NoiseError;

/// Most vectors of an envelope.
pub const MAX_VECTORS: u32 = 4096;
/// Most entries of an envelope, vectors × parameters: 512 MiB of f32.
pub const MAX_ENTRIES: usize = 1 << 27;

/// A mechanism that cannot be built, or slices that do not fit together.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MechanismError {
    /// The number of vectors asked for is not 1 to [`MAX_VECTORS`].
    #[error("the envelope Ψ was asked for {0} vectors; it takes 1 to {MAX_VECTORS}")]
    EnvelopeVectors(u32),
    /// Vectors of length 0.
    #[error("the envelope's vectors have length 0; they need one entry for each parameter of the model")]
    EnvelopeDimension,
    /// More than [`MAX_ENTRIES`] entries.
    #[error(
        "an envelope of {vectors} vectors of length {dimension} is too large (limit: {MAX_ENTRIES} entries in all): \
         take fewer vectors"
    )]
    EnvelopeSize {
        /// Number of vectors asked for.
        vectors: u32,
        /// Length of each.
        dimension: usize,
    },
    /// Ψ was drawn for another model.
    #[error("the envelope's vectors have length {found}; the model has {expected} parameters")]
    EnvelopeLength {
        /// P, the model's parameters.
        expected: usize,
        /// Length of Ψ's vectors.
        found: usize,
    },
    /// The allocator has no room for Ψ.
    #[error("no memory for the envelope's {bytes} bytes: take fewer vectors")]
    EnvelopeMemory {
        /// What Ψ takes, 4 bytes an entry.
        bytes: usize,
    },
    /// A clipping norm outside [1e-9, 1e9].
    #[error("the clipping norm is {0}; it takes a number from 1e-9 to 1e9")]
    ClipNorm(f64),
    /// A pre-scale outside [1e-9, 1e9].
    #[error("the envelope's pre-scale is {0}; it takes a number from 1e-9 to 1e9")]
    PreScale(f64),
    /// Norms for another number of layers.
    #[error("there are {found} norms for {layers} layers; give one for each, or one number for all together")]
    LayerNorms {
        /// Layers of the model.
        layers: usize,
        /// Norms that were given.
        found: usize,
    },
    /// A layer's norm outside [1e-9, 1e6].
    #[error("the norm of a layer is {0}; it takes a number from 1e-9 to 1000000")]
    LayerNorm(f64),
    /// A denoiser that looks at the noise, without noise.
    #[error("the denoiser compares the sum with the noise, and there is no noise")]
    DenoiserWithoutNoise,
    /// A denoiser that asks for the noise's standard deviation, with noise that has none.
    #[error("the denoiser takes the noise's standard deviation, and that of this noise is infinite")]
    DenoiserWithoutVariance,
    /// [`super::Denoiser::LaplacianSmoothing`] with a model whose inputs are no pixels.
    #[error("smoothing is along pixels, and the model takes features; choose a model that takes pixels")]
    DenoiserWithoutPlanes,
    /// A strength outside (0, [`super::denoise::MOST_SMOOTHING`]].
    #[error("the strength of smoothing is {0}; it takes a number above 0 and at most 1000")]
    Smoothing(f64),
    /// What a filter keeps outside [0, 1).
    #[error("what the filter keeps of the steps before is {0}; it takes a number of at least 0 and below 1")]
    FilterMemory(f64),
    /// A filter over the steps beside momentum.
    #[error("a filter over the steps is a momentum of its own; choose one of both")]
    TwoMemories,
    /// A mean of iterates beside [`super::Denoiser::Kalman`].
    #[error(
        "a filter that takes gradients ahead of the parameters keeps those that images are read with; choose it or averaged iterates"
    )]
    AverageAhead,
    /// Noise correlated over no step, or over more than [`super::correlated::MOST_REMEMBERED`] numbers.
    #[error("noise is correlated over {bands} steps; for this model it takes 1 to {most}")]
    Bands {
        /// b, as asked for.
        bands: u32,
        /// The most.
        most: u32,
    },
    /// What correlated noise does not go with.
    #[error("noise that is correlated over the steps {0}")]
    Correlated(&'static str),
    /// A step of a sequence of correlated noise of which other steps are remembered.
    #[error(
        "the noise of the steps before step {position} of a sequence is not there: {held} are remembered; begin a new one"
    )]
    Sequence {
        /// Steps before it, by whoever asks for it.
        position: u64,
        /// Steps that were made here.
        held: u64,
    },
    /// No canary, or more than there are coordinates.
    #[error("{count} canaries; for this model it takes 1 to {most}, as each has a parameter of its own")]
    Canaries {
        /// m, as asked for.
        count: u32,
        /// The most.
        most: u32,
    },
    /// Noise with parameters out of range.
    #[error(transparent)]
    Noise(#[from] NoiseError),
}
