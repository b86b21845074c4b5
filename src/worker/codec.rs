//! Postcard codec for gloo-worker, whose default codec is no longer maintained.

use js_sys::Uint8Array;
use serde::{Deserialize, Serialize};
use wasm_bindgen::JsValue;

/// Messages as postcard bytes in a `Uint8Array`.
#[derive(Debug)]
pub struct Postcard;

impl gloo_worker::Codec for Postcard {
    /// # Panics
    /// Never for this crate's messages: postcard can encode all of them (tested for every kind).
    fn encode<I: Serialize>(input: I) -> JsValue {
        let bytes = postcard::to_allocvec(&input).expect("a message of this crate is always encodable");
        Uint8Array::from(bytes.as_slice()).into()
    }

    /// # Panics
    /// If page and worker come from different builds, which versioned file names prevent.
    fn decode<O: for<'de> Deserialize<'de>>(input: JsValue) -> O {
        postcard::from_bytes(&Uint8Array::from(input).to_vec()).expect("page and worker are of one build")
    }
}
