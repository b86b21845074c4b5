//! The arithmetic of a step: kernels on vectors whose lanes are examples or coordinates.

pub mod conv;
pub mod dense;
pub mod distance;
pub mod envelope;
pub mod evidence;
pub mod extractor;
pub mod features;
mod math;
pub mod noise;
pub mod pointwise;
pub mod pooling;
pub mod product;
mod quantile;
pub mod scattering;
pub mod smoothing;
pub mod sum;
pub mod window;
