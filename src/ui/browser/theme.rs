//! Colours: the page shows a theme, and the browser keeps it.

use leptos::prelude::{document, window};

use crate::ui::settings::{Choice, Theme};

const THEME: &str = "hushgrad-theme";

/// The theme of the page around this one, where that told it; else the one that the browser keeps for this page; the system's where it keeps none.
#[must_use]
pub fn stored_theme() -> Theme {
    let around = document().document_element().and_then(|root| root.get_attribute("data-host-theme"));
    if let Some(theme) = around.and_then(|key| Theme::by_key(&key)) {
        return theme;
    }
    let stored = storage().and_then(|storage| storage.get_item(THEME).ok().flatten());
    stored.and_then(|key| Theme::by_key(&key)).unwrap_or(Theme::System)
}

/// Shows the theme, and keeps it where the browser lets us.
pub fn apply_theme(theme: Theme) {
    show_theme(theme);
    if let Some(storage) = storage() {
        // Full or forbidden: then it is not kept.
        drop(storage.set_item(THEME, theme.key()));
    }
}

/// Shows the theme.
pub fn show_theme(theme: Theme) {
    if let Some(root) = document().document_element() {
        // Setting an attribute of the root element cannot fail.
        drop(match theme {
            Theme::System => root.remove_attribute("data-theme"),
            _ => root.set_attribute("data-theme", theme.key()),
        });
    }
}

/// What the browser keeps for this page; private windows may have none.
fn storage() -> Option<web_sys::Storage> {
    window().local_storage().ok().flatten()
}

/// Whether the page is dark as it stands.
#[must_use]
pub fn is_dark(theme: Theme) -> bool {
    match theme {
        Theme::Light => false,
        Theme::Dark => true,
        Theme::System => {
            window().match_media("(prefers-color-scheme: dark)").ok().flatten().is_some_and(|media| media.matches())
        }
    }
}
