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
    /// [`super::Denoiser::KolmogorovSmirnov`] without noise.
    #[error("the Kolmogorov–Smirnov denoiser compares with the noise's distribution, and there is no noise")]
    DenoiserWithoutNoise,
    /// Noise with parameters out of range.
    #[error(transparent)]
    Noise(#[from] NoiseError),
}
