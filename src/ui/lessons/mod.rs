//! LESSONS: the list, the lesson that is open, formulas with the numbers of the run.
//!
//! | module | what it is |
//! | --- | --- |
//! | `panel` | the panel |

#[cfg(target_arch = "wasm32")]
mod panel;

#[cfg(target_arch = "wasm32")]
pub use panel::*;
