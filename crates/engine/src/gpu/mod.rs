//! Algorithm 1 on WebGPU: hand-written WGSL, buffers allocated once, each step in one command
//! buffer, nothing read back unless requested.
//!
//! The modules of a step: `lowered` converts the task to the numbers that kernels take, `layout`
//! places everything in the buffers; `passes` selects a model's kernels for a chunk of the lot,
//! `programs` orders them; `buffers` and `examples` hold the data; `engine` records and submits.

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
