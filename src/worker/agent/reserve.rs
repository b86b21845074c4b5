//! Writing books ahead: a step runs only once the browser's database counts its release as spent.
//! Releases are written in blocks, each while the steps of the one before run.

use std::time::Duration;

use super::{
    ahead::Place,
    state::Agent,
    time_limit::{within, write, write_beside},
};
use crate::worker::{
    host::Host,
    inbox::Incoming,
    protocol::Event,
    run_store::{Change, Record, StoreError},
    write_ahead::Block,
};
use hushgrad_message::{message, word};

impl<H: Host> Agent<H> {
    /// True if the next step may run: its release is written as spent, or the run is not stored.
    pub(super) fn may_release(&self) -> bool {
        let (Some(session), Some(ahead)) = (&self.run.session, &self.keeper.ahead) else { return false };
        match ahead.place {
            Place::Unwritten | Place::Gone => false,
            Place::Browser => ahead.blocks.left(ahead.released(session)) > 0,
            Place::Memory | Place::Nowhere => true,
        }
    }

    /// True if the next step waits for a block that is being written.
    pub(super) fn waits_for_books(&self) -> bool {
        self.keeper.ahead.as_ref().is_some_and(|ahead| ahead.place == Place::Browser && ahead.blocks.is_asked())
            && !self.may_release()
    }

    /// Writes the next block when it is due, while the steps of this one run.
    pub(super) async fn write_ahead(&mut self) {
        let (Some(session), Some(ahead)) = (&self.run.session, &mut self.keeper.ahead) else { return };
        if ahead.place == Place::Unwritten {
            return self.begin_books().await;
        }
        if ahead.place != Place::Browser {
            return;
        }
        let (released, most) = (ahead.released(session), ahead.most(session));
        // Slow motion waits after each step: one release ahead is enough.
        let most = if self.run.slow > Duration::ZERO { Some(most.unwrap_or(u64::MAX).min(released + 1)) } else { most };
        let Some(block) = ahead.blocks.due(released, most, session.training()) else { return };
        let change = ahead.reserve(block.upto, false);
        let (host, reply, run) = (self.host.clone(), self.reply.clone(), self.run.number);
        self.host.spawn(async move {
            let result = write_beside(&*host, vec![change]).await;
            // Sending fails only if the loop has ended; nothing more is released then.
            drop(reply.unbounded_send(Incoming::Reserved { run, block, result }));
        });
    }

    /// Makes sure that the next release is written, and waits for that. If it fails, no step runs.
    pub(super) async fn write_one_ahead(&mut self) {
        if self.keeper.ahead.as_ref().is_some_and(|ahead| ahead.place == Place::Unwritten) {
            self.begin_books().await;
        }
        if self.may_release() {
            return;
        }
        let (Some(session), Some(ahead)) = (&self.run.session, &mut self.keeper.ahead) else { return };
        if ahead.place == Place::Gone {
            return self.lose_books(StoreError::Gone).await;
        }
        let upto = ahead.released(session) + 1;
        let change = ahead.reserve(upto, false);
        match write(&*self.host, vec![change]).await {
            // A block requested earlier may still be written after this release. The stored books
            // then count too many, until they are closed.
            Ok(()) => ahead.blocks.close(upto),
            Err(error) => self.lose_books(error).await,
        }
    }

    /// Handles the store's answer to a block.
    pub(super) async fn take_reserved(&mut self, run: u32, block: Block, result: Result<(), StoreError>) {
        let Some(ahead) = self.keeper.ahead.as_mut().filter(|_| run == self.run.number) else { return };
        match result {
            Ok(()) => ahead.blocks.wrote(block),
            Err(error) if ahead.blocks.is_asked() => self.lose_books(error).await,
            // The books were closed meanwhile, as the run stands still.
            Err(_) => {}
        }
    }

    /// Writes the current run's record with its first block, so that it can be continued after a
    /// crash. If the browser refuses, the record is kept in memory.
    async fn begin_books(&mut self) {
        let (entry, file) = match self.written().await {
            Ok(written) => written,
            Err(error) => return self.fail(error).await,
        };
        let (Some(session), Some(ahead)) = (&self.run.session, &mut self.keeper.ahead) else { return };
        if ahead.lock.is_none() {
            // The key is new, so no other tab holds its lock.
            ahead.lock = within(&*self.host, self.host.lock(&ahead.key)).await.ok();
        }
        let released = ahead.released(session);
        let block = ahead.blocks.due(released, ahead.most(session), session.training());
        let upto = block.map_or(released, |block| block.upto);
        let record = Record { entry, file, books: Some(ahead.log.to_json()), reserved: upto };
        let begin = || vec![Change::Begin { key: ahead.key.clone(), record: record.clone() }];
        // A store that did not answer is not asked again: each run of this visit would wait for it.
        let begun = match &self.keeper.refusal {
            Some(silent @ StoreError::Silent(_)) => Err(silent.clone()),
            _ => write(&*self.host, begin()).await,
        };
        match begun {
            Ok(()) => {
                if let Some(block) = block {
                    ahead.blocks.wrote(block);
                }
                ahead.place = Place::Browser;
                self.keeper.saving.saved(session.step_count());
            }
            Err(error) => {
                // Memory always takes a new record.
                drop(self.keeper.memory.write(begin()));
                ahead.place = Place::Memory;
                self.refuse_to_keep(error);
            }
        }
    }

    /// Tells the page why the run is kept only in memory.
    pub(super) fn refuse_to_keep(&mut self, error: StoreError) {
        let more = match error {
            StoreError::Full => word!("Delete runs you no longer need, or save those you want to keep as files."),
            _ => word!("Save runs you want to keep as files."),
        };
        self.host.send(Event::Unkept(message!(
            "Nothing is saved, because {error}: this run and its books are kept only while the page is open. {more}"
        )));
        self.keeper.refusal = Some(error);
    }

    /// Stops a run whose books cannot be written. What is written counts all steps that ran.
    pub(super) async fn lose_books(&mut self, error: StoreError) {
        let Some(ahead) = &mut self.keeper.ahead else { return };
        ahead.blocks.refused();
        // Suppress the message on unsaved parameters: it would hide the more important one below.
        self.keeper.saving.told = true;
        if error == StoreError::Gone {
            ahead.place = Place::Gone;
        }
        let then = self.books_lost();
        if self.run.playing {
            self.rest().await;
            self.evaluate_now();
        }
        self.problem(None, &message!("the run's books could not be written, because {error}; {then}"));
    }

    /// Returns what the visitor can do if the run's books cannot be written.
    pub(super) fn books_lost(&self) -> &'static str {
        if self.keeper.ahead.as_ref().is_some_and(|ahead| ahead.place == Place::Gone) {
            word!(
                "the run is stopped here, as its releases would not be counted; reset it, or save it as a file and continue from that"
            )
        } else {
            word!(
                "the run is paused, as each step must be recorded before it is taken; press Play to try again, or save it as a file"
            )
        }
    }
}
