//! Keys for `controls=` in links: settings that stay free in a task, or have fields in a frame.

use super::{Number, Select};

pub const PRESET: &str = "preset";

/// Returns all keys; if `framed`, those that a frame has fields for.
pub fn keys(framed: bool) -> impl Iterator<Item = &'static str> {
    let selects = Select::ALL.into_iter().map(Select::spec).filter(move |spec| spec.framed || !framed);
    let numbers = Number::ALL.into_iter().map(|number| number.spec().key);
    std::iter::once(PRESET).chain(selects.map(|spec| spec.key)).chain(numbers)
}
