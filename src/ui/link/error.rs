//! Errors in one key of a link.

use std::fmt;

use crate::{
    model::layers::LayersError,
    ui::{
        settings::NumberError,
        text::{heard, t},
    },
};
use hushgrad_message::ToMessage;

/// Why a key of a link was ignored, as a sentence for the page; its setting stays.
#[derive(Clone, Debug, PartialEq)]
pub enum LinkError {
    Later {
        version: u32,
        known: u32,
    },
    Version(String),
    Number {
        key: String,
        problem: NumberError,
    },
    Formula {
        key: String,
        value: String,
        most: usize,
    },
    Layers(LayersError),
    Choice {
        key: String,
        value: String,
        allowed: String,
    },
    /// An unknown key, which the caller reports.
    Unknown,
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&match self {
            Self::Later { version, known } => t!(
                "The link has version {version}, but this page reads {known}; parts of it may be missing.",
                version = version,
                known = known
            ),
            Self::Version(value) => {
                t!("The link's version (v) must be a number; “{value}” is not.", value = value)
            }
            Self::Number { key, problem } => t!("In the link, {key}: {problem}", key = key, problem = problem),
            Self::Formula { key, value, most } if key == "phase-list" => t!(
                "In the link, phase-list must list phases in 1 to {n} characters; “{value}” does not.",
                value = value,
                n = most
            ),
            Self::Formula { key, value, most } if key == "layer-norms" => t!(
                "In the link, layer-norms must list norms in 1 to {n} characters; “{value}” does not.",
                value = value,
                n = most
            ),
            Self::Formula { key, value, most } => t!(
                "In the link, {key} must be a formula of 1 to {n} characters; “{value}” is not.",
                key = key,
                value = value,
                n = most
            ),
            Self::Layers(problem) => t!("In the link, layers: {problem}.", problem = heard(&problem.to_message())),
            Self::Choice { key, value, allowed } => t!(
                "In the link, {key} must be one of {allowed}; “{value}” is not.",
                key = key,
                value = value,
                allowed = allowed
            ),
            Self::Unknown => return Ok(()),
        })
    }
}

impl std::error::Error for LinkError {}
