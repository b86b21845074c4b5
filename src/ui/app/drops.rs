//! Drag and drop of files.

use leptos::{ev, prelude::*};

use crate::ui::{setup::digits_line::load_list, state::Page};

/// Loads files dropped anywhere; the signal is true while files are dragged over the page.
pub fn drops(page: Page) -> RwSignal<bool> {
    let over = RwSignal::new(false);
    let carries_files =
        |event: &ev::DragEvent| event.data_transfer().is_some_and(|data| data.types().includes(&"Files".into(), 0));
    let dragged = window_event_listener(ev::dragover, move |event| {
        if carries_files(&event) {
            event.prevent_default();
            if !over.get_untracked() {
                over.set(true);
            }
        }
    });
    let left = window_event_listener(ev::dragleave, move |event| {
        if event.related_target().is_none() {
            over.set(false);
        }
    });
    let dropped = window_event_listener(ev::drop, move |event| {
        if carries_files(&event) {
            event.prevent_default();
            over.set(false);
            if let Some(list) = event.data_transfer().and_then(|data| data.files()) {
                load_list(page, &list);
            }
        }
    });
    on_cleanup(move || {
        dragged.remove();
        left.remove();
        dropped.remove();
    });
    over
}
