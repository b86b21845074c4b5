//! What can go wrong, each in a sentence that names what, where, and what to do.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something that must come from outside is not here and could not be had.
    #[error("{what} is missing: {why}. {how}")]
    Missing { what: String, why: String, how: String },
    /// A program that was run said no; its last lines follow.
    #[error("{step} failed: `{command}` {status}; everything it said is in {log}{tail}", log = log.display())]
    Program { step: String, command: String, status: String, log: PathBuf, tail: String },
    #[error("cannot run `{program}`: {source}. Install it, or put its folder on PATH")]
    Start { program: String, source: std::io::Error },
    /// It names the path and what was being done to it.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// It names the template's line.
    #[error("cannot write the report: {0}")]
    Report(#[from] minijinja::Error),
    #[error("{0}")]
    Usage(String),
    /// Something built is not as it must be.
    #[error("{0}")]
    Wrong(String),
}

impl Error {
    pub fn missing(what: impl Into<String>, why: impl Into<String>, how: impl Into<String>) -> Self {
        Self::Missing { what: what.into(), why: why.into(), how: how.into() }
    }
}

/// [`Error::Wrong`], of a format and its arguments.
macro_rules! wrong {
    ($($text:tt)*) => { $crate::error::Error::Wrong(format!($($text)*)) };
}
pub(crate) use wrong;

pub type Result<T> = std::result::Result<T, Error>;
