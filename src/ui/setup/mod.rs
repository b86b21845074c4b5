//! SETUP: what is trained, on what, and how it is kept private.
//!
//! | module | what it is |
//! | --- | --- |
//! | `panel` | the panel |

#[cfg(target_arch = "wasm32")]
mod panel;

#[cfg(target_arch = "wasm32")]
pub use panel::*;
