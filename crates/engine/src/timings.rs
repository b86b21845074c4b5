//! Times of a step on both engines.

use serde::{Deserialize, Serialize};

/// Milliseconds per step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timings {
    pub cpu: f64,
    pub gpu: f64,
}

impl Timings {
    /// True if a step is faster on the CPU.
    #[must_use]
    pub fn cpu_is_faster(self) -> bool {
        self.cpu < self.gpu
    }
}
