//! The run on the stage: the transport, and one step taken apart.
//!
//! | module | what it is |
//! | --- | --- |
//! | `tiles` | one step |
//! | `transport` | play, pause, step, reset, and where the run stands |
//! | [`webgpu_advice`] | how each browser gets WebGPU |

#[cfg(target_arch = "wasm32")]
pub mod tiles;
#[cfg(target_arch = "wasm32")]
pub mod transport;
pub mod webgpu_advice;
