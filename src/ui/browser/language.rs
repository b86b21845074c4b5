//! The visitor's language: `www/start.js` chooses it and fetches its texts.

use std::cell::RefCell;

use js_sys::{Array, Function, Reflect};
use leptos::prelude::{document, request_animation_frame, window};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::HtmlElement;

use crate::{
    plot::format,
    ui::text::{self, Table},
};

thread_local! {
    /// Which form of a text is for a number, as the browser knows it of the language.
    static FORM: RefCell<Option<Function>> = const { RefCell::new(None) };
}

fn told(key: &str) -> JsValue {
    let all = Reflect::get(&window(), &"hushgradText".into()).unwrap_or_default();
    Reflect::get(&all, &key.into()).unwrap_or_default()
}

/// Takes the texts that are there: all that the page says from now on is of them.
pub fn listen_to_language() {
    FORM.set(told("form").dyn_into().ok());
    let form = |n: f64| {
        let asked = FORM.with_borrow(|form| form.as_ref()?.call1(&JsValue::NULL, &n.into()).ok()?.as_f64());
        asked.map_or(0, |form| form as usize)
    };
    let table = Table::read(told("table").as_string().unwrap_or_default().leak(), form);
    format::speak(table.decimal, table.group);
    text::speak(table);
}

/// The language that the page speaks: `en`, `de`, ….
#[must_use]
pub fn language() -> String {
    document().document_element().and_then(|root| root.get_attribute("lang")).unwrap_or_default()
}

/// Whether that is written from right to left: what comes next is then at the left.
#[must_use]
pub fn right_to_left() -> bool {
    document().document_element().and_then(|root| root.get_attribute("dir")).is_some_and(|dir| dir == "rtl")
}

/// Those that it could speak.
#[must_use]
pub fn languages() -> Vec<String> {
    let all = told("languages").dyn_into::<Array>().unwrap_or_default();
    all.iter().filter_map(|each| each.as_string()).collect()
}

/// What a language calls itself.
#[must_use]
pub fn language_name(language: &str) -> String {
    let names = told("names");
    Reflect::get(&names, &language.into()).unwrap_or_default().as_string().unwrap_or_else(|| language.to_owned())
}

/// Asks for another language; `hushgrad-spoken` tells that its texts are there.
pub fn choose_language(language: &str) {
    super::tell("hushgrad-speak", &language.into());
}

/// Builds the page again by `act`; what had the focus has it again, under the same test id.
pub fn keeping_focus(act: impl FnOnce()) {
    let focused = document().active_element().and_then(|element| element.get_attribute("data-testid"));
    act();
    let Some(hook) = focused else { return };
    let again = move || {
        let found = document().query_selector(&format!("[data-testid=\"{hook}\"]")).ok().flatten();
        if let Some(element) = found.and_then(|element| element.dyn_into::<HtmlElement>().ok()) {
            drop(element.focus());
        }
    };
    request_animation_frame(again);
}
