//! Errors and limits of the mechanism.

use crate::accounting::noise::NoiseError;

/// Largest number of vectors in an envelope.
pub const MAX_VECTORS: u32 = 4096;
/// Largest number of entries in an envelope, vectors × parameters: 512 MiB of f32.
pub const MAX_ENTRIES: usize = 1 << 27;

/// A mechanism cannot be built, or slices do not fit together.
#[derive(Clone, Debug, PartialEq, hushgrad_message::Error)]
pub enum MechanismError {
    /// The number of vectors is not 1 to [`MAX_VECTORS`].
    #[error("the envelope Ψ has {0} vectors; it must have 1 to {MAX_VECTORS}")]
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
        /// Number of vectors requested.
        vectors: u32,
        /// Length of each.
        dimension: usize,
    },
    /// Ψ was drawn for a different model.
    #[error("the envelope's vectors have length {found}; the model has {expected} parameters")]
    EnvelopeLength {
        /// P, the model's number of parameters.
        expected: usize,
        /// Length of Ψ's vectors.
        found: usize,
    },
    /// Memory for Ψ could not be allocated.
    #[error("no memory for the envelope's {bytes} bytes: take fewer vectors")]
    EnvelopeMemory {
        /// Size of Ψ, 4 bytes per entry.
        bytes: usize,
    },
    /// A clipping norm outside [1e-9, 1e9].
    #[error("the clipping norm is {0}; it must be from 1e-9 to 1e9")]
    ClipNorm(f64),
    /// A pre-scale outside [1e-9, 1e9].
    #[error("the envelope's pre-scale is {0}; it must be from 1e-9 to 1e9")]
    PreScale(f64),
    /// The number of norms does not match the number of groups.
    #[error("there are {found} norms for {groups} layers or groups; give one for each, or one number for all together")]
    LayerNorms {
        /// Number of groups of the model's layers.
        groups: usize,
        /// Number of norms given.
        found: usize,
    },
    /// A word that is no group of layers.
    #[error("“{0}” is no group of layers; write LAYERS:NORM@NOISE, for example 1-2:0.5@2")]
    LayerGroup(String),
    /// Only some groups name their layers, or their noise.
    #[error("either every group names its layers, or none does; the same holds for its noise")]
    LayerGroupsUnlike,
    /// A layer in two groups.
    #[error("layer {0} is in two groups")]
    LayerTwice(u8),
    /// A layer in no group.
    #[error("layer {0} is in no group")]
    LayerMissing(u8),
    /// The groups are not those of the model's layers.
    #[error("there are groups for {found} layers, and the model has {layers}; each layer must be in one group")]
    LayerGroups {
        /// Number of layers of the model.
        layers: usize,
        /// Number of layers in groups.
        found: usize,
    },
    /// Groups with a joint clip.
    #[error("groups of layers are clipped one by one; choose separate clips")]
    LayerGroupsJoint,
    /// A group's relative noise outside [1e-9, 1e9].
    #[error("the relative noise of a group is {0}; it must be from 1e-9 to 1000000000")]
    LayerNoise(f64),
    /// A layer's norm outside [1e-9, 1e6].
    #[error("the norm of a layer is {0}; it must be from 1e-9 to 1000000")]
    LayerNorm(f64),
    /// The denoiser needs noise, and there is none.
    #[error("the denoiser compares the sum with the noise, and there is no noise")]
    DenoiserWithoutNoise,
    /// The denoiser needs the noise's standard deviation, which is infinite.
    #[error("the denoiser needs the noise's standard deviation, and that of this noise is infinite")]
    DenoiserWithoutVariance,
    /// [`super::Denoiser::LaplacianSmoothing`] with a model whose inputs are not pixels.
    #[error("smoothing needs pixels, but the model takes features; choose a model that takes pixels")]
    DenoiserWithoutPlanes,
    /// A strength outside (0, [`super::denoise::MOST_SMOOTHING`]].
    #[error("the strength of smoothing is {0}; it must be above 0 and at most 1000")]
    Smoothing(f64),
    /// A filter's memory outside [0, 1).
    #[error("the filter's share of earlier steps is {0}; it must be at least 0 and below 1")]
    FilterMemory(f64),
    /// A filter over the steps combined with momentum.
    #[error("a filter over the steps already acts as momentum; choose one of the two")]
    TwoMemories,
    /// An average of iterates combined with [`super::Denoiser::Kalman`].
    #[error(
        "a filter that takes gradients ahead of the parameters cannot be combined with averaged iterates; choose one of the two"
    )]
    AverageAhead,
    /// Noise correlated over 0 steps, or too many ([`super::correlated::MOST_REMEMBERED`]).
    #[error("noise is correlated over {bands} steps; this model allows 1 to {most}")]
    Bands {
        /// b, as requested.
        bands: u32,
        /// Largest b for this model.
        most: u32,
    },
    /// An option that correlated noise cannot be combined with.
    #[error("noise that is correlated over the steps {0}")]
    Correlated(&'static str),
    /// A step of a correlated noise sequence that does not follow the remembered steps.
    #[error(
        "the noise of the steps before step {position} of the sequence is missing ({held} steps are kept); begin a new one"
    )]
    Sequence {
        /// Steps before the requested one.
        position: u64,
        /// Steps remembered here.
        held: u64,
    },
    /// No canary, or more canaries than coordinates.
    #[error("{count} canaries; this model allows 1 to {most}, as each needs its own parameter")]
    Canaries {
        /// m, as requested.
        count: u32,
        /// Largest m for this model.
        most: u32,
    },
    /// Noise parameters out of range.
    #[error(transparent)]
    Noise(#[from] NoiseError),
}
