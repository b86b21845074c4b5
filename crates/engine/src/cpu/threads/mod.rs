//! Lane workers that share a lot, and what they do with each gradient.

mod encoding;
mod kernels;
mod lane_worker;
mod lot;
mod pool;

pub use self::{
    encoding::Encoding,
    kernels::{Kernels, Seen},
    lot::Lot,
    pool::WorkerPool,
};
