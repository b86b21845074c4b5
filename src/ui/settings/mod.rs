//! The page's settings as plain data, and the run that they describe.
//!
//! A new setting is an entry in the table of [`numbers`] or [`selects`], a field of [`Settings`]
//! with its default, and a line in [`Settings::config`] that reads it.
//!
//! | module | contents |
//! | --- | --- |
//! | [`choice`] | types behind `<select>` controls |
//! | [`values`] | every control's value |
//! | [`slider`], [`typed`] | slider positions; parsing of typed numbers |
//! | [`number`] | a number field: range, errors, next value |
//! | [`config`] | settings to and from a [`RunConfig`](crate::train::config::RunConfig) |
//! | [`numbers`], [`selects`] | the tables of settings |
//! | [`keys`] | keys in links |
//! | [`meaning`] | guarantees, and differences between settings |
//! | [`of_data`] | what the loaded images decide |
//! | [`presets`] | ready-made settings |
//! | [`cards`] | recorded results of the presets |
//! | [`sweep`] | four runs that differ in one number |
//! | [`verdict`] | a sweep's result in a sentence |

pub mod cards;
pub mod choice;
pub mod config;
pub mod keys;
pub mod meaning;
#[cfg(test)]
mod measured_tests;
pub mod number;
pub mod numbers;
pub mod of_data;
pub mod presets;
pub mod selects;
pub mod slider;
pub mod sweep;
pub mod typed;
pub mod values;
pub mod verdict;

pub use self::{
    choice::{Choice, Decay, DenoiserKind, Digits, Encoder, Family, PhaseKind, Speed, Theme, UserSource},
    number::{NumberError, clipped},
    numbers::Number,
    selects::Select,
    values::{FORMULA, Settings},
};
