//! RUNS: the list of earlier runs, and what is taken away as files.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`export`] | curves and models as files |
//! | `panel` | the panel |

pub mod export;
#[cfg(target_arch = "wasm32")]
mod panel;

#[cfg(target_arch = "wasm32")]
pub use panel::*;
