//! The frame in which another page embeds this one.

use leptos::prelude::*;

/// True if another page embeds this one in a frame.
#[must_use]
pub fn is_embedded() -> bool {
    root_has("data-start")
}

/// True if another embed of the host page has the GPU.
#[must_use]
pub fn gpu_is_taken() -> bool {
    root_has("data-gpu")
}

fn root_has(attribute: &str) -> bool {
    document().document_element().is_some_and(|root| root.has_attribute(attribute))
}
