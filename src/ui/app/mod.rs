//! The whole page.
//!
//! | module | what it is |
//! | --- | --- |
//! | `address` | keeps the address and the page's state in sync |
//! | `class` | bars of a task and of a submitted run |
//! | `drops` | drag and drop of files |
//! | `header` | the header |
//! | `help` | the help dialog |
//! | `keys` | global keyboard shortcuts |
//! | `network_log` | recorded network requests |
//! | `requests` | the panel of network requests |
//! | `view` | start, panels, footer |

#[cfg(target_arch = "wasm32")]
mod address;
#[cfg(target_arch = "wasm32")]
mod class;
#[cfg(target_arch = "wasm32")]
mod drops;
#[cfg(target_arch = "wasm32")]
mod header;
#[cfg(target_arch = "wasm32")]
mod help;
#[cfg(target_arch = "wasm32")]
mod keys;
#[cfg(target_arch = "wasm32")]
mod network_log;
#[cfg(target_arch = "wasm32")]
mod requests;
#[cfg(target_arch = "wasm32")]
mod view;

#[cfg(target_arch = "wasm32")]
pub use view::start;
