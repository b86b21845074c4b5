//! Algorithm 1 on WebGPU: hand-written WGSL, buffers allocated once, a step in one command
//! buffer, nothing read back but what is asked for.
//!
//! The way of a step: `lowered` puts the task into numbers that kernels take, `layout` says what lies where; `passes` says which
//! kernels a model runs over a chunk of the lot, `programs` in which order; `buffers` and `examples` hold what they work on; `engine` records and
//! submits.

mod buffers;
mod built;
mod canaries;
mod denoising;
mod device;
mod dispatch;
mod engine;
mod examples;
mod families;
mod features;
pub mod kernels;
mod kind;
mod layout;
mod lowered;
mod memory;
mod passes;
mod programs;
mod quantile;
mod sharing;
mod wait;
mod words;

#[cfg(not(target_arch = "wasm32"))]
pub use device::adapters;
pub use device::{AdapterReport, Gpu};
pub use engine::GpuEngine;
pub use features::Scattering;
pub(super) use kind::{Kind, VECTORS, known_pre_scale};
pub use programs::KernelNames;
