//! What settings are called in links that name them: a task's (`controls=` leaves them free), and a frame's (`controls=` has fields for them).

use super::{Number, Select};

/// The presets, which set many at once.
pub const PRESET: &str = "preset";

/// All of them; with `framed`, those that a frame has fields for.
pub fn keys(framed: bool) -> impl Iterator<Item = &'static str> {
    let selects = Select::ALL.into_iter().map(Select::spec).filter(move |spec| spec.framed || !framed);
    let numbers = Number::ALL.into_iter().map(|number| number.spec().key);
    std::iter::once(PRESET).chain(selects.map(|spec| spec.key)).chain(numbers)
}
