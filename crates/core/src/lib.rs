//! Reference computations of hushgrad: data, models with their per-example gradients, and the
//! mechanism that makes a sum of gradients private. The engines are tested against it.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`rng`] | ChaCha20 keyed by the system; a replayable stream, which gives no privacy |
//! | [`data`] | image files and archives, synthetic digits, datasets |
//! | [`mechanism`] | encode, clip, add noise, denoise, on slices |
//! | [`model`] | architectures and their per-example gradients |

use hushgrad_accounting as accounting;

pub mod data;
pub mod mechanism;
pub mod model;
pub mod rng;
