//! SETUP: what is trained, on what, and how it is kept private.
//!
//! | module | what it is |
//! | --- | --- |
//! | `builder` | a network of one's own, layer by layer |
//! | `class_names` | names for the classes of one's own images |
//! | `cores` | on how many cores the CPU computes |
//! | `control` | one control, while it plays a part |
//! | `digits_line` | what is loaded, and the way to one's own files |
//! | [`layout`] | which controls there are, and where they stand |
//! | `noise_over_run` | the noise of a run's phases as a picture |
//! | `annealing` | the search for it on drawn digits |
//! | `panel` | the panel |
//! | `preset` | the list of presets |
//! | `projection` | what the settings will cost |

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
