//! `hushgrad train`: a session with a progress bar, or with a line of JSON a report.

mod keep;
pub mod kept_books;
pub mod kept_file;
mod lock;
pub mod said;
pub mod settings;
mod signals;

use std::{
    error::Error,
    io::IsTerminal as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::ValueEnum;
use hushgrad::{
    data::{self, Digits},
    engine::{AnyEngine, Engine as _, EngineFactory},
    train::{
        config::{Minority, RunConfig},
        phases::Phases,
        plan::Plan,
        presets::Preset,
        report::Report,
        session::Session,
    },
};
use indicatif::{ProgressBar, ProgressStyle};

use self::{
    keep::{Files, Keep, Resumed},
    said::{count, tell},
    signals::{Signal, Signals},
};
use super::density;

/// Training images of MNIST, and of the digits that are drawn in its place.
const EXAMPLES: usize = 60_000;

/// Options; each that is given changes the configuration of `--config` or `--preset` (or the defaults).
#[derive(clap::Args)]
pub struct Arguments {
    /// Configuration as JSON (`--print-config` shows one)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A ready-made run, as the page offers it
    #[arg(long, value_name = "NAME", conflicts_with = "config", value_parser = settings::preset)]
    preset: Option<Preset>,
    /// Folder with IDX files, plain or gzip; else MNIST is looked for, else digits are drawn
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Train on the built-in synthetic digits
    #[arg(long, conflicts_with = "data")]
    synthetic: bool,
    /// What computes
    #[arg(long, value_enum, default_value_t = Backend::Cpu)]
    backend: Backend,
    /// Graphics adapter: a number of `hushgrad adapters`, or a part of a name there [default: the system's choice]
    #[arg(long, value_name = "ADAPTER")]
    adapter: Option<String>,
    /// CPU threads [default: all]
    #[arg(long)]
    threads: Option<u32>,
    /// A line of JSON a report on standard output, no progress bar
    #[arg(long)]
    json: bool,
    /// Print the configuration that would run, and stop
    #[arg(long)]
    print_config: bool,
    /// Steps between evaluations on the test set [default: an epoch]
    #[arg(long, value_name = "STEPS")]
    evaluate_every: Option<u64>,
    /// Keep the ledger here (`hushgrad account` reads it): what steps release is written before they run
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// Keep the run here, as the page's run files, to go on with by `--resume` or there
    #[arg(long, value_name = "RUN")]
    out: Option<PathBuf>,
    /// Go on with the run in this file, and keep it there (or in `--out`); its releases stay in its books. `--steps` is their number in all
    #[arg(long, value_name = "RUN", conflicts_with_all = ["config", "preset"])]
    resume: Option<PathBuf>,
    /// Write the parameters here at the end (safetensors)
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Enter the run here, and say what all runs on the same digits cost together; the file may be removed where digits are public
    #[arg(long, value_name = "FILE")]
    books: Option<PathBuf>,
    /// Replace files that are there
    #[arg(long)]
    force: bool,

    #[arg(long, value_enum)]
    model: Option<settings::Model>,
    /// How one example's gradient is bounded
    #[arg(long, value_enum)]
    encoder: Option<settings::Encoder>,
    /// Clipping norm C; of layers, that of all together
    #[arg(long, value_name = "C")]
    clip: Option<f64>,
    /// A clipping norm for each layer, from the first to the last
    #[arg(long, value_name = "C,…", value_delimiter = ',', conflicts_with = "clip")]
    layer_norms: Option<Vec<f64>>,
    /// Whether each layer is clipped by itself
    #[arg(long, value_enum)]
    clipping: Option<settings::LayersClipped>,
    /// How noise is shared out over the layers; ε is the same
    #[arg(long, value_enum)]
    layer_noise: Option<settings::LayerNoise>,
    /// The clip follows a quantile of the gradients' norms, which is released with each step; --clip is where it begins. ε is that of the noise
    /// multiplier all the same: the gradient gets a little more noise
    #[arg(long)]
    adaptive_clip: bool,
    /// Share of the norms that are to be within the clip
    #[arg(long, value_name = "SHARE")]
    clip_quantile: Option<f64>,
    /// Noise on the number of norms within the clip, as a share of the lot
    #[arg(long, value_name = "SHARE")]
    clip_count_noise: Option<f64>,
    /// Release the accuracy on the training digits, and their classes, with each step, with noise of this share of the lot (0.05); paid for as the
    /// adaptive clip is
    #[arg(long, value_name = "SHARE", num_args = 0..=1, default_missing_value = "0.05")]
    metrics: Option<f64>,
    /// Vectors in the envelope
    #[arg(long, value_name = "N")]
    vectors: Option<u32>,
    /// Factor on gradients before they meet the envelope
    #[arg(long)]
    pre_scale: Option<f64>,
    /// Noise family; its scale is relative to the norm of the encoder
    #[arg(long, value_enum, conflicts_with_all = ["noise_table", "noise_formula"])]
    noise: Option<settings::Family>,
    #[command(flatten)]
    density: density::OwnDensity,
    /// Scale of the noise: σ of a Gaussian, s of Student's t, a factor on x of a density of your own
    #[arg(long, value_name = "SCALE")]
    sigma: Option<f64>,
    /// Degrees of freedom of Student's t
    #[arg(long)]
    nu: Option<f64>,
    /// Exponent of the generalised Gaussian, exp(−|x/s|^EXPONENT): at least 1
    #[arg(long)]
    exponent: Option<f64>,
    /// Round gradients, sums and noise to a grid this many bits below the noise's scale, and count in ε what low bits of noise tell (CPU; 10, say)
    #[arg(long, value_name = "BITS")]
    grid_bits: Option<u32>,
    /// What is done to the noisy sum before it moves the model; it costs no privacy
    #[arg(long, value_enum)]
    denoiser: Option<settings::Denoise>,
    /// The same as --denoiser kolmogorov-smirnov
    #[arg(long, conflicts_with = "denoiser")]
    denoise: bool,
    /// Strength of --denoiser laplacian-smoothing [default: 3]
    #[arg(long)]
    smoothing: Option<f64>,
    /// What --denoiser low-pass or kalman keeps of the steps before [default: 0.9]
    #[arg(long)]
    memory: Option<f64>,
    /// Expected examples a step
    #[arg(long)]
    lot: Option<u32>,
    /// How the examples of a step are chosen, and priced
    #[arg(long, value_enum)]
    sampling: Option<settings::Sampling>,
    /// Examples that are averaged before their mean is bounded, on average; 1: each alone
    #[arg(long, value_name = "EXAMPLES")]
    micro_batch: Option<u32>,
    /// What ε is of where there are micro-batches [default: example]
    #[arg(long, value_enum)]
    protects: Option<settings::Protected>,
    /// Users who hold the examples; lots are then of users, and ε is of one with all their examples; 0: none
    #[arg(long, value_name = "N", conflicts_with = "micro_batch")]
    users: Option<u32>,
    /// How alike users are: α of a Dirichlet distribution of digits [default: 100]
    #[arg(long, value_name = "ALPHA")]
    user_skew: Option<f64>,
    /// Public seed of who holds what [default: 0]
    #[arg(long, value_name = "SEED")]
    user_seed: Option<u64>,
    /// Steps that a drawn user takes alone (federated averaging); 1 is federated SGD [default: 1]
    #[arg(long, value_name = "E")]
    local_steps: Option<u32>,
    /// Learning rate of a user's own steps; --lr is then that of the server [default: 0.2]
    #[arg(long, value_name = "RATE")]
    local_rate: Option<f64>,
    /// Steps over which Gaussian noise is correlated (banded square root); examples are sampled from as many groups that take turns
    #[arg(long, value_name = "STEPS")]
    bands: Option<u32>,
    /// Learning rate, applied to sum/lot
    #[arg(long = "lr", value_name = "RATE")]
    learning_rate: Option<f64>,
    /// Learning rate falls in a line to this share of itself
    #[arg(long, value_name = "SHARE")]
    decay_to: Option<f64>,
    /// Another noise in every phase: a rule (time, exponential, step or polynomial) with the number of phases and the last one's noise as a multiple of the first
    /// one's, as in "exponential 6 0.5"; or a list, as in "200; 200 noise 0.7 rate 0.5; 100 laplace lot 512"
    #[arg(long)]
    phases: Option<Phases>,
    #[arg(long)]
    momentum: Option<f64>,
    /// Training images made unlike the others, each by itself before anything else: ε is as without it [default: none]
    #[arg(long, value_enum)]
    minority: Option<settings::Unlike>,
    /// Each gradient is the mean over this many copies of the image, moved differently; 1: the image alone
    #[arg(long, value_name = "K")]
    copies: Option<u32>,
    /// Pixels by which a copy is moved at most [default: 1]
    #[arg(long, value_name = "PIXELS", requires = "copies")]
    reach: Option<u32>,
    /// [default: an epoch]
    #[arg(long, conflicts_with = "epochs")]
    steps: Option<u64>,
    /// Epochs (examples / lot steps each; where they are shuffled, as many as there are batches)
    #[arg(long)]
    epochs: Option<f64>,
    #[arg(long)]
    delta: Option<f64>,
    /// Parameters before the first step
    #[arg(long, value_enum)]
    start: Option<settings::StartFrom>,
    /// Test-time augmentation: where the model is less than 99 % sure of an image, it decides by the mean over that image moved by a pixel to each side, too
    #[arg(long, alias = "second-look")]
    test_time_augmentation: bool,
    /// Read images with a mean of the parameters, over the last ninth of the steps (exponential, over 1000 at most), and not with the last
    #[arg(long)]
    average: bool,
    /// Seed of a random start
    #[arg(long)]
    init_seed: Option<u64>,
    /// Replay sampling and noise from this seed: reproducible, and without any guarantee
    #[arg(long, value_name = "SEED")]
    replay: Option<u64>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Backend {
    Cpu,
    Gpu,
}

/// Trains until the planned steps are done, or a signal ends it.
///
/// # Errors
/// With a sentence that says what to change.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    if arguments.print_config {
        return print_config(arguments).map(|()| ExitCode::SUCCESS);
    }
    // Before anything takes time.
    let files = Files::claim(arguments)?;
    let resumed = resumed(arguments)?;
    let digits = digits(arguments)?;
    let config = settings::configuration(arguments, digits.train.len(), resumed.as_ref().map(|resumed| &resumed.file))?;
    pollster::block_on(train(arguments, config, &digits, files, resumed))
}

fn print_config(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    // How many there are is known without them, but of files.
    let examples = match &arguments.data {
        Some(_) => digits(arguments)?.train.len(),
        None => EXAMPLES,
    };
    let resumed = resumed(arguments)?;
    let config = settings::configuration(arguments, examples, resumed.as_ref().map(|resumed| &resumed.file))?;
    super::account::say(&serde_json::to_string_pretty(&config)?)
}

fn resumed(arguments: &Arguments) -> Result<Option<Resumed>, Box<dyn Error>> {
    arguments.resume.as_deref().map(Resumed::read).transpose()
}

/// Prints what `--adapter` chooses from.
///
/// # Errors
/// When there is no adapter.
pub fn list_adapters() -> Result<(), Box<dyn Error>> {
    let adapters = pollster::block_on(EngineFactory::adapters());
    if adapters.is_empty() {
        return Err("there is no graphics adapter here, or this build was made without the WebGPU engine".into());
    }
    let lines: Vec<String> =
        adapters.iter().enumerate().map(|(number, adapter)| format!("{number}  {adapter}")).collect();
    super::account::say(&lines.join("\n"))
}

async fn train(
    arguments: &Arguments,
    config: RunConfig,
    digits: &Digits,
    files: Files,
    mut resumed: Option<Resumed>,
) -> Result<ExitCode, Box<dyn Error>> {
    let plan = Plan::new(config, digits.train.len() as u32)?;
    let steps = plan.config.steps.ok_or("a configuration of the tool has an end")?;
    let every = arguments.evaluate_every.unwrap_or_else(|| plan.steps_per_epoch().round() as u64).max(1);
    let mut factory = match (arguments.backend, &arguments.adapter) {
        (Backend::Cpu, None) => EngineFactory::cpu(),
        (Backend::Cpu, Some(_)) => return Err("--adapter needs --backend gpu".into()),
        (Backend::Gpu, None) => EngineFactory::gpu_checked().await?,
        (Backend::Gpu, Some(adapter)) => EngineFactory::gpu_called(adapter).await?,
    };
    factory.threads(arguments.threads);
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
            factory.info().device,
        ));
        if let Some(caution) = digits.test_set.caution() {
            tell(caution);
        }
    }
    let mut session = match &mut resumed {
        Some(resumed) => {
            resumed.compare_digits(digits);
            let (progress, state) = resumed.stood(&files)?;
            engine.set_state(&state).await?;
            Session::resume(plan, engine, progress)?
        }
        None => Session::new(plan, engine)?,
    };
    let mut keep = Keep::begin(files, &mut session, digits, factory.info(), resumed.as_ref()).await?;
    let bar = if arguments.json || !std::io::stderr().is_terminal() {
        ProgressBar::hidden()
    } else {
        ProgressBar::new(steps).with_position(session.step_count())
    };
    bar.set_style(ProgressStyle::with_template("{bar:40} {pos}/{len} {elapsed}/{duration} {msg}")?);
    let mut run = Run { arguments, digits, signals: Signals::listen()?, steps, every, bar };
    let trained = run.take_steps(&mut session, &mut keep).await;
    run.bar.finish_and_clear();
    // Whatever became of the run, what it released stays released.
    let end = match (trained, keep.finish(&mut session).await) {
        (Ok(end), Ok(())) => end,
        (Err(error), Ok(())) | (Ok(_), Err(error)) => return Err(error),
        // One full disk is one fault.
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

/// What does not change while it trains.
struct Run<'a> {
    arguments: &'a Arguments,
    digits: &'a Digits,
    signals: Signals,
    /// Of the whole run.
    steps: u64,
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
            keep.reserve(session, self.steps).await?;
            session.step().await?;
            self.bar.inc(1);
            if let Some(signal) = self.signals.received() {
                return Ok(End::By(signal));
            }
            if step % self.every == 0 || step == self.steps {
                let accuracy = session.accuracy(&self.digits.test).await?;
                let report = session.report(Some(accuracy)).await?;
                let report = Report { test_set: Some(self.digits.test_set), ..report };
                keep.note(&report);
                let ends = self.arguments.json && step == self.steps;
                let all_runs = if ends { keep.all_runs(session.plan().config.delta)? } else { None };
                let lot = session.plan().task.expected_lot;
                said::announce(self.arguments.json, &self.bar, &report, lot, all_runs.as_ref())?;
                last = Some(report);
            }
        }
        if session.plan().config.minority == Minority::Turned && !self.arguments.json {
            let accuracy = session.accuracy(&self.digits.test.turned()).await?;
            self.bar
                .suspend(|| tell(&format!("of the test images turned a quarter it reads {:.2} %", 100.0 * accuracy)));
        }
        Ok(End::Complete(last.map(Box::new)))
    }

    /// Features of all training images, where the model takes some; the signal that ended it, if one did.
    async fn prepare(&self, session: &mut Session<AnyEngine>) -> Result<Option<Signal>, Box<dyn Error>> {
        const PIECE: usize = 1024;
        let mut left = session.prepare(PIECE).await?;
        while left > 0 {
            if let Some(signal) = self.signals.received() {
                return Ok(Some(signal));
            }
            self.bar.set_message(format!("features of {left} images to go"));
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
                let kept = if keep.keeps() { "all that was released is written" } else { "nothing is kept of the run" };
                let spent = said::spent(&session.privacy()?);
                tell(&format!("ended by {name} after {step} of {}: {spent}; {kept}", count(self.steps, "step")));
            }
        }
        if let Some(all) = keep.all_runs(session.plan().config.delta)?
            && !(self.arguments.json && matches!(end, End::Complete(_)))
        {
            tell(&said::together(&all));
        }
        Ok(match end {
            End::Complete(_) => ExitCode::SUCCESS,
            End::By(signal) => ExitCode::from(signal.status()),
        })
    }
}

fn digits(arguments: &Arguments) -> Result<Digits, Box<dyn Error>> {
    found(arguments.data.as_deref(), arguments.synthetic)
}

/// The digits in a folder; without one MNIST, where it is found, or digits that the program draws.
///
/// # Errors
/// A folder that holds none.
pub fn found(folder: Option<&Path>, synthetic: bool) -> Result<Digits, Box<dyn Error>> {
    if let Some(folder) = folder {
        return Ok(data::mnist::load_any(folder).map_err(|fault| format!("--data {}: {fault}", folder.display()))?);
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
