//! Addresses: the page's own, and those of resources fetched later.

use std::fmt;

use leptos::prelude::{document, on_cleanup, window, window_event_listener_untyped};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::Url;

use crate::{plot::format, ui::text::t};

/// Resolves an address relative to the page.
#[must_use]
pub fn address(relative: &str) -> String {
    let base = document().base_uri().ok().flatten().unwrap_or_default();
    Url::new_with_base(relative, &base).map_or_else(|_| relative.to_owned(), |url| url.href())
}

/// Returns the address in the page's `meta` element `name`, written by the build, or `unnamed`.
#[must_use]
pub fn script_address(name: &str, unnamed: &str) -> String {
    let meta = document().query_selector(&format!("meta[name={name}]")).ok().flatten();
    address(&meta.and_then(|meta| meta.get_attribute("content")).unwrap_or_else(|| unnamed.to_owned()))
}

/// Like [`script_address`], but prefers the variant for the page's language.
#[must_use]
pub fn translated_address(name: &str, unnamed: &str) -> String {
    let own = format!("{name}-{}", super::language());
    script_address(
        if document().query_selector(&format!("meta[name={own}]")).is_ok_and(|meta| meta.is_some()) {
            &own
        } else {
            name
        },
        unnamed,
    )
}

/// Returns the query of the page's address.
#[must_use]
pub fn query() -> String {
    window().location().search().unwrap_or_default()
}

/// Sets the query of the address without loading anything; `new` adds an entry to the history.
pub fn set_query(query: &str, new: bool) {
    let Ok(path) = window().location().pathname() else { return };
    let address = if query.is_empty() { path } else { format!("{path}?{query}") };
    if let Ok(history) = window().history() {
        // Sandboxed frames refuse it; the address then stays, and sharing still works.
        drop(match new {
            true => history.push_state_with_url(&JsValue::NULL, "", Some(&address)),
            false => history.replace_state_with_url(&JsValue::NULL, "", Some(&address)),
        });
    }
}

/// Reloads the page at its current address.
pub fn reload() {
    // Only sandboxed frames refuse it, where the address never changes.
    drop(window().location().reload());
}

/// Calls `visit` when the page's address may have changed: on Back and Forward, and on links to the
/// page itself, which `www/start.js` turns into the same event.
pub fn on_other_address(visit: impl Fn() + 'static) {
    let back = window_event_listener_untyped("popstate", move |_| visit());
    on_cleanup(move || back.remove());
}

/// Why a text could not be fetched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FetchError {
    /// No network, or the text does not match its digest.
    Unreachable,
    /// The HTTP status of the response.
    Status(f64),
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable => f.write_str(t!("no network, or the file received is not the one this page expects")),
            Self::Status(status) => f.write_str(&t!("the server answered {status}", status = format::exact(*status))),
        }
    }
}

/// Fetches a text of this site, revalidating any cached copy. If the address has a fragment, it is
/// the `integrity` digest of the text.
///
/// # Errors
/// Why it could not be fetched.
pub async fn fetch_text(address: &str) -> Result<String, FetchError> {
    let fetch = async || -> Result<JsValue, JsValue> {
        let how = js_sys::Object::new();
        js_sys::Reflect::set(&how, &"cache".into(), &"no-cache".into())?;
        js_sys::Reflect::set(
            &how,
            &"integrity".into(),
            &address.split_once('#').map_or("", |(_, whole)| whole).into(),
        )?;
        let response = JsFuture::from(window().fetch_with_str_and_init(address, how.unchecked_ref())).await?;
        if js_sys::Reflect::get(&response, &"ok".into())?.is_falsy() {
            return js_sys::Reflect::get(&response, &"status".into());
        }
        let text: js_sys::Function = js_sys::Reflect::get(&response, &"text".into())?.dyn_into()?;
        JsFuture::from(text.call0(&response)?.dyn_into::<js_sys::Promise>()?).await
    };
    let found = fetch().await.map_err(|_| FetchError::Unreachable)?;
    found.as_string().ok_or_else(|| FetchError::Status(found.as_f64().unwrap_or_default()))
}
