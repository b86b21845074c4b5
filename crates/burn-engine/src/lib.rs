//! hushgrad's training engine over Burn's tensors: a network is a list of layers, its gradients are Burn's automatic differentiation, and what
//! becomes of them is [`hushgrad::mechanism`] to the last bit.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`network`] | the description of a network: layers, shapes, places in the flat vector of parameters |
//! | [`model`] | a network with parameters on a device: logits |
//! | [`per_example`] | the gradient of each example of a batch, from one backward pass |
//! | [`engine`] | [`hushgrad::engine::Engine`] over them |
//!
//! The device is the caller's: `Device::flex()` with the feature `flex`, `Device::wgpu(…)` with the feature `wgpu`.

pub mod engine;
mod error;
pub mod model;
pub mod network;
mod patches;
pub mod per_example;

pub use burn::tensor::Device;
pub use hushgrad::model::layers::{LayerSpec, LayersError};

pub use self::{
    engine::BurnEngine,
    error::BurnError,
    model::{Model, Real},
    network::{Input, Network},
    per_example::{Batch, PerExample},
};
