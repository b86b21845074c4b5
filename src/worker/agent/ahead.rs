//! Books written ahead: a step runs only inside a block of releases that the browser has written as spent, and the next block is written
//! while the steps of this one run.

use web_time::Instant;

use super::{Agent, Host, Message, within};
use crate::{
    engine::AnyEngine,
    train::session::Session,
    worker::{
        protocol::Event,
        run_log::RunLog,
        run_store::{Change, Record, StoreError},
        write_ahead::WriteAhead,
    },
};

/// Where the run that stands is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Nowhere yet: it has released nothing since its books were opened.
    Unwritten,
    Browser,
    /// In memory, as long as this thread lives.
    Memory,
    /// Nowhere: the page keeps no runs.
    Nowhere,
    /// Nowhere any more: another tab went on with it or deleted it.
    Gone,
}

/// How far the books of the run that stands are written.
pub(super) struct Ahead<L> {
    pub key: String,
    pub place: Place,
    pub book: WriteAhead,
    /// The run's step when its books were opened, and what was released before.
    pub first: u64,
    pub books: RunLog,
    /// Held as long as the run stands.
    pub lock: Option<L>,
}

impl<L> Ahead<L> {
    /// Books that are opened now: nothing is written of them yet.
    pub fn open(key: String, session: &Session<AnyEngine>, digits: Option<String>) -> Self {
        let release = session.plan().priced.as_ref().ok().map(|(release, _)| release);
        Self {
            key,
            place: Place::Unwritten,
            book: WriteAhead::new(0),
            first: session.step_count(),
            books: RunLog::open(session.ledger(), release, digits),
            lock: None,
        }
    }

    /// Releases since the books were opened.
    pub fn released(&self, session: &Session<AnyEngine>) -> u64 {
        session.step_count().saturating_sub(self.first)
    }

    /// Releases from there to the end of the plan.
    pub fn most(&self, session: &Session<AnyEngine>) -> Option<u64> {
        session.plan().config.steps.map(|steps| steps.saturating_sub(self.first))
    }

    fn reserve(&self, count: u64, exact: bool) -> Change {
        Change::Reserve { key: self.key.clone(), count, exact }
    }
}

impl<H: Host> Agent<H> {
    /// Whether the next step is written as released.
    pub(super) fn may_release(&self) -> bool {
        let (Some(session), Some(ahead)) = (&self.session, &self.ahead) else { return false };
        match ahead.place {
            Place::Unwritten | Place::Gone => false,
            Place::Browser => ahead.book.left(ahead.released(session)) > 0,
            Place::Memory | Place::Nowhere => true,
        }
    }

    /// The run plays, and waits for its books.
    pub(super) fn waits_for_books(&self) -> bool {
        self.ahead.as_ref().is_some_and(|ahead| ahead.place == Place::Browser && ahead.book.is_asked())
            && !self.may_release()
    }

    /// Has the next block written, where it is time to, beside the run's own steps.
    pub(super) async fn write_ahead(&mut self) {
        let (Some(session), Some(ahead)) = (&self.session, &mut self.ahead) else { return };
        if ahead.place == Place::Unwritten {
            return self.begin_books().await;
        }
        if ahead.place != Place::Browser {
            return;
        }
        let (released, most) = (ahead.released(session), ahead.most(session));
        let Some(upto) = ahead.book.due(released, most, Instant::now()) else { return };
        let change = ahead.reserve(upto, false);
        let (host, reply, run) = (self.host.clone(), self.reply.clone(), self.runs);
        self.host.spawn(async move {
            let result = super::write(&*host, vec![change]).await;
            // The loop may have ended: then nothing more is released.
            drop(reply.unbounded_send(Message::Reserved { run, upto, result }));
        });
    }

    /// One more release is written, or the run does not take its step.
    pub(super) async fn write_one_ahead(&mut self) {
        if self.ahead.as_ref().is_some_and(|ahead| ahead.place == Place::Unwritten) {
            self.begin_books().await;
        }
        if self.may_release() {
            return;
        }
        let (Some(session), Some(ahead)) = (&self.session, &mut self.ahead) else { return };
        if ahead.place == Place::Gone {
            return self.lose_books(StoreError::Gone);
        }
        let upto = ahead.released(session) + 1;
        let change = ahead.reserve(upto, false);
        match super::write(&*self.host, vec![change]).await {
            // A block that was asked for before may be written as well: until the books are closed they say too much.
            Ok(()) => ahead.book.close(upto),
            Err(error) => self.lose_books(error),
        }
    }

    /// What became of a block.
    pub(super) fn take_reserved(&mut self, run: u32, upto: u64, result: Result<(), StoreError>) {
        let Some(ahead) = self.ahead.as_mut().filter(|_| run == self.runs) else { return };
        match result {
            Ok(()) => ahead.book.wrote(upto),
            Err(error) if ahead.book.is_asked() => self.lose_books(error),
            // The run stands still, and its books are closed.
            Err(_) => {}
        }
    }

    /// Writes the run as it stands, with its first block: from here on there is something to go on from.
    async fn begin_books(&mut self) {
        let (entry, file) = match self.written().await {
            Ok(written) => written,
            Err(error) => return self.fail(error).await,
        };
        let (Some(session), Some(ahead)) = (&self.session, &mut self.ahead) else { return };
        if ahead.lock.is_none() {
            // It is a new key: nobody else has it.
            ahead.lock = within(&*self.host, self.host.lock(&ahead.key)).await.ok();
        }
        let released = ahead.released(session);
        let upto = ahead.book.due(released, ahead.most(session), Instant::now()).unwrap_or(released);
        let record = Record { entry, file, books: Some(ahead.books.to_json()), reserved: upto };
        let begin = || vec![Change::Begin { key: ahead.key.clone(), record: record.clone() }];
        // A store that was silent once would keep every run of this visit waiting.
        let begun = match self.refusal {
            Some(StoreError::Silent) => Err(StoreError::Silent),
            _ => super::write(&*self.host, begin()).await,
        };
        match begun {
            Ok(()) => {
                ahead.book.wrote(upto);
                ahead.place = Place::Browser;
                self.saving.saved(session.step_count());
            }
            Err(error) => {
                // In memory a new record is always taken.
                drop(self.memory.write(begin()));
                ahead.place = Place::Memory;
                self.refuse_to_keep(error);
            }
        }
    }

    /// The page hears why a run is in memory alone.
    pub(super) fn refuse_to_keep(&mut self, error: StoreError) {
        let more = if error == StoreError::Full { " Delete runs that you no longer need, or save" } else { " Save" };
        self.host.send(Event::Unkept(format!(
            "Nothing is written, because {error}: this run and its books are kept only as long as the page is open.{more} as a file what you want to keep."
        )));
        self.refusal = Some(error);
    }

    /// The books cannot be written: no further step runs, and what is written counts all that did.
    pub(super) fn lose_books(&mut self, error: StoreError) {
        let Some(ahead) = &mut self.ahead else { return };
        ahead.book.refused();
        // What is said here is not to be covered by what becomes of the parameters.
        self.saving.told = true;
        if error == StoreError::Gone {
            ahead.place = Place::Gone;
        }
        let then = self.books_lost();
        if std::mem::take(&mut self.playing) {
            self.host.send(Event::Playing(false));
            self.evaluate_now();
        }
        self.problem(None, &format!("the run's books could not be written, because {error}; {then}"));
    }

    /// What is left to do where the run's books cannot be written.
    pub(super) fn books_lost(&self) -> &'static str {
        if self.ahead.as_ref().is_some_and(|ahead| ahead.place == Place::Gone) {
            "the run stands still here, as its releases would be counted nowhere; reset it, or save it as a file and go on from that"
        } else {
            "the run is paused, as no step is taken that is not written before; play it to try again, or save it as a file"
        }
    }
}
