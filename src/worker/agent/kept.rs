//! Runs that outlive their thread: listed, named, handed out as files, deleted, brought back and continued.

use std::time::Duration;

use rand::Rng as _;
use web_time::SystemTime;

use super::{
    Agent, Host, Prepared,
    ahead::{Ahead, Place},
    saved::Saving,
    within, write,
};
use crate::{
    engine::AnyEngine,
    mechanism::State,
    rng::SystemRng,
    train::{
        error::SessionError,
        report::Report,
        run_file::{RunCard, RunFile, RunFileError},
        session::{Progress, Session},
    },
    worker::{
        protocol::{Event, Fallback, KeptRun, Label},
        run_log::{self, RunLog, RunLogError},
        run_store::{Change, Entry, Record, StoreError},
    },
};

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
    Books(String, RunLogError),
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
                // The loop alone breathes.
                host.sleep(Duration::ZERO).await;
            }
        });
    }

    /// Names or pins a run.
    pub(super) fn label(&mut self, key: String, label: Label) {
        if !self.keeps {
            return;
        }
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
        let change = || vec![Change::Remove { key: key.clone(), reserved: None, spent: true }];
        let in_memory = self.memory.read(&key).is_some();
        drop(self.memory.write(change()));
        if in_memory || !self.keeps {
            return;
        }
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
        let Ok(text) = String::from_utf8(bytes) else {
            return self.problem(None, &"the file is no run file of this page; nothing was kept");
        };
        let entry =
            Entry { name: card.name.clone(), note: "from a file".to_owned(), pinned: true, card: card.to_json() };
        // What its ledger says is read, and judged, with the file.
        let (key, record) = (new_key(0), Record { entry, file: text, books: None, reserved: 0 });
        let begin = || vec![Change::Begin { key: key.clone(), record: record.clone() }];
        if let Err(error) = write(&*self.host, begin()).await {
            // In memory a new record is always taken.
            drop(self.memory.write(begin()));
            self.refuse_to_keep(error);
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
            Ok((session, fallback, continued, notice)) => {
                let in_memory = continued.ahead.place == Place::Memory;
                self.stand(Ok(session), fallback, Some(continued)).await;
                if let Some(error) = self.refusal.take_if(|_| in_memory) {
                    self.refuse_to_keep(error);
                }
                if !notice.is_empty() {
                    self.host.send(Event::Notice(notice));
                }
            }
            Err(TakeError::Session(error)) => self.refuse(&error),
            Err(error) => self.problem(None, &error),
        }
    }

    /// Moves a run's books and its file to a new key, whole; who has it in another tab hears of it, and nothing is counted twice or nowhere.
    async fn take_up(
        &mut self,
        key: &str,
    ) -> Result<(Session<AnyEngine>, Option<Fallback>, Continued<H::Lock>, String), TakeError> {
        let in_memory = self.memory.read(key).is_some();
        let _lock = if in_memory { None } else { Some(within(&*self.host, self.host.lock(key)).await?) };
        let record = self.read(key).await?;
        let (file, lost) = settled(&record)?;
        let (data, train) = (file.run.data.clone(), file.run.train);
        let (session, fallback, mut file) = self.resume(file).await?;

        let mut ahead = Ahead::open(new_key(self.runs), &session, self.opening.clone());
        // The books that go on hold all that was released; digits of before, if they are others, lose nothing of it.
        let before = record.books.as_deref().and_then(|books| RunLog::from_json(books).ok());
        let of_others = before.is_some_and(|books| books.digits().is_some() && books.digits() != ahead.books.digits());
        ahead.place = if in_memory { Place::Memory } else { Place::Browser };
        // What the epoch that is given up costs is in them, too.
        file.ledger = session.ledger().cloned();
        file.run.report.privacy = session.privacy()?;
        let mut saving = Saving::of(&file.run);
        saving.label.pinned = record.entry.pinned;
        let (state, text) = (state_of(&file), file.to_json());
        let moved = Record { entry: saving.entry(&file), file: text, books: Some(ahead.books.to_json()), reserved: 0 };
        let changes = vec![
            Change::Remove { key: key.to_owned(), reserved: Some(record.reserved), spent: of_others },
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
        Ok((session, fallback, Continued { ahead, saving, state, from: key.to_owned() }, notices.join(" ")))
    }

    async fn resume(&mut self, file: RunFile) -> Result<(Session<AnyEngine>, Option<Fallback>, RunFile), SessionError> {
        let RunCard { config, report, .. } = file.run.clone();
        let Prepared { plan, engine, fallback } = self.prepare(config, Some(&state_of(&file))).await?;
        let Report { step, training_seconds, .. } = report;
        // A time that no clock measures counts as none.
        let training = Duration::try_from_secs_f64(training_seconds).unwrap_or_default();
        // No file tells what was not finite.
        let progress = Progress { step, ledger: file.ledger.clone(), training, non_finite: 0 };
        Ok((Session::resume(plan, engine, progress)?, fallback, file))
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
    let ledger = RunLog::from_json(books).and_then(|books| books.with(*reserved)).map_err(wrong)?;
    let lost = run_log::settle(&mut file, ledger).map_err(wrong)?;
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
        Some(books) => RunLog::from_json(books).and_then(|books| books.with(*reserved)).map_err(wrong)?,
        None => RunFile::to_show(&entry.name, file.as_bytes())?.ledger,
    };
    let beyond = run_log::account(&mut card, ledger.as_ref()).map_err(wrong)?;
    (card.name, card.note) = (entry.name.clone(), entry.note.clone());
    Ok(KeptRun { key, pinned: entry.pinned, beyond, card })
}
