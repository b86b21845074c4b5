//! The stage: one person in or out, the transport, and one step taken apart.
//!
//! | module | contents |
//! | --- | --- |
//! | `badge` | the backend in use |
//! | `follow` | one image on its way through the network |
//! | `lot` | the digits of a step's lot, one of which is ringed |
//! | `stations` | the sum with and without the ringed digit, before and after the noise |
//! | `preset_cards` | presets as cards |
//! | `step` | one step taken apart |
//! | `step_picture` | its pictures |
//! | `step_plot` | its plots |
//! | `sweep_bar` | progress of a sweep |
//! | `transport` | play, pause, step, reset, speed, and the run's state |
//! | `unit` | words for images, micro-batches and users |
//! | [`webgpu_advice`] | how to get WebGPU in each browser |

#[cfg(target_arch = "wasm32")]
mod badge;
#[cfg(target_arch = "wasm32")]
mod bells;
#[cfg(target_arch = "wasm32")]
pub(super) mod follow;
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
#[cfg(target_arch = "wasm32")]
mod unit;
pub mod webgpu_advice;
