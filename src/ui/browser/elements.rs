//! Elements of the page, and its clock.

use leptos::prelude::{document, window};
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

/// Milliseconds since the page was opened.
#[must_use]
pub fn now() -> f64 {
    window().performance().map_or(0.0, |clock| clock.now())
}

/// Presses the button, or opens the picker, of this id; false where there is none.
pub fn press(id: &str) -> bool {
    let element = document().get_element_by_id(id);
    let Some(element) = element.and_then(|element| element.dyn_into::<HtmlElement>().ok()) else { return false };
    element.click();
    true
}

/// Brings the element of this id into sight, with the focus in it, out of whatever fold it is in.
pub fn go_to(id: &str) {
    let Some(element) = document().get_element_by_id(id) else { return };
    if let Some(fold) = element.closest("details:not([open])").ok().flatten() {
        drop(fold.set_attribute("open", ""));
    }
    if let Some(element) = element.dyn_ref::<HtmlElement>() {
        drop(element.focus());
    }
}

/// Whether the visitor's system has nothing against motion.
#[must_use]
pub fn may_move() -> bool {
    !matches!(window().match_media("(prefers-reduced-motion: reduce)"), Ok(Some(list)) if list.matches())
}

/// What the browser calls itself.
#[must_use]
pub fn user_agent() -> String {
    window().navigator().user_agent().unwrap_or_default()
}

/// The rules that the page itself came with.
#[must_use]
pub fn content_policy() -> String {
    let meta = document().query_selector("meta[http-equiv=Content-Security-Policy]").ok().flatten();
    meta.and_then(|meta| meta.get_attribute("content")).unwrap_or_default()
}
