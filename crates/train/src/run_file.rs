//! A run as a file to show, account for anew and continue: configuration, report, ledger, state.

use hushgrad_message::{Message, message, word};
use serde::{Deserialize, Serialize};

pub use super::run_card::{LONGEST_NAME, RunCard, RunFileError, clipped};
use super::{accounted, plan, report::ReleasedMetrics, run_card::VERSION};
use crate::{
    accounting::{error::json_fault, ledger::Ledger},
    mechanism::State,
};

pub(super) const FORMAT: &str = "hushgrad-run";
/// Largest run file that is read, in bytes. A ledger of 4,000 envelope vectors takes 15 MB.
pub const LARGEST: usize = 64 << 20;
/// A complete run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RunFile {
    pub format: String,
    pub version: u32,
    pub run: RunCard,
    /// What was released; `None`: the run has no guarantee.
    pub ledger: Option<Ledger>,
    /// θ, flat.
    pub parameters: Vec<f32>,
    /// Empty if all zero.
    pub momentum: Vec<f32>,
    /// The average of the iterates, if one is kept.
    #[serde(default)]
    pub average: Option<Vec<f32>>,
    /// Each step's clipping norm, if adaptive: public, as it follows from what was released.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clips: Vec<f32>,
    /// Whether the tool's books count it; it is then continued only with books.
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

    /// Adds the clipping norms of the steps taken; drops those of later steps.
    #[must_use]
    pub fn with_clips(self, clips: &[f32]) -> Self {
        let taken = clips.len().min(self.run.report.step as usize);
        Self { clips: clips[..taken].to_vec(), ..self }
    }

    #[must_use]
    pub fn to_json(&self) -> String {
        // JSON refuses only maps whose keys are not strings, and no field is a map.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads the file called `name` and accounts for it anew, so that its report and curves state
    /// its ledger's cost. A run of no steps must have its settings' initial parameters.
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

    /// The same for a run that is shown and not continued. Its parameters are not checked, so that
    /// a program that only shows runs need not contain the pre-trained ones.
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
        let unreadable = |reason: Message| RunFileError::Unreadable { name: name.clone(), reason };
        if bytes.len() > LARGEST {
            return Err(RunFileError::TooLarge { name, bytes: bytes.len() });
        }
        let head: Head = serde_json::from_slice(bytes).map_err(|error| unreadable(json_fault(&error)))?;
        if head.format != FORMAT {
            return Err(unreadable(message!("its format is “{}”", clipped(&head.format))));
        }
        if head.version > VERSION {
            return Err(RunFileError::Later { name, version: head.version });
        }
        let mut file: Self = serde_json::from_slice(bytes).map_err(|error| unreadable(json_fault(&error)))?;
        file.run.check(&name)?;
        file.check_model(&name)?;
        file.check_counted(&name)?;
        accounted::account(&name, &mut file.run, &mut file.ledger)?;
        Ok(file)
    }

    /// Checks that a run of no steps has its settings' initial parameters, to the last bit.
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

    /// Checks that the counts' results are possible.
    fn check_counted(&mut self, name: &str) -> Result<(), RunFileError> {
        let impossible = |field, value: Message| Err(RunFileError::Impossible { name: name.to_owned(), field, value });
        let usable = |clip: f64| (1e-9..=1e6).contains(&clip);
        let ReleasedMetrics { clip, answers } = self.run.report.counted;
        if let Some(clip) =
            self.clips.iter().map(|clip| f64::from(*clip)).chain(clip).find(|clip| !usable(*clip * (1.0 + 1e-6)))
        {
            return impossible("clip", Message::text(clip));
        }
        if self.clips.len() as u64 > self.run.report.step {
            return impossible("clips", message!("{} of {} steps", self.clips.len(), self.run.report.step));
        }
        match answers {
            Some(answers) if !answers.is_possible() || answers.steps > self.run.report.step => {
                impossible("counted", word!("out of range").into())
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
                _ if values.len() != wanted => message!("{} numbers long", values.len()),
                Some(value) => Message::text(value),
                None => continue,
            };
            return Err(RunFileError::Impossible { name: name.to_owned(), field, value });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
