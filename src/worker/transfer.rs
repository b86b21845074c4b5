//! Messages between the training thread and its workers: postcard, and transferred arrays.

use js_sys::{Array, Uint8Array};
use serde::{Serialize, de::DeserializeOwned};
use wasm_bindgen::JsCast;

/// Encodes a message.
pub fn packed(what: &impl Serialize) -> Uint8Array {
    // Never fails for the types sent; an empty message would be ignored.
    Uint8Array::from(&*postcard::to_allocvec(what).unwrap_or_default())
}

/// Decodes a message from its first element.
pub fn unpacked<T: DeserializeOwned>(message: &Array) -> Option<T> {
    postcard::from_bytes(&bytes(message, 0)?).ok()
}

/// Returns the bytes at a place of a message.
pub fn bytes(message: &Array, place: u32) -> Option<Vec<u8>> {
    Some(message.get(place).dyn_into::<Uint8Array>().ok()?.to_vec())
}
