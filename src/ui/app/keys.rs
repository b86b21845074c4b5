//! Global keyboard shortcuts.

use leptos::{ev, html, prelude::*};
use wasm_bindgen::JsCast;

use super::help::open;
use crate::ui::{
    browser,
    state::{LessonPlayer, Page},
};

/// Handles global keys, except where a key has another meaning.
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
        // Ignore typing, and keys in a dialog.
        if within("input[type=text], textarea, select, dialog, [contenteditable]") {
            return;
        }
        match event.key().as_str() {
            // Space activates a focused button or link; play and pause do the same either way.
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
            // Presenter remotes send Page Up and Page Down. Elements that use arrows keep their
            // keys.
            key @ ("ArrowRight" | "ArrowLeft" | "PageDown" | "PageUp")
                if page.appearance.present.get_untracked()
                    && page.lessons.open.with_untracked(Option::is_some)
                    && !within("input, .lot, [role=region], :popover-open") =>
            {
                event.prevent_default();
                let on = if browser::right_to_left() { "ArrowLeft" } else { "ArrowRight" };
                LessonPlayer(page).turn(key == on || key == "PageDown");
            }
            _ => {}
        }
    });
    on_cleanup(move || listener.remove());
}

/// Ends presentation mode, or closes the settings. An open dialog or popover takes the key, and so does a
/// field, which restores its value.
fn escape(page: Page, typing: bool) {
    let look = page.appearance;
    if typing || browser::is_there("dialog[open], :popover-open") {
        return;
    }
    if look.present.get_untracked() {
        look.present.set(false);
    } else if look.sheet.get_untracked() {
        look.close_sheet();
    }
}
