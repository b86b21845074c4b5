//! RESULTS: curves, numbers, what ε says, the drawn digit.
//!
//! | module | what it is |
//! | --- | --- |
//! | `confusion` | which digits are taken for which |
//! | [`digit`] | a drawing made into the picture that models know |
//! | `pad` | the pad to draw on |
//! | `panel` | the panel and its charts |
//! | [`recorded`] | a run made before, for empty charts |

#[cfg(target_arch = "wasm32")]
mod confusion;
pub mod digit;
#[cfg(target_arch = "wasm32")]
mod pad;
#[cfg(target_arch = "wasm32")]
mod panel;
pub mod recorded;

#[cfg(target_arch = "wasm32")]
pub use panel::*;
