//! `hushgrad reproduce figures`: the paper's figures and headline (Nasr, Shokri & Houmansadr 2020)
//! on MNIST. Learning rates are tuned on held-out training images, never on test images. Finished
//! runs are lines of JSON and unfinished ones are saved, so that an interrupted command continues.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use hushgrad::{
    data::{Digits, mnist, own_files},
    engine::{Performance, cpu::CpuEngine},
    model::Architecture,
    train::config::RunConfig,
};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};

use self::{
    charts::Panel,
    rates::Tuned,
    table::{Cell, EQUAL, FIGURES, Figure, Method, Rate, View},
    trial::{Data, Fault, Point, Training, Trial},
    vectors::{Distance, Spectrum},
    views::{Origin, Prices},
};
use super::results_log::{Finished, ResultsLog};
use crate::sections;

mod charts;
mod rates;
mod table;
mod trial;
mod vectors;
mod views;

/// Replay seed of tuning runs; the figures' seeds begin with 1.
const TUNING_SEED: u64 = 0;

#[derive(clap::Args)]
pub struct Arguments {
    /// Only this figure: 1 to 7, or headline; may be repeated
    #[arg(long = "figure", value_name = "N", value_parser = figure)]
    figures: Vec<&'static Figure>,
    /// Runs per curve
    #[arg(long, default_value_t = 5)]
    seeds: u64,
    /// Epochs per run (the headline always has 60)
    #[arg(long, default_value_t = 60.0)]
    epochs: f64,
    /// The paper's lengths and ranges: 60 epochs, and Figure 3 takes the best over rates too
    #[arg(long, conflicts_with = "epochs")]
    as_published: bool,
    /// Epochs per run that tunes a learning rate [default: as --epochs]
    #[arg(long, value_name = "EPOCHS")]
    tuning_epochs: Option<f64>,
    /// Folder or file of images, as for `train` [default: MNIST]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Folder for CSV and SVG files
    #[arg(long, value_name = "DIR", default_value = "docs/figures")]
    out: PathBuf,
    /// File whose sections are rewritten, each between its two comments
    #[arg(long, value_name = "FILE", default_value = "docs/paper.md")]
    document: PathBuf,
    /// Log of finished runs, a line each; unfinished runs are saved beside it
    #[arg(long, value_name = "FILE", default_value = "target/reproduce/figures.jsonl")]
    runs: PathBuf,
    /// Parallel runs, one thread each
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// Run nothing; only write charts and tables from finished runs
    #[arg(long)]
    draw: bool,
}

fn figure(name: &str) -> Result<&'static Figure, String> {
    let known = || FIGURES.iter().map(|figure| figure.key).collect::<Vec<_>>().join(", ");
    Figure::by_key(name).ok_or_else(|| format!("figures are {}", known()))
}

/// Settings common to all runs.
pub struct Setup {
    model: Architecture,
    /// Number of vectors of an envelope.
    vectors: u32,
    lot: u32,
    epochs: f64,
    tuning_epochs: f64,
    seeds: u64,
    /// Whether Figure 3 takes the best over rates.
    as_published: bool,
}

/// Output paths.
struct Places {
    out: PathBuf,
    document: PathBuf,
    runs: PathBuf,
}

/// A finished run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Record {
    name: String,
    identity: String,
    seconds: f64,
    device: String,
    result: Measured,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measured {
    Curve(Vec<Point>),
    Gradients(Vec<Spectrum>),
    Distances(Vec<Distance>),
}

impl Finished for Record {
    fn name(&self) -> &str {
        &self.name
    }

    fn identity(&self) -> &str {
        &self.identity
    }
}

/// Runs what is missing from the log; writes charts, tables and sections after every run.
///
/// # Errors
/// If there are no digits, a run fails, or a file cannot be read or written.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let digits = match &arguments.data {
        Some(folder) => own_files::load(folder).map_err(|fault| format!("--data {}: {fault}", folder.display()))?,
        None => mnist::locate_or_download()?.digits,
    };
    let tuning_epochs = arguments.tuning_epochs.unwrap_or(arguments.epochs);
    for (name, epochs) in [("--epochs", arguments.epochs), ("--tuning-epochs", tuning_epochs)] {
        if !(epochs > 0.0 && epochs <= 1e4) {
            return Err(format!("{name} is {epochs}; it must be above 0 and at most 10000").into());
        }
    }
    if arguments.seeds == 0 || arguments.jobs == 0 {
        return Err("--seeds and --jobs must be at least 1".into());
    }
    let setup = Setup {
        model: Architecture::CnnRelu,
        vectors: 1000,
        lot: 256,
        epochs: arguments.epochs,
        tuning_epochs,
        seeds: arguments.seeds,
        as_published: arguments.as_published,
    };
    let places =
        Places { out: arguments.out.clone(), document: arguments.document.clone(), runs: arguments.runs.clone() };
    let chosen: Vec<&'static Figure> =
        if arguments.figures.is_empty() { FIGURES.iter().collect() } else { arguments.figures.clone() };
    let workshop = FigureContext::open(setup, places, digits, arguments.draw).map_err(|e| e.to_string())?;
    workshop.reproduce(&chosen, arguments.jobs).map_err(|e| e.to_string())?;
    Ok(())
}

/// Returns the number of steps of `epochs` epochs.
fn steps(epochs: f64, examples: usize, lot: u32) -> u64 {
    (epochs * examples as f64 / f64::from(lot)).round().max(1.0) as u64
}

impl Setup {
    fn trial(&self, cell: Cell, rate: f64, steps: u64, seed: u64, held_out: bool) -> Trial {
        let Cell { method, scale, .. } = cell;
        let (averaging, reading) = method.reading();
        let config = RunConfig {
            model: self.model,
            encoder: method.encoder(self.vectors),
            noise: method.noise(scale),
            denoiser: method.denoiser(),
            lot: self.lot,
            learning_rate: rate,
            averaging,
            reading,
            steps: Some(steps),
            init_seed: seed,
            // Replayed, so that anyone can repeat it; the stated ε assumes the system's randomness.
            replay: Some(seed),
            ..RunConfig::default()
        };
        let held = if held_out { ", held out" } else { "" };
        Trial { name: format!("{}, scale {scale}, rate {rate}, seed {seed}{held}", method.key), config, held_out }
    }

    fn epochs(&self, figure: &Figure) -> f64 {
        figure.epochs.unwrap_or(self.epochs)
    }

    /// Returns a cell's runs, one per seed; `None` until its rate is tuned.
    pub fn trials(
        &self,
        figure: &Figure,
        cell: Cell,
        rates: &BTreeMap<&'static str, Tuned>,
        examples: usize,
    ) -> Option<Vec<Trial>> {
        let rate = rates.get(cell.rate.owner(cell.method).key)?.rate() * cell.rate.factor();
        let steps = steps(self.epochs(figure), examples, self.lot);
        Some((1..=self.seeds).map(|seed| self.trial(cell, rate, steps, seed, false)).collect())
    }

    /// Returns the run by which cells are compared to choose the best.
    pub fn held_out(
        &self,
        figure: &Figure,
        cell: Cell,
        rates: &BTreeMap<&'static str, Tuned>,
        examples: usize,
    ) -> Option<Trial> {
        let rate = rates.get(cell.rate.owner(cell.method).key)?.rate() * cell.rate.factor();
        // The training images that `Data::of` leaves.
        let examples = examples - examples / trial::HELD_OUT;
        let steps = steps(self.epochs(figure), examples, self.lot);
        Some(self.trial(cell, rate, steps, TUNING_SEED, true))
    }

    /// Returns the run whose gradients are measured.
    pub fn vectors_trial(
        &self,
        figure: &Figure,
        rates: &BTreeMap<&'static str, Tuned>,
        examples: usize,
    ) -> Option<Trial> {
        let method = figure.methods().next()?;
        let cell = Cell { method, scale: method.scales[EQUAL], rate: Rate::Own };
        let rate = rates.get(method.key)?.rate();
        let (what, epochs) = match figure.view {
            View::Gradients => ("gradients".to_owned(), self.epochs(figure)),
            View::Distances => {
                let divergences = vectors::DIVERGENCES.map(|divergence| divergence.to_string()).join(" ");
                let (vectors, seeds) = (self.vectors, self.seeds);
                (format!("distances at {divergences}, {vectors} vectors, {seeds} draws"), 1.0)
            }
            _ => return None,
        };
        let trial = self.trial(cell, rate, steps(epochs, examples, self.lot), 1, false);
        Some(Trial { name: format!("{what}: {}", trial.name), ..trial })
    }
}

/// Measures, and writes the results.
struct FigureContext {
    setup: Setup,
    places: Places,
    data: Data,
    /// Only draw; run nothing.
    draw: bool,
    device: String,
    log: Mutex<ResultsLog<Record>>,
    prices: Mutex<Prices>,
    bars: MultiProgress,
}

/// Ignores poisoning: a panic in another thread ends the program anyway.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `f` on every item in order, on `jobs` threads. Stops at the first error and returns it.
fn each<T: Sync>(jobs: usize, items: &[T], f: impl Fn(&T) -> Result<(), Fault> + Sync) -> Result<(), Fault> {
    let (next, fault) = (AtomicUsize::new(0), Mutex::new(None));
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(items.len()) {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(error) = f(item) {
                        lock(&fault).get_or_insert(error);
                    }
                    if lock(&fault).is_some() {
                        break;
                    }
                }
            });
        }
    });
    let fault = lock(&fault).take();
    fault.map_or(Ok(()), Err)
}

impl FigureContext {
    fn open(setup: Setup, places: Places, digits: Digits, draw: bool) -> Result<Self, Fault> {
        let log = Mutex::new(ResultsLog::open(places.runs.clone())?);
        let device = CpuEngine::describe(Performance { chunk: None, threads: Some(1) }).device;
        let (data, prices, bars) = (Data::new(digits), Mutex::default(), MultiProgress::new());
        Ok(Self { setup, places, data, draw, device, log, prices, bars })
    }

    fn reproduce(&self, figures: &[&'static Figure], jobs: usize) -> Result<(), Fault> {
        let mut owners: Vec<&'static Method> = vec![];
        for owner in figures.iter().flat_map(|figure| figure.tuned()) {
            if owners.iter().all(|other| other.key != owner.key) {
                owners.push(owner);
            }
        }
        let rates = Mutex::new(BTreeMap::new());
        each(jobs, &owners, |method| {
            if let Some(tuned) = self.tune(method)? {
                lock(&rates).insert(method.key, tuned);
            }
            Ok(())
        })?;
        let rates = rates.into_inner().unwrap_or_else(PoisonError::into_inner);

        let work = self.work(figures, &rates);
        let total = self.bars.add(ProgressBar::new(work.len() as u64));
        total.set_style(ProgressStyle::with_template("runs {bar:40} {pos}/{len} {elapsed}/{duration}")?);
        let writing = Mutex::new(());
        if !self.draw {
            each(jobs, &work, |(view, trial)| {
                let new = self.known(trial).is_none();
                self.obtain(*view, trial)?;
                total.inc(1);
                if new {
                    let _one = lock(&writing);
                    self.write(figures, &rates)?;
                }
                Ok(())
            })?;
        }
        total.finish_and_clear();
        self.write(figures, &rates)
    }

    /// Returns the runs without repeats, sorted by seed, own rates before others, then by scale.
    fn work(&self, figures: &[&'static Figure], rates: &BTreeMap<&'static str, Tuned>) -> Vec<(View, Trial)> {
        let examples = self.data.whole.train.len();
        let mut work: Vec<((u64, bool, bool), View, Trial)> = vec![];
        for figure in figures {
            if matches!(figure.view, View::Gradients | View::Distances) {
                let trial = self.setup.vectors_trial(figure, rates, examples);
                work.extend(trial.map(|trial| ((1, false, false), figure.view, trial)));
                continue;
            }
            for cell in figure.cells(self.setup.as_published) {
                let (far, foreign) = (cell.scale != cell.method.scales[EQUAL], cell.rate != Rate::Own);
                for trial in self.setup.trials(figure, cell, rates, examples).unwrap_or_default() {
                    work.push(((trial.config.init_seed, foreign, far), figure.view, trial));
                }
                if figure.view == View::BestByEpsilon {
                    let trial = self.setup.held_out(figure, cell, rates, examples);
                    work.extend(trial.map(|trial| ((1, foreign, far), figure.view, trial)));
                }
            }
        }
        work.sort_by_key(|(order, ..)| *order);
        let mut seen = BTreeSet::new();
        work.retain(|(_, _, trial)| seen.insert((trial.name.clone(), trial.identity(&self.data))));
        work.into_iter().map(|(_, view, trial)| (view, trial)).collect()
    }

    /// Tunes a method's rate at the scale of equal ε; `None` if only drawing and a run is missing.
    fn tune(&self, method: &'static Method) -> Result<Option<Tuned>, Fault> {
        let train = self.data.of(true).0.len();
        let steps = steps(self.setup.tuning_epochs, train, self.setup.lot);
        let cell = Cell { method, scale: method.scales[EQUAL], rate: Rate::Own };
        let tuned = Tuned::climb(method.first_rate(), |exponent| {
            let trial = self.setup.trial(cell, rates::rate(exponent), steps, TUNING_SEED, true);
            if self.draw && self.known(&trial).is_none() {
                return Err(None);
            }
            match self.obtain(View::AccuracyByStep, &trial).map_err(Some)? {
                Measured::Curve(points) => Ok(points.last().map_or(0.0, |point| point.accuracy)),
                _ => Err(Some("a tuning run gave no curve".into())),
            }
        });
        match tuned {
            Ok(tuned) => Ok(Some(tuned)),
            Err(None) => Ok(None),
            Err(Some(fault)) => Err(fault),
        }
    }

    /// Returns the result of a finished run.
    fn known(&self, trial: &Trial) -> Option<Measured> {
        lock(&self.log).get(&trial.name, &trial.identity(&self.data)).map(|record| record.result.clone())
    }

    /// Returns a run's result from the log, or runs it and adds it to the log.
    fn obtain(&self, view: View, trial: &Trial) -> Result<Measured, Fault> {
        if let Some(known) = self.known(trial) {
            return Ok(known);
        }
        let bar = self.bars.add(ProgressBar::new(trial.steps()));
        bar.set_style(ProgressStyle::with_template("{msg} {bar:40} {pos}/{len} {elapsed}/{duration}")?);
        bar.set_message(trial.name.clone());
        let start = std::time::Instant::now();
        let seconds = || start.elapsed().as_secs_f64();
        let (result, seconds) = match view {
            View::Gradients => (Measured::Gradients(vectors::gradients(trial, &self.data, &bar)?), seconds()),
            View::Distances => {
                let encoder = Method::by_key("gaussian").encoder(self.setup.vectors);
                let found = vectors::distances(trial, &encoder, self.setup.seeds, &self.data, &bar)?;
                (Measured::Distances(found), seconds())
            }
            _ => {
                let folder = self.places.runs.parent().map(|folder| folder.join("unfinished"));
                let mut training = Training::open(trial, &self.data, folder.as_deref())?;
                while training.advance(&bar)?.is_some() {}
                let (points, seconds) = training.finish();
                (Measured::Curve(points), seconds)
            }
        };
        bar.finish_and_clear();
        let end = match &result {
            Measured::Curve(points) => points.last().map(|point| format!(": {:.2} %", 100.0 * point.accuracy)),
            _ => None,
        };
        self.bars.suspend(|| eprintln!("{}{}, {seconds:.0} s", trial.name, end.unwrap_or_default()));
        let (name, identity, device) = (trial.name.clone(), trial.identity(&self.data), self.device.clone());
        lock(&self.log).keep(Record { name, identity, seconds, device, result: result.clone() })?;
        Ok(result)
    }

    /// Writes charts, tables and the document's sections from finished runs.
    fn write(&self, figures: &[&'static Figure], rates: &BTreeMap<&'static str, Tuned>) -> Result<(), Fault> {
        let unwritten = |path: &Path| {
            let path = path.display().to_string();
            move |e: std::io::Error| format!("cannot write {path}: {e}")
        };
        std::fs::create_dir_all(&self.places.out).map_err(unwritten(&self.places.out))?;
        let document = &self.places.document;
        let mut text = match std::fs::read_to_string(document) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => "# The paper, measured\n".to_owned(),
            Err(error) => return Err(format!("cannot read {}: {error}", document.display()).into()),
        };
        for figure in figures {
            let measured = |trial: &Trial| self.known(trial);
            let mut prices = lock(&self.prices);
            let train = &self.data.whole.train;
            let mut source = Origin { setup: &self.setup, train, rates, measured: &measured, prices: &mut prices };
            let panels = source.panels(figure)?;
            for panel in panels.iter().filter(|panel| !panel.is_empty()) {
                for (kind, content) in [("csv", panel.csv()), ("svg", panel.svg())] {
                    let path = self.places.out.join(format!("{}.{kind}", panel.key));
                    std::fs::write(&path, content).map_err(unwritten(&path))?;
                }
            }
            let section = self.section(figure, rates, &panels);
            text = sections::with_section(&text, &format!("figure-{}", figure.key), figure.title, &section)
                .map_err(|why| format!("{}: {why}", document.display()))?;
        }
        if let Some(folder) = document.parent() {
            std::fs::create_dir_all(folder).map_err(unwritten(folder))?;
        }
        Ok(std::fs::write(document, text).map_err(unwritten(document))?)
    }

    /// Returns the text of a figure's section.
    fn section(&self, figure: &'static Figure, rates: &BTreeMap<&'static str, Tuned>, panels: &[Panel]) -> String {
        let work = self.work(&[figure], rates);
        let done = work.iter().filter(|(_, trial)| self.known(trial).is_some()).count();
        let Setup { model, lot, tuning_epochs, vectors, .. } = &self.setup;
        let tuned = figure.tuned().iter().all(|method| rates.contains_key(method.key));
        let finished = if tuned {
            format!("{done} of {} runs are finished", work.len())
        } else {
            format!("{done} runs are finished, and not all rates are tuned")
        };
        let mut out = format!(
            "Written by `hushgrad reproduce figures{} --figure {}`: {finished}. {}, {model}, lot {lot}, {} epochs, \
             envelopes of {vectors} vectors; ε at δ = 1e-5. Rates are powers of two, tuned by {tuning_epochs} epochs (one seed) on held-out training images.\n\n",
            if self.setup.as_published { " --as-published" } else { "" },
            figure.key,
            self.data.whole.train.name,
            self.setup.epochs(figure),
        );
        out.push_str(&views::rates_table(figure, rates));
        let folder = self.places.document.parent().unwrap_or(Path::new(""));
        for panel in panels {
            out.push('\n');
            out.push_str(&panel.table());
            if let (false, Ok(place)) = (panel.is_empty(), self.places.out.strip_prefix(folder)) {
                let place = place.join(format!("{}.svg", panel.key));
                out.push_str(&format!("\n![{}]({})\n", panel.title, place.display()));
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hushgrad::data::synthetic;

    fn places(folder: &Path) -> Places {
        Places {
            out: folder.join("docs").join("figures"),
            document: folder.join("docs").join("paper.md"),
            runs: folder.join("runs.jsonl"),
        }
    }

    fn workshop(folder: &Path, draw: bool) -> FigureContext {
        let (model, as_published) = (Architecture::Linear, true);
        let setup = Setup { model, vectors: 2, lot: 60, epochs: 2.0, tuning_epochs: 1.0, seeds: 2, as_published };
        FigureContext::open(setup, places(folder), synthetic::digits(1, 240, 60), draw).unwrap()
    }

    #[test]
    fn every_figure_is_run_drawn_and_written_and_then_found_again() {
        let folder = std::env::temp_dir().join(format!("hushgrad-figures-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let figures: Vec<&'static Figure> = FIGURES.iter().collect();

        // Without runs, an empty log gives empty figures.
        workshop(&folder, true).reproduce(&figures, 1).unwrap();
        let empty = std::fs::read_to_string(folder.join("docs").join("paper.md")).unwrap();
        assert!(empty.contains("Not yet run.") && !empty.contains("!["), "{empty}");
        assert_eq!(std::fs::read_dir(folder.join("docs").join("figures")).unwrap().count(), 0);

        workshop(&folder, false).reproduce(&figures, 2).unwrap();
        let text = std::fs::read_to_string(folder.join("docs").join("paper.md")).unwrap();
        assert!(!text.contains("Not yet run."), "{text}");
        for figure in &figures {
            let (open, title) = (format!("<!-- figure-{} -->", figure.key), format!("## {}", figure.title));
            assert_eq!((text.matches(&open).count(), text.matches(&title).count()), (1, 1), "{open}");
        }
        let pictures: Vec<&str> = text.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
        assert!(pictures.len() >= 12, "{pictures:?}");
        for picture in pictures {
            let path = folder.join("docs").join(picture);
            let svg = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{picture}: {e}"));
            assert!(svg.contains("</svg>") && svg.contains(r#"<path class="line-"#), "{picture}");
            let csv = std::fs::read_to_string(path.with_extension("csv")).unwrap();
            assert!(csv.lines().count() > 1 && csv.lines().all(|line| !line.contains("NaN")), "{csv}");
        }
        let counted: Vec<(&str, &str)> = text
            .split("`: ")
            .skip(1)
            .filter_map(|rest| rest.split(" runs are finished").next()?.split_once(" of "))
            .collect();
        assert_eq!(counted.len(), figures.len(), "{counted:?}");
        assert!(counted.iter().all(|(done, all)| done == all && *all != "0"), "{counted:?}");

        // Once more: nothing runs, and the output is the same.
        let lines = std::fs::read_to_string(folder.join("runs.jsonl")).unwrap();
        workshop(&folder, false).reproduce(&figures, 1).unwrap();
        assert_eq!(std::fs::read_to_string(folder.join("runs.jsonl")).unwrap(), lines);
        assert_eq!(std::fs::read_to_string(folder.join("docs").join("paper.md")).unwrap(), text);

        // One run is missing: only that one is repeated.
        let mut kept: Vec<&str> = lines.lines().filter(|line| !line.is_empty()).collect();
        let lost = kept.remove(kept.len() / 2);
        std::fs::write(folder.join("runs.jsonl"), kept.join("\n")).unwrap();
        workshop(&folder, false).reproduce(&figures, 1).unwrap();
        let again = std::fs::read_to_string(folder.join("runs.jsonl")).unwrap();
        let result = |line: &str| serde_json::from_str::<Record>(line).unwrap().result;
        let last = again.lines().rfind(|line| !line.is_empty()).unwrap();
        assert_eq!(again.lines().filter(|line| !line.is_empty()).count(), kept.len() + 1);
        assert_eq!(result(last), result(lost));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn work_stops_at_the_first_fault_and_returns_it() {
        let done = AtomicUsize::new(0);
        let fault = each(2, &[1, 2, 3, 4, 5, 6, 7, 8], |&item| {
            done.fetch_add(1, Ordering::Relaxed);
            if item == 3 { Err("three".into()) } else { Ok(()) }
        });
        assert_eq!(fault.unwrap_err().to_string(), "three");
        assert!(done.load(Ordering::Relaxed) < 8);
        assert!(each(3, &[] as &[u8], |_| Ok(())).is_ok());
    }

    #[test]
    fn test_images_do_not_affect_choices() {
        let folder = std::env::temp_dir().join(format!("hushgrad-choice-{}", std::process::id()));
        let workshop = workshop(&folder, true);
        let rates = BTreeMap::from([("dp-sgd", Tuned { tried: BTreeMap::from([(-1, 0.9)]) })]);
        let figure = Figure::by_key("3").unwrap();
        let cell = figure.cells(true)[0];
        let held = workshop.setup.held_out(figure, cell, &rates, 240).unwrap();
        assert!(held.held_out && held.config.steps == Some(7) && held.config.init_seed == TUNING_SEED);
        let trials = workshop.setup.trials(figure, cell, &rates, 240).unwrap();
        assert!(trials.iter().all(|trial| !trial.held_out && trial.config.init_seed != TUNING_SEED));
        assert_eq!(trials[0].config.learning_rate, 0.5);
        let other = Cell { method: Method::by_key("laplace"), ..cell };
        assert!(workshop.setup.trials(figure, other, &rates, 240).is_none());
    }
}
