//! Colour themes: showing and storing them; and whether the settings are open.

use gloo::events::EventListener;
use leptos::prelude::{document, window};

use crate::ui::settings::{Choice, Theme};

const THEME: &str = "hushgrad-theme";
const SETTINGS: &str = "hushgrad-settings";
/// Matches on a dark system.
const DARK: &str = "(prefers-color-scheme: dark)";

/// Returns the host page's theme if given, else the stored one, else the system's.
#[must_use]
pub fn stored_theme() -> Theme {
    let around = document().document_element().and_then(|root| root.get_attribute("data-host-theme"));
    if let Some(theme) = around.and_then(|key| Theme::by_key(&key)) {
        return theme;
    }
    let stored = storage().and_then(|storage| storage.get_item(THEME).ok().flatten());
    stored.and_then(|key| Theme::by_key(&key)).unwrap_or(Theme::System)
}

/// Shows the theme, and stores it if the browser allows it.
pub fn apply_theme(theme: Theme) {
    show_theme(theme);
    if let Some(storage) = storage() {
        // Not stored if storage is full or forbidden.
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

/// Returns the browser's storage for this page; private windows may have none.
fn storage() -> Option<web_sys::Storage> {
    window().local_storage().ok().flatten()
}

/// The storage of this tab.
fn storage_of_tab() -> Option<web_sys::Storage> {
    window().session_storage().ok().flatten()
}

/// True if the settings were open when this tab last showed the page.
#[must_use]
pub fn settings_were_open() -> bool {
    storage_of_tab().is_some_and(|storage| matches!(storage.get_item(SETTINGS), Ok(Some(_))))
}

/// Has the settings open when this tab shows the page again, or closed.
pub fn remember_settings(open: bool) {
    if let Some(storage) = storage_of_tab() {
        // Not stored if storage is full or forbidden.
        drop(if open { storage.set_item(SETTINGS, "") } else { storage.remove_item(SETTINGS) });
    }
}

/// Calls `act` whenever the system changes between light and dark.
pub fn when_system_theme_changes(act: impl Fn() + 'static) {
    if let Ok(Some(media)) = window().match_media(DARK) {
        EventListener::new(&media, "change", move |_| act()).forget();
    }
}

/// True if the page is dark under this theme.
#[must_use]
pub fn is_dark(theme: Theme) -> bool {
    match theme {
        Theme::Light => false,
        Theme::Dark => true,
        Theme::System => window().match_media(DARK).ok().flatten().is_some_and(|media| media.matches()),
    }
}
