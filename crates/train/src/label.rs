//! The privacy label of a training: what is protected, by how much, what was counted, and what was not. One page, to be kept beside a model.
//!
//! | module | what it is |
//! | --- | --- |
//! | `facts` | what a label says, from books and from what is known of the run |
//! | `text` | the same as headed lines, which both pages are made of |
//! | `html`, `markdown` | a page to print; a page to keep in a repository |
//! | `registry` | an entry for the registry of deployments of differential privacy |

mod facts;
mod html;
mod markdown;
mod registry;
mod text;

use serde::{Deserialize, Serialize};

pub use self::{
    facts::{ACCUSED, Bounds, PrivacyLabel, Subject, found_at_most, odds, of_a_hundred},
    html::escaped,
};

/// What a label is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Format {
    /// A page of its own, to be shown and printed.
    Html,
    Markdown,
    /// YAML with the keys of OpenDP's registry of deployments.
    Registry,
}

/// The label, written.
#[must_use]
pub fn write(label: &PrivacyLabel, format: Format) -> String {
    match format {
        Format::Html => html::page(label),
        Format::Markdown => markdown::page(label),
        Format::Registry => registry::entry(label),
    }
}

#[cfg(test)]
mod tests;
