//! Installed tools: compilers, programs, browsers, digits.

pub mod browser;
pub mod cargo_tool;
pub mod debian;
mod debian_rust;
pub mod engines;
pub mod lints;
pub mod mnist;
pub mod npm;
pub mod python;
pub mod wasm_target;

/// Target of the programs that run in browsers.
pub const TARGET: &str = "wasm32-unknown-unknown";
