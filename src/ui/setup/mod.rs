//! SETUP: what is trained, on what data, and how it is kept private.
//!
//! | module | contents |
//! | --- | --- |
//! | `builder` | a custom network, layer by layer |
//! | `class_names` | names for the classes of the visitor's images |
//! | `cores` | number of CPU cores |
//! | `control` | one control, while it applies |
//! | `digits_line` | the loaded data, and loading of the visitor's files |
//! | [`layout`] | all controls, and their places |
//! | `noise_over_run` | plot of the noise of a run's phases |
//! | `annealing` | search for that noise on synthetic digits |
//! | `panel` | the panel |
//! | `preset` | the list of presets |
//! | `projection` | projected cost of the settings |
//! | `read_card` | what was read of the visitor's own images |

#[cfg(target_arch = "wasm32")]
mod annealing;
#[cfg(target_arch = "wasm32")]
mod builder;
#[cfg(target_arch = "wasm32")]
mod class_names;
#[cfg(target_arch = "wasm32")]
pub(super) mod control;
#[cfg(target_arch = "wasm32")]
mod cores;
#[cfg(target_arch = "wasm32")]
pub(super) mod digits_line;
pub mod layout;
#[cfg(target_arch = "wasm32")]
mod noise_over_run;
#[cfg(target_arch = "wasm32")]
pub(super) mod panel;
#[cfg(target_arch = "wasm32")]
pub(super) mod preset;
#[cfg(target_arch = "wasm32")]
mod projection;
#[cfg(target_arch = "wasm32")]
mod read_card;
