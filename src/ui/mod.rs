//! The page. What can be tested without a browser stands in plain modules; the rest is Leptos.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`settings`] | every control as plain data, and the run that it means |
//! | [`field`] | number fields: names, ranges, sentences |
//! | [`query`] | the state in the address |
//! | [`mod@format`] | numbers as people read them |
//! | [`axis`], [`series`] | ticks, scales, thinned-out curves |
//! | [`presets`] | ready-made settings |
//! | [`project`] | what a run will cost, and the noise for a budget |
//! | [`trace`] | one step reduced to what its tiles draw |
//! | [`digit`] | a drawing made into the picture that models know |
//! | [`export`] | runs as files |
//! | [`backend`] | how each browser gets WebGPU |
//! | `state` | signals, and all talk with the training thread |
//! | `app`, `setup`, `transport`, `tiles`, `results`, `runs`, `pad` | the page and its panels |
//! | `controls`, `chart` | what panels are made of |
//! | `browser` | addresses, storage, files, time |

pub mod axis;
pub mod backend;
pub mod digit;
pub mod export;
pub mod field;
pub mod format;
pub mod presets;
pub mod project;
pub mod query;
pub mod series;
pub mod settings;
pub mod trace;

#[cfg(target_arch = "wasm32")]
pub mod app;
#[cfg(target_arch = "wasm32")]
mod browser;
#[cfg(target_arch = "wasm32")]
mod chart;
#[cfg(target_arch = "wasm32")]
mod controls;
#[cfg(target_arch = "wasm32")]
mod pad;
#[cfg(target_arch = "wasm32")]
mod results;
#[cfg(target_arch = "wasm32")]
mod runs;
#[cfg(target_arch = "wasm32")]
mod setup;
#[cfg(target_arch = "wasm32")]
mod state;
#[cfg(target_arch = "wasm32")]
mod tiles;
#[cfg(target_arch = "wasm32")]
mod transport;
