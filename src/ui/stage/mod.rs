//! The run on the stage: one person in or out, the transport, and one step taken apart.
//!
//! | module | what it is |
//! | --- | --- |
//! | `badge` | which backend runs |
//! | `colours` | numbers as colours |
//! | `follow` | one image on its way through the network |
//! | `lot` | the digits of a step's lot, one of which is ringed |
//! | `stations` | the stage: the sum with that one and without it, before the noise and after |
//! | `preset_cards` | ready-made runs as cards |
//! | `step` | one step taken apart |
//! | `step_picture` | its pictures |
//! | `step_plot` | its plots |
//! | `sweep_bar` | where a sweep stands |
//! | `transport` | play, pause, step, reset, speed, and where the run stands |
//! | [`webgpu_advice`] | how each browser gets WebGPU |

#[cfg(target_arch = "wasm32")]
mod badge;
#[cfg(target_arch = "wasm32")]
pub(super) mod colours;
#[cfg(target_arch = "wasm32")]
mod follow;
#[cfg(target_arch = "wasm32")]
mod lot;
#[cfg(target_arch = "wasm32")]
pub(super) mod preset_cards;
#[cfg(target_arch = "wasm32")]
pub(super) mod stations;
#[cfg(target_arch = "wasm32")]
pub(super) mod step;
#[cfg(target_arch = "wasm32")]
mod step_picture;
#[cfg(target_arch = "wasm32")]
mod step_plot;
#[cfg(target_arch = "wasm32")]
pub(super) mod sweep_bar;
#[cfg(target_arch = "wasm32")]
pub(super) mod transport;
pub mod webgpu_advice;
