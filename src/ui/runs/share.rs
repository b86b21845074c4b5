//! Links and frames to what is set.

use leptos::prelude::*;

use crate::ui::{browser, state::Page};

/// Copies the address, which says everything that is set.
pub fn share(page: Page) {
    let address = window().location().href().unwrap_or_default();
    let copied = "The link is copied: it says everything that is set here, and nothing of your data.";
    copy(page, address, copied.to_owned());
}

/// Copies a frame for another page to hold, in which everything is set as here.
pub fn embed(page: Page) {
    let query = untrack(move || page.link().write()).replace('&', "&amp;");
    let address = browser::address("embed.html");
    let frame = format!(
        r#"<iframe src="{address}?{query}" title="hushgrad" width="640" height="400" style="border: 0"></iframe>"#
    );
    let copied = format!("Copied, to stand in a page of yours (docs/embedding.md says what else it can do): {frame}");
    copy(page, frame, copied);
}

/// Copies a text, and says so, or shows it.
fn copy(page: Page, text: String, copied: String) {
    leptos::task::spawn_local(async move {
        let done = browser::copy(&text).await;
        page.messages.notice.set(Some(match done {
            Ok(()) => copied,
            Err(_) => format!("This browser does not let the page copy; take it from here: {text}"),
        }));
    });
}
