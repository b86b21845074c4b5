//! Frames the element that a lesson refers to and scrolls it into view. The lesson's strip is fixed
//! to the bottom of the window, above everything else there.

use leptos::prelude::{document, window};
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};

use super::elements::width;

/// Elements that may be fixed to an edge of the window.
const FIXED: &str = ".top, .transport, .messages, .bar";
const STRIP: &str = ".lesson";
const POINTED: &str = "pointed";
/// Margin around the framed element.
const FRAME: f64 = 12.0;

/// Moves the frame to the element of `hook`, its test id, and scrolls it into view. If it is higher
/// than the free part of the window, frames its heading. Does not scroll if the visitor has
/// scrolled away from the element framed `before`.
///
/// Returns the strip, the page's panels and the element, whose resizing requires a new frame.
pub fn point_at(hook: Option<&str>, before: Option<Framed>) -> (Vec<Element>, Option<Framed>) {
    let old = one(&format!(".{POINTED}"));
    let left = before.zip(old.as_ref()).is_some_and(|(before, old)| before.is_left(Framed::of(old)));
    if let Some(old) = &old {
        drop(old.class_list().remove_1(POINTED));
    }
    let clear = make_room();
    let element = hook.and_then(|hook| one(&format!("[data-testid=\"{hook}\"]")));
    let watched = [one(STRIP), one("main"), element.clone()].into_iter().flatten().collect();
    let Some(element) = element else { return (watched, None) };
    let around = |selector: &str| element.closest(selector).ok().flatten();
    if let Some(details) = around("details:not([open])") {
        // Open the fold that hides the element, unless the element is the fold.
        if details != element {
            drop(details.set_attribute("open", ""));
        }
    }
    let whole = around(".control, .tile, .readouts div");
    let heading = element.query_selector("summary, h2, h3, legend").ok().flatten();
    let fits = |element: &Element| {
        let height = element.get_bounding_client_rect().height();
        height > 0.0 && height + 2.0 * FRAME <= clear
    };
    let found = [whole, Some(element.clone()), heading].into_iter().flatten().find(fits).unwrap_or(element);
    drop(found.class_list().add_1(POINTED));
    if left {
        return (watched, before);
    }
    // Scroll only as far as needed.
    let options = js_sys::Object::new();
    drop(js_sys::Reflect::set(&options, &"block".into(), &"nearest".into()));
    if let Ok(scroll) = js_sys::Reflect::get(&found, &"scrollIntoView".into())
        && let Some(scroll) = scroll.dyn_ref::<js_sys::Function>()
    {
        drop(scroll.call1(&found, &options));
    }
    (watched, Some(Framed::of(&found)))
}

/// Position of the framed element from the page's top, and the page's scroll offset at that time.
#[derive(Clone, Copy)]
pub struct Framed {
    top: f64,
    scrolled: f64,
}

impl Framed {
    fn of(element: &Element) -> Self {
        let scrolled = window().scroll_y().unwrap_or_default();
        Self { top: element.get_bounding_client_rect().top() + scrolled, scrolled }
    }

    /// True if the visitor has scrolled since. The browser itself scrolls at most as far as the
    /// element has moved, or to the end of a page that became shorter.
    fn is_left(self, now: Self) -> bool {
        let (moved, by) = (now.top - self.top, now.scrolled - self.scrolled);
        let end = document().document_element().map_or(0, |root| root.scroll_height());
        let at_end = now.scrolled + number(window().inner_height()) >= f64::from(end) - 2.0;
        by > moved.max(0.0) + 2.0 || by < moved.min(0.0) - 2.0 && !at_end
    }
}

/// Tells the style sheet what covers the window's edges: `--clear-top`, `--lesson-floor` below the
/// strip, and `--clear-bottom` including it. Returns the free height in between.
fn make_room() -> f64 {
    let height = number(window().inner_height());
    let (mut top, mut floor) = (0.0, 0.0);
    let fixed = document().query_selector_all(FIXED).ok();
    for at in 0..fixed.as_ref().map_or(0, web_sys::NodeList::length) {
        let Some(element) =
            fixed.as_ref().and_then(|all| all.item(at)).and_then(|node| node.dyn_into::<Element>().ok())
        else {
            continue;
        };
        let Some(style) = window().get_computed_style(&element).ok().flatten() else { continue };
        let value = |name: &str| style.get_property_value(name).unwrap_or_default();
        let (position, place) = (value("position"), element.get_bounding_client_rect());
        let (sticky, fixed) = (position == "sticky", position == "fixed");
        if place.height() == 0.0 || !(sticky || fixed) {
            continue;
        }
        if (fixed && place.top() > height / 2.0) || (sticky && value("top") == "auto") {
            floor = f64::max(floor, place.height());
        } else {
            top = f64::max(top, place.height());
        }
    }
    // A strip beside the page does not cover its bottom.
    let width = width();
    let strip = one(STRIP).map(|strip| strip.get_bounding_client_rect()).filter(|strip| strip.width() > width / 2.0);
    let strip = strip.map_or(0.0, |strip| strip.height());
    if let Some(root) = document().document_element().and_then(|root| root.dyn_into::<HtmlElement>().ok()) {
        for (name, size) in [("--lesson-floor", floor), ("--clear-top", top), ("--clear-bottom", floor + strip)] {
            drop(root.style().set_property(name, &format!("{}px", size.ceil() as u32)));
        }
    }
    height - top - floor - strip
}

fn one(selector: &str) -> Option<Element> {
    document().query_selector(selector).ok().flatten()
}

fn number(value: Result<wasm_bindgen::JsValue, wasm_bindgen::JsValue>) -> f64 {
    value.ok().and_then(|value| value.as_f64()).unwrap_or_default()
}
