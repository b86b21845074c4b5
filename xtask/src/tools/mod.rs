//! What is installed: compilers, programs, browsers, digits.

pub mod browser;
pub mod cargo_tool;
pub mod debian;
mod debian_rust;
pub mod engines;
pub mod mnist;
pub mod npm;
pub mod wasm_target;
