//! What the page needs of the browser beyond elements.
//!
//! | module | what it is |
//! | --- | --- |
//! | `page` | addresses, storage, files, time |

#[cfg(target_arch = "wasm32")]
mod page;

#[cfg(target_arch = "wasm32")]
pub use page::*;
