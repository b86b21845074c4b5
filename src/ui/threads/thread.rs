//! A thread of the page: gloo's bridge, and the worker beneath, which alone reports failures.

use std::{cell::RefCell, rc::Rc};

use gloo::events::EventListener;
use gloo_worker::{Worker, WorkerBridge, WorkerSpawner};
use js_sys::Reflect;
use leptos::prelude::window;
use serde::{Serialize, de::DeserializeOwned};
use wasm_bindgen::JsCast;

use crate::{ui::text::t, worker::codec::Postcard};

/// Event by which `start.js` hands out each worker of the page, which gloo keeps private.
const MADE: &str = "hushgrad-worker";

/// A thread, terminated when dropped.
pub struct Thread<W: Worker> {
    bridge: WorkerBridge<W>,
    worker: Option<web_sys::Worker>,
    _ears: Vec<EventListener>,
}

impl<W> Thread<W>
where
    W: Worker + 'static,
    W::Input: Serialize + DeserializeOwned,
    W::Output: Serialize + DeserializeOwned,
{
    /// Starts the program that `script` loads. `failed` receives the reason of a failure, once or
    /// more; the thread is then unusable.
    pub fn start(script: &str, take: impl Fn(W::Output) + 'static, failed: impl Fn(String) + Clone + 'static) -> Self {
        let made = Rc::new(RefCell::new(None));
        let keep = Rc::clone(&made);
        let ear = EventListener::once(&window(), MADE, move |event| {
            *keep.borrow_mut() = event.unchecked_ref::<web_sys::CustomEvent>().detail().dyn_into().ok();
        });
        let bridge = WorkerSpawner::<W, Postcard>::new().callback(take).with_loader(true).spawn(script);
        drop(ear);
        let worker: Option<web_sys::Worker> = made.take();
        let ears = worker.iter().flat_map(|worker| {
            ["error", "messageerror"].map(|kind| {
                let failed = failed.clone();
                EventListener::new(worker, kind, move |event| {
                    let message = Reflect::get(event, &"message".into()).ok().and_then(|message| message.as_string());
                    failed(message.unwrap_or_else(|| t!("its program could not be loaded").to_owned()));
                })
            })
        });
        Self { bridge, _ears: ears.collect(), worker }
    }

    pub fn send(&self, message: W::Input) {
        self.bridge.send(message);
    }
}

impl<W: Worker> Drop for Thread<W> {
    fn drop(&mut self) {
        if let Some(worker) = &self.worker {
            worker.terminate();
        }
    }
}
