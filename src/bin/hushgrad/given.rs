//! Files given to the tool. Each is read up to a size limit and named in errors.

use std::{fs::File, io::Read as _, path::Path};

use hushgrad::{
    accounting::ledger::Ledger,
    train::{
        record::{Record, RecordError},
        run_file,
    },
};

/// Largest configuration or density table, in bytes.
pub const TEXT: usize = 16 << 20;

/// Why a given file is rejected.
#[derive(Debug, thiserror::Error)]
pub enum GivenError {
    #[error("cannot read {file}: {error}")]
    Io { file: String, error: std::io::Error },
    #[error("cannot read {file}: it has more than {most} bytes, too many for such a file")]
    TooLong { file: String, most: usize },
    #[error("cannot read {file}: it is not text (UTF-8)")]
    NoText { file: String },
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error("the run has its own δ, {own:e}, not {given:e}; leave out --delta")]
    OwnDelta { own: f64, given: f64 },
}

fn shown(file: &Path) -> String {
    file.display().to_string()
}

/// Reads a file of at most `most` bytes. The limit matters for devices and pipes without end.
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

/// Reads a text file of at most `most` bytes.
///
/// # Errors
/// As [`bytes`]; [`GivenError::NoText`].
pub fn text(file: &Path, most: usize) -> Result<String, GivenError> {
    String::from_utf8(bytes(file, most)?).map_err(|_| GivenError::NoText { file: shown(file) })
}

/// Returns the δ of a file's run or, for a ledger, the given one, or 1e-5.
///
/// # Errors
/// [`GivenError::OwnDelta`].
pub fn delta(record: &Record, given: Option<f64>) -> Result<f64, GivenError> {
    match (record.card.as_ref().map(|card| card.config.delta), given) {
        (Some(own), Some(given)) if own != given => Err(GivenError::OwnDelta { own, given }),
        (own, given) => Ok(own.or(given).unwrap_or(1e-5)),
    }
}

/// Reads a run file or a ledger, as written by `hushgrad train` or the page, or another library's
/// record.
///
/// # Errors
/// As [`bytes`] and [`Record::read`].
pub fn run_or_ledger(file: &Path) -> Result<Record, GivenError> {
    Ok(Record::read(&shown(file), &bytes(file, run_file::LARGEST)?)?)
}

/// Reads a ledger, or the ledger of a run file.
///
/// # Errors
/// As [`run_or_ledger`] and [`Record::into_ledger`].
pub fn ledger(file: &Path) -> Result<Ledger, GivenError> {
    Ok(run_or_ledger(file)?.into_ledger(&shown(file))?)
}
