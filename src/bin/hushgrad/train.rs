//! `hushgrad train`: trains with a progress bar, or with a line of JSON per report.

pub mod flags;
mod keep;
pub mod kept_books;
pub mod kept_file;
mod lock;
pub mod said;
pub mod setting_flags;
pub mod settings;
mod signals;

use std::{
    error::Error,
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use clap::ValueEnum;
use hushgrad::{
    accounting::pld::Tight,
    data::{
        self, Digits,
        sharing::{Sharing, SharingError},
    },
    engine::{AnyEngine, Engine as _, EngineFactory},
    train::{
        config::{Minority, RunConfig},
        plan::Plan,
        report::Report,
        session::Session,
    },
};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::dataset;

use self::{
    flags::Flags,
    keep::{Files, Keep, Resumed},
    said::{Promise, count, tell},
    settings::Sizes,
    signals::{Signal, Signals},
};

/// Training images of MNIST, and of the synthetic digits that replace it.
pub const EXAMPLES: usize = 60_000;

/// What a run is computed on.
#[derive(clap::Args)]
pub struct Machine {
    /// Where to compute
    #[arg(long, value_enum, default_value_t = Backend::Cpu)]
    backend: Backend,
    /// Graphics adapter: its number or part of its name in `hushgrad adapters` [default: the
    /// system's choice]. With --backend burn: flex (the processor, the default) or wgpu
    #[arg(long, value_name = "ADAPTER")]
    adapter: Option<String>,
    /// CPU threads [default: all]
    #[arg(long)]
    threads: Option<u32>,
}

impl Machine {
    /// Returns the factory of this machine's engines.
    ///
    /// # Errors
    /// A sentence that says what to change.
    pub async fn factory(&self) -> Result<EngineFactory, Box<dyn Error>> {
        let mut factory = match (self.backend, &self.adapter) {
            (Backend::Cpu, None) => EngineFactory::cpu(),
            (Backend::Cpu, Some(_)) => return Err("--adapter needs --backend gpu or burn".into()),
            (Backend::Gpu, None) => EngineFactory::gpu_checked().await?,
            (Backend::Gpu, Some(adapter)) => EngineFactory::gpu_called(adapter).await?,
            (Backend::Burn, device) => on_burn(device.as_deref().unwrap_or("flex")).await?,
        };
        factory.threads(self.threads);
        Ok(factory)
    }
}

/// Options beside those of a run.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    machine: Machine,
    /// Print each report as a line of JSON; no progress bar
    #[arg(long)]
    json: bool,
    /// Print the resulting configuration and exit
    #[arg(long)]
    print_config: bool,
    /// Steps between evaluations on the test set [default: an epoch]
    #[arg(long, value_name = "STEPS")]
    evaluate_every: Option<u64>,
    /// Write the ledger here (for `hushgrad account`); releases are entered before their steps run
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// Save the run here, to continue with `--resume` or on the page
    #[arg(long, value_name = "RUN")]
    out: Option<PathBuf>,
    /// Continue the run in this file, and save it there (or to `--out`); its earlier releases stay
    /// counted. `--steps` is the total
    #[arg(long, value_name = "RUN", conflicts_with_all = ["config", "preset"])]
    resume: Option<PathBuf>,
    /// Write the parameters here at the end (safetensors)
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Record the run in these books, and report what all runs on the same digits cost together;
    /// the file may be deleted if the digits are public
    #[arg(long, value_name = "FILE")]
    books: Option<PathBuf>,
    /// Keep all runs on these digits within this ε: a step that would exceed it is not taken, however
    /// the runs were chosen (a Rényi filter). Set with the first run in the books, for good
    #[arg(long, value_name = "EPSILON", requires = "books", value_parser = setting_flags::finite)]
    books_budget: Option<f64>,
    /// Replace existing files
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Backend {
    Cpu,
    Gpu,
    /// Burn's tensors
    Burn,
}

/// Returns the factory of engines over Burn, on the device of this name.
#[cfg(feature = "burn")]
async fn on_burn(device: &str) -> Result<EngineFactory, Box<dyn Error>> {
    use burn_engine::{BurnEngine, Device};
    use hushgrad::engine::Outside;

    let device = match device {
        "flex" => Device::flex(),
        // Burn panics without one.
        "wgpu" if EngineFactory::adapters().await.is_empty() => {
            return Err("--adapter wgpu: no graphics adapter was found; --adapter flex needs none".into());
        }
        "wgpu" => Device::wgpu(burn_engine::DeviceKind::DefaultDevice),
        other => return Err(format!("--adapter {other}: Burn's devices here are flex and wgpu").into()),
    };
    let info = burn_engine::info(&device);
    let build = move |task: &_, train: &hushgrad::data::Dataset, start: &[f32], performance| {
        Ok(Outside::new(BurnEngine::new(task, train.clone(), start, performance, &device)?))
    };
    Ok(EngineFactory::outside(info, Box::new(build)))
}

/// Fails: this build has no Burn.
#[cfg(not(feature = "burn"))]
async fn on_burn(_: &str) -> Result<EngineFactory, Box<dyn Error>> {
    Err("--backend burn: this build was made without Burn; build it with --features burn".into())
}

/// Trains until the planned steps are done or a signal arrives.
///
/// # Errors
/// A sentence that says what to change.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    if arguments.print_config {
        return print_config(arguments).map(|()| ExitCode::SUCCESS);
    }
    // First, because everything else takes time.
    let files = Files::claim(arguments)?;
    let resumed = resumed(arguments)?;
    settings::check(&arguments.flags, resumed.as_ref().map(|resumed| &resumed.file))?;
    let digits = arguments.flags.images.found_for(arguments.flags.preset.is_some())?;
    let config = settings::configuration(
        &arguments.flags,
        Sizes::of(&digits.train),
        resumed.as_ref().map(|resumed| &resumed.file),
    )?;
    // A resumed run keeps the model that it began with.
    let config = if resumed.is_some() { config } else { dataset::fitted(config, &digits, arguments.flags.layers)? };
    pollster::block_on(train(arguments, config, &digits, files, resumed))
}

fn print_config(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    // The number of images is known without loading them, except from files.
    let (known, resumed) = (arguments.flags.images.known(), resumed(arguments)?);
    let file = resumed.as_ref().map(|resumed| &resumed.file);
    let config = match known.filter(|_| arguments.flags.images.dataset.is_none()) {
        Some(examples) => {
            let config = settings::configuration(&arguments.flags, Sizes { examples, users: None }, file)?;
            if config.sharing == (Sharing::UsersOfData { users: 0 }) {
                return Err(SharingError::NoUsers.into());
            }
            config
        }
        None => {
            let digits = arguments.flags.images.found()?;
            dataset::fitted(
                settings::configuration(&arguments.flags, Sizes::of(&digits.train), file)?,
                &digits,
                arguments.flags.layers,
            )?
        }
    };
    super::out::say(&serde_json::to_string_pretty(&config)?)
}

fn resumed(arguments: &Arguments) -> Result<Option<Resumed>, Box<dyn Error>> {
    arguments.resume.as_deref().map(Resumed::read).transpose()
}

/// Lists the adapters that `--adapter` selects from.
///
/// # Errors
/// If there is no adapter.
pub fn list_adapters() -> Result<(), Box<dyn Error>> {
    let adapters = pollster::block_on(EngineFactory::adapters());
    if adapters.is_empty() {
        return Err("no graphics adapter was found, or this build has no WebGPU engine".into());
    }
    let lines: Vec<String> =
        adapters.iter().enumerate().map(|(number, adapter)| format!("{number}  {adapter}")).collect();
    super::out::say(&lines.join("\n"))
}

async fn train(
    arguments: &Arguments,
    config: RunConfig,
    digits: &Digits,
    files: Files,
    mut resumed: Option<Resumed>,
) -> Result<ExitCode, Box<dyn Error>> {
    let plan = Plan::new(config, digits.train.len() as u32)?;
    let steps = plan.config.steps.ok_or("the run has no number of steps; set --steps")?;
    let every = arguments.evaluate_every.unwrap_or_else(|| plan.steps_per_epoch().round() as u64).max(1);
    let factory = arguments.machine.factory().await?;
    let seen = plan.config.minority.among(&digits.train);
    let mut engine = factory.build(&plan.task, &seen, &plan.initial_parameters()).await?;
    if !arguments.json {
        tell(&format!(
            "{} on {} ({} training, {} test images), {} parameters, {}",
            plan.config.model,
            digits.train.name,
            digits.train.len(),
            digits.test.len(),
            plan.config.model.parameters(),
            engine.info().device,
        ));
        if let Some(caution) = digits.test_set.caution() {
            tell(caution);
        }
    }
    // The engine's own info, because `--threads` may limit the factory's.
    let info = engine.info().clone();
    let mut session = match &mut resumed {
        Some(resumed) => {
            resumed.compare_digits(digits);
            let (progress, state) = resumed.stood(&files)?;
            engine.set_state(&state).await?;
            Session::resume(plan, engine, progress)?
        }
        None => Session::new(plan, engine)?,
    };
    let mut keep = Keep::begin(files, &mut session, digits, info, resumed.as_ref(), steps).await?;
    if let Some(fallback) = arguments.flags.images.fallback(digits) {
        keep.remark(fallback);
    }
    let bar = if arguments.json || !std::io::stderr().is_terminal() {
        ProgressBar::hidden()
    } else {
        ProgressBar::new(steps).with_position(session.step_count())
    };
    bar.set_style(ProgressStyle::with_template("{bar:40} {pos}/{len} {elapsed}/{duration} {msg}")?);
    let planned = Promise::of(&session, steps);
    let mut run = Run { arguments, digits, signals: Signals::listen()?, steps, planned, rest_until: None, every, bar };
    let trained = run.take_steps(&mut session, &mut keep).await;
    run.bar.finish_and_clear();
    // What the run released is written even if training failed.
    let end = match (trained, keep.finish(&mut session).await) {
        (Ok(end), Ok(())) => end,
        (Err(error), Ok(())) | (Ok(_), Err(error)) => return Err(error),
        // A full disk is reported once.
        (Err(error), Err(other)) if error.to_string() == other.to_string() => return Err(error),
        (Err(error), Err(other)) => return Err(format!("{error}; and {other}").into()),
    };
    run.say_end(&end, &session, &keep)
}

/// How a run ended.
enum End {
    /// With its last report.
    Complete(Option<Box<Report>>),
    By(Signal),
}

/// What stays constant during training.
struct Run<'a> {
    arguments: &'a Arguments,
    digits: &'a Digits,
    signals: Signals,
    /// In the whole run.
    steps: u64,
    planned: Option<Promise>,
    /// Tight ε is not computed before this time, except at the end.
    rest_until: Option<Instant>,
    every: u64,
    bar: ProgressBar,
}

impl Run<'_> {
    async fn take_steps(&mut self, session: &mut Session<AnyEngine>, keep: &mut Keep) -> Result<End, Box<dyn Error>> {
        let mut last = None;
        if let Some(signal) = self.prepare(session).await? {
            return Ok(End::By(signal));
        }
        for step in session.step_count() + 1..=self.steps {
            if !keep.reserve(session).await? {
                let done = step - 1;
                let of = count(self.steps, "step");
                tell(&format!("ended after {done} of {of}: another step would exceed the budget of the books"));
                self.steps = done;
                return Ok(End::Complete(self.report(session, keep).await?.map(Box::new)));
            }
            session.step().await?;
            self.bar.inc(1);
            if let Some(signal) = self.signals.received() {
                return Ok(End::By(signal));
            }
            if step % self.every == 0 || step == self.steps {
                last = self.report(session, keep).await?;
                if last.is_none() {
                    return Ok(End::Complete(None));
                }
            }
        }
        if session.plan().config.minority == Minority::Turned && !self.arguments.json {
            let accuracy = session.accuracy(&self.digits.test.turned()).await?;
            self.bar.suspend(|| {
                tell(&format!("accuracy on the test images turned by a quarter: {:.2} %", 100.0 * accuracy))
            });
        }
        Ok(End::Complete(last.map(Box::new)))
    }

    /// Evaluates the model and writes a report; `None` if the reader has closed standard output.
    async fn report(
        &mut self,
        session: &mut Session<AnyEngine>,
        keep: &mut Keep,
    ) -> Result<Option<Report>, Box<dyn Error>> {
        let accuracy = session.accuracy(&self.digits.test).await?;
        let report = session.report(Some(accuracy)).await?;
        let report = Report { test_set: Some(self.digits.test_set), ..report };
        keep.note(&report);
        let ends = report.step == self.steps;
        let together = ends && self.arguments.json;
        let all_runs = if together { keep.all_runs(session.plan().config.delta)? } else { None };
        let bounds = said::Bounds { planned: self.planned, tight: self.tight(session, ends), all_runs };
        let fallback = self.arguments.flags.images.fallback(self.digits);
        let read = said::announce(self.arguments.json, &self.bar, &report, session.plan(), &bounds, fallback)?;
        Ok(read.then_some(report))
    }

    /// Computes the tight ε, at the end and otherwise with at most a twentieth of the time.
    fn tight(&mut self, session: &Session<AnyEngine>, ends: bool) -> Option<Tight> {
        let start = Instant::now();
        if !ends && self.rest_until.is_some_and(|until| start < until) {
            return None;
        }
        let account = session.account().and_then(Result::ok);
        self.rest_until = Some(Instant::now() + 19 * start.elapsed());
        account.and_then(|account| account.tight)
    }

    /// Precomputes features, if the model uses any. Returns the signal that interrupted it, if any.
    async fn prepare(&self, session: &mut Session<AnyEngine>) -> Result<Option<Signal>, Box<dyn Error>> {
        const PIECE: usize = 1024;
        let mut left = session.prepare(PIECE).await?;
        while left > 0 {
            if let Some(signal) = self.signals.received() {
                return Ok(Some(signal));
            }
            self.bar.set_message(format!("computing features, {left} images left"));
            left = session.prepare(PIECE).await?;
        }
        self.bar.set_message("");
        Ok(None)
    }

    fn say_end(&self, end: &End, session: &Session<AnyEngine>, keep: &Keep) -> Result<ExitCode, Box<dyn Error>> {
        match end {
            End::Complete(Some(report)) if !self.arguments.json => said::explain(report, session),
            End::Complete(_) => {}
            End::By(signal) => {
                let (name, step) = (signal.name(), session.step_count());
                let kept = if keep.keeps() { "all releases are written" } else { "no record of the run is kept" };
                let spent = said::spent(&session.privacy()?);
                let planned = self.planned.map(|planned| planned.in_words(step)).unwrap_or_default();
                let of = count(self.steps, "step");
                tell(&format!("ended by {name} after {step} of {of}: {spent}{planned}; {kept}"));
            }
        }
        if let Some(all) = keep.all_runs(session.plan().config.delta)?
            && !(self.arguments.json && matches!(end, End::Complete(_)))
        {
            tell(&said::together(&all));
        }
        if let Some(fallback) = self.arguments.flags.images.fallback(self.digits) {
            tell(fallback);
        }
        Ok(match end {
            End::Complete(_) => ExitCode::SUCCESS,
            End::By(signal) => ExitCode::from(signal.status()),
        })
    }
}

/// Reads labelled images from a file or a folder, with a progress bar if they are many.
///
/// # Errors
/// A file or a folder without images.
pub fn read(path: &Path) -> Result<Digits, Box<dyn Error>> {
    let bar = ProgressBar::hidden();
    let mut seen = |taken, all| {
        // Small sets load before a progress bar is useful.
        if bar.length() != Some(all) && all > 1000 && io::stderr().is_terminal() {
            bar.set_length(all);
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        bar.set_position(taken);
    };
    let digits = data::own_files::load_telling(path, &mut seen);
    bar.finish_and_clear();
    Ok(digits.map_err(|fault| {
        let text = fault.to_string();
        // A fault of the file itself begins with its name.
        let name = path.file_name().map_or_else(String::new, |name| format!("{}: ", name.to_string_lossy()));
        format!("{}: {}", path.display(), text.strip_prefix(&name).unwrap_or(&text))
    })?)
}

/// Loads labelled images from a file or a folder; without a path MNIST, else synthetic digits.
///
/// # Errors
/// As [`read`].
pub fn found(path: Option<&Path>, synthetic: bool) -> Result<Digits, Box<dyn Error>> {
    if let Some(path) = path {
        let digits = read(path).map_err(|fault| format!("--data {fault}"))?;
        digits.remarks().into_iter().for_each(|remark| tell(&remark.to_string()));
        return Ok(digits);
    }
    if !synthetic {
        match data::mnist::locate_or_download() {
            Ok(found) => return Ok(found.digits),
            Err(error @ data::mnist::MnistError::MnistDir { .. }) => return Err(error.into()),
            Err(error) => tell(&format!("MNIST was not found ({error}); training on synthetic digits.")),
        }
    }
    Ok(data::synthetic::digits(0, EXAMPLES, 10_000))
}
