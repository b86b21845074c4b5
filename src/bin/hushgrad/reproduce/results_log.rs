//! A log of finished runs, one line of JSON each, from which an interrupted command continues.

use std::{
    collections::BTreeMap,
    io::{self, Write as _},
    path::PathBuf,
};

use serde::{Serialize, de::DeserializeOwned};

/// Why the log cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ResultsLogError {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot create {}: {source}", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// A line of the log.
pub trait Finished: Serialize + DeserializeOwned {
    /// A name for display.
    fn name(&self) -> &str;
    /// Digest of everything that determined the run.
    fn identity(&self) -> &str;
}

/// Finished runs and their file.
pub struct ResultsLog<R> {
    path: PathBuf,
    runs: BTreeMap<(String, String), R>,
}

impl<R: Finished> ResultsLog<R> {
    /// # Errors
    /// If the file exists and cannot be read.
    pub fn open(path: PathBuf) -> Result<Self, ResultsLogError> {
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(source) => return Err(ResultsLogError::Read { path, source }),
        };
        let mut log = Self { path, runs: BTreeMap::new() };
        // Skips lines cut off by an interruption; those runs are repeated.
        for run in text.lines().filter_map(|line| serde_json::from_str::<R>(line).ok()) {
            log.insert(run);
        }
        Ok(log)
    }

    fn insert(&mut self, run: R) {
        self.runs.insert((run.name().to_owned(), run.identity().to_owned()), run);
    }

    /// Returns the finished run of this name and identity, if any.
    pub fn get(&self, name: &str, identity: &str) -> Option<&R> {
        self.runs.get(&(name.to_owned(), identity.to_owned()))
    }

    /// Appends a finished run.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn keep(&mut self, run: R) -> Result<(), ResultsLogError> {
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|source| ResultsLogError::Folder { path: folder.to_owned(), source })?;
        }
        let unwritten = |source| ResultsLogError::Write { path: self.path.clone(), source };
        let line = serde_json::to_string(&run).map_err(|error| unwritten(error.into()))?;
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&self.path);
        // Starts a new line, because the last one may have been cut off.
        file.and_then(|mut file| write!(file, "\n{line}\n")).map_err(unwritten)?;
        self.insert(run);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Run(String, u64);

    impl Finished for Run {
        fn name(&self) -> &str {
            "best-3"
        }
        fn identity(&self) -> &str {
            &self.0
        }
    }

    #[test]
    fn finished_runs_are_found_again_and_half_a_line_is_not() {
        let path = std::env::temp_dir().join(format!("hushgrad-log-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let mut log = ResultsLog::open(path.clone()).unwrap();
        log.keep(Run("a".to_owned(), 1)).unwrap();
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"[\"b\", ").unwrap();
        let mut log = ResultsLog::<Run>::open(path.clone()).unwrap();
        assert!(log.get("best-3", "a").is_some_and(|run| run.1 == 1) && log.get("best-3", "b").is_none());
        log.keep(Run("b".to_owned(), 2)).unwrap();
        let log = ResultsLog::<Run>::open(path.clone()).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(log.runs.values().map(|run| run.1).collect::<Vec<_>>(), [1, 2]);
        assert!(log.get("best-1", "a").is_none());
    }
}
