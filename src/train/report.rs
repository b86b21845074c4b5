//! What a run says of itself: plain numbers for charts, files and screens.

use serde::{Deserialize, Serialize};

use crate::privacy::{
    ledger::{Ledger, Release, Sensitivity},
    rdp::{Bound, Epsilon},
};

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

impl PrivacyBound {
    /// What an accountant made of a ledger.
    #[must_use]
    pub fn new(delta: f64, epsilon: &Epsilon, ledger: &Ledger) -> Self {
        let ordered = |bound: Bound| OrderedEpsilon { epsilon: bound.epsilon, order: bound.order };
        Self {
            delta,
            classic: ordered(epsilon.classic),
            improved: ordered(epsilon.improved),
            assumptions: assumptions(ledger),
        }
    }
}

/// Everything that ε rests on, a phrase each.
fn assumptions(ledger: &Ledger) -> Vec<String> {
    let mut phrases = Vec::new();
    for release in ledger.releases() {
        phrases.push(mechanism(release));
        phrases.push(release.sampling.describe());
        phrases.push(format!("neighbours: {}", release.sampling.neighbours().name()));
        phrases.push(format!("protected unit: {}", release.unit.name()));
    }
    let steps = ledger.steps();
    phrases.push(format!("{steps} steps that ran, every one of them released (Theorem 1 of Nasr et al. 2020)"));
    phrases.push("an upper bound: an attacker may see every noisy step, and can do no better than this".to_owned());
    phrases
}

fn mechanism(release: &Release) -> String {
    let bound = match &release.sensitivity {
        Sensitivity::L2 { norm } => format!("each gradient clipped to L2 norm {norm}"),
        Sensitivity::Envelope { profile } => {
            format!(
                "each gradient clamped into one of {} envelopes over {} parameters",
                profile.len(),
                profile.dimension()
            )
        }
        Sensitivity::Unbounded => "gradients without a bound".to_owned(),
    };
    match &release.noise {
        Some(noise) => {
            format!("{bound}; {} noise of scale {} on every coordinate of the sum", noise.family(), noise.scale())
        }
        None => bound,
    }
}
