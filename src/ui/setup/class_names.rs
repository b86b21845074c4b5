//! Names for the classes of the visitor's own images.

use hushgrad_message::ToMessage;
use leptos::prelude::*;

use crate::{
    data::{Classes, Source},
    ui::{
        size::closures::{bool_memo, on_event, text_fn, view_fn},
        state::Page,
        text::{heard, t},
    },
};

/// A field for the names, in the order of labels, if the visitor loaded files. Display only.
pub fn class_names(page: Page) -> AnyView {
    let there = bool_memo(move || {
        page.digits.loaded.with(|loaded| loaded.as_ref().is_some_and(|loaded| loaded.source == Source::Visitor))
    });
    view_fn(move || there.get().then(|| line(page))).into_any()
}

fn line(page: Page) -> AnyView {
    let problem = RwSignal::new(String::new());
    let count = move || page.digits.images().1;
    let value =
        move || page.digits.loaded.with(|loaded| loaded.as_ref().map_or_else(String::new, |it| it.classes.join(", ")));
    let typed = move |event: leptos::ev::Event| {
        let text = event_target_value(&event);
        let names: Vec<&str> = text.split(',').collect();
        problem.set(match Classes::named(&names) {
            Ok(classes) if classes.count() == count() => {
                page.digits.name_classes(classes.names());
                String::new()
            }
            Ok(classes) => t!("{found} names for {there} classes.", found = classes.count(), there = count()),
            Err(error) => heard(&error.to_message()),
        });
    };
    view! {
        <label class="small-label" for="class-names">{t!("Names of the classes, separated by commas")}</label>
        <input type="text" id="class-names" data-testid="class-names" spellcheck="false" autocomplete="off" prop:value=text_fn(value) on:change=on_event(typed) />
        <p class="field-error" role="status">{text_fn(move || problem.get())}</p>
    }
    .into_any()
}
