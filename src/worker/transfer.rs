//! Messages between the training thread and those that it starts: what is said, by postcard, and arrays beside it, which are handed over and not copied.

use js_sys::{Array, Uint8Array};
use serde::{Serialize, de::DeserializeOwned};
use wasm_bindgen::JsCast;

/// What is said, as bytes.
pub fn packed(what: &impl Serialize) -> Uint8Array {
    // Only a type that postcard cannot write fails, and these are none; an empty message is nobody's.
    Uint8Array::from(&*postcard::to_allocvec(what).unwrap_or_default())
}

/// What is said in a message, which is its first element.
pub fn unpacked<T: DeserializeOwned>(message: &Array) -> Option<T> {
    postcard::from_bytes(&bytes(message, 0)?).ok()
}

/// The bytes at a place of a message.
pub fn bytes(message: &Array, place: u32) -> Option<Vec<u8>> {
    Some(message.get(place).dyn_into::<Uint8Array>().ok()?.to_vec())
}
