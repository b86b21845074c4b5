//! What keeps the page's program small.
//!
//! | module | what it is |
//! | --- | --- |
//! | `closures` | handlers and readers of one type each |
//! | [`decimal`] | reading a decimal number, which the browser does |

#[cfg(target_arch = "wasm32")]
pub(super) mod closures;
pub mod decimal;
