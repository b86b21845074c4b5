//! The embedded page.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`options`] | what the page around an embed asks to see |
//! | `view` | the page, its events and commands |

pub mod options;
#[cfg(target_arch = "wasm32")]
mod view;

#[cfg(target_arch = "wasm32")]
pub use view::*;
