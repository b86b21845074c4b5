//! Where the current run and its books are stored, and how far its books are written ahead.

use crate::{
    accounting::ledger::Ledger,
    engine::AnyEngine,
    train::session::Session,
    worker::{run_log::RunLog, run_store::Change, write_ahead::WriteAhead},
};

/// Where the current run is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Nowhere yet, because it has released nothing since its books were opened.
    Unwritten,
    /// In the browser's database.
    Browser,
    /// In memory, while this thread lives.
    Memory,
    /// Nowhere, because the page keeps no runs or the run breaks a promise.
    Nowhere,
    /// Nowhere any more, because another tab continued or deleted it.
    Gone,
}

/// The current run's books: where they are, and how far they are written ahead of its steps.
pub(super) struct ReservedReleases<L> {
    /// The record's key in the run store.
    pub key: String,
    pub place: Place,
    /// The reserved releases.
    pub blocks: WriteAhead,
    /// The run's step when its books were opened.
    first: u64,
    /// Releases in its ledger at that step.
    before: u64,
    /// Earlier releases, and the kind of each release since.
    pub log: RunLog,
    /// Locks the record against other tabs until another run takes this one's place.
    pub lock: Option<L>,
}

impl<L> ReservedReleases<L> {
    /// Opens the books of a session, with nothing written. `digits`: digest of the training set.
    pub fn open(key: String, session: &Session<AnyEngine>, digits: Option<String>) -> Self {
        let kinds = session.plan().releases_from(session.step_count()).unwrap_or_default();
        let planned = session.plan().config.steps.map(|steps| steps.saturating_sub(session.step_count()));
        Self {
            key,
            place: Place::Unwritten,
            blocks: WriteAhead::new(0),
            first: session.step_count(),
            before: session.ledger().map_or(0, Ledger::steps),
            log: RunLog::open(session.ledger(), &kinds, planned, digits),
            lock: None,
        }
    }

    /// Returns the releases since the opening: steps, and the rest of a cycle of another engine.
    pub fn released(&self, session: &Session<AnyEngine>) -> u64 {
        let steps = session.step_count().saturating_sub(self.first);
        session.ledger().map_or(steps, |ledger| ledger.steps().saturating_sub(self.before).max(steps))
    }

    /// Returns the releases from the opening to the end of the plan; `None` without an end.
    pub fn most(&self, session: &Session<AnyEngine>) -> Option<u64> {
        let left = |steps: u64| steps.saturating_sub(session.step_count());
        session.plan().config.steps.map(|steps| self.released(session).saturating_add(left(steps)))
    }

    /// Returns the change that counts `count` releases as spent.
    pub fn reserve(&self, count: u64, exact: bool) -> Change {
        Change::Reserve { key: self.key.clone(), count, exact }
    }
}
