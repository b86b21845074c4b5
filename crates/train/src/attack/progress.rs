//! How far an attack has come, for who waits for it.

use serde::{Deserialize, Serialize};

/// How far an attack has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Steps, or scores, that are done.
    pub done: u64,
    /// In all.
    pub of: u64,
}

impl Progress {
    /// Whether there is nothing left to do.
    #[must_use]
    pub const fn complete(self) -> bool {
        self.done >= self.of
    }
}
