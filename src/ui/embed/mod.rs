//! The embedded page: a run, its two curves and a few controls, in a frame of another page.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`options`] | what the host page asks to show |
//! | `talk` | events and commands |
//! | `view` | the page |

pub mod options;
#[cfg(target_arch = "wasm32")]
mod talk;
#[cfg(target_arch = "wasm32")]
pub(super) mod view;
