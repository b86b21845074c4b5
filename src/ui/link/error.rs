//! What can be wrong with one key of a link.

use crate::ui::settings::NumberError;

/// Why a key of a link was left aside; what it would have set stays as it was. Each is a sentence for the page.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LinkError {
    #[error("The link is of version {version}, and this page reads {known}; parts of it may be missing.")]
    Later { version: u32, known: u32 },
    #[error("The link's version (v) must be a number; “{0}” is not.")]
    Version(String),
    #[error("In the link, {key}: {problem}")]
    Number { key: String, problem: NumberError },
    #[error("In the link, {key} must be a formula of 1 to {most} characters; “{value}” is not.")]
    Formula { key: String, value: String, most: usize },
    #[error("In the link, {key} must be one of {allowed}; “{value}” is not.")]
    Choice { key: String, value: String, allowed: String },
}
