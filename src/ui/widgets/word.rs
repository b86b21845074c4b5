//! Words with a door: pressed, one is explained where it stands. `www/start.js` does it, with the texts of `www/glossary.txt`.

use leptos::prelude::*;

use crate::ui::text::{Text, text};

/// Names of curves that are explained, and the word's key.
const NAMES: [(Text, &str); 7] = [
    (text!("classic"), "classic"),
    (text!("improved"), "improved"),
    (text!("tight"), "tight"),
    (text!("tight, projected"), "tight"),
    (text!("projected"), "projected"),
    (text!("budget"), "budget"),
    (text!("order α"), "order"),
];

/// Settings that are explained, by their id, and the word's key.
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

/// The key of what stands behind an id.
#[must_use]
pub fn door(of: &str) -> Option<&'static str> {
    DOORS.iter().find(|(id, _)| *id == of).map(|(_, key)| *key)
}

/// A word with a door.
pub fn word(key: &'static str, text: &str) -> AnyView {
    view! { <button type="button" class="word" data-word=key aria-haspopup="dialog">{text.to_owned()}</button> }
        .into_any()
}

/// A name, with a door where there is one.
pub fn named(name: &str) -> AnyView {
    match NAMES.iter().find(|(known, _)| known.get() == name) {
        Some((_, key)) => word(key, name),
        None => name.to_owned().into_any(),
    }
}
