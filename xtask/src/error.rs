//! What can go wrong, each in a sentence that names what, where, and what to do.

use std::path::{Path, PathBuf};

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
    #[error("cannot {doing} {path}: {source}", path = path.display())]
    Io { doing: &'static str, path: PathBuf, source: std::io::Error },
    #[error("{0}")]
    Usage(String),
    /// Something built is not as it must be.
    #[error("{0}")]
    Wrong(String),
}

pub type Result<T> = std::result::Result<T, Error>;

/// Names the path and what was being done to it.
pub trait At<T> {
    fn at(self, doing: &'static str, path: &Path) -> Result<T>;
}

impl<T> At<T> for std::io::Result<T> {
    fn at(self, doing: &'static str, path: &Path) -> Result<T> {
        self.map_err(|source| Error::Io { doing, path: path.to_owned(), source })
    }
}
