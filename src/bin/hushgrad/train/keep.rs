//! What a run keeps: its ledger, its run file, its entry in the books, its weights. What steps will release is written before they run, a second of
//! them at a time, so that no report tells of more than the disk does, whatever ends the program.

use std::{
    error::Error,
    path::Path,
    time::{Duration, Instant},
};

use hushgrad::{
    accounting::ledger::Ledger,
    data::Digits,
    engine::{AnyEngine, Engine as _, EngineInfo},
    mechanism::State,
    model,
    plot::series::decimate,
    train::{
        books::{AllRuns, SetName},
        report::{Privacy, Report},
        run_file::{self, RunCard, RunFile, clipped},
        session::{Progress, Session},
    },
};
use sha2::{Digest as _, Sha256};

use super::{
    Arguments,
    kept_books::{self, KeptBooks},
    kept_file::KeptFile,
    said::{count, tell, together},
};
use crate::given;

/// Points of a kept curve.
const POINTS: usize = 1000;
/// Steps that are written ahead at first: few, as nobody knows how long one takes.
const FIRST_BLOCK: u64 = 8;
/// A second of steps is written ahead, or one step for so many that were taken: after a kill no more than that is counted in excess.
const BLOCK: Duration = Duration::from_secs(1);
const TAKEN: u64 = 10;

/// The files of a run, each in its hands before anything is read or computed.
pub struct Files {
    ledger: Option<KeptFile>,
    run: Option<KeptFile>,
    weights: Option<KeptFile>,
    books: Option<KeptFile>,
    /// Whether a ledger of another run may be replaced.
    force: bool,
}

/// The run that goes on.
pub struct Resumed {
    pub file: RunFile,
    sha256: String,
    /// Whether a ledger beside it tells of releases that it does not know of.
    overtaken: bool,
}

impl Files {
    /// # Errors
    /// The first file that is there already, or cannot be written, or is another's.
    pub fn claim(arguments: &Arguments) -> Result<Self, Box<dyn Error>> {
        let Arguments { ledger, out, resume, weights, books, force, .. } = arguments;
        let run = out.as_ref().or(resume.as_ref());
        let in_place = match (out, resume) {
            (Some(out), Some(resume)) => same(out, resume),
            (None, Some(_)) => true,
            (_, None) => false,
        };
        let all = [
            ("the ledger", ledger.as_ref()),
            ("the run", run),
            ("the weights", weights.as_ref()),
            ("the books", books.as_ref()),
        ];
        let all = all.into_iter().filter_map(|(what, path)| Some(KeptFile::at(what, path?)));
        let all = all.collect::<Result<Vec<_>, _>>()?;
        for (i, one) in all.iter().enumerate() {
            all[i + 1..].iter().try_for_each(|other| one.differs_from(other))?;
        }
        let or_resume = "--resume goes on from it, --force replaces it";
        let claim = |what, path: Option<_>, replaced, remedy| {
            path.map(|path: &std::path::PathBuf| KeptFile::claim(what, path, replaced, remedy)).transpose()
        };
        let files = Self {
            ledger: claim(
                "the ledger",
                ledger.as_ref(),
                *force || resume.is_some(),
                "--force replaces it, and --resume RUN goes on with its run",
            )?,
            run: claim("the run", run, *force || in_place, or_resume)?,
            weights: claim("the weights", weights.as_ref(), *force, "--force replaces them")?,
            books: books.as_ref().map(|path| KeptFile::shared("the books", path)).transpose()?,
            force: *force,
        };
        if let Some(books) = &files.books {
            kept_books::read(books)?;
        }
        Ok(files)
    }

    /// Brings what was released since the run file was written into `progress`, where the ledger beside it says so: it may have been written
    /// a moment before the program was ended.
    ///
    /// # Errors
    /// When the ledger that is there is another run's, and may not be replaced.
    fn compare_ledger(&self, progress: &mut Progress) -> Result<(), Box<dyn Error>> {
        let Some(file) = &self.ledger else { return Ok(()) };
        let Some(bytes) = file.read(run_file::LARGEST)? else { return Ok(()) };
        let path = file.called().display();
        let there = match Ledger::from_json(&String::from_utf8_lossy(&bytes)) {
            Err(_) if self.force => return Ok(()),
            there => there.map_err(|error| format!("{path}: {error}"))?,
        };
        match &progress.ledger {
            Some(ledger) if ledger.after(&there).is_some() => Ok(()),
            Some(ledger) if there.after(ledger).is_some() => {
                progress.ledger = Some(there);
                Ok(())
            }
            _ if self.force => Ok(()),
            _ => Err(format!("the ledger {path} is not of the run that goes on; name another, or --force replaces it")
                .into()),
        }
    }
}

/// Whether two paths lead to one file.
fn same(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

impl Resumed {
    /// # Errors
    /// When the file cannot be read, or is no run that can go on.
    pub fn read(path: &Path) -> Result<Self, Box<dyn Error>> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let bytes = given::bytes(path, run_file::LARGEST)?;
        Ok(Self { file: RunFile::from_json(&name, &bytes)?, sha256: sha256(&bytes), overtaken: false })
    }

    /// Where it stood, and with what.
    ///
    /// # Errors
    /// When a ledger that was to be kept beside it is another run's, or books count the run and none are kept.
    pub fn stood(&mut self, files: &Files) -> Result<(Progress, State), Box<dyn Error>> {
        let RunFile { run, ledger, parameters, momentum, average, clips, in_books, .. } = &self.file;
        if *in_books && files.books.is_none() {
            return Err("the run to go on with is counted in books, which would miss what it adds: name them by --books, or a new file, where all that it released is entered"
                .into());
        }
        let Report { step, training_seconds, counted, .. } = run.report;
        let training = Duration::try_from_secs_f64(training_seconds).unwrap_or_default();
        let (ledger, clips) = (ledger.clone(), clips.clone());
        let mut progress = Progress { step, ledger, training, non_finite: 0, counted, clips };
        files.compare_ledger(&mut progress)?;
        self.overtaken = progress.ledger != self.file.ledger;
        let spent = progress.ledger.as_ref().map_or(0, Ledger::steps);
        if spent > step {
            tell(&format!(
                "the run stood at step {step}, and its ledger counts {}: what was written ahead counts as spent",
                count(spent, "release")
            ));
        }
        let state = State { parameters: parameters.clone(), momentum: momentum.clone(), average: average.clone() };
        Ok((progress, state))
    }

    /// Says so, where the digits are not those that the run began on.
    pub fn compare_digits(&self, digits: &Digits) {
        let (RunCard { data, train, .. }, now, there) = (&self.file.run, &digits.train.name, digits.train.len());
        if (data, *train as usize) != (now, there) {
            tell(&format!(
                "The run began on {data} ({}) and goes on with {now} ({there}): its ε counts both, for every image of either.",
                count((*train).into(), "image")
            ));
        }
    }
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Keeps a run.
pub struct Keep {
    files: Files,
    books: Option<KeptBooks>,
    /// As the run file says it, but for the report.
    card: Option<RunCard>,
    /// What the run file said last.
    saved: Option<(RunCard, State)>,
    /// Of the whole run.
    steps: u64,
    /// Steps up to this one are written.
    until: u64,
    block: u64,
    /// When the last were written, and at which step.
    since: Option<(Instant, u64)>,
}

impl Keep {
    /// Takes up the run of `steps` steps in all that `session` is at the start of. A ledger that is there is removed where the run has no guarantee.
    ///
    /// # Errors
    /// When the books cannot be read, or a ledger not be removed.
    pub async fn begin(
        mut files: Files,
        session: &mut Session<AnyEngine>,
        digits: &Digits,
        info: EngineInfo,
        resumed: Option<&Resumed>,
        steps: u64,
    ) -> Result<Self, Box<dyn Error>> {
        if session.ledger().is_none()
            && let Some(file) = files.ledger.take()
        {
            if let Privacy::NoGuarantee { reason } = session.privacy()? {
                tell(&format!("no ledger is written: {reason}"));
            }
            // What it said is not true of the run beside it.
            file.remove()?;
        }
        let called = files.run.as_ref().and_then(|file| file.called().file_stem());
        let name = called.map_or_else(|| "a run".to_owned(), |name| clipped(&name.to_string_lossy()));
        let books = match files.books.take() {
            Some(file) => Some(Self::open_books(file, session, digits, &name, resumed)?),
            None => None,
        };
        let card = match &files.run {
            Some(_) => Some(Self::card(name, session, digits, info, resumed).await?),
            None => None,
        };
        let until = session.step_count();
        Ok(Self { files, books, card, saved: None, steps, until, block: FIRST_BLOCK, since: None })
    }

    fn open_books(
        file: KeptFile,
        session: &Session<AnyEngine>,
        digits: &Digits,
        name: &str,
        resumed: Option<&Resumed>,
    ) -> Result<KeptBooks, Box<dyn Error>> {
        let mut books = KeptBooks::new(file, SetName::of(&digits.train), name.to_owned())?;
        if let (Some(resumed), Some(ledger)) = (resumed, session.ledger())
            && books.counts(&resumed.sha256)?
        {
            // What the session has beyond the file is the rest of an epoch that was given up, which costs no more; or what another ledger knew.
            let counted = if resumed.overtaken { resumed.file.ledger.as_ref() } else { Some(ledger) };
            books.leave_out(counted.cloned().unwrap_or_default(), resumed.sha256.clone());
        }
        let before = books.all_runs(session.plan().config.delta)?;
        if before.runs > 0 {
            tell(&format!("before this run, {}", together(&before)));
        }
        Ok(books)
    }

    async fn card(
        name: String,
        session: &mut Session<AnyEngine>,
        digits: &Digits,
        engine: EngineInfo,
        resumed: Option<&Resumed>,
    ) -> Result<RunCard, Box<dyn Error>> {
        let report = Report { test_set: Some(digits.test_set), ..session.report(None).await? };
        let card = RunCard {
            name,
            note: "by the native tool".to_owned(),
            config: session.plan().config.clone(),
            engine,
            data: digits.train.name.clone(),
            train: digits.train.len() as u32,
            test: digits.test.len() as u32,
            report,
            accuracy: None,
            accuracy_curve: Vec::new(),
            improved_curve: Vec::new(),
            classic_curve: Vec::new(),
        };
        Ok(match resumed.map(|resumed| resumed.file.run.clone()) {
            Some(RunCard { name, note, accuracy, accuracy_curve, improved_curve, classic_curve, .. }) => {
                RunCard { name, note, accuracy, accuracy_curve, improved_curve, classic_curve, ..card }
            }
            None => card,
        })
    }

    /// Whether anything of the run outlives it.
    pub fn keeps(&self) -> bool {
        self.books.is_some() || self.files.ledger.is_some() || self.files.run.is_some()
    }

    /// Takes a report into the curves of the run file.
    pub fn note(&mut self, report: &Report) {
        let Some(card) = &mut self.card else { return };
        let step = report.step as f64;
        let push = |curve: &mut Vec<(f64, f64)>, y: f64| {
            if y.is_finite() && curve.last().is_none_or(|last| last.0 < step) {
                curve.push((step, y));
                if curve.len() > 2 * POINTS {
                    *curve = decimate(curve, POINTS);
                }
            }
        };
        if let Some(accuracy) = report.test_accuracy {
            card.accuracy = Some(accuracy);
            push(&mut card.accuracy_curve, accuracy);
        }
        if let Privacy::Bounded(bound) = &report.privacy {
            push(&mut card.improved_curve, bound.improved.epsilon);
            push(&mut card.classic_curve, bound.classic.epsilon);
        }
    }

    /// Before every step: what it releases is on the disk when this is done.
    ///
    /// # Errors
    /// When something cannot be written. Then nothing more may be released.
    pub async fn reserve(&mut self, session: &mut Session<AnyEngine>) -> Result<(), Box<dyn Error>> {
        let step = session.step_count();
        if !self.keeps() || step < self.until {
            return Ok(());
        }
        // What a device still has to do is not the time that writing takes. One that is lost, the next step tells of.
        let _ = session.settle().await;
        if let Some((since, from)) = self.since.filter(|(_, from)| *from < step) {
            let one = since.elapsed().as_secs_f64() / (step - from) as f64;
            let wanted = BLOCK.as_secs_f64() / one.max(1e-9);
            self.block = (wanted as u64).max(step / TAKEN).clamp(1, self.block.saturating_mul(4));
        }
        let ahead = self.block.min(self.steps.saturating_sub(step)).max(1);
        self.write(session, ahead).await?;
        self.until = step + ahead;
        self.since = Some((Instant::now(), step));
        Ok(())
    }

    /// Writes what was released in the end, no more and no less, and the weights.
    ///
    /// # Errors
    /// When something cannot be written.
    pub async fn finish(&mut self, session: &mut Session<AnyEngine>) -> Result<(), Box<dyn Error>> {
        self.write(session, 0).await?;
        if let Some(file) = &self.files.weights {
            let state = session.engine().state().await?;
            file.write(&model::safetensors(session.plan().config.model, state.read_with()))?;
        }
        Ok(())
    }

    /// What all runs on the digits cost together, where there are books.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn all_runs(&self, delta: f64) -> Result<Option<AllRuns>, Box<dyn Error>> {
        self.books.as_ref().map(|books| books.all_runs(delta)).transpose()
    }

    /// The books first, and what can be gone on from last: whatever it says was released is in the others by then.
    async fn write(&mut self, session: &mut Session<AnyEngine>, ahead: u64) -> Result<(), Box<dyn Error>> {
        let ledger = session.ledger_ahead(ahead);
        let run = self.run_file(session, ahead, ledger.as_ref()).await?;
        if let Some(books) = &mut self.books {
            let planned = session.ledger_ahead(self.steps.saturating_sub(session.step_count()));
            books.enter(ledger.as_ref(), planned.as_ref(), run.as_deref().map(sha256))?;
        }
        if let (Some(file), Some(ledger)) = (&self.files.ledger, &ledger) {
            file.write(ledger.to_json().as_bytes())?;
        }
        if let (Some(file), Some(run)) = (&self.files.run, &run) {
            file.write(run)?;
        }
        Ok(())
    }

    /// The run as it stands, or, where its engine does not answer any more or its parameters are no numbers, as it stood last; with all that
    /// was released.
    async fn run_file(
        &mut self,
        session: &mut Session<AnyEngine>,
        ahead: u64,
        ledger: Option<&Ledger>,
    ) -> Result<Option<Vec<u8>>, Box<dyn Error>> {
        let Some(card) = &self.card else { return Ok(None) };
        let stands = async {
            let report = session.report(None).await.ok()?;
            let state = session.engine().state().await.ok().filter(is_finite)?;
            Some((Report { test_set: card.report.test_set, ..report }, state))
        };
        if let Some((report, state)) = stands.await {
            self.saved = Some((RunCard { report, ..card.clone() }, state));
        }
        let Some((card, state)) = self.saved.clone() else { return Ok(None) };
        let report = Report { privacy: session.privacy_ahead(ahead)?, ..card.report };
        let file = RunFile::new(RunCard { report, ..card }, ledger.cloned(), state).with_clips(session.clips());
        let file = RunFile { in_books: self.books.is_some(), ..file };
        Ok(Some(file.to_json().into_bytes()))
    }
}

fn is_finite(state: &State) -> bool {
    let State { parameters, momentum, average } = state;
    parameters.iter().chain(momentum).chain(average.iter().flatten()).all(|value| value.is_finite())
}
