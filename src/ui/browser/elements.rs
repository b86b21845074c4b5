//! Elements of the page, and its clock.

use leptos::prelude::{document, set_timeout, window};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{CustomEvent, CustomEventInit, HtmlElement};

/// Returns the milliseconds since the page was opened.
#[must_use]
pub fn now() -> f64 {
    window().performance().map_or(0.0, |clock| clock.now())
}

/// Clicks the button or opens the picker with this id; false if there is none.
pub fn press(id: &str) -> bool {
    let element = document().get_element_by_id(id);
    let Some(element) = element.and_then(|element| element.dyn_into::<HtmlElement>().ok()) else { return false };
    element.click();
    true
}

/// Focuses the element with this id once pending changes are drawn, if it is visible; scrolls what
/// `at_top` selects to the top of the window.
pub fn focus_soon(id: &'static str, at_top: Option<&'static str>) {
    let focus = move || {
        let element = document().get_element_by_id(id).and_then(|element| element.dyn_into::<HtmlElement>().ok());
        if let Some(element) = element {
            drop(element.focus());
        }
        if let Some(first) = at_top.and_then(|selector| document().query_selector(selector).ok().flatten()) {
            first.scroll_into_view();
        }
    };
    set_timeout(focus, std::time::Duration::ZERO);
}

/// Scrolls the page to its top.
pub fn to_top() {
    window().scroll_to_with_x_and_y(0.0, 0.0);
}

/// Returns the window's width in CSS pixels.
#[must_use]
pub fn width() -> f64 {
    window().inner_width().ok().and_then(|width| width.as_f64()).unwrap_or_default()
}

/// True if any element matches the selector.
#[must_use]
pub fn is_there(selector: &str) -> bool {
    document().query_selector(selector).is_ok_and(|found| found.is_some())
}

/// Turns presentation mode on or off in the style sheet.
pub fn show_presenting(on: bool) {
    mark_root("data-present", on);
}

/// Marks the page if the ε that it states is refuted.
pub fn show_refuted(on: bool) {
    mark_root("data-refuted", on);
}

pub(super) fn mark_root(attribute: &str, on: bool) {
    if let Some(root) = document().document_element() {
        drop(root.toggle_attribute_with_force(attribute, on));
    }
}

/// Scrolls to the element with this id and focuses it, opening the fold that contains it.
pub fn go_to(id: &str) {
    let Some(element) = document().get_element_by_id(id) else { return };
    if let Some(fold) = element.closest("details:not([open])").ok().flatten() {
        drop(fold.set_attribute("open", ""));
    }
    if let Some(element) = element.dyn_ref::<HtmlElement>() {
        drop(element.focus());
    }
}

/// True unless the visitor's system asks for reduced motion.
#[must_use]
pub fn may_move() -> bool {
    !matches!(window().match_media("(prefers-reduced-motion: reduce)"), Ok(Some(list)) if list.matches())
}

/// Returns the window's height relative to the 1080 pixels that charts are designed for; at most 1.
#[must_use]
pub fn share_of_height() -> f64 {
    let height = window().inner_height().ok().and_then(|height| height.as_f64());
    height.map_or(1.0, |height| (height / 1080.0).min(1.0))
}

/// Returns the browser's user agent.
#[must_use]
pub fn user_agent() -> String {
    window().navigator().user_agent().unwrap_or_default()
}

/// Returns the page's content security policy.
#[must_use]
pub fn content_policy() -> String {
    let meta = document().query_selector("meta[http-equiv=Content-Security-Policy]").ok().flatten();
    meta.and_then(|meta| meta.get_attribute("content")).unwrap_or_default()
}

/// Dispatches an event on the window, for the page's scripts.
pub fn tell(event: &str, detail: &JsValue) {
    let init = CustomEventInit::new();
    init.set_detail(detail);
    // Cannot fail for the names of the page's events.
    if let Ok(event) = CustomEvent::new_with_event_init_dict(event, &init) {
        drop(window().dispatch_event(&event));
    }
}
