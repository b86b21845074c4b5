//! The fields of the panel.

use leptos::prelude::*;

use crate::{
    plot::format,
    ui::{
        link::OwnTraining,
        settings::{Choice, Select, number::NumberSpec},
        size::closures::{bool_fn, on_event, text_fn},
        state::Page,
        text::{Text, t},
        widgets::hint::labelled,
    },
};

/// True if a file is priced.
pub fn of_file(page: Page) -> bool {
    page.own_training.file.with(Option::is_some)
}

/// A number, validated when committed; `problem` is the last one's error.
pub fn field(page: Page, spec: &'static NumberSpec<OwnTraining>, problem: RwSignal<String>) -> AnyView {
    let numbers = page.own_training.numbers;
    let text = move || numbers.with(|own| (spec.get)(own).map(format::field).unwrap_or_default());
    let set = move |event: leptos::ev::Event| match spec.parse(&format::neutral(&event_target_value(&event))) {
        Ok(value) => {
            problem.set(String::new());
            numbers.update(|own| (spec.set)(own, value));
        }
        Err(error) => problem.set(error.to_string()),
    };
    let idle = move || numbers.with(|own| !(spec.applies)(own));
    let placeholder = if spec.optional { t!("not set") } else { "" };
    let input = view! {
        <input type="text" inputmode="decimal" autocomplete="off" id=spec.key data-testid=spec.key placeholder=placeholder disabled=bool_fn(idle)
            prop:value=text_fn(text) on:change=on_event(set) />
    };
    let control = labelled(
        spec.key,
        "label".to_owned(),
        spec.label.get().into_any(),
        [spec.label, spec.hint].map(Text::get),
        input.into_any(),
    );
    // A file has everything but δ. Fields of another noise are hidden; epochs that steps replace stay,
    // disabled.
    let hidden = move || match spec.key {
        "own-delta" => false,
        "own-epochs" => of_file(page),
        _ => idle() || of_file(page),
    };
    view! { <div hidden=bool_fn(hidden)>{control}</div> }.into_any()
}

/// A choice, with the label and hint of one of a run's.
pub fn choice<C: Choice + Send + Sync>(
    page: Page,
    like: Select,
    all: &'static [C],
    get: fn(&OwnTraining) -> C,
    set: fn(&mut OwnTraining, C),
) -> AnyView {
    let (numbers, spec) = (page.own_training.numbers, like.spec());
    let id = if like == Select::Noise { "own-noise" } else { "own-sampling" };
    let options = all
        .iter()
        .map(|each| {
            let key = each.key();
            view! { <option value=key selected=bool_fn(move || numbers.with(|own| get(own).key() == key))>{each.label()}</option> }
        })
        .collect_view();
    let choose = move |event: leptos::ev::Event| {
        if let Some(chosen) = all.iter().copied().find(|each| each.key() == event_target_value(&event)) {
            numbers.update(|own| set(own, chosen));
        }
    };
    let select = view! { <select id=id data-testid=id on:change=on_event(choose)>{options}</select> };
    let control = labelled(
        id,
        "label".to_owned(),
        spec.label.get().into_any(),
        [spec.label, spec.hint].map(Text::get),
        select.into_any(),
    );
    view! { <div hidden=bool_fn(move || of_file(page))>{control}</div> }.into_any()
}
