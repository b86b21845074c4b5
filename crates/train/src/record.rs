//! What a training released, from a file: a run file, a ledger, or another library's record.

use serde::Deserialize;

use super::run_card::{RunCard, RunFileError};
use super::run_file::{FORMAT, RunFile};
use crate::accounting::{PrivacyError, foreign, ledger::Ledger};

/// A run with its ledger, or a ledger alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub card: Option<RunCard>,
    /// `None` if the run has no guarantee.
    pub ledger: Option<Ledger>,
}

/// Why a file's releases are unknown.
#[derive(Debug, hushgrad_message::Error)]
pub enum RecordError {
    #[error("{name}: it is not text (UTF-8)")]
    NoText { name: String },
    #[error("{name}: {error}")]
    NoLedger { name: String, error: PrivacyError },
    #[error(transparent)]
    Run(#[from] RunFileError),
    #[error("{name}: this run has no ledger, because it has no guarantee")]
    NoGuarantee { name: String },
}

impl Record {
    /// Reads a run file or a ledger of this program, or a record of another library
    /// ([`foreign::read`]).
    ///
    /// # Errors
    /// What is wrong with it, with the file's name.
    pub fn read(name: &str, bytes: &[u8]) -> Result<Self, RecordError> {
        #[derive(Deserialize)]
        struct Head {
            format: Option<String>,
        }
        let format = serde_json::from_slice(bytes).ok().and_then(|head: Head| head.format);
        if format.as_deref() == Some(FORMAT) {
            let RunFile { run, ledger, .. } = RunFile::to_show(name, bytes)?;
            return Ok(Self { card: Some(run), ledger });
        }
        let name = || name.to_owned();
        let text = std::str::from_utf8(bytes).map_err(|_| RecordError::NoText { name: name() })?;
        let ledger = foreign::read(text).map_err(|error| RecordError::NoLedger { name: name(), error })?;
        Ok(Self { card: None, ledger: Some(ledger) })
    }

    /// Returns the ledger of the record called `name`.
    ///
    /// # Errors
    /// [`RecordError::NoGuarantee`].
    pub fn into_ledger(self, name: &str) -> Result<Ledger, RecordError> {
        self.ledger.ok_or_else(|| RecordError::NoGuarantee { name: name.to_owned() })
    }
}
