//! The protocol between page and training thread, and the agent that answers it.

pub mod agent;
#[cfg(target_arch = "wasm32")]
pub mod browser;
#[cfg(target_arch = "wasm32")]
pub mod codec;
pub mod loader;
pub mod protocol;
