//! What hushgrad computes, plain: data, models with their per-example gradients, and the mechanism that makes a sum of gradients private.
//! It is the reference that the engines are held to.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`rng`] | ChaCha20 keyed by the system; a replayable stream, which protects nobody |
//! | [`data`] | image files and archives, synthetic digits, datasets |
//! | [`mechanism`] | encode, clip, add noise, denoise, on slices |
//! | [`model`] | architectures and their per-example gradients |

use hushgrad_accounting as accounting;

pub mod data;
pub mod mechanism;
pub mod model;
pub mod rng;
