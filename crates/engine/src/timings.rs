//! How long a step takes on either engine.

use serde::{Deserialize, Serialize};

/// Milliseconds of a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timings {
    pub cpu: f64,
    pub gpu: f64,
}

impl Timings {
    /// Whether a step is over sooner on the CPU.
    #[must_use]
    pub fn cpu_is_faster(self) -> bool {
        self.cpu < self.gpu
    }
}
