//! The frame that another page has made for this one.

use leptos::prelude::*;

/// Whether this page stands in a frame that another page has made for it.
#[must_use]
pub fn is_embedded() -> bool {
    root_has("data-start")
}

/// Whether another embed of the page around this one has the GPU.
#[must_use]
pub fn gpu_is_taken() -> bool {
    root_has("data-gpu")
}

fn root_has(attribute: &str) -> bool {
    document().document_element().is_some_and(|root| root.has_attribute(attribute))
}
