//! What the browser and the service worker noted of requests.

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

/// The page's own requests, itself included.
pub fn own_requests() -> Vec<NetworkRequest> {
    let Some(clock) = window().performance() else { return vec![] };
    let itself = clock.get_entries_by_type("navigation").into_iter();
    itself.map(|entry| asked_of(&clock, entry.unchecked_ref())).chain(asked(&clock)).collect()
}

/// What the service worker says that it fetched (`www/sw.js`), and whether the host refused the page, so that the copy that is kept stands in its place.
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
            Some("page") => page.messages.notify(t!("The host of this page gives another page in its place. What you see is the copy that your browser has kept.").to_owned()),
            Some(status) => page.messages.notify(t!("The host of this page answers {status}. What you see is the copy that your browser has kept.", status = status)),
        }
    });
    container.set_onmessage(Some(heard.as_ref().unchecked_ref()));
    // As long as the page lives.
    heard.forget();
    ask_service_worker();
}

/// Asks the service worker for its list, which [`listen`] takes.
pub fn ask_service_worker() {
    let ask = || {
        let worker = Reflect::get(service_workers()?.as_ref(), &"controller".into()).ok()?;
        let post: js_sys::Function = Reflect::get(&worker, &"postMessage".into()).ok()?.dyn_into().ok()?;
        post.call1(&worker, &JsValue::NULL).ok()
    };
    // None yet on a first visit: it reports by itself when it is there.
    drop(ask());
}

/// None outside of a secure context.
fn service_workers() -> Option<web_sys::ServiceWorkerContainer> {
    Reflect::get(&window().navigator(), &"serviceWorker".into()).ok()?.dyn_into().ok()
}
