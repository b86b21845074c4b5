//! The little that the page needs of the browser beyond elements: addresses, storage, files, time.

use leptos::prelude::{document, window};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, File, HtmlAnchorElement, HtmlElement, Url};

use crate::{
    plot::format,
    train::run_file,
    ui::settings::{Choice, Theme},
};

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

/// What the page starts or fetches later, as the build named it in the page's `meta` element `name`.
#[must_use]
pub fn script_address(name: &str, unnamed: &str) -> String {
    let meta = document().query_selector(&format!("meta[name={name}]")).ok().flatten();
    address(&meta.and_then(|meta| meta.get_attribute("content")).unwrap_or_else(|| unnamed.to_owned()))
}

/// The query of the page's address.
#[must_use]
pub fn query() -> String {
    window().location().search().unwrap_or_default()
}

/// A text of this site, which is compared with the digest (as `integrity` has it) after the `#` of its address, past what the
/// browser had of it before.
///
/// # Errors
/// Why it did not come, in words.
pub async fn fetch_text(address: &str) -> Result<String, String> {
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
    let found =
        fetch().await.map_err(|_| "the network does not answer, or with another text than this page's".to_owned())?;
    found
        .as_string()
        .ok_or_else(|| format!("the server answered {}", format::exact(found.as_f64().unwrap_or_default())))
}

/// Draws a frame around the element of a hook, and none around the last; brings it into sight.
pub fn point_at(hook: Option<&str>) {
    const CLASS: &str = "pointed";
    let one = |selector: &str| document().query_selector(selector).ok().flatten();
    if let Some(old) = one(&format!(".{CLASS}")) {
        drop(old.class_list().remove_1(CLASS));
    }
    let Some(element) = hook.and_then(|hook| one(&format!("[data-testid=\"{hook}\"]"))) else { return };
    let whole = element.closest(".control, .tile, .readouts div").ok().flatten().unwrap_or(element);
    drop(whole.class_list().add_1(CLASS));
    // Only as far as needed.
    let options = js_sys::Object::new();
    drop(js_sys::Reflect::set(&options, &"block".into(), &"nearest".into()));
    if let Ok(scroll) = js_sys::Reflect::get(&whole, &"scrollIntoView".into())
        && let Some(scroll) = scroll.dyn_ref::<js_sys::Function>()
    {
        drop(scroll.call1(&whole, &options));
    }
}

/// Presses the button, or opens the picker, of this id; false where there is none.
pub fn press(id: &str) -> bool {
    let element = document().get_element_by_id(id);
    let Some(element) = element.and_then(|element| element.dyn_into::<HtmlElement>().ok()) else { return false };
    element.click();
    true
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

/// The rules that the page itself came with.
#[must_use]
pub fn content_policy() -> String {
    let meta = document().query_selector("meta[http-equiv=Content-Security-Policy]").ok().flatten();
    meta.and_then(|meta| meta.get_attribute("content")).unwrap_or_default()
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

/// Bytes of a file, or of a part of it; `None` where the browser cannot read it.
pub async fn bytes_of(part: &Blob) -> Option<Vec<u8>> {
    let buffer = JsFuture::from(part.array_buffer()).await.ok()?;
    Some(js_sys::Uint8Array::new(&buffer).to_vec())
}

/// Name and bytes of a run file.
///
/// # Errors
/// One sentence that names it.
pub async fn read_run_file(file: File) -> Result<(String, Vec<u8>), String> {
    let name = file.name();
    if file.size() > run_file::LARGEST as f64 {
        return Err(format!(
            "{name} has {}, and no run file is larger than {}; nothing was loaded.",
            format::bytes(file.size() as u64),
            format::bytes(run_file::LARGEST as u64)
        ));
    }
    match bytes_of(&file).await {
        Some(bytes) => Ok((name, bytes)),
        None => Err(format!(
            "“{name}” cannot be read; is it a folder, or was it moved? Choose a run that was saved by this page."
        )),
    }
}

/// Copies a text.
///
/// # Errors
/// The browser does not let the page, or, outside of a secure context, has no clipboard for it.
pub async fn copy(text: &str) -> Result<(), JsValue> {
    let clipboard: web_sys::Clipboard = js_sys::Reflect::get(&window().navigator(), &"clipboard".into())?.dyn_into()?;
    JsFuture::from(clipboard.write_text(text)).await.map(drop)
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
