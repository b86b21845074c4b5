//! hushgrad: train privately, in the browser.
//!
//! | module | what it is | may use |
//! | --- | --- | --- |
//! | [`rng`] | ChaCha20 keyed by the system, and the replayable stream that is not private | nothing here |
//! | [`accounting`] | the crate `hushgrad-accounting`: noise families, bounds, accountants, ledger | nothing here |
//! | [`data`] | IDX files, synthetic digits, datasets | [`rng`] |
//! | [`mechanism`] | encode, clip, add noise, denoise: the plain reference on slices | the above |
//! | [`model`] | architectures and their per-example gradients | the above |
//! | [`engine`] | one trait, two engines: CPU and WebGPU | the above |
//! | [`train`] | configuration, plan, session, report | the above |
//! | [`worker`] | the page's two threads, and what may be asked of them | the above |
//! | [`plot`] | charts as text, for the page and the native tool | the type of a point of [`train`] |
//! | [`ui`] | the page (feature `page`): plain logic everywhere, Leptos in the browser | [`worker`]'s messages, [`plot`], plain data of the rest |
//!
//! Never upward. Nothing in [`accounting`] knows a tensor; nothing that computes gradients knows ε.

pub use hushgrad_accounting as accounting;

pub mod data;
pub mod engine;
pub mod mechanism;
pub mod model;
pub mod plot;

pub mod rng;
pub mod train;
#[cfg(feature = "page")]
pub mod ui;
pub mod worker;
