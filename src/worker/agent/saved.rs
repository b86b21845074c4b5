//! The run that stands is saved as it is trained, and put down exactly when it stands still.

use std::time::Duration;

use web_time::Instant;

use super::{Agent, Host, Message, ahead::Place, write};
use crate::{
    engine::Engine,
    plot::series::{Curve, decimate},
    train::{
        error::{ConfigError, SessionError},
        projection::Point,
        report::{Privacy, Report},
        run_file::{RunCard, RunFile},
        session::Session,
    },
    worker::{
        protocol::Label,
        run_store::{Change, Entry, StoreError},
    },
};

/// A playing run is saved at most this often.
const SAVE_EVERY: Duration = Duration::from_secs(2);
/// And so seldom that it takes at most this part of the time.
const SAVE_SHARE: u32 = 100;
/// Points of a saved curve.
const POINTS: usize = 1000;

/// What is saved of the run that stands, beside its engine's state and its books.
#[derive(Default)]
pub(super) struct Saving {
    pub label: Label,
    /// Test accuracy where it was measured last, and at which step.
    accuracy: Option<(u64, f64)>,
    accuracies: Curve,
    improved: Curve,
    classic: Curve,
    /// The step that is saved, and where its accuracy was measured.
    saved: Option<(u64, Option<u64>)>,
    /// When it was saved last, and what that took.
    last: Option<(Instant, Duration)>,
    /// The page knows that it cannot be.
    pub told: bool,
}

impl Saving {
    /// Of a run that goes on.
    pub fn of(card: &RunCard) -> Self {
        let curve = |points: &[Point]| {
            let mut curve = Curve::default();
            points.iter().for_each(|point| curve.push(*point));
            curve
        };
        Self {
            label: Label { name: card.name.clone(), note: card.note.clone(), pinned: false },
            accuracy: card.accuracy.map(|accuracy| (card.report.step, accuracy)),
            accuracies: curve(&card.accuracy_curve),
            improved: curve(&card.improved_curve),
            classic: curve(&card.classic_curve),
            ..Self::default()
        }
    }

    /// What the page is told is what the curves show.
    pub fn note(&mut self, report: &Report) {
        let step = report.step as f64;
        if let Some(accuracy) = report.test_accuracy {
            self.accuracy = Some((report.step, accuracy));
            self.accuracies.push((step, accuracy));
        }
        if let Privacy::Bounded(bound) = &report.privacy {
            self.improved.push((step, bound.improved.epsilon));
            self.classic.push((step, bound.classic.epsilon));
        }
    }

    fn measured(&self) -> Option<u64> {
        self.accuracy.map(|(step, _)| step)
    }

    pub fn saved(&mut self, step: u64) {
        self.saved = Some((step, self.measured()));
        self.told = false;
    }

    fn is_saved(&self, step: u64) -> bool {
        self.saved == Some((step, self.measured()))
    }

    pub fn entry(&self, file: &RunFile) -> Entry {
        let Label { name, note, pinned } = self.label.clone();
        Entry { name, note, pinned, card: file.run.to_json() }
    }
}

impl<H: Host> Agent<H> {
    /// The run that stands as a file.
    pub(super) async fn file(&mut self) -> Result<RunFile, SessionError> {
        let saving = &self.saving;
        let session =
            self.session.as_mut().ok_or(ConfigError::Contradiction { field: "run", sentence: "there is none yet" })?;
        let state = session.engine().state().await?;
        let report = session.report(saving.accuracy.filter(|(step, _)| *step == session.step_count()).map(|(_, a)| a));
        let report = Report { test_set: self.run_test_set, ..report.await? };
        let [accuracy_curve, improved_curve, classic_curve] =
            [&saving.accuracies, &saving.improved, &saving.classic].map(|curve| decimate(curve.points(), POINTS));
        let card = RunCard {
            name: saving.label.name.clone(),
            note: saving.label.note.clone(),
            config: session.plan().config.clone(),
            engine: session.engine().info().clone(),
            data: self.run_data.as_ref().map(|data| data.name.clone()).unwrap_or_default(),
            train: session.plan().train_examples,
            test: self.slices.iter().map(|slice| slice.len() as u32).sum(),
            report,
            accuracy: saving.accuracy.map(|(_, accuracy)| accuracy),
            accuracy_curve,
            improved_curve,
            classic_curve,
        };
        Ok(RunFile::new(card, session.ledger().cloned(), state))
    }

    /// The run that stands, as the list and as *Continue* want it.
    pub(super) async fn written(&mut self) -> Result<(Entry, String), SessionError> {
        let start = Instant::now();
        let file = self.file().await?;
        let written = (self.saving.entry(&file), file.to_json());
        self.saving.last = Some((Instant::now(), start.elapsed()));
        Ok(written)
    }

    /// While a run plays.
    pub(super) async fn save_now_and_then(&mut self) {
        let due = |(last, took): (Instant, Duration)| last.elapsed() >= SAVE_EVERY.max(took.saturating_mul(SAVE_SHARE));
        if self.saving.last.is_none_or(due) {
            self.save().await;
        }
    }

    /// Saves the run as it stands, beside its own steps.
    pub(super) async fn save(&mut self) {
        let placed = self.ahead.as_ref().filter(|ahead| ahead.place == Place::Browser).map(|ahead| ahead.key.clone());
        let step = self.session.as_ref().map(Session::step_count);
        let (Some(key), Some(step)) = (placed, step.filter(|step| !self.saving.is_saved(*step))) else { return };
        let (entry, file) = match self.written().await {
            Ok(written) => written,
            Err(error) => return self.fail(error).await,
        };
        let (host, reply, run) = (self.host.clone(), self.reply.clone(), self.runs);
        self.host.spawn(async move {
            let result = write(&*host, vec![Change::Save { key, entry, file }]).await;
            drop(reply.unbounded_send(Message::Saved { run, step, result }));
        });
    }

    pub(super) fn take_saved(&mut self, run: u32, step: u64, result: Result<(), StoreError>) {
        if run != self.runs {
            return;
        }
        match result {
            Ok(()) => self.saving.saved(step),
            // The next block of its books finds out what to do.
            Err(StoreError::Gone) => {}
            Err(error) => self.tell_unsaved(error),
        }
    }

    fn tell_unsaved(&mut self, error: StoreError) {
        if !std::mem::replace(&mut self.saving.told, true) {
            self.problem(
                None,
                &format!(
                    "the run's parameters could not be saved, because {error}; its steps are counted all the same. Save it as a file to keep them"
                ),
            );
        }
    }

    /// Another run takes the place of this one. What never took a step leaves nothing.
    pub(super) async fn put_away(&mut self) {
        let begun = self.session.as_ref().is_some_and(|session| session.step_count() > 0);
        match self.ahead.as_ref().filter(|ahead| !begun && ahead.place == Place::Browser) {
            // What stays is a row of no steps that counts too much.
            Some(ahead) => drop(
                write(&*self.host, vec![Change::Remove { key: ahead.key.clone(), reserved: None, spent: false }]).await,
            ),
            None => self.put_down().await,
        }
    }

    /// The run stands still: it is saved, and its books count the steps that it did and no others. A device that is lost keeps its
    /// parameters to itself.
    pub(super) async fn put_down(&mut self) {
        let Some(place) = self.ahead.as_ref().map(|ahead| ahead.place) else { return };
        if !matches!(place, Place::Browser | Place::Memory) {
            return;
        }
        let step = self.session.as_ref().map_or(0, Session::step_count);
        let new = if self.saving.is_saved(step) { None } else { self.written().await.ok() };
        let (Some(session), Some(ahead)) = (&self.session, &mut self.ahead) else { return };
        let (released, key) = (ahead.released(session), ahead.key.clone());
        let saved = new.is_some();
        let mut changes: Vec<_> =
            new.into_iter().map(|(entry, file)| Change::Save { key: key.clone(), entry, file }).collect();
        if ahead.book.written() != released || ahead.book.is_asked() {
            changes.push(Change::Reserve { key, count: released, exact: true });
        }
        if changes.is_empty() {
            return;
        }
        let result = match place {
            Place::Memory => self.memory.write(changes),
            _ => write(&*self.host, changes).await,
        };
        match result {
            Ok(()) => {
                ahead.book.close(released);
                if saved {
                    self.saving.saved(step);
                }
                self.add_up();
            }
            Err(StoreError::Gone) => self.lose_books(StoreError::Gone),
            Err(error) => self.tell_unsaved(error),
        }
    }
}
