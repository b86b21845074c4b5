//! ⓘ, and a field under its label.

use leptos::prelude::*;

use super::word::{door, word};
use crate::ui::{
    size::closures::{bool_fn, on_click, text_fn},
    text::t,
};

/// Returns ⓘ and the sentence that it shows.
pub fn hint(id: &'static str, label: &'static str, text: &'static str) -> (AnyView, AnyView) {
    let open = RwSignal::new(false);
    let button = view! {
        <button type="button" class="hint" aria-label=t!("About: {label}", label = label) aria-controls=format!("{id}-hint")
            aria-expanded=text_fn(move || open.get().to_string()) on:click=on_click(move |_| open.update(|open| *open = !*open))>"i"</button>
    };
    let more = door(id).map(|key| view! { " "{word(key, t!("More"))} });
    let sentence =
        view! { <p class="hint-text" id=format!("{id}-hint") hidden=bool_fn(move || !open.get())>{text}{more}</p> };
    (button.into_any(), sentence.into_any())
}

/// A field under its label, with ⓘ. `class` is the label's; `name` is the field's name for ⓘ.
pub fn labelled(
    id: &'static str,
    class: String,
    label: AnyView,
    [name, text]: [&'static str; 2],
    field: AnyView,
) -> AnyView {
    let (button, sentence) = hint(id, name, text);
    view! {
        <div class="control">
            <span class=class><label for=id>{label}</label>{button}</span>
            {field}{sentence}
        </div>
    }
    .into_any()
}
