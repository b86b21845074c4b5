//! The wire to the training thread: which messages go either way, as postcard bytes.

use gloo_worker::{HandlerId, Worker, WorkerScope};
use js_sys::Uint8Array;
use serde::{Deserialize, Serialize};
use wasm_bindgen::JsValue;

use crate::worker::protocol::{Event, Request};

/// The training thread as the page sees it: what it takes and what it says. It runs in a program of its own, so nothing of
/// the training is linked into the page.
pub struct Thread;

impl Worker for Thread {
    type Message = ();
    type Input = Request;
    type Output = Event;

    fn create(_: &WorkerScope<Self>) -> Self {
        Self
    }

    fn update(&mut self, _: &WorkerScope<Self>, (): ()) {}

    fn received(&mut self, _: &WorkerScope<Self>, _: Request, _: HandlerId) {}
}

/// Messages as postcard bytes in a `Uint8Array`.
#[derive(Debug)]
pub struct Postcard;

impl gloo_worker::Codec for Postcard {
    /// # Panics
    /// Never for this crate's messages, which hold nothing that postcard refuses.
    fn encode<I: Serialize>(input: I) -> JsValue {
        let bytes = postcard::to_allocvec(&input).expect("a message of this crate is always encodable");
        Uint8Array::from(bytes.as_slice()).into()
    }

    /// # Panics
    /// When page and thread come from different builds: the build's file names prevent it.
    fn decode<O: for<'de> Deserialize<'de>>(input: JsValue) -> O {
        postcard::from_bytes(&Uint8Array::from(input).to_vec()).expect("page and thread are of one build")
    }
}
