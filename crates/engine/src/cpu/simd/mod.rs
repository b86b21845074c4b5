//! Vectors whose lanes are *examples*: what a kernel needs from the machine.
//!
//! A [`Kernel`] is written once, generic over [`Simd`], and entered through [`Simd::run`], the only
//! place that uses instructions beyond the build's target. A value of a [`Simd`] type proves that
//! they exist: [`dispatch`] creates it after asking the processor.

mod dispatch;
mod lanes;
#[cfg(any(test, not(all(target_arch = "wasm32", target_feature = "simd128"))))]
mod portable;
#[cfg(target_arch = "wasm32")]
mod wasm;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use self::{
    dispatch::{Dispatch, dispatch},
    lanes::{Kernel, MOST_LANES, Simd, padded},
};
#[cfg(test)]
pub use self::{
    dispatch::{for_each, sets},
    portable::Portable,
};
