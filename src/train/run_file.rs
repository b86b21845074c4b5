//! Runs as files: what was set, what it came to, what was released, and the model as it stood, so that a run can be
//! shown, accounted for anew, and continued.

use serde::{Deserialize, Serialize};

use super::{accounted, config::RunConfig, plan, projection::Point, report::Report};
use crate::{accounting::ledger::Ledger, data::idx::MAX_EXAMPLES, engine::EngineInfo, mechanism::State};

const FORMAT: &str = "hushgrad-run";
/// Version of [`RunFile`]; later ones are refused, since what they add may matter. The first knew Poisson sampling alone, the second no mean of iterates.
const VERSION: u32 = 3;
/// A larger file is not a run: four thousand envelope vectors in the ledger take 15 MB.
pub const LARGEST: usize = 64 << 20;
/// Characters of a run's name.
pub const LONGEST_NAME: usize = 60;
/// Of the other texts: what changed, what the device and the digits are called.
const LONGEST_TEXT: usize = 400;
/// Points of a curve; the page writes a thousand at most.
const MOST_POINTS: usize = 10_000;

/// A run as it is shown: all that lists and charts need.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RunCard {
    pub name: String,
    /// What changed from the run before.
    pub note: String,
    pub config: RunConfig,
    pub engine: EngineInfo,
    /// Name of the digits, and how many there are.
    pub data: String,
    pub train: u32,
    pub test: u32,
    pub report: Report,
    /// Test accuracy where it was measured last.
    pub accuracy: Option<f64>,
    /// Step and value.
    pub accuracy_curve: Vec<Point>,
    pub improved_curve: Vec<Point>,
    pub classic_curve: Vec<Point>,
}

/// A run whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RunFile {
    pub format: String,
    pub version: u32,
    pub run: RunCard,
    /// What was released; `None`: nothing can be claimed of the run.
    pub ledger: Option<Ledger>,
    /// θ, flat.
    pub parameters: Vec<f32>,
    /// Empty: all zero.
    pub momentum: Vec<f32>,
    /// The mean of the iterates, where one is kept.
    #[serde(default)]
    pub average: Option<Vec<f32>>,
}

/// Why a file is not a run that can be shown or continued.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunFileError {
    #[error("{name} is no run file: it has {bytes} bytes, more than any")]
    TooLarge { name: String, bytes: usize },
    #[error("{name} is no run file of this page: {reason}")]
    Unreadable { name: String, reason: String },
    #[error("{name} was written by a later version of this page ({version}; this one reads {VERSION}); open it there")]
    Later { name: String, version: u32 },
    #[error("{name}: {field} is {value}, which no run can have; the file was changed by hand or damaged")]
    Impossible { name: String, field: &'static str, value: String },
    #[error("{name} holds settings that no run can have: {reason}")]
    NoPlan { name: String, reason: String },
    #[error(
        "{name} has taken no step, and its {field} is not what its settings start from; it was changed by hand, and is not continued"
    )]
    Trained { name: String, field: &'static str },
    #[error("{name} claims an ε and has no ledger to show for it; it was changed by hand, and is not opened")]
    Unaccounted { name: String },
    #[error(
        "{name} says ε ≤ {stated}, and its ledger costs ε ≤ {accounted}; it was changed by hand, and is not opened"
    )]
    Differs { name: String, stated: f64, accounted: f64 },
}

impl RunCard {
    /// Reads a card that this page has kept.
    ///
    /// # Errors
    /// What is wrong with it, by `name`.
    pub fn from_json(name: &str, bytes: &[u8]) -> Result<Self, RunFileError> {
        let name = clipped(name);
        let mut card: Self = serde_json::from_slice(bytes)
            .map_err(|error| RunFileError::Unreadable { name: name.clone(), reason: error.to_string() })?;
        card.check(&name)?;
        Ok(card)
    }

    #[must_use]
    pub fn to_json(&self) -> String {
        // Every field is a plain number, text or list, and none is a map with keys that JSON could refuse.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Checks every number, and cuts texts to lengths that can be shown.
    fn check(&mut self, name: &str) -> Result<(), RunFileError> {
        self.name = cut(&self.name, LONGEST_NAME);
        for text in [&mut self.note, &mut self.data, &mut self.engine.device] {
            *text = cut(text, LONGEST_TEXT);
        }
        let fine = |field: &'static str, fine: bool, value: String| {
            if fine {
                Ok(())
            } else {
                Err(RunFileError::Impossible { name: name.to_owned(), field, value: clipped(&value) })
            }
        };
        if let Some(accuracy) = self.accuracy {
            fine("accuracy", (0.0..=1.0).contains(&accuracy), accuracy.to_string())?;
        }
        fine("train", (1..=MAX_EXAMPLES).contains(&self.train), self.train.to_string())?;
        fine("lot", (1..=self.train).contains(&self.config.lot), self.config.lot.to_string())?;
        fine("step", self.report.step <= 1 << 53, self.report.step.to_string())?;
        for (field, curve, most) in [
            ("accuracy-curve", &self.accuracy_curve, 1.0),
            ("improved-curve", &self.improved_curve, f64::MAX),
            ("classic-curve", &self.classic_curve, f64::MAX),
        ] {
            let ordered = curve.windows(2).all(|w| w[0].0 < w[1].0);
            let inside = curve.iter().all(|p| p.0 >= 0.0 && (0.0..=most).contains(&p.1));
            fine(field, ordered && inside, "out of order or out of range".to_owned())?;
            fine(field, curve.len() <= MOST_POINTS, format!("{} points long", curve.len()))?;
            let last = curve.last().map_or(0.0, |point| point.0);
            fine(field, last <= self.report.step as f64, format!("beyond the {} steps", self.report.step))?;
        }
        Ok(())
    }
}

impl RunFile {
    /// Stamps format and version on a run.
    #[must_use]
    pub fn new(run: RunCard, ledger: Option<Ledger>, state: State) -> Self {
        let State { parameters, momentum, average } = state;
        let momentum = if momentum.iter().all(|m| *m == 0.0) { Vec::new() } else { momentum };
        Self { format: FORMAT.to_owned(), version: VERSION, run, ledger, parameters, momentum, average }
    }

    #[must_use]
    pub fn to_json(&self) -> String {
        // As for the card.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a file of the name `name` and accounts for it anew: its report and its curves then say what its ledger costs, and what has
    /// taken no step stands where its settings start.
    ///
    /// # Errors
    /// What is wrong with it, by name.
    pub fn from_json(name: &str, bytes: &[u8]) -> Result<Self, RunFileError> {
        let file = Self::to_show(name, bytes)?;
        if file.run.report.step == 0 {
            file.check_start(&clipped(name))?;
        }
        Ok(file)
    }

    /// The same of a run that is shown and not continued, whose parameters nobody looks at: parameters to start from take more room than all that accounts
    /// for them.
    ///
    /// # Errors
    /// As [`RunFile::from_json`].
    pub fn to_show(name: &str, bytes: &[u8]) -> Result<Self, RunFileError> {
        #[derive(Deserialize)]
        struct Head {
            format: String,
            version: u32,
        }
        let name = clipped(name);
        let unreadable = |reason: String| RunFileError::Unreadable { name: name.clone(), reason };
        if bytes.len() > LARGEST {
            return Err(RunFileError::TooLarge { name, bytes: bytes.len() });
        }
        let head: Head = serde_json::from_slice(bytes).map_err(|error| unreadable(error.to_string()))?;
        if head.format != FORMAT {
            return Err(unreadable(format!("its format is “{}”", clipped(&head.format))));
        }
        if head.version > VERSION {
            return Err(RunFileError::Later { name, version: head.version });
        }
        let mut file: Self = serde_json::from_slice(bytes).map_err(|error| unreadable(error.to_string()))?;
        file.run.check(&name)?;
        file.check_model(&name)?;
        accounted::account(&name, &mut file.run, &mut file.ledger)?;
        Ok(file)
    }

    /// What has taken no step has learned nothing: parameters are, to the last bit, what they start from on every machine.
    fn check_start(&self, name: &str) -> Result<(), RunFileError> {
        let start = plan::initial_parameters(&self.run.config);
        let trained = |field| Err(RunFileError::Trained { name: name.to_owned(), field });
        if self.parameters != start {
            return trained("parameters");
        }
        if self.momentum.iter().any(|value| *value != 0.0) {
            return trained("momentum");
        }
        if self.average.as_ref().is_some_and(|average| *average != start) {
            return trained("average");
        }
        Ok(())
    }

    fn check_model(&mut self, name: &str) -> Result<(), RunFileError> {
        let wanted = self.run.config.model.parameters();
        if self.momentum.is_empty() {
            self.momentum = vec![0.0; wanted];
        }
        let all = [
            ("parameters", Some(&self.parameters)),
            ("momentum", Some(&self.momentum)),
            ("average", self.average.as_ref()),
        ];
        for (field, values) in all.into_iter().filter_map(|(field, values)| Some((field, values?))) {
            let value = match values.iter().find(|value| !value.is_finite()) {
                _ if values.len() != wanted => format!("{} numbers long", values.len()),
                Some(value) => value.to_string(),
                None => continue,
            };
            return Err(RunFileError::Impossible { name: name.to_owned(), field, value });
        }
        Ok(())
    }
}

/// What is quoted back of something that may be a novel.
#[must_use]
pub fn clipped(text: &str) -> String {
    let mut short: String = text.chars().filter(|c| !c.is_control()).take(24).collect();
    if text.chars().count() > 24 {
        short.push('…');
    }
    short
}

/// At most so many characters of a text, in one line.
pub(super) fn cut(text: &str, most: usize) -> String {
    text.trim().chars().filter(|c| !c.is_control()).take(most).collect()
}

#[cfg(test)]
mod tests;
