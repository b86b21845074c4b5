//! The page, a room for each panel. What can be tested without a browser stands in plain modules; the rest is Leptos.
//!
//! | room | what is in it |
//! | --- | --- |
//! | [`settings`] | every control as plain data, and the run that it means |
//! | [`link`] | the state in the address |
//! | `browser` | the little that is needed of the browser beyond elements |
//! | [`size`] | what keeps the program small |
//! | `threads` | the two threads, as the page sees them |
//! | [`state`] | signals, and what is done with them |
//! | `widgets` | what panels are made of |
//! | `setup`, [`stage`], [`results`], [`runs`], `lessons`, `noise_lab` | the panels |
//! | [`embed`] | the embedded page |
//! | `app` | the whole page |

#[cfg(target_arch = "wasm32")]
pub mod app;
#[cfg(target_arch = "wasm32")]
mod browser;
pub mod embed;
#[cfg(target_arch = "wasm32")]
mod lessons;
pub mod link;
#[cfg(target_arch = "wasm32")]
mod noise_lab;
pub mod results;
pub mod runs;
pub mod settings;
pub mod setup;
pub mod size;
pub mod stage;
pub mod state;
#[cfg(target_arch = "wasm32")]
mod threads;
#[cfg(target_arch = "wasm32")]
mod widgets;
