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
    /// The browser's plural rule: maps a number to the index of a text's form.
    static FORM: RefCell<Option<Function>> = const { RefCell::new(None) };
}

fn told(key: &str) -> JsValue {
    let all = Reflect::get(&window(), &"hushgradText".into()).unwrap_or_default();
    Reflect::get(&all, &key.into()).unwrap_or_default()
}

/// Loads the texts that `www/start.js` fetched; the page uses them from now on.
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

/// Returns the page's language: `en`, `de`, ….
#[must_use]
pub fn language() -> String {
    document().document_element().and_then(|root| root.get_attribute("lang")).unwrap_or_default()
}

/// True if that language is written from right to left, so that “next” is on the left.
#[must_use]
pub fn right_to_left() -> bool {
    document().document_element().and_then(|root| root.get_attribute("dir")).is_some_and(|dir| dir == "rtl")
}

/// Returns the available languages.
#[must_use]
pub fn languages() -> Vec<String> {
    let all = told("languages").dyn_into::<Array>().unwrap_or_default();
    all.iter().filter_map(|each| each.as_string()).collect()
}

/// Returns a language's name in that language.
#[must_use]
pub fn language_name(language: &str) -> String {
    let names = told("names");
    Reflect::get(&names, &language.into()).unwrap_or_default().as_string().unwrap_or_else(|| language.to_owned())
}

/// Requests another language; the event `hushgrad-spoken` announces its texts.
pub fn choose_language(language: &str) {
    super::tell("hushgrad-speak", &language.into());
}

/// Rebuilds the page by `act`, then returns the focus to the element with the same test id.
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
