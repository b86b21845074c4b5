//! A training in any library, by the numbers that its ε depends on.

use hushgrad_message::word;
use serde::{Deserialize, Serialize};

use super::config::SamplingPolicy;
use crate::accounting::{
    PrivacyError,
    ledger::{Ledger, Release, Sensitivity},
    noise::NoiseSpec,
    sampling::Sampling,
};

/// How a training draws its batches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Batches {
    /// Each example joins each batch with this probability.
    Rate(f64),
    /// About `lot` of `examples` examples, by `sampling`.
    Lot { lot: u32, examples: u32, sampling: SamplingPolicy },
}

/// How long a training is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Length {
    Steps(u64),
    /// Passes over the examples, rounded up to whole steps.
    Epochs(f64),
}

impl Length {
    /// Returns the number of steps, at `per_epoch` of them per epoch.
    ///
    /// # Errors
    /// [`TrainingError::Range`].
    pub fn steps(self, per_epoch: f64) -> Result<u64, TrainingError> {
        let range = |number, value| TrainingError::Range { number, value, range: word!("above 0") };
        match self {
            Self::Steps(0) => Err(range("steps", 0.0)),
            Self::Steps(steps) => Ok(steps),
            Self::Epochs(epochs) if epochs > 0.0 => Ok((epochs * per_epoch).ceil().max(1.0) as u64),
            Self::Epochs(epochs) => Err(range("epochs", epochs)),
        }
    }
}

/// DP-SGD with any library: per-example gradients are clipped, summed and given noise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Training {
    /// Noise of each coordinate of the sum, as a multiple of the clipping norm.
    pub noise: Option<NoiseSpec>,
    pub batches: Batches,
}

/// Why numbers describe no training.
#[derive(Clone, Debug, PartialEq, hushgrad_message::Error)]
pub enum TrainingError {
    #[error("{number} is {value}; it must be {range}")]
    Range { number: &'static str, value: f64, range: &'static str },
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
}

impl Training {
    /// Returns how the batches are drawn.
    ///
    /// # Errors
    /// [`TrainingError::Range`].
    pub fn sampling(&self) -> Result<Sampling, TrainingError> {
        let range = |number, value, range| Err(TrainingError::Range { number, value, range });
        match self.batches {
            Batches::Rate(rate) if rate > 0.0 && rate <= 1.0 => Ok(Sampling::Poisson { rate }),
            Batches::Rate(rate) => range("rate", rate, word!("above 0 and at most 1")),
            Batches::Lot { lot, examples, sampling } if (1..=examples).contains(&lot) => {
                Ok(sampling.over(examples, lot))
            }
            Batches::Lot { lot, .. } => range("lot", lot.into(), word!("from 1 to the number of training examples")),
        }
    }

    /// Returns the number of steps of a training of this length.
    ///
    /// # Errors
    /// [`TrainingError::Range`].
    pub fn steps(&self, length: Length) -> Result<u64, TrainingError> {
        self.sampling()?;
        length.steps(match self.batches {
            Batches::Rate(rate) => rate.recip(),
            Batches::Lot { lot, examples, sampling } => sampling.steps_per_epoch(examples, lot),
        })
    }

    /// Returns one step.
    ///
    /// # Errors
    /// Impossible numbers.
    pub fn step(&self) -> Result<Release, TrainingError> {
        let release = Release::new(self.sampling()?, Sensitivity::L2 { norm: 1.0 }, self.noise.clone());
        release.validate()?;
        Ok(release)
    }

    /// Returns the ledger of a training of this length.
    ///
    /// # Errors
    /// Impossible numbers.
    pub fn ledger(&self, length: Length) -> Result<Ledger, TrainingError> {
        let ledger = Ledger::of([(self.step()?, self.steps(length)?)])?;
        ledger.validate()?;
        Ok(ledger)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_are_whole_steps_of_the_sampling() {
        let of = |lot, sampling| Training {
            noise: Some(NoiseSpec::Gaussian { sigma: 1.1 }),
            batches: Batches::Lot { lot, examples: 60_000, sampling },
        };
        let poisson = of(256, SamplingPolicy::Poisson);
        assert_eq!(poisson.steps(Length::Epochs(15.0)).unwrap(), 3516);
        assert_eq!(of(256, SamplingPolicy::Shuffled).steps(Length::Epochs(15.0)).unwrap(), 15 * 235);
        let rate = Training { batches: Batches::Rate(0.01), ..poisson.clone() };
        assert_eq!(rate.steps(Length::Epochs(2.0)).unwrap(), 200);
        assert_eq!(poisson.ledger(Length::Steps(7)).unwrap().steps(), 7);
    }

    #[test]
    fn impossible_numbers_are_named() {
        let of = |batches| Training { noise: Some(NoiseSpec::Gaussian { sigma: 1.0 }), batches };
        for (batches, length, said) in [
            (Batches::Rate(1.5), Length::Steps(1), "rate is 1.5; it must be above 0 and at most 1"),
            (Batches::Rate(f64::NAN), Length::Steps(1), "rate is NaN"),
            (Batches::Rate(0.1), Length::Steps(0), "steps is 0"),
            (Batches::Rate(0.1), Length::Epochs(-1.0), "epochs is -1"),
            (
                Batches::Lot { lot: 300, examples: 200, sampling: SamplingPolicy::FixedSize },
                Length::Epochs(1.0),
                "lot is 300; it must be from 1 to the number of training examples",
            ),
        ] {
            let error = of(batches).ledger(length).unwrap_err().to_string();
            assert!(error.starts_with(said), "{error}");
        }
    }
}
