//! Files that are handed to the tool: each is read up to a limit, and named where it cannot be read.

use std::{fs::File, io::Read as _, path::Path};

use hushgrad::{
    accounting::{PrivacyError, ledger::Ledger},
    train::run_file::{self, RunCard, RunFile, RunFileError},
};

/// More than any configuration or table of a density has.
pub const TEXT: usize = 16 << 20;

/// Why a file that was handed over is not taken.
#[derive(Debug, thiserror::Error)]
pub enum GivenError {
    #[error("cannot read {file}: {error}")]
    Io { file: String, error: std::io::Error },
    #[error("cannot read {file}: it has more than {most} bytes, and no such file has")]
    TooLong { file: String, most: usize },
    #[error("cannot read {file}: it is no text (UTF-8)")]
    NoText { file: String },
    #[error("{file}: {error}")]
    NoLedger { file: String, error: PrivacyError },
    #[error(transparent)]
    NoRun(#[from] RunFileError),
    #[error("{file}: this run has no ledger, as it has no guarantee")]
    NoGuarantee { file: String },
}

fn shown(file: &Path) -> String {
    file.display().to_string()
}

/// The bytes of a file, of which there are `most` at most: a device or a pipe may have no end.
///
/// # Errors
/// [`GivenError::Io`], [`GivenError::TooLong`].
pub fn bytes(file: &Path, most: usize) -> Result<Vec<u8>, GivenError> {
    let mut bytes = Vec::new();
    let io = |error| GivenError::Io { file: shown(file), error };
    File::open(file).map_err(io)?.take(most as u64 + 1).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() > most {
        return Err(GivenError::TooLong { file: shown(file), most });
    }
    Ok(bytes)
}

/// The text of a file of at most `most` bytes.
///
/// # Errors
/// As [`bytes`]; [`GivenError::NoText`].
pub fn text(file: &Path, most: usize) -> Result<String, GivenError> {
    String::from_utf8(bytes(file, most)?).map_err(|_| GivenError::NoText { file: shown(file) })
}

/// What a file holds: a run with its ledger, or a ledger alone.
pub struct Given {
    /// The run.
    pub card: Option<RunCard>,
    /// None: the run has no guarantee.
    pub ledger: Option<Ledger>,
}

/// A run file or a ledger, as `hushgrad train` or the page writes them.
///
/// # Errors
/// As [`bytes`]; what is wrong with the run or the ledger.
pub fn run_or_ledger(file: &Path) -> Result<Given, GivenError> {
    #[derive(serde::Deserialize)]
    struct Head {
        format: Option<String>,
    }
    let read = bytes(file, run_file::LARGEST)?;
    let head: Option<Head> = serde_json::from_slice(&read).ok();
    if head.and_then(|head| head.format).is_some_and(|format| format == "hushgrad-run") {
        let RunFile { run, ledger, .. } = RunFile::to_show(&shown(file), &read)?;
        return Ok(Given { card: Some(run), ledger });
    }
    let text = String::from_utf8(read).map_err(|_| GivenError::NoText { file: shown(file) })?;
    let ledger = Ledger::from_json(&text).map_err(|error| GivenError::NoLedger { file: shown(file), error })?;
    Ok(Given { card: None, ledger: Some(ledger) })
}

/// The ledger of a file, or of the run in it.
///
/// # Errors
/// As [`run_or_ledger`]; [`GivenError::NoGuarantee`].
pub fn ledger(file: &Path) -> Result<Ledger, GivenError> {
    run_or_ledger(file)?.ledger.ok_or_else(|| GivenError::NoGuarantee { file: shown(file) })
}
