//! What this layer refuses.

use crate::accounting::noise::NoiseError;

/// Most vectors of an envelope.
pub const MAX_VECTORS: u32 = 4096;
/// Most entries of an envelope, vectors × parameters: 512 MiB of f32.
pub const MAX_ENTRIES: usize = 1 << 27;

/// A mechanism that cannot be built, or slices that do not fit together.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MechanismError {
    #[error("the envelope Ψ was asked for {0} vectors; it takes 1 to {MAX_VECTORS}")]
    EnvelopeVectors(u32),
    #[error("the envelope's vectors have length 0; they need one entry for each parameter of the model")]
    EnvelopeDimension,
    #[error(
        "an envelope of {vectors} vectors of length {dimension} is too large (limit: {MAX_ENTRIES} entries in all): \
         take fewer vectors"
    )]
    EnvelopeSize { vectors: u32, dimension: usize },
    #[error("the envelope's vectors have length {found}; the model has {expected} parameters")]
    EnvelopeLength { expected: usize, found: usize },
    #[error("no memory for the envelope's {bytes} bytes: take fewer vectors")]
    EnvelopeMemory { bytes: usize },
    #[error("the clipping norm is {0}; it takes a number from 1e-9 to 1e9")]
    ClipNorm(f64),
    #[error("the envelope's pre-scale is {0}; it takes a number from 1e-9 to 1e9")]
    PreScale(f64),
    #[error("the Kolmogorov–Smirnov denoiser compares with the noise's distribution, and there is no noise")]
    DenoiserWithoutNoise,
    #[error(transparent)]
    Noise(#[from] NoiseError),
}
