//! Sampling policies: what is drawn, and what it costs, side by side.

use serde::{Deserialize, Serialize};

/// How the examples of a step are chosen. The sampler that runs and the price are both made from this value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sampling {
    /// Every example takes part in a step with probability `rate`, independently. Add/remove-one neighbours.
    Poisson { rate: f64 },
    /// Exactly `size` of `population` examples without replacement. Replace-one neighbours.
    FixedSize { population: u64, size: u64 },
    /// A fresh random partition into `batches` disjoint batches each epoch. No amplification. Add/remove-one.
    Shuffled { batches: u64 },
}
