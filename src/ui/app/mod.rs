//! The whole page.
//!
//! | module | what it is |
//! | --- | --- |
//! | `requests` | what leaves the page |
//! | `view` | header, panels, keys, dropped files, theme, link |

#[cfg(target_arch = "wasm32")]
mod requests;
#[cfg(target_arch = "wasm32")]
mod view;

#[cfg(target_arch = "wasm32")]
pub use view::{messages, preset_choice, start};
