//! A run as a file: configuration, report, ledger, and the state of the model, so that the run can be shown, accounted for anew, and continued.

use serde::{Deserialize, Serialize};

pub use super::run_card::{LONGEST_NAME, RunCard, RunFileError, clipped};
use super::{accounted, plan, report::Counted, run_card::VERSION};
use crate::{accounting::ledger::Ledger, mechanism::State};

const FORMAT: &str = "hushgrad-run";
/// Largest run file that is read, in bytes. Four thousand envelope vectors in the ledger take 15 MB.
pub const LARGEST: usize = 64 << 20;
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
    /// The clip of each step, where it follows the gradients' norms: public, as it follows from what was released.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clips: Vec<f32>,
    /// Whether the tool's books count it: without books it does not go on, as they would miss what it adds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_books: bool,
}

impl RunFile {
    /// Stamps format and version on a run.
    #[must_use]
    pub fn new(run: RunCard, ledger: Option<Ledger>, state: State) -> Self {
        let State { parameters, momentum, average } = state;
        let momentum = if momentum.iter().all(|m| *m == 0.0) { Vec::new() } else { momentum };
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            run,
            ledger,
            parameters,
            momentum,
            average,
            clips: Vec::new(),
            in_books: false,
        }
    }

    /// With the clips of its steps; those of steps after it, it has not taken.
    #[must_use]
    pub fn with_clips(self, clips: &[f32]) -> Self {
        let taken = clips.len().min(self.run.report.step as usize);
        Self { clips: clips[..taken].to_vec(), ..self }
    }

    #[must_use]
    pub fn to_json(&self) -> String {
        // JSON refuses only maps whose keys are no texts, and no field is a map.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads the file called `name` and accounts for it anew, so that its report and its curves say what its ledger costs. A run of no steps
    /// must have the parameters that its settings start from.
    ///
    /// # Errors
    /// What is wrong with it, with the file's name.
    pub fn from_json(name: &str, bytes: &[u8]) -> Result<Self, RunFileError> {
        let file = Self::to_show(name, bytes)?;
        if file.run.report.step == 0 {
            file.check_start(&clipped(name))?;
        }
        Ok(file)
    }

    /// The same for a run that is shown and not continued. Its parameters are not checked, so that a program that only shows runs does not have to
    /// contain the parameters that runs start from.
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
        file.check_counted(&name)?;
        accounted::account(&name, &mut file.run, &mut file.ledger)?;
        Ok(file)
    }

    /// Checks that a run of no steps has, to the last bit, the parameters that its settings start from; they are the same on every machine.
    fn check_start(&self, name: &str) -> Result<(), RunFileError> {
        let trained = |field| Err(RunFileError::Trained { name: name.to_owned(), field });
        if !plan::starts_with(&self.run.config, &self.parameters) {
            return trained("parameters");
        }
        if self.momentum.iter().any(|value| *value != 0.0) {
            return trained("momentum");
        }
        if self.average.as_ref().is_some_and(|average| *average != self.parameters) {
            return trained("average");
        }
        Ok(())
    }

    /// Whether what counts told can be what they told.
    fn check_counted(&mut self, name: &str) -> Result<(), RunFileError> {
        let impossible = |field, value: String| Err(RunFileError::Impossible { name: name.to_owned(), field, value });
        let usable = |clip: f64| (1e-9..=1e6).contains(&clip);
        let Counted { clip, answers } = self.run.report.counted;
        if let Some(clip) =
            self.clips.iter().map(|clip| f64::from(*clip)).chain(clip).find(|clip| !usable(*clip * (1.0 + 1e-6)))
        {
            return impossible("clip", clip.to_string());
        }
        if self.clips.len() as u64 > self.run.report.step {
            return impossible("clips", format!("{} of {} steps", self.clips.len(), self.run.report.step));
        }
        match answers {
            Some(answers) if !answers.is_possible() || answers.steps > self.run.report.step => {
                impossible("counted", "out of range".to_owned())
            }
            _ => Ok(()),
        }
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

#[cfg(test)]
mod tests;
