//! What keeps the page's program small.
//!
//! | module | what it is |
//! | --- | --- |
//! | `closures` | handlers and readers of one type each |

#[cfg(target_arch = "wasm32")]
pub mod closures;
