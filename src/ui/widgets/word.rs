//! Words with a door: pressed, one is explained where it stands. `www/start.js` does it, with the texts of `www/glossary.txt`.

use leptos::prelude::*;

/// Names of curves, and settings by their id, that are explained: the word's key.
const DOORS: [(&str, &str); 24] = [
    ("classic", "classic"),
    ("improved", "improved"),
    ("tight", "tight"),
    ("tight, projected", "tight"),
    ("projected", "projected"),
    ("budget", "budget"),
    ("order α", "order"),
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

/// The key of what stands behind a name or an id.
#[must_use]
pub fn door(of: &str) -> Option<&'static str> {
    DOORS.iter().find(|(name, _)| *name == of).map(|(_, key)| *key)
}

/// A word with a door.
pub fn word(key: &'static str, text: &str) -> AnyView {
    view! { <button type="button" class="word" data-word=key aria-haspopup="dialog">{text.to_owned()}</button> }
        .into_any()
}

/// A name, with a door where there is one.
pub fn named(name: &str) -> AnyView {
    match door(name) {
        Some(key) => word(key, name),
        None => name.to_owned().into_any(),
    }
}
