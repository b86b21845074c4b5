//! The books of a run: what it may release is written before it does. Releases are reserved in blocks, so that what is
//! written after a crash is never less than what happened; how much is reserved follows the run's own speed.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use web_time::Instant;

use crate::{
    accounting::{
        PrivacyError,
        ledger::{Ledger, Release},
        rdp,
    },
    train::{
        report::Privacy,
        run_file::{RunCard, RunFile},
    },
};

/// A block takes about this long: as much as a crash may count that did not happen.
const BLOCK: Duration = Duration::from_secs(1);
/// Releases of the first block, whose speed nobody knows.
const FIRST: u64 = 4;
/// A block is at most so many times the one before: a short look at the clock may be wrong.
const GROWTH: u64 = 8;

/// How far a run's releases are written, counted since its books were opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Book {
    written: u64,
    /// What is being written now.
    asked: Option<u64>,
    block: u64,
    /// When a block was asked for last, and what was released by then.
    looked: Option<(Instant, u64)>,
}

impl Book {
    /// Books in which `written` releases stand.
    #[must_use]
    pub const fn new(written: u64) -> Self {
        Self { written, asked: None, block: FIRST, looked: None }
    }

    /// Releases that are written and have not happened, after `released` of them did.
    #[must_use]
    pub const fn left(&self, released: u64) -> u64 {
        self.written.saturating_sub(released)
    }

    /// Whether a block is being written.
    #[must_use]
    pub const fn is_asked(&self) -> bool {
        self.asked.is_some()
    }

    /// How far is written.
    #[must_use]
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// Up to where to write now, so that no step has to wait; nothing while that is being done or not due. `most`: releases that the run will
    /// make in all.
    pub fn due(&mut self, released: u64, most: Option<u64>, now: Instant) -> Option<u64> {
        if self.asked.is_some() || 2 * self.left(released) > self.block + 1 {
            return None;
        }
        if let Some((then, before)) = self.looked {
            let seconds = now.duration_since(then).as_secs_f64().max(1e-3);
            let pace = released.saturating_sub(before) as f64 / seconds * BLOCK.as_secs_f64();
            self.block = (pace as u64).clamp(1, self.block.saturating_mul(GROWTH));
        }
        let upto = self.written.max(released).saturating_add(self.block).min(most.unwrap_or(u64::MAX));
        if upto <= self.written {
            return None;
        }
        self.looked = Some((now, released));
        self.asked = Some(upto);
        self.asked
    }

    /// A block is written; one that was asked for before the books were closed is none any more.
    pub fn wrote(&mut self, upto: u64) {
        if self.asked.take_if(|asked| *asked == upto).is_some() {
            self.written = self.written.max(upto);
        }
    }

    /// Nothing came of the block that was asked for.
    pub const fn refused(&mut self) {
        (self.asked, self.looked) = (None, None);
    }

    /// Exactly `released` releases are written: the run stands still.
    pub const fn close(&mut self, released: u64) {
        self.written = released;
        self.refused();
    }
}

/// What a run's releases are: those before its books were opened, and of which kind each reserved one is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Books {
    /// `None`: nothing can be claimed of the run.
    ledger: Option<Ledger>,
    release: Option<Release>,
    /// What the digits are called that it trains on ([`Dataset::opening_digest`](crate::data::Dataset::opening_digest)): books of the same digits add up.
    /// `None`: nobody knows, or has it not count.
    #[serde(default)]
    digits: Option<String>,
}

/// Why books cannot be believed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BooksError {
    #[error("its books cannot be read ({0}); it was changed by hand or damaged, and is not opened")]
    Unreadable(String),
    #[error(
        "its books say that {books} steps were released where its file says {file}; it was changed by hand or damaged, and is not opened"
    )]
    Fewer { books: u64, file: u64 },
    #[error(
        "its books and its file do not agree on whether it has a guarantee; it was changed by hand or damaged, and is not opened"
    )]
    Otherwise,
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
}

impl Books {
    /// Books that are opened after `ledger`, for releases of one kind.
    #[must_use]
    pub fn open(ledger: Option<&Ledger>, release: Option<&Release>, digits: Option<String>) -> Self {
        Self { ledger: ledger.cloned(), release: release.filter(|_| ledger.is_some()).cloned(), digits }
    }

    #[must_use]
    pub fn digits(&self) -> Option<&str> {
        self.digits.as_deref()
    }

    /// The same, which count for no digits.
    #[must_use]
    pub fn of_no_digits(self) -> Self {
        Self { digits: None, ..self }
    }

    /// # Errors
    /// Text that this page has not written.
    pub fn from_json(text: &str) -> Result<Self, BooksError> {
        serde_json::from_str(text).map_err(|error| BooksError::Unreadable(error.to_string()))
    }

    #[must_use]
    pub fn to_json(&self) -> String {
        // Plain numbers, texts and lists, which JSON never refuses.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// All that was released, with `reserved` releases since the books were opened; `None`: nothing can be claimed.
    ///
    /// # Errors
    /// Books that cannot have been kept by this page.
    pub fn with(&self, reserved: u64) -> Result<Option<Ledger>, BooksError> {
        let Some(mut ledger) = self.ledger.clone() else { return Ok(None) };
        ledger.validate()?;
        match &self.release {
            Some(release) => {
                let release = ledger.register(release.clone())?;
                ledger.record_many(release, reserved);
            }
            None if reserved > 0 => {
                return Err(BooksError::Unreadable("they do not say what was released".to_owned()));
            }
            None => {}
        }
        ledger.validate()?;
        Ok(Some(ledger))
    }
}

/// Puts what `ledger` costs into a card; answers how many releases it counts beyond the card's steps.
///
/// # Errors
/// A ledger that holds less than the run did, or that cannot be accounted for.
pub fn account(card: &mut RunCard, ledger: Option<&Ledger>) -> Result<u64, BooksError> {
    let report = &mut card.report;
    let Some(ledger) = ledger else {
        if let Privacy::Bounded(_) = report.privacy {
            return Err(BooksError::Otherwise);
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

/// Puts into a run's file what its books say: they are written before a step, and the file after it. Answers how many releases were counted
/// that its parameters do not have.
///
/// # Errors
/// Books that say less than the file.
pub fn settle(file: &mut RunFile, books: Option<Ledger>) -> Result<u64, BooksError> {
    let before = match (&file.ledger, &books) {
        (Some(file), Some(books)) => {
            if books.steps() < file.steps() {
                return Err(BooksError::Fewer { books: books.steps(), file: file.steps() });
            }
            file.steps()
        }
        (None, None) => return Ok(0),
        _ => return Err(BooksError::Otherwise),
    };
    account(&mut file.run, books.as_ref())?;
    let lost = books.as_ref().map_or(0, Ledger::steps) - before;
    file.ledger = books;
    Ok(lost)
}

fn beyond(ledger: &Ledger, step: u64) -> Result<u64, BooksError> {
    let books = ledger.steps();
    books.checked_sub(step).ok_or(BooksError::Fewer { books, file: step })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::{ledger::Sensitivity, noise::NoiseSpec, sampling::Sampling};

    fn at(start: Instant, milliseconds: u64) -> Instant {
        start + Duration::from_millis(milliseconds)
    }

    /// A thousand steps a second: after a few blocks the books are about a second ahead, and no step ever waits.
    #[test]
    fn blocks_follow_the_speed_of_the_run() {
        let start = Instant::now();
        let (mut book, mut released, mut asked) = (Book::new(0), 0, None::<(u64, u64)>);
        let (mut waited, mut writes) = (0, 0);
        for now in 0..20_000 {
            // It takes 20 ms to write.
            if let Some((upto, since)) = asked
                && now >= since + 20
            {
                book.wrote(upto);
                asked = None;
            }
            if let Some(upto) = book.due(released, None, at(start, now)) {
                asked = Some((upto, now));
                writes += 1;
            }
            if book.left(released) > 0 {
                released += 1;
            } else {
                waited += 1;
            }
            assert!(book.left(released) <= 3000, "{book:?} at {released}");
        }
        assert!(waited < 200 && writes < 80, "{waited} {writes}");
        assert!(book.left(released) > 100, "{book:?}");
        // Much slower: blocks shrink to single steps.
        let mut now = 20_000;
        for _ in 0..4000 {
            now += 2000;
            if let Some(upto) = book.due(released, None, at(start, now)) {
                book.wrote(upto);
            }
            assert!(book.left(released) > 0);
            released += 1;
        }
        assert!(book.left(released) <= 2, "{book:?} at {released}");
    }

    #[test]
    fn no_more_is_reserved_than_the_run_will_take_and_closing_is_exact() {
        let now = Instant::now();
        let mut book = Book::new(0);
        assert_eq!(book.due(0, Some(3), now), Some(3));
        assert_eq!(book.due(0, Some(3), now), None, "it is being written");
        assert_eq!(book.left(0), 0, "what is not written may not happen");
        book.wrote(3);
        assert_eq!((book.left(0), book.left(3), book.left(9)), (3, 0, 0));
        assert_eq!(book.due(3, Some(3), now), None);
        let asked = book.due(3, None, now).unwrap();
        book.close(2);
        // What was asked for before is void.
        book.wrote(asked);
        assert_eq!((book.written(), book.left(2)), (2, 0));
    }

    #[test]
    fn books_count_every_reserved_release() {
        let release = |sigma| {
            Release::new(
                Sampling::Poisson { rate: 0.1 },
                Sensitivity::L2 { norm: 1.0 },
                Some(NoiseSpec::Gaussian { sigma }),
            )
        };
        let mut ledger = Ledger::new();
        let first = ledger.register(release(2.0)).unwrap();
        ledger.record_many(first, 5);
        for other in [2.0, 1.0] {
            let books = Books::open(Some(&ledger), Some(&release(other)), None);
            let books = Books::from_json(&books.to_json()).unwrap();
            let ahead = books.with(7).unwrap().unwrap();
            assert_eq!((ahead.steps(), books.with(0).unwrap().unwrap().steps()), (12, 5));
            let twice = rdp::epsilon_of(&ahead, 1e-5).unwrap().improved.epsilon;
            assert!(twice > rdp::epsilon_of(&ledger, 1e-5).unwrap().improved.epsilon);
        }
        assert_eq!(Books::open(None, Some(&release(1.0)), None).with(7), Ok(None));
        assert!(Books::open(Some(&ledger), None, None).with(1).is_err());
        let changed = Books::open(Some(&ledger), None, None).to_json().replace("\"count\":5", "\"count\":0");
        assert!(Books::from_json(&changed).unwrap().with(0).is_err());
        assert!(matches!(Books::from_json("[]"), Err(BooksError::Unreadable(_))));
    }
}
