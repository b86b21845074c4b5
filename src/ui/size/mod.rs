//! What keeps the page's program small.
//!
//! | module | contents |
//! | --- | --- |
//! | `closures` | boxed closures of one type each |
//! | [`decimal`] | parsing of decimal numbers, by the browser |

#[cfg(target_arch = "wasm32")]
pub(super) mod closures;
pub mod decimal;
