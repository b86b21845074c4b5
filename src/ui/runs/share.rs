//! Links and frames with the current settings.

use leptos::prelude::*;

use crate::ui::{
    browser,
    link::Link,
    settings::Speed,
    size::closures::on_click,
    state::{HandedInRun, Page},
    text::t,
};

/// SHARE: the link as text and as a QR code, and a link that hands in the current run.
pub fn menu(page: Page) -> impl IntoView {
    let item = move |hook: &'static str, name: &'static str, act: fn(Page)| {
        view! { <button type="button" data-testid=hook on:click=on_click(move |_| act(page))>{name}</button> }
    };
    view! {
        <details class="menu wide">
            <summary data-testid="share-menu">{t!("Share")}</summary>
            <div class="menu-items">
                {item("share", t!("Copy the link"), share)}
                {item("share-code", t!("Show as QR code"), |_| dialog("share", &["code"]))}
                {item("hand-in", t!("Hand in this run…"), hand_in)}
            </div>
        </details>
    }
    .into_any()
}

/// Copies the address, which has all settings.
fn share(page: Page) {
    let address = window().location().href().unwrap_or_default();
    copy(page, address, t!("Link copied: it contains all settings made here, and none of your data."));
}

/// Opens the dialog that makes a link to hand in the current run.
pub fn hand_in(page: Page) {
    match HandedInRun(page).hand_in() {
        Ok((settings, said)) => {
            let link = Link { settings, speed: Speed::Max, theme: None, ..untrack(move || page.link()) };
            let parts = [link.write(), said.write()].into_iter().filter(|part| !part.is_empty());
            dialog("share", &["hand-in", &parts.collect::<Vec<_>>().join("&"), &said.claim()]);
        }
        Err(sentence) => page.messages.notify(sentence.to_owned()),
    }
}

/// Opens the dialog `www/embed_dialog.js`, which shows and copies a frame with these settings.
pub fn embed(page: Page) {
    let link = Link { lesson: page.lessons.name(), ..untrack(move || page.link()) };
    dialog("embed", &[&link.write()]);
}

/// Has `www/start.js` load and open a dialog.
fn dialog(name: &str, told: &[&str]) {
    let told: js_sys::Array = told.iter().map(|each| wasm_bindgen::JsValue::from_str(each)).collect();
    browser::tell(&format!("hushgrad-{name}"), &told.into());
}

/// Copies a text and says so, or shows it if that fails.
fn copy(page: Page, text: String, copied: &'static str) {
    leptos::task::spawn_local(async move {
        let done = browser::copy(&text).await;
        page.messages.notice.set(Some(match done {
            Ok(()) => copied.to_owned(),
            Err(_) => t!("This browser blocks copying; copy it from here: {text}", text = text),
        }));
    });
}
