//! Everything that a visitor can set, as plain data, and the run that it means.
//!
//! A new setting is one entry of a table: of [`numbers`], or of [`selects`]. What it takes beside the entry is its field of [`Settings`]
//! with its first value, and the line of [`Settings::config`] that reads it.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`choice`] | what a choice is chosen from |
//! | [`values`] | every control's value |
//! | [`slider`], [`typed`] | where values stand on a slider; numbers as people type them |
//! | [`number`] | what a number field is: range, refusal, next value |
//! | [`config`] | the run that settings describe |
//! | [`numbers`], [`selects`] | the tables |
//! | [`keys`] | what links call them |
//! | [`meaning`] | what settings promise, and what changed |
//! | [`presets`] | ready-made settings |
//! | [`cards`] | what became of them |
//! | [`sweep`] | four runs that differ in one number |
//! | [`verdict`] | what they have shown |

pub mod cards;
pub mod choice;
pub mod config;
pub mod keys;
pub mod meaning;
#[cfg(test)]
mod measured_tests;
pub mod number;
pub mod numbers;
pub mod presets;
pub mod selects;
pub mod slider;
pub mod sweep;
pub mod typed;
pub mod values;
pub mod verdict;

pub use self::{
    choice::{Choice, Decay, DenoiserKind, Digits, Encoder, Family, PhaseKind, Speed, Theme},
    number::{NumberError, clipped},
    numbers::Number,
    selects::Select,
    values::{FORMULA, Settings},
};
