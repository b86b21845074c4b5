//! THE NOISE LAB: families at equal privacy, and noise of one's own.
//!
//! | module | what it is |
//! | --- | --- |
//! | `panel` | the panel |

#[cfg(target_arch = "wasm32")]
mod panel;

#[cfg(target_arch = "wasm32")]
pub use panel::*;
