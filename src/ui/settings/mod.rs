//! Everything that a visitor can set, as plain data, and the run that it means.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`field`] | number fields: names, ranges, sentences |
//! | [`presets`] | ready-made settings |
//! | [`sweep`] | four runs that differ in one number |
//! | [`values`] | every control as plain data |

pub mod field;
pub mod presets;
pub mod sweep;
pub mod values;

pub use field::{Bound, Number, Slider, Spacing, Spec, clipped, decimal};
pub use values::{Choice, Decay, Digits, Encoder, FORMULA, Family, Settings, Speed, Theme};
