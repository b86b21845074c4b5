//! A training described by options or by a file's ledger, to be priced or calibrated.

use std::path::{Path, PathBuf};

use hushgrad::{
    accounting::{
        ledger::{Ledger, Release},
        sampling::NeighbouringRelation,
    },
    train::{
        config::SamplingPolicy,
        elsewhere::{Batches, Length, Training, TrainingError},
    },
    ui::settings::{Family, Settings},
};

use super::{
    given::{self, GivenError},
    train::setting_flags::{choice, finite},
};

/// A file, or the options of a DP-SGD training in any library.
#[derive(clap::Args)]
#[command(next_help_heading = "A training without a file")]
pub struct Described {
    /// Ledger or run file, written by `hushgrad train` or the page; the JSON of an Opacus
    /// accountant's state or history; or an event of dp_accounting (TensorFlow Privacy, JAX Privacy)
    #[arg(required_unless_present_any = ["lot", "rate"], help_heading = "Arguments")]
    ledger: Option<PathBuf>,
    /// Noise scale over the clipping norm (noise multiplier)
    #[arg(long, alias = "sigma", value_name = "Z", value_parser = finite, conflicts_with = "ledger")]
    noise_multiplier: Option<f64>,
    /// Examples of a lot (batch), on average
    #[arg(long, value_name = "N", requires = "examples", conflicts_with_all = ["ledger", "rate"])]
    lot: Option<u32>,
    /// Training examples
    #[arg(long, value_name = "N", requires = "lot", conflicts_with = "ledger")]
    examples: Option<u32>,
    /// Probability with which each example joins a lot, instead of --lot and --examples
    #[arg(long, value_name = "Q", value_parser = finite, conflicts_with = "ledger")]
    rate: Option<f64>,
    /// Passes over the examples, instead of --steps; rounded up to whole steps
    #[arg(long, value_name = "N", value_parser = finite, conflicts_with_all = ["ledger", "steps"])]
    epochs: Option<f64>,
    /// Number of steps
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// How lots are drawn
    #[arg(long, value_name = "NAME", value_parser = choice::<SamplingPolicy>(), conflicts_with = "ledger")]
    sampling: Option<SamplingPolicy>,
    /// What neighbouring data sets differ in: add-or-remove-one or replace-one [default: as the
    /// sampling has it]
    #[arg(long, value_name = "NAME", value_parser = relation, conflicts_with = "ledger")]
    neighbours: Option<NeighbouringRelation>,
    /// Family of the noise
    #[arg(long, value_name = "NAME", value_parser = choice::<Family>(), conflicts_with = "ledger")]
    noise: Option<Family>,
    /// Degrees of freedom of Student-t noise [default: 9]
    #[arg(long, value_name = "X", value_parser = finite, conflicts_with = "ledger")]
    nu: Option<f64>,
    /// Exponent of generalised Gaussian noise [default: 1.5]
    #[arg(long, value_name = "X", value_parser = finite, conflicts_with = "ledger")]
    exponent: Option<f64>,
}

fn relation(name: &str) -> Result<NeighbouringRelation, String> {
    let all = [NeighbouringRelation::AddOrRemoveOne, NeighbouringRelation::ReplaceOne];
    let key = |relation: &NeighbouringRelation| relation.to_string().replace(' ', "-");
    all.into_iter()
        .find(|relation| key(relation) == name)
        .ok_or_else(|| format!("one of {}", all.map(|all| key(&all)).join(", ")))
}

/// Why options describe no training.
#[derive(Debug, thiserror::Error)]
pub enum DescribedError {
    #[error(transparent)]
    Given(#[from] GivenError),
    /// Names of numbers are options.
    #[error("--{0}")]
    Range(TrainingError),
    #[error(transparent)]
    Training(TrainingError),
    #[error("{0} is missing: without a file, the price needs it")]
    Missing(&'static str),
    #[error("--rate describes Poisson sampling; other sampling needs --lot and --examples")]
    OnlyPoisson,
    #[error("{option} has no effect: it belongs to {noise} noise")]
    NoEffect { option: &'static str, noise: &'static str },
    #[error("--steps counts the steps of options; the file {0} has its own")]
    StepsOfFile(String),
}

impl From<TrainingError> for DescribedError {
    fn from(error: TrainingError) -> Self {
        match error {
            TrainingError::Range { .. } => Self::Range(error),
            TrainingError::Privacy(_) => Self::Training(error),
        }
    }
}

impl Described {
    /// Returns the file, if one is named.
    pub fn file(&self) -> Option<&Path> {
        self.ledger.as_deref()
    }

    /// Returns the number of steps that is asked for, by --steps or --epochs.
    ///
    /// # Errors
    /// [`TrainingError::Range`]; missing options.
    pub fn steps(&self) -> Result<Option<u64>, DescribedError> {
        let Some(length) = self.length() else { return Ok(None) };
        // A file comes with steps only.
        Ok(Some(if self.file().is_some() { length.steps(1.0)? } else { self.training()?.steps(length)? }))
    }

    fn length(&self) -> Option<Length> {
        self.steps.map(Length::Steps).or(self.epochs.map(Length::Epochs))
    }

    fn batches(&self) -> Result<Batches, DescribedError> {
        let sampling = self.sampling.unwrap_or_default();
        match (self.rate, self.lot, self.examples) {
            (Some(_), ..) if sampling != SamplingPolicy::Poisson => Err(DescribedError::OnlyPoisson),
            (Some(rate), ..) => Ok(Batches::Rate(rate)),
            (None, Some(lot), Some(examples)) => Ok(Batches::Lot { lot, examples, sampling }),
            _ => Err(DescribedError::Missing("--rate, or --lot with --examples,")),
        }
    }

    /// Returns one step of the training that options describe, with noise of scale 1 if they name
    /// none.
    ///
    /// # Errors
    /// Missing or impossible options.
    pub fn step(&self) -> Result<Release, DescribedError> {
        let step = self.training()?.step()?;
        let step = match self.neighbours {
            Some(neighbours) => step.between(neighbours),
            None => step,
        };
        step.validate().map_err(TrainingError::Privacy)?;
        Ok(step)
    }

    fn training(&self) -> Result<Training, DescribedError> {
        let family = self.noise.unwrap_or(Family::Gaussian);
        for (given, option, owner, noise) in [
            (self.nu, "--nu", Family::StudentT, "Student-t"),
            (self.exponent, "--exponent", Family::GeneralizedGaussian, "generalised Gaussian"),
        ] {
            if given.is_some() && family != owner {
                return Err(DescribedError::NoEffect { option, noise });
            }
        }
        let usual = Settings::default();
        let settings = Settings {
            family,
            scale: self.noise_multiplier.unwrap_or(1.0),
            nu: self.nu.unwrap_or(usual.nu),
            exponent: self.exponent.unwrap_or(usual.exponent),
            ..usual
        };
        Ok(Training { noise: settings.noise(), batches: self.batches()? })
    }

    /// Returns the ledger of the file, or of the training that options describe.
    ///
    /// # Errors
    /// As [`given::ledger`] and [`Described::step`]; missing options.
    pub fn ledger(&self) -> Result<Ledger, DescribedError> {
        if let Some(file) = self.file() {
            if self.steps.is_some() {
                return Err(DescribedError::StepsOfFile(file.display().to_string()));
            }
            return Ok(given::ledger(file)?);
        }
        if self.noise_multiplier.is_none() && self.noise != Some(Family::None) {
            return Err(DescribedError::Missing("--noise-multiplier"));
        }
        let length = self.length().ok_or(DescribedError::Missing("--steps or --epochs"))?;
        let steps = self.training()?.steps(length)?;
        Ok(Ledger::of([(self.step()?, steps)]).map_err(TrainingError::Privacy)?)
    }
}
