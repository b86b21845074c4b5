//! A run as lists and charts show it, and what can be wrong with one that is read.

use hushgrad_message::{Message, message, word};
use serde::{Deserialize, Serialize};

use super::{config::RunConfig, projection::Point, report::Report};
use crate::{
    accounting::error::json_fault,
    data::{
        idx::MAX_EXAMPLES,
        name::{kept, quoted},
    },
    engine::EngineInfo,
};

/// Version of [`RunFile`](super::run_file::RunFile). Later versions are refused, because what they
/// add may matter. Version 1 had only Poisson sampling; version 2 had no averaged iterates.
pub(super) const VERSION: u32 = 3;
/// Most characters of a run's name.
pub const LONGEST_NAME: usize = 60;
/// Most characters of each other text: the note, and the names of the device and of the data.
pub(super) const LONGEST_TEXT: usize = 400;
/// Most points of a curve; the page writes a thousand at most.
pub(super) const MOST_POINTS: usize = 10_000;

/// A run as shown: all that lists and charts need.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RunCard {
    pub name: String,
    /// What changed since the previous run.
    pub note: String,
    pub config: RunConfig,
    pub engine: EngineInfo,
    /// Name of the data, and numbers of training and test examples.
    pub data: String,
    pub train: u32,
    pub test: u32,
    pub report: Report,
    /// The test accuracy last measured.
    pub accuracy: Option<f64>,
    /// Step and value.
    pub accuracy_curve: Vec<Point>,
    pub improved_curve: Vec<Point>,
    pub classic_curve: Vec<Point>,
}

/// Why a file is not a run that can be shown or continued.
#[derive(Clone, Debug, PartialEq, hushgrad_message::Error)]
pub enum RunFileError {
    #[error("{name} is not a run file: it is too large ({bytes} bytes)")]
    TooLarge { name: String, bytes: usize },
    #[error("{name} is not a run file of this page: {reason}")]
    Unreadable { name: String, reason: Message },
    #[error("{name} was written by a later version of this page ({version}; this one reads {VERSION}); open it there")]
    Later { name: String, version: u32 },
    #[error("{name}: {field} is {value}, which no run can have; the file was changed by hand or damaged")]
    Impossible { name: String, field: &'static str, value: Message },
    #[error("{name} holds settings that no run can have: {reason}")]
    NoPlan { name: String, reason: Message },
    #[error(
        "{name} has taken no step, but its {field} is not what its settings start from; it was changed by hand, and is not continued"
    )]
    Trained { name: String, field: &'static str },
    #[error("{name} claims an ε but has no ledger to support it; it was changed by hand, and is not opened")]
    Unaccounted { name: String },
    #[error(
        "{name} says ε ≤ {stated}, but its ledger costs ε ≤ {accounted}; it was changed by hand, and is not opened"
    )]
    Differs { name: String, stated: f64, accounted: f64 },
}

impl RunCard {
    /// Reads a card from the run store.
    ///
    /// # Errors
    /// What is wrong with it, with the run's `name`.
    pub fn from_json(name: &str, bytes: &[u8]) -> Result<Self, RunFileError> {
        let name = clipped(name);
        let mut card: Self = serde_json::from_slice(bytes)
            .map_err(|error| RunFileError::Unreadable { name: name.clone(), reason: json_fault(&error) })?;
        card.check(&name)?;
        Ok(card)
    }

    #[must_use]
    pub fn to_json(&self) -> String {
        // JSON refuses only maps whose keys are not strings, and no field is a map.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Checks every number, and cuts texts to lengths that can be shown.
    pub(super) fn check(&mut self, name: &str) -> Result<(), RunFileError> {
        self.name = kept(&self.name, LONGEST_NAME);
        for text in [&mut self.note, &mut self.data, &mut self.engine.device] {
            *text = kept(text, LONGEST_TEXT);
        }
        let fine = |field: &'static str, fine: bool, value: Message| {
            if fine { Ok(()) } else { Err(RunFileError::Impossible { name: name.to_owned(), field, value }) }
        };
        if let Some(accuracy) = self.accuracy {
            fine("accuracy", (0.0..=1.0).contains(&accuracy), Message::text(accuracy))?;
        }
        fine("train", (1..=MAX_EXAMPLES).contains(&self.train), Message::text(self.train))?;
        fine("lot", (1..=self.train).contains(&self.config.lot), Message::text(self.config.lot))?;
        fine("step", self.report.step <= 1 << 53, Message::text(self.report.step))?;
        for (field, curve, most) in [
            ("accuracy-curve", &self.accuracy_curve, 1.0),
            ("improved-curve", &self.improved_curve, f64::MAX),
            ("classic-curve", &self.classic_curve, f64::MAX),
        ] {
            let ordered = curve.windows(2).all(|w| w[0].0 < w[1].0);
            let inside = curve.iter().all(|p| p.0 >= 0.0 && (0.0..=most).contains(&p.1));
            fine(field, ordered && inside, word!("out of order or out of range").into())?;
            fine(field, curve.len() <= MOST_POINTS, message!("{} points long", curve.len()))?;
            let last = curve.last().map_or(0.0, |point| point.0);
            fine(field, last <= self.report.step as f64, message!("beyond the {} steps", self.report.step))?;
        }
        Ok(())
    }
}

/// Returns the beginning of a text of any length, for quoting in an error.
#[must_use]
pub fn clipped(text: &str) -> String {
    quoted(text, 24)
}
