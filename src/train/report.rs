//! What a run says of itself: plain numbers for charts, files and screens.

use serde::{Deserialize, Serialize};

use crate::privacy::{PrivacyError, ledger::Ledger, rdp::Epsilon, report::assumptions};

/// ε at the order that gave it.
pub use crate::privacy::rdp::Bound as OrderedEpsilon;

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
    /// Whether the ledger holds these steps and no others, each releasing what the plan says: only then does the price of the
    /// plan's step times their number say what was spent.
    #[serde(default)]
    pub by_plan: bool,
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

impl Privacy {
    /// What an accountant made of a ledger; an infinite ε is none.
    ///
    /// # Errors
    /// Any other refusal of the accountant.
    pub fn of(delta: f64, epsilon: Result<Epsilon, PrivacyError>, ledger: &Ledger) -> Result<Self, PrivacyError> {
        match epsilon {
            Ok(epsilon) => Ok(Self::Bounded(PrivacyBound::new(delta, &epsilon, ledger))),
            Err(error @ (PrivacyError::Infinite | PrivacyError::Inexact)) => {
                Ok(Self::NoGuarantee { reason: error.to_string() })
            }
            Err(error) => Err(error),
        }
    }
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

impl PrivacyBound {
    /// What an accountant made of a ledger.
    #[must_use]
    pub fn new(delta: f64, epsilon: &Epsilon, ledger: &Ledger) -> Self {
        Self { delta, classic: epsilon.classic, improved: epsilon.improved, assumptions: assumptions(ledger) }
    }
}
