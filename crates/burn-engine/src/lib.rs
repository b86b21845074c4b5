//! hushgrad's training engine over Burn's tensors. Networks are lists of layers, gradients come
//! from Burn's automatic differentiation, and the rest is exactly [`hushgrad_core::mechanism`].
//!
//! | module | what it is |
//! | --- | --- |
//! | [`network`] | description of a network: layers, shapes, offsets in the parameter vector |
//! | [`model`] | a network with parameters on a device: logits |
//! | [`per_example`] | the gradient of each example of a batch, from one backward pass |
//! | [`engine`] | [`hushgrad_engine::Engine`] over them |
//!
//! The caller chooses the device: `Device::flex()` (feature `flex`) or `Device::wgpu(…)` (`wgpu`).

pub mod engine;
mod error;
pub mod model;
pub mod network;
mod patches;
pub mod per_example;

pub use burn::tensor::{Device, DeviceKind};
pub use hushgrad_core::model::layers::{LayerSpec, LayersError};

pub use self::{
    engine::{BurnEngine, info},
    error::BurnError,
    model::{Model, Real},
    network::{Input, Network},
    per_example::{Batch, PerExample},
};
