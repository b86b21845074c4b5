//! Saving the current run during training; when it rests, its books are reduced to its steps.

use hushgrad_message::{message, word};
use web_time::Instant;

use super::{
    ahead::Place,
    state::Agent,
    time_limit::{write, write_beside},
};
use crate::{
    engine::Engine,
    train::{
        error::{ConfigError, SessionError},
        report::Report,
        run_file::{RunCard, RunFile},
        session::Session,
    },
    worker::{
        host::Host,
        inbox::Incoming,
        run_store::{Change, Entry, StoreError},
    },
};

impl<H: Host> Agent<H> {
    /// Returns the current run as a run file.
    pub(super) async fn file(&mut self) -> Result<RunFile, SessionError> {
        let saving = &self.keeper.saving;
        let session = self
            .run
            .session
            .as_mut()
            .ok_or(ConfigError::Contradiction { field: "run", sentence: word!("there is none yet") })?;
        let state = session.engine().state().await?;
        let report = session.report(saving.accuracy_at(session.step_count()));
        let report = Report { test_set: self.run.test_set, ..report.await? };
        let [accuracy_curve, improved_curve, classic_curve] = saving.curves();
        let card = RunCard {
            name: saving.label.name.clone(),
            note: saving.label.note.clone(),
            config: session.plan().config.clone(),
            engine: session.engine().info().clone(),
            data: self.run.data.as_ref().map(|data| data.name.clone()).unwrap_or_default(),
            train: session.plan().train_examples,
            test: self.run.slices.iter().map(|slice| slice.len() as u32).sum(),
            report,
            accuracy: saving.last_accuracy(),
            accuracy_curve,
            improved_curve,
            classic_curve,
        };
        Ok(RunFile::new(card, session.ledger().cloned(), state).with_clips(session.clips()))
    }

    /// Returns the current run as stored: its entry in the list, and its run file as JSON.
    pub(super) async fn written(&mut self) -> Result<(Entry, String), SessionError> {
        let start = Instant::now();
        let file = self.file().await?;
        let written = (self.keeper.saving.entry(&file), file.to_json());
        self.keeper.saving.wrote(start);
        Ok(written)
    }

    /// Saves the playing run, if that is due.
    pub(super) async fn save_now_and_then(&mut self) {
        if self.keeper.saving.is_due() {
            self.save().await;
        }
    }

    /// Saves the current run while its steps continue, if the store holds it.
    pub(super) async fn save(&mut self) {
        let placed =
            self.keeper.ahead.as_ref().filter(|ahead| ahead.place == Place::Browser).map(|ahead| ahead.key.clone());
        let step = self.run.session.as_ref().map(Session::step_count);
        let (Some(key), Some(step)) = (placed, step.filter(|step| !self.keeper.saving.is_saved(*step))) else { return };
        let (entry, file) = match self.written().await {
            Ok(written) => written,
            Err(error) => return self.fail(error).await,
        };
        let (host, reply, run) = (self.host.clone(), self.reply.clone(), self.run.number);
        self.host.spawn(async move {
            let result = write_beside(&*host, vec![Change::Save { key, entry, file }]).await;
            drop(reply.unbounded_send(Incoming::Saved { run, step, result }));
        });
    }

    /// Handles the store's answer to a save.
    pub(super) fn take_saved(&mut self, run: u32, step: u64, result: Result<(), StoreError>) {
        if run != self.run.number {
            return;
        }
        match result {
            Ok(()) => self.keeper.saving.saved(step),
            // The answer to the next block of its books stops the run.
            Err(StoreError::Gone) => {}
            Err(error) => self.tell_unsaved(error),
        }
    }

    fn tell_unsaved(&mut self, error: StoreError) {
        if !std::mem::replace(&mut self.keeper.saving.told, true) {
            self.aside(&message!(
                    "the run's parameters could not be saved, because {error}; its steps are still counted. Save the run as a file to keep them"
                ),
            );
        }
    }

    /// Makes room for another run: closes this one or, if it never took a step, deletes it.
    pub(super) async fn put_away(&mut self) {
        let begun = self.run.session.as_ref().is_some_and(|session| session.step_count() > 0);
        match self.keeper.ahead.as_ref().filter(|ahead| !begun && ahead.place == Place::Browser) {
            // If that fails, a run of no steps stays in the list, with an ε that is too large.
            Some(ahead) => drop(
                write(&*self.host, vec![Change::Remove { key: ahead.key.clone(), reserved: None, spent: false }]).await,
            ),
            None => self.put_down().await,
        }
    }

    /// Saves a run that stands still, and writes exactly its releases into its books. If the device
    /// is lost, the parameters cannot be read, and only the books are written.
    pub(super) async fn put_down(&mut self) {
        let Some(place) = self.keeper.ahead.as_ref().map(|ahead| ahead.place) else { return };
        if !matches!(place, Place::Browser | Place::Memory) {
            return;
        }
        let step = self.run.session.as_ref().map_or(0, Session::step_count);
        let new = if self.keeper.saving.is_saved(step) { None } else { self.written().await.ok() };
        let (Some(session), Some(ahead)) = (&self.run.session, &mut self.keeper.ahead) else { return };
        let (released, key) = (ahead.released(session), ahead.key.clone());
        let saved = new.is_some();
        let mut changes: Vec<_> =
            new.into_iter().map(|(entry, file)| Change::Save { key: key.clone(), entry, file }).collect();
        if ahead.blocks.written() != released || ahead.blocks.is_asked() {
            changes.push(Change::Reserve { key, count: released, exact: true });
        }
        if changes.is_empty() {
            return;
        }
        let result = match place {
            Place::Memory => self.keeper.memory.write(changes),
            _ => write(&*self.host, changes).await,
        };
        match result {
            Ok(()) => {
                ahead.blocks.close(released);
                if saved {
                    self.keeper.saving.saved(step);
                }
                self.add_up();
            }
            Err(StoreError::Gone) => self.lose_books(StoreError::Gone).await,
            Err(error) => self.tell_unsaved(error),
        }
    }
}
