//! The page. What can be tested without a browser stands in plain modules; the rest is Leptos.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`settings`] | every control as plain data, and the run that it means |
//! | [`field`] | number fields: names, ranges, sentences |
//! | [`query`] | the state in the address |
//! | [`presets`] | ready-made settings |
//! | [`digit`] | a drawing made into the picture that models know |
//! | [`lesson`] | lessons and formulas as they are written |
//! | [`lab`] | what is asked of the noise lab |
//! | [`sweep`] | four runs that differ in one number |
//! | [`recorded`] | a run made before, for empty charts |
//! | [`export`] | curves and models as files |
//! | [`embed_options`] | what the page around an embed asks to see |
//! | [`backend`] | how each browser gets WebGPU |
//! | `state` | signals, and all talk with the training thread |
//! | `accountant` | all talk with the accountant's |
//! | `thread` | a thread, and whether it lives |
//! | `app`, `setup`, `transport`, `tiles`, `results`, `runs`, `pad` | the page and its panels |
//! | `embed` | the embedded page, its events and commands |
//! | `kept`, `storage` | runs that outlive the page; the browser's database |
//! | `requests` | what leaves the page |
//! | `study` | what lessons, noise lab and sweeps add to the signals |
//! | `lessons`, `noise_lab`, `confusion` | their panels |
//! | `controls`, `chart`, `closures` | what panels are made of |
//! | `browser` | addresses, storage, files, time |

pub use crate::plot::{axis, drawing, format, picture, series};

pub mod backend;
pub mod digit;
pub mod embed_options;
pub mod export;
pub mod field;
pub mod lab;
pub mod lesson;
pub mod presets;
pub mod query;
pub mod recorded;
pub mod settings;
pub mod sweep;

#[cfg(target_arch = "wasm32")]
mod accountant;
#[cfg(target_arch = "wasm32")]
pub mod app;
#[cfg(target_arch = "wasm32")]
mod browser;
#[cfg(target_arch = "wasm32")]
mod chart;
#[cfg(target_arch = "wasm32")]
mod closures;
#[cfg(target_arch = "wasm32")]
mod confusion;
#[cfg(target_arch = "wasm32")]
mod controls;
#[cfg(target_arch = "wasm32")]
mod embed;
#[cfg(target_arch = "wasm32")]
mod kept;
#[cfg(target_arch = "wasm32")]
mod lessons;
#[cfg(target_arch = "wasm32")]
mod noise_lab;
#[cfg(target_arch = "wasm32")]
mod pad;
#[cfg(target_arch = "wasm32")]
mod requests;
#[cfg(target_arch = "wasm32")]
mod results;
#[cfg(target_arch = "wasm32")]
mod runs;
#[cfg(target_arch = "wasm32")]
mod setup;
#[cfg(target_arch = "wasm32")]
mod state;
#[cfg(target_arch = "wasm32")]
mod study;
#[cfg(target_arch = "wasm32")]
mod thread;
#[cfg(target_arch = "wasm32")]
mod tiles;
#[cfg(target_arch = "wasm32")]
mod transport;
