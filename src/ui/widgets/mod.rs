//! What panels are made of.
//!
//! | module | what it is |
//! | --- | --- |
//! | `chart` | a small chart |
//! | `controls` | choices and numbers |

#[cfg(target_arch = "wasm32")]
pub mod chart;
#[cfg(target_arch = "wasm32")]
pub mod controls;
