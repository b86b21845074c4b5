//! Files: reading, copying and downloading.

use leptos::prelude::{document, window};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, File, HtmlAnchorElement, Url};

use crate::{plot::format, train::run_file, ui::text::t};

/// Reads the bytes of a file or a part of it; `None` if the browser cannot.
pub async fn bytes_of(part: &Blob) -> Option<Vec<u8>> {
    let buffer = JsFuture::from(part.array_buffer()).await.ok()?;
    Some(js_sys::Uint8Array::new(&buffer).to_vec())
}

/// Reads a run file; returns its name and bytes.
///
/// # Errors
/// A sentence that names the file.
pub async fn read_run_file(file: File) -> Result<(String, Vec<u8>), String> {
    let name = file.name();
    if file.size() > run_file::LARGEST as f64 {
        return Err(t!(
            "{name} is {size}, but run files are at most {largest}; nothing was loaded.",
            name = name,
            size = format::bytes(file.size() as u64),
            largest = format::bytes(run_file::LARGEST as u64)
        ));
    }
    match bytes_of(&file).await {
        Some(bytes) => Ok((name, bytes)),
        None => Err(t!(
            "“{name}” cannot be read; is it a folder, or was it moved? Choose a run file saved by this page.",
            name = name
        )),
    }
}

/// Copies `text` to the clipboard.
///
/// # Errors
/// The browser refuses, or has no clipboard outside a secure context.
pub async fn copy(text: &str) -> Result<(), JsValue> {
    let clipboard: web_sys::Clipboard = js_sys::Reflect::get(&window().navigator(), &"clipboard".into())?.dyn_into()?;
    JsFuture::from(clipboard.write_text(text)).await.map(drop)
}

/// Offers `bytes` as a download of MIME type `kind`.
pub fn download(name: &str, kind: &str, bytes: &[u8]) {
    let offer = || -> Result<(), JsValue> {
        let parts = js_sys::Array::of1(&js_sys::Uint8Array::from(bytes));
        let options = web_sys::BlobPropertyBag::new();
        options.set_type(kind);
        let blob = Blob::new_with_u8_array_sequence_and_options(&parts, &options)?;
        let url = Url::create_object_url_with_blob(&blob)?;
        save_link(name, &url);
        Url::revoke_object_url(&url)
    };
    if let Err(error) = offer() {
        leptos::logging::error!("{name} could not be offered: {error:?}");
    }
}

/// Downloads the content of a URL that the page has created.
pub fn save_link(name: &str, url: &str) {
    if let Ok(link) = document().create_element("a") {
        let link: HtmlAnchorElement = link.unchecked_into();
        link.set_href(url);
        link.set_download(name);
        link.click();
    }
}
