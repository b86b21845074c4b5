//! The whole page.
//!
//! | module | what it is |
//! | --- | --- |
//! | `address` | the address says what is set |
//! | `drops` | files that are dropped |
//! | `header` | the header |
//! | `help` | the help |
//! | `keys` | keys that work everywhere |
//! | `network_log` | what the browser noted of requests |
//! | `requests` | what leaves the page |
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
