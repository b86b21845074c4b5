//! Per-example gradients of each architecture, over a block of examples.

mod block;
mod cnn;
mod network;
mod stages;

pub use self::{
    block::{Block, Examples},
    network::{Network, Squares},
};
use self::{cnn::Cnn, stages::Stages};
use crate::{cpu::simd::Simd, model::Architecture};

pub fn network<S: Simd>(simd: S, model: Architecture) -> Box<dyn Network<S>> {
    match model {
        Architecture::CnnTanh | Architecture::CnnRelu => Box::new(Cnn::new(simd, model)),
        Architecture::Linear | Architecture::Scattering | Architecture::Mlp | Architecture::Built(_) => {
            Box::new(Stages::new(simd, model))
        }
    }
}
