//! The page's two threads, as the page sees them.
//!
//! | module | what it is |
//! | --- | --- |
//! | `accountant` | all talk with the accountant's thread |
//! | `thread` | a thread, and whether it lives |

#[cfg(target_arch = "wasm32")]
pub mod accountant;
#[cfg(target_arch = "wasm32")]
pub mod thread;
