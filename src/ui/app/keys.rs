//! Keys that work everywhere.

use leptos::{ev, html, prelude::*};
use wasm_bindgen::JsCast;

use super::help::open;
use crate::ui::{browser, state::Page};

/// Keys that work anywhere but where they mean something else.
pub fn keys(page: Page, help: NodeRef<html::Dialog>) {
    let listener = window_event_listener(ev::keydown, move |event| {
        if event.ctrl_key() || event.meta_key() || event.alt_key() || event.is_composing() || event.default_prevented()
        {
            return;
        }
        let target = event.target().and_then(|target| target.dyn_into::<web_sys::Element>().ok());
        let within =
            |selector: &str| target.as_ref().is_some_and(|element| element.closest(selector).ok().flatten().is_some());
        if event.key() == "Escape" {
            escape(page, within("input[type=text], textarea, select"));
            return;
        }
        // Typing is typing, and a dialog has the keys for itself.
        if within("input[type=text], textarea, select, dialog, [contenteditable]") {
            return;
        }
        match event.key().as_str() {
            // On a button or a link, space is that button's or link's; on play and pause both mean the same.
            " " if !within("button, a, summary, input, [role=region]")
                || within("[data-testid=play], [data-testid=pause]") =>
            {
                event.prevent_default();
                if !event.repeat() {
                    page.toggle();
                }
            }
            "s" => page.run.step_once(),
            "r" if !event.repeat() => page.run.reset(),
            "?" => open(help),
            // What a presenter's remote control sends turns the pages, too; where arrows move something else, they move that.
            key @ ("ArrowRight" | "ArrowLeft" | "PageDown" | "PageUp")
                if page.appearance.present.get_untracked()
                    && page.lessons.open.with_untracked(Option::is_some)
                    && !within("input, .lot, [role=region], :popover-open") =>
            {
                event.prevent_default();
                let on = if browser::right_to_left() { "ArrowLeft" } else { "ArrowRight" };
                page.turn(key == on || key == "PageDown");
            }
            _ => {}
        }
    });
    on_cleanup(move || listener.remove());
}

/// Puts away the sheet of a phone, or what is shown to a class; what lies over them has the key for itself.
fn escape(page: Page, typing: bool) {
    let look = page.appearance;
    if browser::is_there("dialog[open], :popover-open") {
        return;
    }
    match look.present.get_untracked() {
        // A number takes back what was typed.
        true if typing => {}
        true => look.present.set(false),
        false if look.sheet.get_untracked() => look.close_sheet(),
        false => {}
    }
}
