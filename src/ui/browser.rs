//! The little that the page needs of the browser beyond elements: addresses, storage, files, time.

use gloo::storage::{LocalStorage, Storage};
use leptos::prelude::{document, window};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, File, HtmlAnchorElement, Url};

use super::{
    format,
    settings::{Choice, Theme},
};

/// Larger files are not digits, and would only fill the memory.
const LARGEST_FILE: f64 = 256e6;
const THEME: &str = "hushgrad-theme";

/// Milliseconds since the page was opened.
#[must_use]
pub fn now() -> f64 {
    window().performance().map_or(0.0, |clock| clock.now())
}

/// An address relative to the page, whole.
#[must_use]
pub fn address(relative: &str) -> String {
    let base = document().base_uri().ok().flatten().unwrap_or_default();
    Url::new_with_base(relative, &base).map_or_else(|_| relative.to_owned(), |url| url.href())
}

/// The script of the training thread, as the build named it.
#[must_use]
pub fn worker_address() -> String {
    let named = document()
        .query_selector("meta[name=hushgrad-worker]")
        .ok()
        .flatten()
        .and_then(|meta| meta.get_attribute("content"));
    address(&named.unwrap_or_else(|| "./worker_loader.js".to_owned()))
}

/// The query of the page's address.
#[must_use]
pub fn query() -> String {
    window().location().search().unwrap_or_default()
}

/// Puts a query into the address without loading anything.
pub fn set_query(query: &str) {
    let Ok(path) = window().location().pathname() else { return };
    let address = if query.is_empty() { path } else { format!("{path}?{query}") };
    if let Ok(history) = window().history() {
        // Refused in sandboxed frames: then the address stays as it is, and sharing still works.
        drop(history.replace_state_with_url(&JsValue::NULL, "", Some(&address)));
    }
}

#[must_use]
pub fn user_agent() -> String {
    window().navigator().user_agent().unwrap_or_default()
}

#[must_use]
pub fn stored_theme() -> Theme {
    LocalStorage::get::<String>(THEME).ok().and_then(|key| Theme::by_key(&key)).unwrap_or(Theme::System)
}

/// Shows the theme, and keeps it where the browser lets us.
pub fn apply_theme(theme: Theme) {
    if let Some(root) = document().document_element() {
        // Setting an attribute of the root element cannot fail.
        drop(match theme {
            Theme::System => root.remove_attribute("data-theme"),
            _ => root.set_attribute("data-theme", theme.key()),
        });
    }
    drop(LocalStorage::set(THEME, theme.key()));
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

/// Names and bytes of what the visitor picked.
///
/// # Errors
/// One sentence that names the file.
pub async fn read_files(files: Vec<File>) -> Result<Vec<(String, Vec<u8>)>, String> {
    let mut read = Vec::with_capacity(files.len());
    for file in files {
        let name = file.name();
        if file.size() > LARGEST_FILE {
            return Err(format!(
                "{name} has {}, and no file of digits is larger than {}; nothing was loaded.",
                format::bytes(file.size() as u64),
                format::bytes(LARGEST_FILE as u64)
            ));
        }
        let buffer = JsFuture::from(file.array_buffer()).await.map_err(|_| {
            format!("{name} cannot be read; is it a folder, or was it moved? Choose IDX files, plain or gzip.")
        })?;
        read.push((name, js_sys::Uint8Array::new(&buffer).to_vec()));
    }
    Ok(read)
}

/// Offers bytes as a file.
pub fn download(name: &str, kind: &str, bytes: &[u8]) {
    let offer = || -> Result<(), JsValue> {
        let parts = js_sys::Array::of1(&js_sys::Uint8Array::from(bytes));
        let options = web_sys::BlobPropertyBag::new();
        options.set_type(kind);
        let blob = Blob::new_with_u8_array_sequence_and_options(&parts, &options)?;
        let url = Url::create_object_url_with_blob(&blob)?;
        follow(name, &url);
        Url::revoke_object_url(&url)
    };
    if let Err(error) = offer() {
        leptos::logging::error!("{name} could not be offered: {error:?}");
    }
}

/// Saves what an address of the page's own making holds.
pub fn follow(name: &str, url: &str) {
    if let Ok(link) = document().create_element("a") {
        let link: HtmlAnchorElement = link.unchecked_into();
        link.set_href(url);
        link.set_download(name);
        link.click();
    }
}
