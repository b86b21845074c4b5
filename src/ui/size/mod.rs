//! What keeps the page's program small.
//!
//! | module | contents |
//! | --- | --- |
//! | `closures` | boxed closures of one type each |
//! | [`sort`] | sorting, compiled once |

#[cfg(target_arch = "wasm32")]
pub(super) mod closures;
pub mod sort;
