//! Network requests recorded by the browser and the service worker.

use js_sys::Reflect;
use leptos::prelude::*;
use wasm_bindgen::{JsCast, JsValue, closure::Closure};

use crate::{
    ui::{state::Page, text::t},
    worker::{
        asked::{asked, asked_of},
        protocol::NetworkRequest,
    },
};

/// Returns the page's own requests, including the one for the page.
pub fn own_requests() -> Vec<NetworkRequest> {
    let Some(clock) = window().performance() else { return vec![] };
    let itself = clock.get_entries_by_type("navigation").into_iter();
    itself.map(|entry| asked_of(&clock, entry.unchecked_ref())).chain(asked(&clock)).collect()
}

/// Stores the requests made by the service worker (`www/sw.js`) in `cached`, and notifies the
/// visitor if the host refused the page, so that the cached copy is shown.
pub fn listen(page: Page, cached: RwSignal<Vec<NetworkRequest>>) {
    let Some(container) = service_workers() else { return };
    let heard = Closure::<dyn Fn(web_sys::MessageEvent)>::new(move |event: web_sys::MessageEvent| {
        let get = |value: &JsValue, key: &str| Reflect::get(value, &key.into()).unwrap_or_default();
        let Ok(list) = get(&event.data(), "hushgrad").dyn_into::<js_sys::Array>() else { return };
        let read = |each: JsValue| NetworkRequest {
            url: get(&each, "url").as_string().unwrap_or_default(),
            bytes: get(&each, "bytes").as_f64().unwrap_or_default() as u64,
            at: get(&each, "at").as_f64().unwrap_or_default(),
        };
        cached.set(list.iter().map(read).collect());
        match get(&event.data(), "host").as_string().as_deref() {
            None | Some("") => {}
            Some("page") => page.messages.notify(t!("The server now returns a different page at this address. You are seeing the copy your browser has kept.").to_owned()),
            Some(status) => page.messages.notify(t!("The server of this page answers {status}. You are seeing the copy your browser has kept.", status = status)),
        }
    });
    container.set_onmessage(Some(heard.as_ref().unchecked_ref()));
    // It lives as long as the page.
    heard.forget();
    ask_service_worker();
}

/// Asks the service worker for its requests, which [`listen`] receives.
pub fn ask_service_worker() {
    let ask = || {
        let worker = Reflect::get(service_workers()?.as_ref(), &"controller".into()).ok()?;
        let post: js_sys::Function = Reflect::get(&worker, &"postMessage".into()).ok()?.dyn_into().ok()?;
        post.call1(&worker, &JsValue::NULL).ok()
    };
    // There is none yet on a first visit; it reports when it starts.
    drop(ask());
}

/// Returns `None` outside a secure context.
fn service_workers() -> Option<web_sys::ServiceWorkerContainer> {
    Reflect::get(&window().navigator(), &"serviceWorker".into()).ok()?.dyn_into().ok()
}
