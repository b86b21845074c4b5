//! The log of a run as a browser stores it: earlier releases, and the kind of each reserved
//! release. Releases are reserved before they happen ([`super::write_ahead`]).

use hushgrad_message::{Message, word};
use serde::{Deserialize, Serialize};

use crate::{
    accounting::{
        PrivacyError,
        error::json_fault,
        ledger::{Ledger, Release},
        rdp,
    },
    train::{
        phases::shares,
        report::Privacy,
        run_file::{RunCard, RunFile},
    },
};

/// A run's releases: those before its books were opened, and the kinds of those reserved since.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RunLog {
    /// Earlier releases; `None` if nothing can be claimed of the run.
    ledger: Option<Ledger>,
    /// The first reserved releases, if the run has phases that end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    phases: Vec<(Release, u64)>,
    /// The kind of each reserved release after those.
    release: Option<Release>,
    /// Planned releases from the opening of the books on; `None` if unlimited or unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    planned: Option<u64>,
    /// Digest of the training digits ([`opening_digest`](crate::data::Dataset::opening_digest));
    /// books of the same digits add up. `None` if they are unknown, or the run counts for none.
    #[serde(default)]
    digits: Option<String>,
}

/// Why books are rejected.
#[derive(Clone, Debug, PartialEq, hushgrad_message::Error)]
pub enum RunLogError {
    #[error("its books cannot be read ({0}); it was changed by hand or damaged, and is not opened")]
    Unreadable(Message),
    #[error(
        "its books say that {books} steps were released, but its file says {file}; it was changed by hand or damaged, and is not opened"
    )]
    Fewer { books: u64, file: u64 },
    #[error(
        "its books and its file disagree on whether it has a guarantee; it was changed by hand or damaged, and is not opened"
    )]
    Otherwise,
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
}

impl RunLog {
    /// Opens books after `ledger`, for so many releases of each kind in turn, and any number of the
    /// last. `planned`: releases planned in all.
    #[must_use]
    pub fn open(
        ledger: Option<&Ledger>,
        kinds: &[(&Release, u64)],
        planned: Option<u64>,
        digits: Option<String>,
    ) -> Self {
        let (last, first) = match kinds.split_last() {
            Some(((last, _), first)) if ledger.is_some() => (Some((*last).clone()), first),
            _ => (None, &[][..]),
        };
        let phases = first.iter().map(|(release, count)| ((*release).clone(), *count)).collect();
        let planned = planned.filter(|_| last.is_some());
        Self { ledger: ledger.cloned(), phases, release: last, planned, digits }
    }

    /// True if a number of steps was planned, so that [`RunLog::with_planned`] bounds any stop.
    #[must_use]
    pub const fn is_planned(&self) -> bool {
        self.planned.is_some()
    }

    #[must_use]
    pub fn digits(&self) -> Option<&str> {
        self.digits.as_deref()
    }

    /// Returns the same books, counting for no digits.
    #[must_use]
    pub fn of_no_digits(self) -> Self {
        Self { digits: None, ..self }
    }

    /// # Errors
    /// If the text was not written by this page.
    pub fn from_json(text: &str) -> Result<Self, RunLogError> {
        serde_json::from_slice(text.as_bytes()).map_err(|error| RunLogError::Unreadable(json_fault(&error)))
    }

    #[must_use]
    pub fn to_json(&self) -> String {
        // Plain numbers, texts and lists, which JSON never refuses.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns [`RunLog::with`] the releases of the whole plan, or the reserved ones if more.
    ///
    /// # Errors
    /// If the books cannot have been kept by this page.
    pub fn with_planned(&self, reserved: u64) -> Result<Option<Ledger>, RunLogError> {
        self.with(reserved.max(self.planned.unwrap_or(0)))
    }

    /// Returns the ledger with `reserved` releases since the opening; `None` without a guarantee.
    ///
    /// # Errors
    /// If the books cannot have been kept by this page.
    pub fn with(&self, reserved: u64) -> Result<Option<Ledger>, RunLogError> {
        let Some(mut ledger) = self.ledger.clone() else { return Ok(None) };
        ledger.validate()?;
        match &self.release {
            Some(last) => {
                let phases = self.phases.iter().map(|(release, count)| (release, *count)).chain([(last, u64::MAX)]);
                let shares = shares(phases.clone().map(|(_, count)| count), reserved);
                ledger.append(phases.zip(shares).map(|((release, _), count)| (release.clone(), count)))?;
            }
            None if reserved > 0 => {
                return Err(RunLogError::Unreadable(word!("they do not say what was released").into()));
            }
            None => {}
        }
        ledger.validate()?;
        Ok(Some(ledger))
    }
}

/// Writes the cost of `ledger` into a card, and returns the releases beyond the card's steps.
///
/// # Errors
/// If the ledger has fewer releases than the run, or no price.
pub fn account(card: &mut RunCard, ledger: Option<&Ledger>) -> Result<u64, RunLogError> {
    let report = &mut card.report;
    let Some(ledger) = ledger else {
        if let Privacy::Bounded(_) = report.privacy {
            return Err(RunLogError::Otherwise);
        }
        return Ok(0);
    };
    let lost = beyond(ledger, report.step)?;
    let delta = card.config.delta;
    // A run without a guarantee stays one.
    if let Privacy::Bounded(_) = report.privacy {
        report.privacy = Privacy::of(delta, rdp::epsilon_of(ledger, delta), ledger)?;
    }
    Ok(lost)
}

/// Replaces a run file's ledger by that of the books, which are written before a step (the file,
/// after). Returns the releases that the books count beyond the file's parameters.
///
/// # Errors
/// If the books count less than the file.
pub fn settle(file: &mut RunFile, books: Option<Ledger>) -> Result<u64, RunLogError> {
    let before = match (&file.ledger, &books) {
        (Some(file), Some(books)) => {
            if books.steps() < file.steps() {
                return Err(RunLogError::Fewer { books: books.steps(), file: file.steps() });
            }
            file.steps()
        }
        (None, None) => return Ok(0),
        _ => return Err(RunLogError::Otherwise),
    };
    account(&mut file.run, books.as_ref())?;
    let lost = books.as_ref().map_or(0, Ledger::steps) - before;
    file.ledger = books;
    Ok(lost)
}

fn beyond(ledger: &Ledger, step: u64) -> Result<u64, RunLogError> {
    let books = ledger.steps();
    books.checked_sub(step).ok_or(RunLogError::Fewer { books, file: step })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::{ledger::Sensitivity, noise::NoiseSpec, sampling::Sampling};

    #[test]
    fn books_count_every_reserved_release() {
        let release = |sigma| {
            Release::new(
                Sampling::Poisson { rate: 0.1 },
                Sensitivity::L2 { norm: 1.0 },
                Some(NoiseSpec::Gaussian { sigma }),
            )
        };
        let ledger = Ledger::of([(release(2.0), 5)]).unwrap();
        for other in [2.0, 1.0] {
            let books = RunLog::open(Some(&ledger), &[(&release(other), 1)], Some(9), None);
            let books = RunLog::from_json(&books.to_json()).unwrap();
            let ahead = books.with(7).unwrap().unwrap();
            assert_eq!((ahead.steps(), books.with(0).unwrap().unwrap().steps()), (12, 5));
            assert_eq!([7, 11].map(|reserved| books.with_planned(reserved).unwrap().unwrap().steps()), [14, 16]);
            let twice = rdp::epsilon_of(&ahead, 1e-5).unwrap().improved.epsilon;
            assert!(twice > rdp::epsilon_of(&ledger, 1e-5).unwrap().improved.epsilon);
        }
        let (wide, narrow) = (release(3.0), release(1.0));
        let phased = RunLog::open(Some(&ledger), &[(&wide, 4), (&narrow, 1), (&wide, 9)], None, None);
        let counts = |reserved| {
            let ledger = RunLog::from_json(&phased.to_json()).unwrap().with(reserved).unwrap().unwrap();
            ledger.events().iter().map(|event| event.count).collect::<Vec<_>>()
        };
        assert_eq!([0, 3, 5, 20].map(counts), [vec![5], vec![5, 3], vec![5, 4, 1], vec![5, 4, 1, 15]]);
        assert_eq!(RunLog::open(None, &[(&release(1.0), 1)], Some(9), None).with_planned(7), Ok(None));
        assert!(RunLog::open(Some(&ledger), &[], None, None).with(1).is_err());
        let changed = RunLog::open(Some(&ledger), &[], None, None).to_json().replace("\"count\":5", "\"count\":0");
        assert!(RunLog::from_json(&changed).unwrap().with(0).is_err());
        assert!(matches!(RunLog::from_json("[]"), Err(RunLogError::Unreadable(_))));
    }
}
