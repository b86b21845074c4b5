//! A training's privacy label: what is protected, how well, and what was counted, on one page.
//!
//! | module | contents |
//! | --- | --- |
//! | `facts` | a label's statements, from the books and the run's settings |
//! | `text` | the same as headed lines, the basis of both pages |
//! | `html`, `markdown` | a page to print; a page for a repository |
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

/// The format of a written label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Format {
    /// A page of its own, for screen and print.
    Html,
    Markdown,
    /// YAML with the keys of OpenDP's registry of deployments.
    Registry,
}

/// Returns the label in `format`.
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
