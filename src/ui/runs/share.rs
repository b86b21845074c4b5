//! Links and frames to what is set.

use leptos::prelude::*;

use web_sys::{CustomEvent, CustomEventInit};

use crate::ui::{browser, link::Link, state::Page, text::t};

/// Copies the address, which says everything that is set.
pub fn share(page: Page) {
    let address = window().location().href().unwrap_or_default();
    copy(page, address, t!("The link is copied: it says everything that is set here, and nothing of your data."));
}

/// Opens the dialog (`www/embed_dialog.js`) that shows and copies a frame for another page to hold, in which everything is set as here.
pub fn embed(page: Page) {
    let link = Link { lesson: page.lessons.name(), ..untrack(move || page.link()) };
    let init = CustomEventInit::new();
    init.set_detail(&link.write().into());
    if let Ok(event) = CustomEvent::new_with_event_init_dict("hushgrad-embed", &init) {
        drop(window().dispatch_event(&event));
    }
}

/// Copies a text, and says so, or shows it.
fn copy(page: Page, text: String, copied: &'static str) {
    leptos::task::spawn_local(async move {
        let done = browser::copy(&text).await;
        page.messages.notice.set(Some(match done {
            Ok(()) => copied.to_owned(),
            Err(_) => t!("This browser does not let the page copy; take it from here: {text}", text = text),
        }));
    });
}
