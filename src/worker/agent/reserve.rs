//! Books are written ahead: a step runs only inside a block of releases that the browser has written as spent, and the next block is written
//! while the steps of this one run.

use std::time::Duration;

use super::{
    ahead::Place,
    state::Agent,
    time_limit::{within, write, write_beside},
};
use crate::worker::{
    host::Host,
    inbox::Message,
    protocol::Event,
    run_store::{Change, Record, StoreError},
};

impl<H: Host> Agent<H> {
    /// Whether the next step may run: its release is written as spent, or nothing is written of this run.
    pub(super) fn may_release(&self) -> bool {
        let (Some(session), Some(ahead)) = (&self.session, &self.ahead) else { return false };
        match ahead.place {
            Place::Unwritten | Place::Gone => false,
            Place::Browser => ahead.blocks.left(ahead.released(session)) > 0,
            Place::Memory | Place::Nowhere => true,
        }
    }

    /// Whether the next step waits for a block that is being written.
    pub(super) fn waits_for_books(&self) -> bool {
        self.ahead.as_ref().is_some_and(|ahead| ahead.place == Place::Browser && ahead.blocks.is_asked())
            && !self.may_release()
    }

    /// Writes the next block when it is due, while the steps of this one run.
    pub(super) async fn write_ahead(&mut self) {
        let (Some(session), Some(ahead)) = (&self.session, &mut self.ahead) else { return };
        if ahead.place == Place::Unwritten {
            return self.begin_books().await;
        }
        if ahead.place != Place::Browser {
            return;
        }
        let (released, most) = (ahead.released(session), ahead.most(session));
        // Slow motion takes its time after each step: one is enough.
        let most = if self.slow > Duration::ZERO { Some(most.unwrap_or(u64::MAX).min(released + 1)) } else { most };
        let Some(upto) = ahead.blocks.due(released, most, session.training()) else { return };
        let change = ahead.reserve(upto, false);
        let (host, reply, run) = (self.host.clone(), self.reply.clone(), self.runs);
        self.host.spawn(async move {
            let result = write_beside(&*host, vec![change]).await;
            // The loop may have ended: then nothing more is released.
            drop(reply.unbounded_send(Message::Reserved { run, upto, result }));
        });
    }

    /// Writes one more release and waits for it. Where that fails the run does not take its step.
    pub(super) async fn write_one_ahead(&mut self) {
        if self.ahead.as_ref().is_some_and(|ahead| ahead.place == Place::Unwritten) {
            self.begin_books().await;
        }
        if self.may_release() {
            return;
        }
        let (Some(session), Some(ahead)) = (&self.session, &mut self.ahead) else { return };
        if ahead.place == Place::Gone {
            return self.lose_books(StoreError::Gone).await;
        }
        let upto = ahead.released(session) + 1;
        let change = ahead.reserve(upto, false);
        match write(&*self.host, vec![change]).await {
            // A block that was asked for before may be written later: the books then count too much until they are closed.
            Ok(()) => ahead.blocks.close(upto),
            Err(error) => self.lose_books(error).await,
        }
    }

    /// Takes the store's answer to a block.
    pub(super) async fn take_reserved(&mut self, run: u32, upto: u64, result: Result<(), StoreError>) {
        let Some(ahead) = self.ahead.as_mut().filter(|_| run == self.runs) else { return };
        match result {
            Ok(()) => ahead.blocks.wrote(upto),
            Err(error) if ahead.blocks.is_asked() => self.lose_books(error).await,
            // The run stands still, and its books are closed.
            Err(_) => {}
        }
    }

    /// Writes the record of the current run with its first block, so that there is a run to continue after a crash.
    async fn begin_books(&mut self) {
        let (entry, file) = match self.written().await {
            Ok(written) => written,
            Err(error) => return self.fail(error).await,
        };
        let (Some(session), Some(ahead)) = (&self.session, &mut self.ahead) else { return };
        if ahead.lock.is_none() {
            // The key is new, so no other tab holds its lock.
            ahead.lock = within(&*self.host, self.host.lock(&ahead.key)).await.ok();
        }
        let released = ahead.released(session);
        let upto = ahead.blocks.due(released, ahead.most(session), session.training()).unwrap_or(released);
        let record = Record { entry, file, books: Some(ahead.log.to_json()), reserved: upto };
        let begin = || vec![Change::Begin { key: ahead.key.clone(), record: record.clone() }];
        // A store that did not answer once is not asked again: every run of this visit would wait for it.
        let begun = match &self.refusal {
            Some(silent @ StoreError::Silent(_)) => Err(silent.clone()),
            _ => write(&*self.host, begin()).await,
        };
        match begun {
            Ok(()) => {
                ahead.blocks.wrote(upto);
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

    /// Tells the page why the run is kept in memory alone.
    pub(super) fn refuse_to_keep(&mut self, error: StoreError) {
        let more = if error == StoreError::Full { " Delete runs that you no longer need, or save" } else { " Save" };
        self.host.send(Event::Unkept(format!(
            "Nothing is written, because {error}: this run and its books are kept only as long as the page is open.{more} as a file what you want to keep."
        )));
        self.refusal = Some(error);
    }

    /// Stops the run, whose books cannot be written. What is written counts all steps that ran.
    pub(super) async fn lose_books(&mut self, error: StoreError) {
        let Some(ahead) = &mut self.ahead else { return };
        ahead.blocks.refused();
        // This message matters more than one on parameters that are not saved, which would hide it.
        self.saving.told = true;
        if error == StoreError::Gone {
            ahead.place = Place::Gone;
        }
        let then = self.books_lost();
        if self.playing {
            self.rest().await;
            self.evaluate_now();
        }
        self.problem(None, &format!("the run's books could not be written, because {error}; {then}"));
    }

    /// What the visitor can do where the run's books cannot be written.
    pub(super) fn books_lost(&self) -> &'static str {
        if self.ahead.as_ref().is_some_and(|ahead| ahead.place == Place::Gone) {
            "the run stands still here, as its releases would be counted nowhere; reset it, or save it as a file and go on from that"
        } else {
            "the run is paused, as no step is taken that is not written before; play it to try again, or save it as a file"
        }
    }
}
