//! A labelled `<select>`.

use leptos::prelude::*;
use web_sys::HtmlSelectElement;

use super::hint::labelled;
use crate::ui::{
    settings::Select,
    size::closures::{bool_fn, on_event, text_fn, text_memo},
    state::{Page, TaskLock},
    text::Text,
};

/// A choice of the set-up.
pub fn select(page: Page, which: Select) -> AnyView {
    let spec = which.spec();
    let current = text_memo(move || page.settings.with(spec.get));
    let list = spec
        .options()
        .map(|(key, label)| view! { <option value=key selected=bool_fn(move || current.with(|current| current == key))>{label}</option> })
        .collect_view();
    let choose = move |event: web_sys::Event| {
        page.choose(which, &event_target_value(&event));
        // Shows the current option if the new one was refused.
        event_target::<HtmlSelectElement>(&event).set_value(&current.get_untracked());
    };
    let field = view! { <select id=spec.id data-testid=spec.id disabled=bool_fn(move || TaskLock(page).is_fixed(spec.key)) prop:value=text_fn(move || current.get()) on:change=on_event(choose)>{list}</select> };
    labelled(
        spec.id,
        "label".to_owned(),
        spec.label.get().into_any(),
        [spec.label, spec.hint].map(Text::get),
        field.into_any(),
    )
}
