//! Runs that outlive their thread: saved as they are trained, listed, handed out as files, and continued.

use std::time::Duration;

use rand::Rng as _;
use web_time::{Instant, SystemTime};

use super::{
    Agent, Host, Message, Prepared,
    ahead::{Ahead, Place},
    within, write,
};
use crate::{
    engine::{AnyEngine, Engine},
    mechanism::State,
    plot::series::{Curve, decimate},
    rng::SystemRng,
    train::{
        error::{ConfigError, SessionError},
        projection::Point,
        report::{Privacy, Report},
        run_file::{RunCard, RunFile, RunFileError},
        session::{Progress, Session},
    },
    worker::{
        book::{self, Books, BooksError},
        protocol::{Event, Instead, KeptRun, Label},
        shelf::{Change, Entry, Record, StoreError},
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
    told: bool,
}

impl Saving {
    /// Of a run that goes on.
    fn of(card: &RunCard) -> Self {
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
    }

    fn is_saved(&self, step: u64) -> bool {
        self.saved == Some((step, self.measured()))
    }

    fn entry(&self, file: &RunFile) -> Entry {
        let Label { name, note, pinned } = self.label.clone();
        Entry { name, note, pinned, card: file.run.to_json() }
    }
}

/// Why a run is not continued, or not handed out.
#[derive(Debug, thiserror::Error)]
enum TakeError {
    #[error(
        "the run is not kept any more; it was deleted or continued in another tab, or its thread had it in memory alone. Reload the page to see what is kept"
    )]
    Absent,
    #[error("the run cannot be had: {0}; close the other tab, or try again later")]
    Store(#[from] StoreError),
    #[error(transparent)]
    File(#[from] RunFileError),
    #[error("“{0}”: {1}")]
    Books(String, BooksError),
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// A run that goes on where another stood.
pub(super) struct Continued<L> {
    pub ahead: Ahead<L>,
    pub saving: Saving,
    pub state: State,
    /// Key of the run that it was.
    pub from: String,
}

impl<H: Host> Agent<H> {
    // What is written of the run that stands.

    /// The run that stands as a file.
    async fn file(&mut self) -> Result<RunFile, SessionError> {
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
            }
            Err(StoreError::Gone) => self.lose_books(StoreError::Gone),
            Err(error) => self.tell_unsaved(error),
        }
    }

    // What is kept of others.

    /// Tells the page of all that is kept, each accounted for anew, beside the loop.
    pub(super) fn list(&self) {
        let host = self.host.clone();
        self.host.spawn(async move {
            let keys = match within(&*host, host.keys()).await {
                Ok(keys) => keys,
                // What cannot be read cannot be written either, which is said when there is something to write.
                Err(StoreError::Refused) => return,
                Err(error) => {
                    let sentence = format!(
                        "the runs of earlier visits cannot be listed, because {error}; reload the page to try again"
                    );
                    return host.send(super::problem_of(None, &sentence));
                }
            };
            for key in keys {
                if let Ok(Some(record)) = within(&*host, host.read(&key)).await {
                    host.send(shown(key, &record));
                }
                host.breathe().await;
            }
        });
    }

    /// Names or pins a run.
    pub(super) fn label(&mut self, key: String, label: Label) {
        let change = Change::Label { key: key.clone(), name: label.name.clone(), pinned: label.pinned };
        if let Some(ahead) = self.ahead.as_ref().filter(|ahead| ahead.key == key) {
            self.saving.label = label;
            if ahead.place == Place::Unwritten {
                return;
            }
        }
        // It is refused by nothing that memory holds.
        drop(self.memory.write(vec![change.clone()]));
        let host = self.host.clone();
        // Where nothing is kept, there is nothing to label.
        self.host.spawn(async move { drop(write(&*host, vec![change]).await) });
    }

    pub(super) async fn delete(&mut self, key: String) {
        let change = || vec![Change::Remove { key: key.clone(), reserved: None }];
        drop(self.memory.write(change()));
        let locked = within(&*self.host, self.host.lock(&key)).await;
        let deleted = match locked {
            Ok(_) => write(&*self.host, change()).await,
            Err(error) => Err(error),
        };
        match deleted {
            // Where nothing is kept, nothing is left.
            Ok(()) | Err(StoreError::Refused | StoreError::Gone) => {}
            Err(error) => {
                self.problem(
                    None,
                    &format!("the run is not deleted: {error}; close the other tab, or try again later"),
                );
                if let Ok(Some(record)) = within(&*self.host, self.host.read(&key)).await {
                    self.host.send(shown(key, &record));
                }
            }
        }
    }

    /// Keeps a run of a file that the accountant has found true.
    pub(super) async fn keep_file(&mut self, card: RunCard, bytes: Vec<u8>) {
        let read = serde_json::from_slice::<RunFile>(&bytes).ok().zip(String::from_utf8(bytes).ok());
        let Some((file, text)) = read else {
            return self.problem(None, &"the file is no run file of this page; nothing was kept");
        };
        let books = Some(Books::open(file.ledger.as_ref(), None).to_json());
        let entry =
            Entry { name: card.name.clone(), note: "from a file".to_owned(), pinned: true, card: card.to_json() };
        let (key, record) = (new_key(0), Record { entry, file: text, books, reserved: 0 });
        let begin = || vec![Change::Begin { key: key.clone(), record: record.clone() }];
        if let Err(error) = write(&*self.host, begin()).await {
            // In memory a new record is always taken.
            drop(self.memory.write(begin()));
            self.host.send(Event::Unkept(super::ahead::unkept(error)));
        }
        self.host.send(shown(key, &record));
    }

    async fn read(&self, key: &str) -> Result<Record, TakeError> {
        match self.memory.read(key) {
            Some(record) => Ok(record.clone()),
            None => within(&*self.host, self.host.read(key)).await?.ok_or(TakeError::Absent),
        }
    }

    /// Hands out a run as a file.
    pub(super) async fn export_run(&mut self, key: &str) {
        let file = if self.ahead.as_ref().is_some_and(|ahead| ahead.key == key) {
            match self.file().await {
                Ok(file) => Ok(file),
                Err(error) => return self.fail(error).await,
            }
        } else {
            self.read(key).await.and_then(|record| Ok(settled(&record)?.0))
        };
        match file {
            Ok(file) => self.host.send(Event::RunFile(file.to_json())),
            Err(error) => self.problem(None, &error),
        }
    }

    // Going on.

    pub(super) async fn continue_run(&mut self, key: &str) {
        if self.arriving.is_some() {
            return self.problem(None, &"the digits are still on their way; continue the run when all are there");
        }
        match self.take_up(key).await {
            Ok((session, instead, continued, notice)) => {
                self.stand(Ok(session), instead, Some(continued)).await;
                if !notice.is_empty() {
                    self.host.send(Event::Notice(notice));
                }
            }
            Err(TakeError::Session(error)) => self.refuse(&error),
            Err(error) => self.problem(None, &error),
        }
    }

    /// Moves a run's books and its file to a new key, whole; who has it in another tab hears of it, and nothing is counted twice or nowhere.
    #[expect(clippy::type_complexity, reason = "a session, and what is said and known of it")]
    async fn take_up(
        &mut self,
        key: &str,
    ) -> Result<(Session<AnyEngine>, Option<Instead>, Continued<H::Lock>, String), TakeError> {
        let in_memory = self.memory.read(key).is_some();
        let _lock = if in_memory { None } else { Some(within(&*self.host, self.host.lock(key)).await?) };
        let record = self.read(key).await?;
        let (file, lost) = settled(&record)?;
        let (data, train) = (file.run.data.clone(), file.run.train);
        let (session, instead, mut file) = self.resume(file).await?;

        let mut ahead = Ahead::open(new_key(self.runs), &session);
        ahead.place = if in_memory { Place::Memory } else { Place::Browser };
        // What the epoch that is given up costs is in them, too.
        file.ledger = session.ledger().cloned();
        file.run.report.privacy = session.privacy()?;
        let mut saving = Saving::of(&file.run);
        saving.label.pinned = record.entry.pinned;
        let (state, text) = (state_of(&file), file.to_json());
        let moved = Record { entry: saving.entry(&file), file: text, books: Some(ahead.books.to_json()), reserved: 0 };
        let changes = vec![
            Change::Remove { key: key.to_owned(), reserved: Some(record.reserved) },
            Change::Begin { key: ahead.key.clone(), record: moved },
        ];
        if in_memory {
            self.memory.write(changes)?;
        } else {
            ahead.lock = within(&*self.host, self.host.lock(&ahead.key)).await.ok();
            write(&*self.host, changes).await?;
        }
        saving.saved(session.step_count());

        let mut notices = match lost {
            0 => vec![],
            1 => vec![
                "One step was released or reserved after the last save: it is counted in ε, and its parameters are lost."
                    .to_owned(),
            ],
            _ => vec![format!(
                "{lost} steps were released or reserved after the last save: they are counted in ε, and their parameters are lost."
            )],
        };
        let now = self.digits.as_ref().map(|digits| (&digits.train.name, digits.train.len() as u32));
        if let Some((now, count)) = now.filter(|now| *now != (&data, train)) {
            notices.push(format!(
                "The run began on {data} ({train} images) and goes on with {now} ({count}): its ε counts both, for every image of either."
            ));
        }
        Ok((session, instead, Continued { ahead, saving, state, from: key.to_owned() }, notices.join(" ")))
    }

    async fn resume(&mut self, file: RunFile) -> Result<(Session<AnyEngine>, Option<Instead>, RunFile), SessionError> {
        let RunCard { config, report, .. } = file.run.clone();
        let Prepared { plan, engine, instead } = self.prepare(config, Some(&state_of(&file))).await?;
        let Report { step, training_seconds, .. } = report;
        // A time that no clock measures counts as none.
        let training = Duration::try_from_secs_f64(training_seconds).unwrap_or_default();
        // No file tells what was not finite.
        let progress = Progress { step, ledger: file.ledger.clone(), training, non_finite: 0 };
        Ok((Session::resume(plan, engine, progress)?, instead, file))
    }
}

fn state_of(file: &RunFile) -> State {
    State { parameters: file.parameters.clone(), momentum: file.momentum.clone(), average: file.average.clone() }
}

/// A key that no other run has: keys ascend by time, and two tabs may ask in the same moment.
pub(super) fn new_key(run: u32) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis();
    // Without entropy nothing is trained, either.
    let chance = SystemRng::new().map_or(run, |mut rng| rng.next_u32());
    format!("{now:013}-{chance:08x}")
}

/// A run as its books and its file say together, and how many releases they count whose parameters are lost.
fn settled(record: &Record) -> Result<(RunFile, u64), TakeError> {
    let Record { entry, file, books, reserved } = record;
    let mut file = RunFile::from_json(&entry.name, file.as_bytes())?;
    file.run.name.clone_from(&entry.name);
    let wrong = |error| TakeError::Books(entry.name.clone(), error);
    let Some(books) = books else { return Ok((file, 0)) };
    let ledger = Books::from_json(books).and_then(|books| books.with(*reserved)).map_err(wrong)?;
    let lost = book::settle(&mut file, ledger).map_err(wrong)?;
    Ok((file, lost))
}

/// A record as the page shows it, or why it does not.
fn shown(key: String, record: &Record) -> Event {
    match kept_run(key, record) {
        Ok(run) => Event::Kept(Box::new(run)),
        Err(error) => super::problem_of(None, &error),
    }
}

fn kept_run(key: String, record: &Record) -> Result<KeptRun, TakeError> {
    let Record { entry, file, books, reserved } = record;
    let mut card = RunCard::from_json(&entry.name, entry.card.as_bytes())?;
    let wrong = |error| TakeError::Books(entry.name.clone(), error);
    let ledger = match books {
        Some(books) => Books::from_json(books).and_then(|books| books.with(*reserved)).map_err(wrong)?,
        None => RunFile::from_json(&entry.name, file.as_bytes())?.ledger,
    };
    let beyond = book::account(&mut card, ledger.as_ref()).map_err(wrong)?;
    (card.name, card.note) = (entry.name.clone(), entry.note.clone());
    Ok(KeptRun { key, pinned: entry.pinned, beyond, card })
}
