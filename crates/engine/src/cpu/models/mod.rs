//! Per-example gradients of each architecture, over a block of examples.

mod block;
mod built;
mod cnn;
mod network;
mod perceptron;

pub use self::{
    block::{Block, Examples},
    network::{Network, Squares},
};
use self::{built::Built, cnn::Cnn, perceptron::Perceptron};
use crate::{cpu::simd::Simd, model::Architecture};

pub fn network<S: Simd>(simd: S, model: Architecture) -> Box<dyn Network<S>> {
    match model {
        Architecture::Linear | Architecture::Scattering | Architecture::Mlp => Box::new(Perceptron::new(simd, model)),
        Architecture::CnnTanh | Architecture::CnnRelu => Box::new(Cnn::new(simd, model)),
        Architecture::Built(list) => Box::new(Built::new(simd, &list)),
    }
}
