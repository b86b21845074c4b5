//! Words with a door: pressed, `www/start.js` explains them in place from `www/glossary.txt`.

use leptos::prelude::*;

use crate::ui::text::{Text, text};

/// Curves with an explanation, and the key of the word.
const NAMES: [(Text, &str); 7] = [
    (text!("classic"), "classic"),
    (text!("improved"), "improved"),
    (text!("tight"), "tight"),
    (text!("tight, planned"), "tight"),
    (text!("projected"), "projected"),
    (text!("budget"), "budget"),
    (text!("order α"), "order"),
];

/// Ids of settings with an explanation, and the key of the word.
const DOORS: [(&str, &str); 17] = [
    ("lot", "lot"),
    ("clip", "clip"),
    ("vectors", "envelope"),
    ("pre-scale", "envelope"),
    ("envelope-seed", "envelope"),
    ("envelope-shape", "envelope"),
    ("encoder", "encoder"),
    ("noise-family", "noise"),
    ("sigma", "scale"),
    ("denoiser", "denoiser"),
    ("sampling", "sampling"),
    ("epsilon", "budget"),
    ("delta", "delta"),
    ("start", "pretraining"),
    ("lab-psi", "envelope"),
    ("lab-epsilon", "epsilon"),
    ("steps", "composition"),
];

/// Returns the key of the word that explains the setting with this id.
#[must_use]
pub fn door(of: &str) -> Option<&'static str> {
    DOORS.iter().find(|(id, _)| *id == of).map(|(_, key)| *key)
}

/// A word with a door.
pub fn word(key: &'static str, text: &str) -> AnyView {
    view! { <button type="button" class="word" data-word=key aria-haspopup="dialog">{text.to_owned()}</button> }
        .into_any()
}

/// A curve's name, with a door if it has an explanation.
pub fn named(name: &str) -> AnyView {
    match NAMES.iter().find(|(known, _)| known.get() == name) {
        Some((_, key)) => word(key, name),
        None => name.to_owned().into_any(),
    }
}
