//! An attack's progress.

use serde::{Deserialize, Serialize};

/// An attack's progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Steps, or scores, done.
    pub done: u64,
    /// Steps, or scores, in all.
    pub of: u64,
}

impl Progress {
    /// True if nothing is left to do.
    #[must_use]
    pub const fn complete(self) -> bool {
        self.done >= self.of
    }
}
