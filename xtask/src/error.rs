//! Errors, each a sentence with what failed, where, and what to do.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something that is not here and could not be obtained.
    #[error("{what} is missing: {why}. {how}")]
    Missing { what: String, why: String, how: String },
    /// A program failed; its last lines follow.
    #[error("{step} failed: `{command}` {status}; everything it said is in {log}{tail}", log = log.display())]
    Program { step: String, command: String, status: String, log: PathBuf, tail: String },
    #[error("cannot run `{program}`: {source}. Install it, or put its folder on PATH")]
    Start { program: String, source: std::io::Error },
    /// The message contains the path and the operation.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The message contains the template's line.
    #[error("cannot write the report: {0}")]
    Report(#[from] minijinja::Error),
    #[error("{0}")]
    Usage(String),
    /// Something built is wrong.
    #[error("{0}")]
    Wrong(String),
}

impl Error {
    pub fn missing(what: impl Into<String>, why: impl Into<String>, how: impl Into<String>) -> Self {
        Self::Missing { what: what.into(), why: why.into(), how: how.into() }
    }
}

/// [`Error::Wrong`] from a format string and its arguments.
macro_rules! wrong {
    ($($text:tt)*) => { $crate::error::Error::Wrong(format!($($text)*)) };
}
pub(crate) use wrong;

pub type Result<T> = std::result::Result<T, Error>;
