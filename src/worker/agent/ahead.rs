//! Where the current run and its books are kept, and how far its books are written ahead of it.

use crate::{
    accounting::ledger::Ledger,
    engine::AnyEngine,
    train::session::Session,
    worker::{run_log::RunLog, run_store::Change, write_ahead::WriteAhead},
};

/// Where the current run is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Nowhere yet, as it has released nothing since its books were opened.
    Unwritten,
    /// In the browser's database.
    Browser,
    /// In memory, as long as this thread lives.
    Memory,
    /// Nowhere, as the page keeps no runs.
    Nowhere,
    /// Nowhere any more, as another tab continued or deleted it.
    Gone,
}

/// The current run's books: where they are, and how far they are written ahead of its steps.
pub(super) struct Ahead<L> {
    /// The record's key in the run store.
    pub key: String,
    pub place: Place,
    /// How many releases are reserved.
    pub blocks: WriteAhead,
    /// The run's step when its books were opened.
    first: u64,
    /// Releases in its ledger then.
    before: u64,
    /// What was released before that, and of which kind each release since is.
    pub log: RunLog,
    /// Keeps other tabs from the record. It is held until another run takes this one's place.
    pub lock: Option<L>,
}

impl<L> Ahead<L> {
    /// Opens the books of a session, of which nothing is written yet. `digits`: the digest of the training set.
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

    /// Releases since the books were opened: the run's steps, and what the ledger counts beside them (the rest of a cycle that ended with another engine).
    pub fn released(&self, session: &Session<AnyEngine>) -> u64 {
        let steps = session.step_count().saturating_sub(self.first);
        session.ledger().map_or(steps, |ledger| ledger.steps().saturating_sub(self.before).max(steps))
    }

    /// Releases from the opening of the books to the end of the plan; `None`: the plan has no end.
    pub fn most(&self, session: &Session<AnyEngine>) -> Option<u64> {
        let left = |steps: u64| steps.saturating_sub(session.step_count());
        session.plan().config.steps.map(|steps| self.released(session).saturating_add(left(steps)))
    }

    /// The change that has `count` releases count as spent.
    pub fn reserve(&self, count: u64, exact: bool) -> Change {
        Change::Reserve { key: self.key.clone(), count, exact }
    }
}
