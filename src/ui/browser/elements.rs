//! Elements of the page, and its clock.

use leptos::prelude::{document, set_timeout, window};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{CustomEvent, CustomEventInit, HtmlElement};

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

/// Puts the keyboard's focus on the element of this id once what was changed just now is drawn, nowhere while that is not seen; and
/// the window's upper edge to what the selector names.
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

/// Shows the page from its top.
pub fn to_top() {
    window().scroll_to_with_x_and_y(0.0, 0.0);
}

/// Of the window, in CSS pixels.
#[must_use]
pub fn width() -> f64 {
    window().inner_width().ok().and_then(|width| width.as_f64()).unwrap_or_default()
}

/// Whether anything fits the selector.
#[must_use]
pub fn is_there(selector: &str) -> bool {
    document().query_selector(selector).is_ok_and(|found| found.is_some())
}

/// Has the style sheet show the page to a class, or as ever.
pub fn show_presenting(on: bool) {
    mark_root("data-present", on);
}

/// Marks the whole page where what it says of ε is refuted.
pub fn show_refuted(on: bool) {
    mark_root("data-refuted", on);
}

pub(super) fn mark_root(attribute: &str, on: bool) {
    if let Some(root) = document().document_element() {
        drop(root.toggle_attribute_with_force(attribute, on));
    }
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

/// How high the window is beside one of 1080 pixels, where charts have the height that they are made for; 1 at most.
#[must_use]
pub fn share_of_height() -> f64 {
    let height = window().inner_height().ok().and_then(|height| height.as_f64());
    height.map_or(1.0, |height| (height / 1080.0).min(1.0))
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

/// Tells the page's scripts something: an event of the window.
pub fn tell(event: &str, detail: &JsValue) {
    let init = CustomEventInit::new();
    init.set_detail(detail);
    // Nothing is wrong with the names of the page's events.
    if let Ok(event) = CustomEvent::new_with_event_init_dict(event, &init) {
        drop(window().dispatch_event(&event));
    }
}
