//! A stored record, read for the list, and as a run file that counts all reserved releases.

use crate::{
    train::{
        error::SessionError,
        run_file::{RunCard, RunFile, RunFileError},
    },
    worker::{
        protocol::{Event, KeptRun},
        run_log::{self, RunLog, RunLogError},
        run_store::{Record, StoreError},
    },
};

/// Why a stored run is not shown, continued or exported.
#[derive(Debug, hushgrad_message::Error)]
pub(super) enum TakeError {
    #[error(
        "the run is no longer stored; it was deleted or continued in another tab, or was only in its thread's memory. Reload the page to see what is stored"
    )]
    Absent,
    #[error("the run is not available: {0}; close the other tab, or try again later")]
    Store(#[from] StoreError),
    #[error(transparent)]
    File(#[from] RunFileError),
    #[error("“{0}”: {1}")]
    Books(String, RunLogError),
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Returns the run file with its books' ledger, and the releases beyond the file's parameters.
pub(super) fn settled(record: &Record) -> Result<(RunFile, u64), TakeError> {
    let Record { entry, file, books, reserved } = record;
    let mut file = RunFile::from_json(&entry.name, file.as_bytes())?;
    file.run.name.clone_from(&entry.name);
    let wrong = |error| TakeError::Books(entry.name.clone(), error);
    let Some(books) = books else { return Ok((file, 0)) };
    let ledger = RunLog::from_json(books).and_then(|books| books.with(*reserved)).map_err(wrong)?;
    let lost = run_log::settle(&mut file, ledger).map_err(wrong)?;
    Ok((file, lost))
}

/// Returns the message that lists a record, or that says why it cannot be listed.
pub(super) fn shown(key: String, record: &Record) -> Event {
    match kept_run(key, record) {
        Ok(run) => Event::Kept(Box::new(run)),
        Err(error) => Event::aside(&error),
    }
}

fn kept_run(key: String, record: &Record) -> Result<KeptRun, TakeError> {
    let Record { entry, file, books, reserved } = record;
    let mut card = RunCard::from_json(&entry.name, entry.card.as_bytes())?;
    let wrong = |error| TakeError::Books(entry.name.clone(), error);
    let ledger = match books {
        Some(books) => RunLog::from_json(books).and_then(|books| books.with(*reserved)).map_err(wrong)?,
        None => RunFile::to_show(&entry.name, file.as_bytes())?.ledger,
    };
    let beyond = run_log::account(&mut card, ledger.as_ref()).map_err(wrong)?;
    (card.name, card.note) = (entry.name.clone(), entry.note.clone());
    Ok(KeptRun { key, pinned: entry.pinned, beyond, card })
}
