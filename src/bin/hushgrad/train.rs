//! `hushgrad train`: a session with a progress bar, or with a line of JSON a report.

use std::{
    error::Error,
    io::{IsTerminal, Write},
    path::PathBuf,
};

use clap::ValueEnum;
use hushgrad::{
    data::{self, Digits, TestSet},
    engine::{AnyEngine, EngineFactory, Reading},
    mechanism::{Denoiser, EncoderSpec, EnvelopeShape},
    model::Architecture,
    privacy::{decimal::upper, noise::NoiseSpec},
    train::{
        config::{Augmentation, Averaging, RunConfig, SamplingPolicy, Schedule, Start},
        plan::Plan,
        presets::{self, Preset},
        report::{Privacy, Report},
        session::Session,
    },
};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use super::density;

/// Options; each that is given changes the configuration of `--config` or `--preset` (or the defaults).
#[derive(clap::Args)]
pub struct Arguments {
    /// Configuration as JSON (`--print-config` shows one)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A ready-made run, as the page offers it
    #[arg(long, value_name = "NAME", conflicts_with = "config", value_parser = preset)]
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
    /// Write the ledger here at the end, also of a run that fails (`hushgrad account` reads it)
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,

    #[arg(long, value_enum)]
    model: Option<Model>,
    /// How one example's gradient is bounded
    #[arg(long, value_enum)]
    encoder: Option<Encoder>,
    /// Clipping norm C
    #[arg(long, value_name = "C")]
    clip: Option<f64>,
    /// Vectors in the envelope
    #[arg(long, value_name = "N")]
    vectors: Option<u32>,
    /// Factor on gradients before they meet the envelope
    #[arg(long)]
    pre_scale: Option<f64>,
    /// Noise family; its scale is relative to the norm of the encoder
    #[arg(long, value_enum, conflicts_with_all = ["noise_table", "noise_formula"])]
    noise: Option<Family>,
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
    /// Multiply the noisy sum by its Kolmogorov–Smirnov distance from the noise
    #[arg(long)]
    denoise: bool,
    /// Expected examples a step
    #[arg(long)]
    lot: Option<u32>,
    /// How the examples of a step are chosen, and priced
    #[arg(long, value_enum)]
    sampling: Option<Sampling>,
    /// Learning rate, applied to sum/lot
    #[arg(long = "lr", value_name = "RATE")]
    learning_rate: Option<f64>,
    /// Learning rate falls in a line to this share of itself
    #[arg(long, value_name = "SHARE")]
    decay_to: Option<f64>,
    #[arg(long)]
    momentum: Option<f64>,
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
    start: Option<StartFrom>,
    /// Where the model is less than 99 % sure of an image, it decides by the mean over that image moved by a pixel to each side, too
    #[arg(long)]
    second_look: bool,
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

#[derive(Clone, Copy, ValueEnum)]
enum Model {
    Linear,
    /// Linear, on scattering features
    Scattering,
    Mlp,
    CnnTanh,
    CnnRelu,
}

#[derive(Clone, Copy, ValueEnum)]
enum Sampling {
    /// Each example by itself, with probability lot / examples
    Poisson,
    /// Exactly `lot` without replacement; the guarantee is against the exchange of one example
    FixedSize,
    /// Each example in one batch of every epoch, by a draw of its own; no amplification
    Shuffled,
}

#[derive(Clone, Copy, ValueEnum)]
enum StartFrom {
    Random,
    /// Trained on synthetic digits (tanh CNN)
    Pretrained,
}

#[derive(Clone, Copy, ValueEnum)]
enum Encoder {
    None,
    Clip,
    /// |N(0, 1)| envelope
    Gaussian,
    HeavyTailed,
    Sparse,
    Mixed,
}

#[derive(Clone, Copy, ValueEnum)]
enum Family {
    None,
    Gaussian,
    StudentT,
    Laplace,
    Cauchy,
    VarianceGamma,
    HyperbolicSecant,
    GeneralizedGaussian,
}

/// Trains until the planned steps are done.
///
/// # Errors
/// With a sentence that says what to change.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let digits = digits(arguments)?;
    let config = configuration(arguments, digits.train.len())?;
    if arguments.print_config {
        println!("{}", serde_json::to_string_pretty(&config)?);
        return Ok(());
    }
    pollster::block_on(train(arguments, config, &digits))
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

async fn train(arguments: &Arguments, config: RunConfig, digits: &Digits) -> Result<(), Box<dyn Error>> {
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
    let engine = factory.build(&plan.task, &digits.train, &plan.initial_parameters()).await?;
    if !arguments.json {
        eprintln!(
            "{} on {} ({} training, {} test images), {} parameters, {}",
            plan.config.model,
            digits.train.name,
            digits.train.len(),
            digits.test.len(),
            plan.config.model.parameters(),
            factory.info().device,
        );
        if let Some(caution) = digits.test_set.caution() {
            eprintln!("{caution}");
        }
    }
    let mut session = Session::new(plan, engine)?;
    let bar = if arguments.json || !std::io::stderr().is_terminal() {
        ProgressBar::hidden()
    } else {
        ProgressBar::new(steps)
    };
    bar.set_style(ProgressStyle::with_template("{bar:40} {pos}/{len} {elapsed}/{duration} {msg}")?);
    let trained = take_steps(arguments, &mut session, digits, steps, every, &bar).await;
    bar.finish_and_clear();
    // Whatever became of the run, what it released stays released.
    let last = match (trained, write_ledger(arguments, &session)) {
        (Ok(last), Ok(())) => last,
        (Err(error), Ok(())) | (Ok(_), Err(error)) => return Err(error),
        (Err(error), Err(other)) => return Err(format!("{error}; and {other}").into()),
    };
    if let (Some(report), false) = (last, arguments.json) {
        explain(&report, &session);
    }
    Ok(())
}

/// Hands over the last report.
async fn take_steps(
    arguments: &Arguments,
    session: &mut Session<AnyEngine>,
    digits: &Digits,
    steps: u64,
    every: u64,
    bar: &ProgressBar,
) -> Result<Option<Report>, Box<dyn Error>> {
    let mut last = None;
    prepare(session, bar).await?;
    for step in 1..=steps {
        session.step().await?;
        bar.inc(1);
        if step % every == 0 || step == steps {
            let accuracy = session.accuracy(&digits.test).await?;
            let report = session.report(Some(accuracy)).await?;
            let report = Report { test_set: Some(digits.test_set), ..report };
            announce(arguments, bar, &report, session.plan().task.expected_lot)?;
            last = Some(report);
        }
    }
    Ok(last)
}

/// Features of all training images, where the model takes some.
async fn prepare(session: &mut Session<AnyEngine>, bar: &ProgressBar) -> Result<(), Box<dyn Error>> {
    const PIECE: usize = 1024;
    let mut left = session.prepare(PIECE).await?;
    while left > 0 {
        bar.set_message(format!("features of {left} images to go"));
        left = session.prepare(PIECE).await?;
    }
    bar.set_message("");
    Ok(())
}

fn write_ledger(arguments: &Arguments, session: &Session<AnyEngine>) -> Result<(), Box<dyn Error>> {
    if let (Some(path), Some(ledger)) = (&arguments.ledger, session.ledger()) {
        std::fs::write(path, ledger.to_json())
            .map_err(|e| format!("cannot write the ledger {}: {e}", path.display()))?;
    }
    Ok(())
}

/// A report as `--json` writes it.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    report: &'a Report,
    /// Where the test images are private.
    #[serde(skip_serializing_if = "Option::is_none")]
    caution: Option<&'static str>,
}

fn announce(
    arguments: &Arguments,
    bar: &ProgressBar,
    report: &Report,
    expected_lot: f32,
) -> Result<(), Box<dyn Error>> {
    let caution = report.test_set.and_then(TestSet::caution);
    if arguments.json {
        let mut out = std::io::stdout().lock();
        serde_json::to_writer(&mut out, &Line { report, caution })?;
        writeln!(out)?;
        out.flush()?;
        return Ok(());
    }
    // Of the examples that a step looks at on average: how many it drew is private.
    let speed = f64::from(expected_lot) * report.step as f64 / report.training_seconds.max(1e-6);
    let line = format!(
        "step {:>6}  epoch {:>6.2}  accuracy{} {:>6.2} %  {}  {speed:.0} examples/s",
        report.step,
        report.epoch,
        if caution.is_some() { " (not covered by ε)" } else { "" },
        100.0 * report.test_accuracy.unwrap_or(f64::NAN),
        spent(&report.privacy),
    );
    if bar.is_hidden() {
        eprintln!("{line}")
    } else {
        bar.println(line)
    }
    Ok(())
}

fn spent(privacy: &Privacy) -> String {
    match privacy {
        Privacy::Bounded(bound) => {
            let [improved, classic] = [bound.improved, bound.classic].map(|bound| upper(bound.epsilon, 4));
            format!("ε ≤ {improved} (classic {classic}) at δ = {:e}", bound.delta)
        }
        Privacy::NoGuarantee { .. } => "no privacy guarantee".to_owned(),
    }
}

fn explain(report: &Report, session: &Session<AnyEngine>) {
    eprintln!("{:.1} s of training, {} of {} steps", report.training_seconds, report.step, session.step_count());
    match &report.privacy {
        Privacy::Bounded(bound) => {
            eprintln!("{}; orders {} and {}", spent(&report.privacy), bound.improved.order, bound.classic.order);
            for assumption in &bound.assumptions {
                eprintln!("  · {assumption}");
            }
        }
        Privacy::NoGuarantee { reason } => eprintln!("no privacy guarantee: {reason}"),
    }
    if let Some(caution) = report.test_set.and_then(TestSet::caution) {
        eprintln!("{caution}");
    }
    let non_finite = session.teaching().non_finite;
    if non_finite > 0 {
        eprintln!(
            "{non_finite} examples had a gradient that was not finite; each contributed zero (teaching view: the number looks at private data, and ε \
             does not cover publishing it)"
        );
    }
}

fn digits(arguments: &Arguments) -> Result<Digits, Box<dyn Error>> {
    if let Some(folder) = &arguments.data {
        return Ok(data::mnist::load_any(folder)?);
    }
    if !arguments.synthetic {
        match data::mnist::locate_or_download() {
            Ok(found) => return Ok(found.digits),
            Err(error @ data::mnist::MnistError::MnistDir { .. }) => return Err(error.into()),
            Err(error) => eprintln!("MNIST was not found ({error}); training on synthetic digits."),
        }
    }
    Ok(data::synthetic::digits(0, 60_000, 10_000))
}

fn configuration(arguments: &Arguments, examples: usize) -> Result<RunConfig, Box<dyn Error>> {
    let mut config: RunConfig = match &arguments.config {
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
            serde_json::from_str(&text).map_err(|e| format!("{} is not a configuration: {e}", path.display()))?
        }
        None => arguments.preset.map_or_else(RunConfig::default, Preset::config),
    };
    if let Some(model) = arguments.model {
        config.model = match model {
            Model::Linear => Architecture::Linear,
            Model::Scattering => Architecture::Scattering,
            Model::Mlp => Architecture::Mlp,
            Model::CnnTanh => Architecture::CnnTanh,
            Model::CnnRelu => Architecture::CnnRelu,
        };
    }
    if let Some(start) = arguments.start {
        config.start = match start {
            StartFrom::Random => Start::Random,
            StartFrom::Pretrained => Start::Pretrained,
        };
    }
    if arguments.second_look {
        config.reading = Reading::SecondLook;
    }
    if arguments.average {
        config.averaging = Averaging::Exponential;
    }
    if let Some(sampling) = arguments.sampling {
        config.sampling = match sampling {
            Sampling::Poisson => SamplingPolicy::Poisson,
            Sampling::FixedSize => SamplingPolicy::FixedSize,
            Sampling::Shuffled => SamplingPolicy::Shuffled,
        };
    }
    encoder(arguments, &mut config.encoder)?;
    noise(arguments, &mut config.noise)?;
    if arguments.denoise {
        config.denoiser = Denoiser::KolmogorovSmirnov;
    }
    if let Some(to) = arguments.decay_to {
        config.schedule = Schedule::Linear { to };
    }
    macro_rules! take {
        ($($field:ident),*) => { $(if let Some(value) = arguments.$field { config.$field = value; })* };
    }
    take!(lot, learning_rate, momentum, delta, init_seed);
    if let Some(copies) = arguments.copies {
        let reach = arguments.reach.unwrap_or(1);
        config.augmentation = (copies != 1).then_some(Augmentation { copies, reach });
    }
    let epoch = config.sampling.steps_per_epoch(examples as u32, config.lot.max(1));
    config.steps = arguments.steps.or(config.steps);
    config.replay = arguments.replay.or(config.replay);
    config.grid_bits = arguments.grid_bits.or(config.grid_bits);
    if let Some(epochs) = arguments.epochs {
        if !(epochs > 0.0 && epochs.is_finite()) {
            return Err(format!("--epochs is {epochs}; it must be above 0").into());
        }
        config.steps = Some((epochs * epoch).round().max(1.0) as u64);
    }
    // The tool's runs have an end, and a learning rate falls towards it.
    config.steps = config.steps.or(Some(epoch.ceil() as u64));
    Ok(config)
}

fn preset(name: &str) -> Result<Preset, String> {
    let known = || presets::ALL.map(|preset| preset.key).join(", ");
    Preset::by_key(name).ok_or_else(|| format!("presets are {}", known()))
}

fn encoder(arguments: &Arguments, encoder: &mut EncoderSpec) -> Result<(), String> {
    let envelope = |shape| EncoderSpec::Envelope { shape, vectors: 1000, pre_scale: 1.0, seed: 0 };
    match arguments.encoder {
        None => {}
        Some(Encoder::None) => *encoder = EncoderSpec::None,
        Some(Encoder::Clip) => *encoder = EncoderSpec::Clip { norm: 1.0 },
        Some(Encoder::Gaussian) => *encoder = envelope(EnvelopeShape::Gaussian),
        Some(Encoder::HeavyTailed) => *encoder = envelope(EnvelopeShape::HeavyTailed),
        Some(Encoder::Sparse) => *encoder = envelope(EnvelopeShape::Sparse),
        Some(Encoder::Mixed) => *encoder = envelope(EnvelopeShape::Mixed),
    }
    match encoder {
        EncoderSpec::Clip { norm } => *norm = arguments.clip.unwrap_or(*norm),
        _ if arguments.clip.is_some() => return Err("--clip needs --encoder clip".to_owned()),
        _ => {}
    }
    match encoder {
        EncoderSpec::Envelope { vectors, pre_scale, .. } => {
            *vectors = arguments.vectors.unwrap_or(*vectors);
            *pre_scale = arguments.pre_scale.unwrap_or(*pre_scale);
        }
        _ if arguments.vectors.is_some() || arguments.pre_scale.is_some() => {
            return Err(
                "--vectors and --pre-scale need an envelope (--encoder gaussian, heavy-tailed, sparse or mixed)"
                    .to_owned(),
            );
        }
        _ => {}
    }
    Ok(())
}

fn noise(arguments: &Arguments, noise: &mut Option<NoiseSpec>) -> Result<(), Box<dyn Error>> {
    let scale = arguments.sigma.unwrap_or(1.1);
    if let Some(density) = arguments.density.density()? {
        *noise = Some(NoiseSpec::Custom { density, scale: 1.0 });
    }
    match arguments.noise {
        None => {}
        Some(Family::None) => *noise = None,
        Some(Family::Gaussian) => *noise = Some(NoiseSpec::Gaussian { sigma: scale }),
        Some(Family::StudentT) => *noise = Some(NoiseSpec::StudentT { nu: 9.0, scale }),
        Some(Family::Laplace) => *noise = Some(NoiseSpec::Laplace { scale }),
        Some(Family::Cauchy) => *noise = Some(NoiseSpec::Cauchy { scale }),
        Some(Family::VarianceGamma) => *noise = Some(NoiseSpec::VarianceGamma { scale }),
        Some(Family::HyperbolicSecant) => *noise = Some(NoiseSpec::HyperbolicSecant { scale }),
        Some(Family::GeneralizedGaussian) => *noise = Some(NoiseSpec::GeneralizedGaussian { exponent: 1.5, scale }),
    }
    match noise {
        Some(noise) => {
            if let Some(sigma) = arguments.sigma {
                *noise = noise.with_scale(sigma);
            }
            match (&mut *noise, arguments.nu) {
                (NoiseSpec::StudentT { nu, .. }, Some(given)) => *nu = given,
                (_, Some(_)) => return Err("--nu needs --noise student-t".into()),
                _ => {}
            }
            match (noise, arguments.exponent) {
                (NoiseSpec::GeneralizedGaussian { exponent, .. }, Some(given)) => *exponent = given,
                (_, Some(_)) => return Err("--exponent needs --noise generalized-gaussian".into()),
                _ => {}
            }
        }
        None if arguments.sigma.is_some() || arguments.nu.is_some() || arguments.exponent.is_some() => {
            return Err("--sigma, --nu and --exponent need a noise".into());
        }
        None => {}
    }
    Ok(())
}
