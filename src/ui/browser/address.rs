//! Addresses: the page's own, and of what it fetches later.

use std::fmt;

use leptos::prelude::{document, on_cleanup, window, window_event_listener_untyped};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::Url;

use crate::{plot::format, ui::text::t};

/// An address relative to the page, whole.
#[must_use]
pub fn address(relative: &str) -> String {
    let base = document().base_uri().ok().flatten().unwrap_or_default();
    Url::new_with_base(relative, &base).map_or_else(|_| relative.to_owned(), |url| url.href())
}

/// What the page starts or fetches later, as the build named it in the page's `meta` element `name`.
#[must_use]
pub fn script_address(name: &str, unnamed: &str) -> String {
    let meta = document().query_selector(&format!("meta[name={name}]")).ok().flatten();
    address(&meta.and_then(|meta| meta.get_attribute("content")).unwrap_or_else(|| unnamed.to_owned()))
}

/// The same in the page's language, where there is one.
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

/// The query of the page's address.
#[must_use]
pub fn query() -> String {
    window().location().search().unwrap_or_default()
}

/// Puts a query into the address without loading anything; `new`: Back leads to the one before it.
pub fn set_query(query: &str, new: bool) {
    let Ok(path) = window().location().pathname() else { return };
    let address = if query.is_empty() { path } else { format!("{path}?{query}") };
    if let Ok(history) = window().history() {
        // Refused in sandboxed frames: then the address stays as it is, and sharing still works.
        drop(match new {
            true => history.push_state_with_url(&JsValue::NULL, "", Some(&address)),
            false => history.replace_state_with_url(&JsValue::NULL, "", Some(&address)),
        });
    }
}

/// Loads the page again, at the address that it has.
pub fn reload() {
    // Refused in sandboxed frames alone, where the address never changes.
    drop(window().location().reload());
}

/// Calls `visit` when the page's address may have become another one: by Back and Forward, and by links to the page itself, of which `www/start.js` makes
/// the same.
pub fn on_other_address(visit: impl Fn() + 'static) {
    let back = window_event_listener_untyped("popstate", move |_| visit());
    on_cleanup(move || back.remove());
}

/// Why a text did not come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FetchError {
    /// There is no network, or the text is not the one whose digest is named.
    Unreachable,
    /// The server's status.
    Status(f64),
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable => f.write_str(t!("the network does not answer, or with another text than this page's")),
            Self::Status(status) => f.write_str(&t!("the server answered {status}", status = format::exact(*status))),
        }
    }
}

/// A text of this site, which is compared with the digest (as `integrity` has it) after the `#` of its address, past what the
/// browser had of it before.
///
/// # Errors
/// Why it did not come.
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
