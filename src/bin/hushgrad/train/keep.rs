//! A run's output: ledger, run file, books entry and weights. Releases are written about a second
//! before their steps run, so that no report is ahead of the disk, however the program ends.

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
use crate::{dataset::Orientation, given};

/// Points of a stored curve.
const POINTS: usize = 1000;
/// Steps written ahead at first; few, as their speed is unknown.
const FIRST_BLOCK: u64 = 8;
/// Releases are written a second or a tenth of the run ahead; a kill overcounts no more than that.
const BLOCK: Duration = Duration::from_secs(1);
const TAKEN: u64 = 10;

/// A run's output files, claimed before anything is read or computed.
pub struct Files {
    ledger: Option<KeptFile>,
    run: Option<KeptFile>,
    weights: Option<KeptFile>,
    books: Option<KeptFile>,
    /// The ε of all runs on the digits that the books are to keep.
    budget: Option<f64>,
    /// How the images were turned since they were read, by which books know them.
    orientation: Orientation,
    /// True if another run's ledger may be replaced.
    force: bool,
}

/// The run to continue.
pub struct Resumed {
    pub file: RunFile,
    sha256: String,
    /// True if the ledger beside it has releases that the run file lacks.
    overtaken: bool,
}

impl Files {
    /// # Errors
    /// The first file that exists, cannot be written, or is locked by another process.
    pub fn claim(arguments: &Arguments) -> Result<Self, Box<dyn Error>> {
        let Arguments { ledger, out, resume, weights, books, books_budget, force, .. } = arguments;
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
        let or_resume = "--resume continues it, --force replaces it";
        let claim = |what, path: Option<_>, replaced, remedy| {
            path.map(|path: &std::path::PathBuf| KeptFile::claim(what, path, replaced, remedy)).transpose()
        };
        let files = Self {
            ledger: claim(
                "the ledger",
                ledger.as_ref(),
                *force || resume.is_some(),
                "--force replaces it, and --resume RUN continues its run",
            )?,
            run: claim("the run", run, *force || in_place, or_resume)?,
            weights: claim("the weights", weights.as_ref(), *force, "--force replaces them")?,
            books: books.as_ref().map(|path| KeptFile::shared("the books", path)).transpose()?,
            budget: *books_budget,
            orientation: arguments.flags.images.orientation,
            force: *force,
        };
        if let Some(books) = &files.books {
            kept_books::read(books)?;
        }
        Ok(files)
    }

    /// Adds releases that the ledger file has beyond the run file to `progress`; the program may
    /// have ended between the two writes.
    ///
    /// # Errors
    /// If the ledger there is another run's and may not be replaced.
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
            _ => Err(format!(
                "the ledger {path} is not that of the resumed run; name another, or replace it with --force"
            )
            .into()),
        }
    }
}

/// True if both paths lead to the same file.
fn same(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

impl Resumed {
    /// # Errors
    /// If the file cannot be read or is not a run that can continue.
    pub fn read(path: &Path) -> Result<Self, Box<dyn Error>> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let bytes = given::bytes(path, run_file::LARGEST)?;
        Ok(Self { file: RunFile::from_json(&name, &bytes)?, sha256: sha256(&bytes), overtaken: false })
    }

    /// Returns the run's progress and its engine's state.
    ///
    /// # Errors
    /// If the ledger beside it is another run's, or the run is counted in books and none are kept.
    pub fn stood(&mut self, files: &Files) -> Result<(Progress, State), Box<dyn Error>> {
        let RunFile { run, ledger, parameters, momentum, average, clips, in_books, .. } = &self.file;
        if *in_books && files.books.is_none() {
            return Err("the resumed run is recorded in books, which would miss its new releases: name them with --books, or name a new file, where all its releases are entered"
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
                "the run was saved at step {step}, and its ledger counts {}: those written ahead count as spent",
                count(spent, "release")
            ));
        }
        let state = State { parameters: parameters.clone(), momentum: momentum.clone(), average: average.clone() };
        Ok((progress, state))
    }

    /// Warns if the digits are not those that the run began on.
    pub fn compare_digits(&self, digits: &Digits) {
        let (RunCard { data, train, .. }, now, there) = (&self.file.run, &digits.train.name, digits.train.len());
        if (data, *train as usize) != (now, there) {
            tell(&format!(
                "The run began on {data} ({}) and continues on {now} ({there}): its ε counts the steps on both, for every image of either.",
                count((*train).into(), "image")
            ));
        }
    }
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes a run's output.
pub struct Keep {
    files: Files,
    books: Option<KeptBooks>,
    /// The run file's card; its report is replaced when it is written.
    card: Option<RunCard>,
    /// The last state written to the run file.
    saved: Option<(RunCard, State)>,
    /// In the whole run.
    steps: u64,
    /// Releases up to this step are written.
    until: u64,
    block: u64,
    /// Time and step of the last write.
    since: Option<(Instant, u64)>,
}

impl Keep {
    /// Begins output of a run of `steps` steps; removes an old ledger if there is no guarantee.
    ///
    /// # Errors
    /// If the books cannot be read, or a ledger cannot be removed.
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
            // It would be wrong about the run beside it.
            file.remove()?;
        }
        let called = files.run.as_ref().and_then(|file| file.called().file_stem());
        let name = called.map_or_else(|| "a run".to_owned(), |name| clipped(&name.to_string_lossy()));
        let books = match files.books.take() {
            Some(file) => {
                let set = SetName::of(&files.orientation.undone(&digits.train));
                Some(Self::open_books(file, session, set, &name, resumed, (files.budget, steps))?)
            }
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
        set: SetName,
        name: &str,
        resumed: Option<&Resumed>,
        (budget, steps): (Option<f64>, u64),
    ) -> Result<KeptBooks, Box<dyn Error>> {
        let mut books = KeptBooks::new(file, set, name.to_owned())?;
        if let (Some(resumed), Some(ledger)) = (resumed, session.ledger())
            && books.counts(&resumed.sha256)?
        {
            // New in the session: an abandoned epoch's rest, already paid, or a newer ledger.
            let counted = if resumed.overtaken { resumed.file.ledger.as_ref() } else { Some(ledger) };
            books.leave_out(counted.cloned().unwrap_or_default(), resumed.sha256.clone());
        }
        if let Some(epsilon) = budget {
            let planned = session.ledger_ahead(steps.saturating_sub(session.step_count()));
            books.set_budget(epsilon, session.plan().config.delta, planned)?;
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

    /// Adds a remark to the run file's note.
    pub fn remark(&mut self, text: &str) {
        if let Some(card) = self.card.as_mut().filter(|card| !card.note.contains(text)) {
            card.note = format!("{}; {text}", card.note);
        }
    }

    /// True if any record of the run is kept.
    pub fn keeps(&self) -> bool {
        self.books.is_some() || self.files.ledger.is_some() || self.files.run.is_some()
    }

    /// Adds a report to the run file's curves.
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

    /// Called before every step; afterwards the step's release is on disk. False if the budget of
    /// the books does not allow it.
    ///
    /// # Errors
    /// If a write fails. Then nothing more may be released.
    pub async fn reserve(&mut self, session: &mut Session<AnyEngine>) -> Result<bool, Box<dyn Error>> {
        let step = session.step_count();
        if !self.keeps() || step < self.until {
            return Ok(true);
        }
        // Excludes pending device work from the timing. The next step reports a lost device.
        let _ = session.settle().await;
        if let Some((since, from)) = self.since.filter(|(_, from)| *from < step) {
            let one = since.elapsed().as_secs_f64() / (step - from) as f64;
            let wanted = BLOCK.as_secs_f64() / one.max(1e-9);
            self.block = (wanted as u64).max(step / TAKEN).clamp(1, self.block.saturating_mul(4));
        }
        let mut ahead = self.block.min(self.steps.saturating_sub(step)).max(1);
        while !self.write(session, ahead).await? {
            ahead /= 2;
            if ahead == 0 {
                return Ok(false);
            }
        }
        self.until = step + ahead;
        self.since = Some((Instant::now(), step));
        Ok(true)
    }

    /// Writes exactly what was released, and the weights.
    ///
    /// # Errors
    /// If a write fails.
    pub async fn finish(&mut self, session: &mut Session<AnyEngine>) -> Result<(), Box<dyn Error>> {
        self.write(session, 0).await?;
        if let Some(file) = &self.files.weights {
            let state = session.engine().state().await?;
            file.write(&model::safetensors(session.plan().config.model, state.read_with()))?;
        }
        Ok(())
    }

    /// Returns the cost of all runs on the digits, if there are books.
    ///
    /// # Errors
    /// If the books cannot be read.
    pub fn all_runs(&self, delta: f64) -> Result<Option<AllRuns>, Box<dyn Error>> {
        self.books.as_ref().map(|books| books.all_runs(delta)).transpose()
    }

    /// Writes the books first and the run file last, so that its releases are always in the others.
    /// False, and nothing is written, if the budget of the books does not allow that much.
    async fn write(&mut self, session: &mut Session<AnyEngine>, ahead: u64) -> Result<bool, Box<dyn Error>> {
        let ledger = session.ledger_ahead(ahead);
        let run = self.run_file(session, ahead, ledger.as_ref()).await?;
        if let Some(books) = &mut self.books {
            let planned = session.ledger_ahead(self.steps.saturating_sub(session.step_count()));
            if !books.enter(ledger.as_ref(), planned.as_ref(), run.as_deref().map(sha256))? {
                return Ok(false);
            }
        }
        if let (Some(file), Some(ledger)) = (&self.files.ledger, &ledger) {
            file.write(ledger.to_json().as_bytes())?;
        }
        if let (Some(file), Some(run)) = (&self.files.run, &run) {
            file.write(run)?;
        }
        Ok(true)
    }

    /// Returns the current run, or the last one saved if the engine fails or its parameters are not
    /// finite; with all releases.
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
