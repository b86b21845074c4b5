//! A run's report: plain numbers for charts, files and screens.

use hushgrad_message::{Message, ToMessage};
use serde::{Deserialize, Deserializer, Serialize};

use crate::mechanism::counts::Estimate;
use crate::{
    accounting::{PrivacyError, ledger::Ledger, rdp::Epsilon, report::assumptions},
    data::TestSet,
};

/// ε, and the Rényi order that gave it.
pub use crate::accounting::rdp::Bound as OrderedEpsilon;

/// The state of a run after `step` steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Report {
    pub step: u64,
    /// Steps × sampling rate: how often an example was used on average.
    pub epoch: f64,
    /// Seconds in steps, without pauses and evaluations, rounded to two digits: more would reveal
    /// how many examples were drawn.
    #[serde(deserialize_with = "coarse")]
    pub training_seconds: f64,
    pub learning_rate: f64,
    /// Share of the test set classified correctly, if this report measured it.
    pub test_accuracy: Option<f64>,
    /// Origin of the test images, as ε covers training images only. `None`: the file does not say.
    #[serde(default)]
    pub test_set: Option<TestSet>,
    /// Kolmogorov–Smirnov factor of the last step; 1 without denoiser.
    pub denoise_factor: f64,
    pub privacy: Privacy,
    /// Whether the run has done all its steps.
    pub complete: bool,
    /// Results of the counts released with the steps.
    #[serde(default)]
    pub counted: ReleasedMetrics,
}

/// Results of the counts that were released with the steps, and public with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ReleasedMetrics {
    /// The next step's clipping norm, if it is adaptive.
    pub clip: Option<f64>,
    /// Accuracy and digit counts, if they are paid for.
    pub answers: Option<Estimate>,
}

/// Rounds seconds to two digits; 0 for a negative or non-finite number.
#[must_use]
pub(super) fn two_digits(seconds: f64) -> f64 {
    let micros = if seconds < 1e12 { (seconds * 1e6) as u64 } else { 0 };
    let unit = 10u64.pow(micros.max(1).ilog10().saturating_sub(1));
    ((micros + unit / 2) / unit * unit) as f64 / 1e6
}

/// Rounds on reading, too: files of earlier versions have all digits.
fn coarse<'de, D: Deserializer<'de>>(file: D) -> Result<f64, D::Error> {
    f64::deserialize(file).map(two_digits)
}

impl Report {
    /// True if publishing the test accuracy reveals something about private images.
    #[must_use]
    pub fn tests_private_images(&self) -> bool {
        self.test_set.is_some_and(|set| set != TestSet::Public)
    }
}

/// Numbers computed from private data outside the mechanism: ε does not cover their publication. A
/// screen marks them as a teaching view, and no file holds them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Teaching {
    /// Examples that the last step drew: secret under Poisson sampling.
    pub lot_size: u32,
    /// Examples with a non-finite gradient since the run began or resumed; each added zero.
    pub non_finite: u64,
    /// [`Report::training_seconds`] as measured: a step's time reveals its number of examples.
    pub training_seconds: f64,
}

/// ε spent so far, or why there is none to state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Privacy {
    /// (ε, δ)-differential privacy holds with either bound.
    Bounded(PrivacyBound),
    /// No claim, with the reason (no noise, unbounded gradients, a replayable seed).
    NoGuarantee { reason: Message },
}

impl Privacy {
    /// Returns the statement for an accountant's result on `ledger`; an infinite ε is no guarantee.
    ///
    /// # Errors
    /// Any other refusal of the accountant.
    pub fn of(delta: f64, epsilon: Result<Epsilon, PrivacyError>, ledger: &Ledger) -> Result<Self, PrivacyError> {
        match epsilon {
            Ok(epsilon) => Ok(Self::Bounded(PrivacyBound::new(delta, &epsilon, ledger))),
            Err(error @ (PrivacyError::Infinite | PrivacyError::Inexact)) => {
                Ok(Self::NoGuarantee { reason: error.to_message() })
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
    /// Assumption phrases: mechanism, sampling, neighbours, unit, composition, "upper bound".
    pub assumptions: Vec<Message>,
}

impl PrivacyBound {
    /// Creates the bound with the assumptions that follow from the ledger.
    #[must_use]
    pub fn new(delta: f64, epsilon: &Epsilon, ledger: &Ledger) -> Self {
        Self { delta, classic: epsilon.classic, improved: epsilon.improved, assumptions: assumptions(ledger) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_keep_two_digits() {
        let kept =
            [0.0, 1e-7, 0.000_123_4, 0.85, 1.249, 9.96, 99.6, 1234.0, f64::NAN, f64::INFINITY, -3.0].map(two_digits);
        assert_eq!(kept, [0.0, 0.0, 0.000_12, 0.85, 1.2, 10.0, 100.0, 1200.0, 0.0, 0.0, 0.0]);
        for seconds in kept {
            assert_eq!(two_digits(seconds), seconds);
        }
    }
}
