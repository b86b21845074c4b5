//! What a run says of itself: plain numbers for charts, files and screens.

use serde::{Deserialize, Serialize};

/// The state of a run after `step` steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Report {
    pub step: u64,
    /// Steps × sampling rate: how often an example was looked at on average.
    pub epoch: f64,
    /// Examples that the last step drew. Looks at private data (its size under Poisson sampling is secret): teaching view.
    pub lot_size: u32,
    /// Seconds spent in steps, pauses and evaluations not counted.
    pub training_seconds: f64,
    pub examples_per_second: f64,
    pub learning_rate: f64,
    /// Share of the public test set that the model gets right, where this report measured it.
    pub test_accuracy: Option<f64>,
    /// Kolmogorov–Smirnov factor of the last step; 1 without denoiser.
    pub denoise_factor: f64,
    /// Examples whose gradient was not finite so far (each contributed zero). Teaching view.
    pub non_finite: u64,
    pub privacy: Privacy,
    /// Whether the run has done all its steps.
    pub complete: bool,
}

/// ε spent so far, or why there is none to state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Privacy {
    /// (ε, δ)-differential privacy holds with either bound.
    Bounded(PrivacyBound),
    /// No claim: the sentence says why (no noise, no bound on a gradient, a replayable seed).
    NoGuarantee { reason: String },
}

/// An upper bound with its assumptions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PrivacyBound {
    pub delta: f64,
    /// Lemma 2 (Mironov 2017), and its order.
    pub classic: OrderedEpsilon,
    /// Canonne, Kamath & Steinke 2020, and its order.
    pub improved: OrderedEpsilon,
    /// Assumptions in words, each a phrase: mechanism, sampling, neighbours, unit, composition, "upper bound".
    pub assumptions: Vec<String>,
}

/// ε at the order that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct OrderedEpsilon {
    pub epsilon: f64,
    pub order: f64,
}
