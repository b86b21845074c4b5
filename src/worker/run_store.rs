//! The run store: a record of each run under a key, changed atomically. A browser keeps the records
//! in its database or, if it refuses, in memory while the thread lives.

use std::{collections::BTreeMap, time::Duration};

use super::run_log::RunLog;

/// A run as the list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    pub note: String,
    pub pinned: bool,
    /// A run card as JSON.
    pub card: String,
}

/// Everything stored of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub entry: Entry,
    /// A run file as JSON.
    pub file: String,
    /// [`RunLog`] as JSON; `None` if the ledger in the run file counts all releases.
    pub books: Option<String>,
    /// Releases counted as spent since the books were opened.
    pub reserved: u64,
}

/// One change of a record; keys ascend by time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Begin {
        key: String,
        record: Record,
    },
    /// Releases counted as spent: at least `count`, or `exact`ly if the run stands still.
    Reserve {
        key: String,
        count: u64,
        exact: bool,
    },
    /// Saves the run as it stands.
    Save {
        key: String,
        entry: Entry,
        file: String,
    },
    /// Names or pins a run, if it exists.
    Label {
        key: String,
        name: String,
        pinned: bool,
    },
    /// Removes a run; with `reserved`, only if it exists with so many releases reserved, as the
    /// caller read it. With `spent`, its books stay, because its releases stay released.
    Remove {
        key: String,
        reserved: Option<u64>,
        spent: bool,
    },
    /// Stops counting a run's books for any digits; the books of a removed run are deleted.
    Forget {
        key: String,
    },
}

/// The books of a run, which may have been removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredBooks {
    pub key: String,
    /// As in [`Record`].
    pub books: String,
    pub reserved: u64,
}

/// Why the store did not write or read.
#[derive(Clone, Debug, PartialEq, Eq, hushgrad_message::Error)]
pub enum StoreError {
    #[error("this browser does not let the page store anything (perhaps a private window)")]
    Refused,
    #[error("this browser's storage for the page is full")]
    Full,
    #[error("this browser's storage has not answered for {} seconds", .0.as_secs())]
    Silent(Duration),
    #[error("it was deleted or continued in another tab")]
    Gone,
    #[error("another tab is using it")]
    Busy,
}

/// A store that does not answer a blocking question for this long is taken to refuse.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// The same while steps continue. WebKit's database answers a thread only when the page's own
/// thread is free, so a page that is busy for some seconds makes it silent.
pub const PATIENCE_BESIDE: Duration = Duration::from_secs(30);

#[expect(async_fn_in_trait, reason = "one thread; no Send bound is wanted")]
pub trait Store {
    /// While this value lives, no other tab gets the lock of the run.
    type Lock: 'static;
    /// Returns the keys of all stored runs, oldest first.
    ///
    /// # Errors
    /// If nothing can be read.
    async fn keys(&self) -> Result<Vec<String>, StoreError>;
    /// # Errors
    /// If nothing can be read.
    async fn read(&self, key: &str) -> Result<Option<Record>, StoreError>;
    /// Returns all books.
    ///
    /// # Errors
    /// If nothing can be read.
    async fn spent(&self) -> Result<Vec<StoredBooks>, StoreError>;
    /// Makes all changes, in order, or none. When it returns, they survive a power failure.
    ///
    /// # Errors
    /// Then nothing was changed, and nothing will be.
    async fn write(&self, changes: Vec<Change>) -> Result<(), StoreError>;
    /// # Errors
    /// [`StoreError::Busy`] if another tab holds it.
    async fn lock(&self, key: &str) -> Result<Self::Lock, StoreError>;
}

impl Change {
    /// Returns the record after this change; `None` if there is none.
    ///
    /// # Errors
    /// [`StoreError::Gone`] if the record is absent or was changed in the meantime.
    pub fn apply(self, record: Option<Record>) -> Result<Option<Record>, StoreError> {
        let there = |record: Option<Record>| record.ok_or(StoreError::Gone);
        Ok(match self {
            Self::Begin { record, .. } => Some(record),
            Self::Reserve { count, exact, .. } => {
                let record = there(record)?;
                let reserved = if exact { count } else { count.max(record.reserved) };
                Some(Record { reserved, ..record })
            }
            Self::Save { entry, file, .. } => Some(Record { entry, file, ..there(record)? }),
            Self::Label { name, pinned, .. } => {
                record.map(|record| Record { entry: Entry { name, pinned, ..record.entry }, ..record })
            }
            Self::Remove { reserved: Some(reserved), .. } if there(record.clone())?.reserved != reserved => {
                return Err(StoreError::Gone);
            }
            Self::Remove { spent: true, .. } => record.filter(|record| record.books.is_some()).map(Record::gone),
            Self::Remove { .. } => None,
            Self::Forget { .. } => record
                .filter(Record::is_kept)
                .map(|record| Record { books: record.books.as_deref().map(forgotten), ..record }),
        })
    }

    /// Returns the key of the changed run.
    #[must_use]
    pub fn key(&self) -> &str {
        match self {
            Self::Begin { key, .. }
            | Self::Reserve { key, .. }
            | Self::Save { key, .. }
            | Self::Label { key, .. }
            | Self::Remove { key, .. }
            | Self::Forget { key } => key,
        }
    }
}

impl Record {
    /// Returns the record of a removed run: only its books.
    fn gone(self) -> Self {
        let entry = Entry { name: String::new(), note: String::new(), pinned: false, card: String::new() };
        Self { entry, file: String::new(), ..self }
    }

    /// True if the run itself is there, not only its books.
    fn is_kept(&self) -> bool {
        !self.file.is_empty()
    }
}

/// Returns the same books, counting for no digits.
#[must_use]
pub fn forgotten(books: &str) -> String {
    // Books that cannot be read name no digits.
    RunLog::from_json(books).map_or_else(|_| books.to_owned(), |books| books.of_no_digits().to_json())
}

#[derive(Debug, Default)]
pub struct Memory {
    records: BTreeMap<String, Record>,
}

impl Memory {
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        self.records.iter().filter(|(_, record)| record.is_kept()).map(|(key, _)| key.clone()).collect()
    }

    #[must_use]
    pub fn read(&self, key: &str) -> Option<&Record> {
        self.records.get(key).filter(|record| record.is_kept())
    }

    #[must_use]
    pub fn spent(&self) -> Vec<StoredBooks> {
        let spent = |(key, record): (&String, &Record)| {
            Some(StoredBooks { key: key.clone(), books: record.books.clone()?, reserved: record.reserved })
        };
        self.records.iter().filter_map(spent).collect()
    }

    /// # Errors
    /// As [`Change::apply`]; then nothing was changed.
    pub fn write(&mut self, changes: Vec<Change>) -> Result<(), StoreError> {
        let mut changed: BTreeMap<String, Option<Record>> = BTreeMap::new();
        for change in changes {
            let key = change.key().to_owned();
            let before = changed.remove(&key).unwrap_or_else(|| self.records.get(&key).cloned());
            changed.insert(key, change.apply(before)?);
        }
        for (key, record) in changed {
            match record {
                Some(record) => drop(self.records.insert(key, record)),
                None => drop(self.records.remove(&key)),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str, reserved: u64) -> Record {
        let entry = Entry { name: name.into(), note: String::new(), pinned: false, card: "{}".into() };
        Record { entry, file: "file".into(), books: None, reserved }
    }

    #[test]
    fn changes_are_made_whole_or_not_at_all() {
        let mut memory = Memory::default();
        let key = || "a".to_owned();
        let begin = |key: &str, reserved| Change::Begin { key: key.into(), record: record("run", reserved) };
        let moved = |from: &str, reserved, to: &str| {
            vec![Change::Remove { key: from.into(), reserved: Some(reserved), spent: false }, begin(to, 0)]
        };
        memory.write(vec![begin("a", 4)]).unwrap();
        memory.write(vec![Change::Reserve { key: key(), count: 2, exact: false }]).unwrap();
        assert_eq!(memory.read("a").unwrap().reserved, 4, "a late block takes nothing back");
        memory.write(vec![Change::Reserve { key: key(), count: 3, exact: true }]).unwrap();
        // A record that changed after it was read is not moved.
        assert_eq!(memory.write(moved("a", 4, "b")), Err(StoreError::Gone));
        assert_eq!(memory.keys(), ["a"]);
        memory.write(moved("a", 3, "b")).unwrap();
        assert_eq!(memory.keys(), ["b"], "books move, and never fork");
        // The previous owner, and a second mover, get an error.
        assert_eq!(memory.write(moved("a", 3, "c")), Err(StoreError::Gone));
        for late in [
            Change::Reserve { key: key(), count: 9, exact: false },
            Change::Save { key: key(), entry: record("x", 0).entry, file: "other".into() },
        ] {
            assert_eq!(memory.write(vec![late]), Err(StoreError::Gone));
        }
        memory.write(vec![Change::Label { key: key(), name: "late".into(), pinned: true }]).unwrap();
        memory.write(vec![Change::Label { key: "b".into(), name: "kept".into(), pinned: true }]).unwrap();
        assert_eq!(memory.keys(), ["b"]);
        let kept = memory.read("b").unwrap();
        assert_eq!((kept.entry.name.as_str(), kept.entry.pinned, kept.file.as_str()), ("kept", true, "file"));
        memory.write(vec![Change::Remove { key: "b".into(), reserved: None, spent: false }]).unwrap();
        memory.write(vec![Change::Remove { key: "b".into(), reserved: None, spent: false }]).unwrap();
        assert!(memory.keys().is_empty());
    }

    #[test]
    fn books_outlive_their_run_until_they_are_forgotten() {
        let books = RunLog::open(None, &[], None, Some("digits".into())).to_json();
        let mut memory = Memory::default();
        for key in ["a", "b"] {
            let record = Record { books: Some(books.clone()), ..record("run", 3) };
            memory.write(vec![Change::Begin { key: key.into(), record }]).unwrap();
        }
        memory.write(vec![Change::Remove { key: "a".into(), reserved: None, spent: true }]).unwrap();
        assert_eq!((memory.keys(), memory.read("a")), (vec!["b".to_owned()], None));
        let spent = memory.spent();
        assert_eq!(spent.len(), 2);
        assert_eq!(spent[0], StoredBooks { key: "a".into(), books, reserved: 3 });
        memory.write(["a", "b"].map(|key| Change::Forget { key: key.into() }).to_vec()).unwrap();
        let left = memory.spent();
        assert_eq!((memory.keys(), left.len()), (vec!["b".to_owned()], 1));
        assert_eq!(RunLog::from_json(&left[0].books).unwrap().digits(), None);
        // Without books there is nothing to remember.
        memory.write(vec![Change::Begin { key: "c".into(), record: record("run", 0) }]).unwrap();
        memory.write(vec![Change::Remove { key: "c".into(), reserved: None, spent: true }]).unwrap();
        assert_eq!(memory.spent().len(), 1);
    }
}
