//! What the page knows, as signals.
//!
//! | module | what it is |
//! | --- | --- |
//! | `acts` | what the visitor does |
//! | `events` | what the training thread says |
//! | `kept` | runs that outlive the page |
//! | [`lesson_set`] | lessons and formulas as they are written |
//! | `page` | all signals |
//! | `study` | what lessons, noise lab and sweeps add to the signals |

#[cfg(target_arch = "wasm32")]
mod acts;
#[cfg(target_arch = "wasm32")]
mod events;
#[cfg(target_arch = "wasm32")]
pub mod kept;
pub mod lesson_set;
#[cfg(target_arch = "wasm32")]
mod page;
#[cfg(target_arch = "wasm32")]
pub mod study;

#[cfg(target_arch = "wasm32")]
pub use page::*;
