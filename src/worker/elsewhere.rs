//! The price of a training elsewhere, from its numbers or from a file of its library.

use serde::{Deserialize, Serialize};

use super::accounts::{PrivacySpent, spent};
use crate::{
    accounting::{
        PrivacyError,
        books::Books,
        calibrate::{Method, Target, noise_scale},
        gdp::{CUT_OFF, GaussianFit},
        rdp::Orders,
        report::assumptions,
    },
    train::{
        elsewhere::{Length, Training, TrainingError},
        label,
        record::{Record, RecordError},
        run_file::clipped,
    },
};
use hushgrad_message::Message;

/// What is priced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Elsewhere {
    Numbers {
        training: Training,
        length: Length,
        /// ε for which a noise multiplier is sought.
        epsilon: Option<f64>,
    },
    /// A ledger, a run file, or another accountant's record.
    File { name: String, bytes: Vec<u8> },
}

/// A training's price.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// δ of all that follows: that of a run file, or the one asked for.
    pub delta: f64,
    pub spent: PrivacySpent,
    /// Of a hundred members, how many an attacker finds at most who accuses 5 of 100 others.
    pub found: u32,
    /// μ of Gaussian differential privacy, if there is one.
    pub gaussian: Option<GaussianFit>,
    /// The assumptions, one phrase each.
    pub assumptions: Vec<Message>,
    /// The smallest noise multiplier that keeps the ε asked for; an error is one phrase.
    pub multiplier: Option<Result<f64, Message>>,
}

/// Why a training has no price.
#[derive(Debug, hushgrad_message::Error)]
pub enum ElsewhereError {
    #[error(transparent)]
    Training(#[from] TrainingError),
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    #[error(transparent)]
    File(#[from] RecordError),
}

/// Prices a training at `delta`; a run file at its own.
///
/// # Errors
/// Impossible numbers, an unreadable file, or no bound.
pub fn price(asked: &Elsewhere, delta: f64) -> Result<Price, ElsewhereError> {
    let (ledger, own) = match asked {
        Elsewhere::Numbers { training, length, .. } => (training.ledger(*length)?, None),
        Elsewhere::File { name, bytes } => {
            let name = clipped(name);
            let record = Record::read(&name, bytes)?;
            let delta = record.card.as_ref().map(|card| card.config.delta);
            (record.into_ledger(&name)?, delta)
        }
    };
    let delta = own.unwrap_or(delta);
    let books = Books::of(ledger)?;
    let spent = spent(&books, &[], &[], delta)?;
    let (found, _) = label::odds(&books, delta)?;
    let multiplier = match asked {
        Elsewhere::Numbers { training, length, epsilon: Some(epsilon) } => {
            Some(multiplier(training, *length, *epsilon, delta))
        }
        _ => None,
    };
    let gaussian = if spent.tight.is_some() { books.gaussian(CUT_OFF)? } else { None };
    Ok(Price { delta, spent, found, gaussian, assumptions: assumptions(books.ledger()), multiplier })
}

/// Returns the noise multiplier, by tight accounting where it has a price.
fn multiplier(training: &Training, length: Length, epsilon: f64, delta: f64) -> Result<f64, Message> {
    use hushgrad_message::ToMessage as _;
    let sought = || -> Result<f64, ElsewhereError> {
        let (step, steps) = (training.step()?, training.steps(length)?);
        let with = |method| noise_scale(&step, steps, &Target { epsilon, delta, method, orders: Orders::All });
        Ok(match with(Method::Tight) {
            Err(PrivacyError::Unpriced(_) | PrivacyError::TooMuchWork { .. }) => with(Method::Improved)?,
            found => found?,
        }
        .value)
    };
    sought().map_err(|error| error.to_message())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        accounting::noise::NoiseSpec,
        train::{config::SamplingPolicy, elsewhere::Batches},
    };

    fn numbers(noise: Option<NoiseSpec>, epsilon: Option<f64>) -> Elsewhere {
        let batches = Batches::Lot { lot: 256, examples: 60_000, sampling: SamplingPolicy::Poisson };
        Elsewhere::Numbers { training: Training { noise, batches }, length: Length::Steps(3515), epsilon }
    }

    #[test]
    fn numbers_and_the_record_of_a_library_have_one_price() {
        let gaussian = |sigma| Some(NoiseSpec::Gaussian { sigma });
        let of_numbers = price(&numbers(gaussian(1.1), Some(1.0)), 1e-5).unwrap();
        let epsilon = of_numbers.spent.tight.as_ref().unwrap().epsilon;
        assert!((1.13..1.14).contains(&epsilon) && of_numbers.spent.releases == 3515, "{epsilon}");
        assert!((5..15).contains(&of_numbers.found) && of_numbers.gaussian.is_some(), "{}", of_numbers.found);
        // The value of dp_accounting's own calibration.
        let multiplier = of_numbers.multiplier.unwrap().unwrap();
        assert!((multiplier - 1.185).abs() < 1e-3, "{multiplier}");
        let history = format!(r#"{{"history": [[1.1, {}, 3515]], "mechanism": "prv"}}"#, 256.0 / 60_000.0);
        let file = Elsewhere::File { name: "state.json".to_owned(), bytes: history.into_bytes() };
        let of_file = price(&file, 1e-5).unwrap();
        assert_eq!((of_file.spent, of_file.found, of_file.multiplier), (of_numbers.spent, of_numbers.found, None));
    }

    #[test]
    fn what_has_no_price_is_refused_in_words() {
        let refused = |asked: &Elsewhere, delta| price(asked, delta).unwrap_err().to_string();
        assert!(refused(&numbers(None, None), 1e-5).contains("noise"));
        let file = Elsewhere::File { name: "x.bin".to_owned(), bytes: vec![0xff; 9] };
        assert_eq!(refused(&file, 1e-5), "x.bin: it is not text (UTF-8)");
        let gaussian = Some(NoiseSpec::Gaussian { sigma: 1.1 });
        assert!(refused(&numbers(gaussian, None), 1.0).contains("delta"));
    }
}
