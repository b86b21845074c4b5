//! What the options make of a configuration.

use std::{error::Error, path::Path};

use clap::ValueEnum;
use hushgrad::{
    accounting::{
        groups::{Clipping, NoiseStrategy},
        noise::NoiseSpec,
    },
    data::sharing::Sharing,
    engine::{LocalSteps, Reading},
    mechanism::{AdaptiveClip, Denoiser, EncoderSpec, EnvelopeShape, LayerClip, PaidMetrics},
    model::Architecture,
    train::{
        config::{Augmentation, Averaging, Minority, Protects, RunConfig, SamplingPolicy, Schedule, Start},
        phases::Phases,
        presets::{self, Preset},
        run_file::RunFile,
    },
};

use super::flags::Flags;
use crate::given;

/// Learning rate of a user's own steps, where none is named.
const LOCAL_RATE: f64 = 0.2;

#[derive(Clone, Copy, ValueEnum)]
pub enum Model {
    Linear,
    /// Linear, on scattering features
    Scattering,
    Mlp,
    CnnTanh,
    CnnRelu,
}

impl From<Model> for Architecture {
    fn from(model: Model) -> Self {
        match model {
            Model::Linear => Self::Linear,
            Model::Scattering => Self::Scattering,
            Model::Mlp => Self::Mlp,
            Model::CnnTanh => Self::CnnTanh,
            Model::CnnRelu => Self::CnnRelu,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Sampling {
    /// Each example by itself, with probability lot / examples
    Poisson,
    /// Exactly `lot` without replacement; the guarantee is against the exchange of one example
    FixedSize,
    /// Each example in one batch of every epoch, by a secret draw of its own
    RandomAllocation,
    /// The same draw, priced as if it were known
    Shuffled,
}

impl From<Sampling> for SamplingPolicy {
    fn from(sampling: Sampling) -> Self {
        match sampling {
            Sampling::Poisson => Self::Poisson,
            Sampling::FixedSize => Self::FixedSize,
            Sampling::RandomAllocation => Self::RandomAllocation,
            Sampling::Shuffled => Self::Shuffled,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Unlike {
    None,
    /// About one training image in fifty, turned a quarter
    Turned,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Protected {
    /// One example, wherever it stands
    Example,
    /// The whole micro-batch, as if one person had written it
    MicroBatch,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum StartFrom {
    Random,
    /// Trained on synthetic digits (tanh CNN, scattering)
    Pretrained,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Denoise {
    None,
    /// Times the sum's Kolmogorov–Smirnov distance from the noise
    KolmogorovSmirnov,
    /// Along the pixels that each unit of the first layer sees
    LaplacianSmoothing,
    /// Times what noise alone does not have of its square (James & Stein)
    JamesStein,
    /// The same, for the best multiple (Balle & Wang)
    Linear,
    /// Coordinates that noise alone reaches become 0 (Balle & Wang)
    SoftThreshold,
    /// An average over the steps (DOPPLER)
    LowPass,
    /// The same, of gradients taken ahead (DiSK)
    Kalman,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Encoder {
    None,
    Clip,
    /// Each layer to a norm of its own, with noise to match
    Layers,
    /// |N(0, 1)| envelope
    Gaussian,
    HeavyTailed,
    Sparse,
    Mixed,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum LayersClipped {
    /// Each layer by itself
    Separate,
    /// All layers by one factor, in units of their norms
    Joint,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum LayerNoise {
    /// In proportion to its norm
    Proportional,
    /// Less on each parameter where a layer has many
    DimensionAdjusted,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Family {
    None,
    Gaussian,
    StudentT,
    Laplace,
    Cauchy,
    VarianceGamma,
    HyperbolicSecant,
    GeneralizedGaussian,
}

/// The configuration of the file or the preset, or the defaults.
///
/// # Errors
/// A file that cannot be read, or is none.
pub fn ground(file: Option<&Path>, preset: Option<Preset>) -> Result<RunConfig, Box<dyn Error>> {
    let Some(path) = file else { return Ok(preset.map_or_else(RunConfig::default, Preset::config)) };
    let text = given::text(path, given::TEXT)?;
    Ok(serde_json::from_str(&text).map_err(|e| format!("{} is not a configuration: {e}", path.display()))?)
}

/// The configuration of the run that goes on, of the file or the preset, or the defaults; with what the options change.
///
/// # Errors
/// With a sentence that names the option.
pub fn configuration(
    arguments: &Flags,
    examples: usize,
    resumed: Option<&RunFile>,
) -> Result<RunConfig, Box<dyn Error>> {
    let mut config = match resumed {
        Some(file) => file.run.config.clone(),
        None => ground(arguments.config.as_deref(), arguments.preset)?,
    };
    if let Some(model) = arguments.model {
        config.model = model.into();
    }
    if let Some(layers) = arguments.layers {
        config.model = Architecture::Built(layers);
    }
    if let Some(start) = arguments.start {
        config.start = match start {
            StartFrom::Random => Start::Random,
            StartFrom::Pretrained => Start::Pretrained,
        };
    }
    if let Some(minority) = arguments.minority {
        config.minority = match minority {
            Unlike::None => Minority::None,
            Unlike::Turned => Minority::Turned,
        };
    }
    if arguments.test_time_augmentation {
        config.reading = Reading::TestTimeAugmentation;
    }
    if arguments.average {
        config.averaging = Averaging::Exponential;
    }
    if let Some(sampling) = arguments.sampling {
        config.sampling = sampling.into();
    }
    encoder(arguments, &mut config.encoder)?;
    noise(arguments, &mut config.noise)?;
    denoiser(arguments, &mut config.denoiser)?;
    if let Some(phases) = &arguments.phases {
        config.phases = phases.clone();
    }
    if let Some(to) = arguments.decay_to {
        config.schedule = Schedule::Linear { to };
    }
    macro_rules! take {
        ($($field:ident),*) => { $(if let Some(value) = arguments.$field { config.$field = value; })* };
    }
    take!(canaries, lot, bands, learning_rate, momentum, delta, init_seed);
    sharing(arguments, &mut config)?;
    counted(arguments, &mut config)?;
    if let Some(copies) = arguments.copies {
        let reach = arguments.reach.unwrap_or(1);
        config.augmentation = (copies != 1).then_some(Augmentation { copies, reach });
    }
    let epoch = RunConfig { lot: config.lot.max(1), ..config.clone() }.steps_per_epoch(examples as u32);
    config.steps = arguments.steps.or(arguments.phases.as_ref().and_then(Phases::steps)).or(config.steps);
    config.replay = arguments.replay.or(config.replay);
    config.grid_bits = arguments.grid_bits.or(config.grid_bits);
    if let Some(epochs) = arguments.epochs {
        if !(epochs > 0.0 && epochs.is_finite()) {
            return Err(format!("--epochs is {epochs}; it must be above 0").into());
        }
        config.steps = Some((epochs * epoch).round().max(1.0) as u64);
    }
    // The tool's runs have an end, and a learning rate falls towards it.
    let done = resumed.map_or(0, |file| file.run.report.step);
    config.steps = config.steps.or(Some(done + epoch.ceil() as u64));
    if let Some(file) = resumed {
        check_resumed(&config, &file.run.config)?;
        if config.steps.is_some_and(|steps| steps <= done) {
            let steps = super::said::count(done, "step");
            return Err(format!(
                "the run has taken {steps} already; name a larger number in all by --steps or --epochs"
            )
            .into());
        }
    }
    Ok(config)
}

/// Flags that do not go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    #[error(
        "a run goes on as it was set; beside --resume only --steps and --epochs (of a run without phases), --lr, --decay-to, --delta and --test-time-augmentation may change it"
    )]
    Resumed,
    #[error("--clip needs --encoder clip or layers")]
    ClipWithout,
    #[error("--clip-quantile and --clip-count-noise need --adaptive-clip")]
    AdaptiveWithout,
    #[error("--layer-norms, --clipping and --layer-noise need --encoder layers")]
    LayersWithout,
    #[error("--vectors and --pre-scale need an envelope (--encoder gaussian, heavy-tailed, sparse or mixed)")]
    EnvelopeWithout,
    #[error("--smoothing needs --denoiser laplacian-smoothing")]
    SmoothingWithout,
    #[error("--memory needs --denoiser low-pass or kalman")]
    MemoryWithout,
    #[error("--protects needs --micro-batch")]
    ProtectsWithout,
    #[error("--user-skew, --user-seed, --local-steps and --local-rate need --users")]
    UsersWithout,
    #[error("--nu needs --noise student-t")]
    NuWithout,
    #[error("--exponent needs --noise generalized-gaussian")]
    ExponentWithout,
    #[error("--sigma, --nu and --exponent need a noise")]
    NoiseWithout,
}

/// A run file says what all its steps were, so they stay what they are.
fn check_resumed(config: &RunConfig, was: &RunConfig) -> Result<(), SettingsError> {
    let RunConfig { steps, learning_rate, schedule, delta, reading, .. } = *was;
    let otherwise = RunConfig { steps, learning_rate, schedule, delta, reading, ..config.clone() };
    // Where phases end follows from the number of steps.
    if otherwise == *was && (was.phases.is_none() || config.steps == was.steps) {
        return Ok(());
    }
    Err(SettingsError::Resumed)
}

/// By its key.
pub fn preset(name: &str) -> Result<Preset, String> {
    let known = || presets::ALL.map(|preset| preset.key).join(", ");
    Preset::by_key(name).ok_or_else(|| format!("presets are {}", known()))
}

/// Which examples share vectors: as the flags say, or as before.
fn sharing(arguments: &Flags, config: &mut RunConfig) -> Result<(), SettingsError> {
    match (arguments.micro_batch, arguments.users) {
        (Some(1), _) | (None, Some(0)) => (config.sharing, config.local) = (Sharing::Alone, LocalSteps::MEAN),
        (Some(size), _) => (config.sharing, config.local) = (Sharing::MicroBatches { size }, LocalSteps::MEAN),
        (None, Some(users)) => {
            config.sharing = Sharing::Users { users, skew: 100.0, seed: 0 };
            config.local = LocalSteps { steps: 1, rate: LOCAL_RATE };
        }
        (None, None) => {}
    }
    if let Some(protects) = arguments.protects {
        if !matches!(config.sharing, Sharing::MicroBatches { .. }) {
            return Err(SettingsError::ProtectsWithout);
        }
        config.protects = match protects {
            Protected::Example => Protects::Example,
            Protected::MicroBatch => Protects::MicroBatch,
        };
    }
    let Flags { user_skew, user_seed, local_steps, local_rate, .. } = *arguments;
    match &mut config.sharing {
        Sharing::Users { skew, seed, .. } => {
            (*skew, *seed) = (user_skew.unwrap_or(*skew), user_seed.unwrap_or(*seed));
            let LocalSteps { steps, rate } = config.local;
            config.local = LocalSteps { steps: local_steps.unwrap_or(steps), rate: local_rate.unwrap_or(rate) };
            Ok(())
        }
        _ if user_skew.or(local_rate).is_some() || user_seed.is_some() || local_steps.is_some() => {
            Err(SettingsError::UsersWithout)
        }
        _ => Ok(()),
    }
}

fn encoder(arguments: &Flags, encoder: &mut EncoderSpec) -> Result<(), SettingsError> {
    let envelope = |shape| EncoderSpec::Envelope { shape, vectors: 1000, pre_scale: 1.0, seed: 0 };
    match arguments.encoder {
        None => {}
        Some(Encoder::None) => *encoder = EncoderSpec::None,
        Some(Encoder::Clip) => *encoder = EncoderSpec::Clip { norm: 1.0 },
        Some(Encoder::Layers) => *encoder = EncoderSpec::Layers(LayerClip::even(1.0)),
        Some(Encoder::Gaussian) => *encoder = envelope(EnvelopeShape::Gaussian),
        Some(Encoder::HeavyTailed) => *encoder = envelope(EnvelopeShape::HeavyTailed),
        Some(Encoder::Sparse) => *encoder = envelope(EnvelopeShape::Sparse),
        Some(Encoder::Mixed) => *encoder = envelope(EnvelopeShape::Mixed),
    }
    match encoder {
        EncoderSpec::Clip { norm } => *norm = arguments.clip.unwrap_or(*norm),
        EncoderSpec::Layers(layers) => layer_clip(arguments, layers),
        _ if arguments.clip.is_some() => return Err(SettingsError::ClipWithout),
        _ => {}
    }
    let layered = arguments.layer_norms.is_some() || arguments.clipping.is_some() || arguments.layer_noise.is_some();
    if layered && !matches!(encoder, EncoderSpec::Layers(_)) {
        return Err(SettingsError::LayersWithout);
    }
    match encoder {
        EncoderSpec::Envelope { vectors, pre_scale, .. } => {
            *vectors = arguments.vectors.unwrap_or(*vectors);
            *pre_scale = arguments.pre_scale.unwrap_or(*pre_scale);
        }
        _ if arguments.vectors.is_some() || arguments.pre_scale.is_some() => {
            return Err(SettingsError::EnvelopeWithout);
        }
        _ => {}
    }
    Ok(())
}

/// What is counted and released with the steps.
fn counted(arguments: &Flags, config: &mut RunConfig) -> Result<(), SettingsError> {
    let Flags { adaptive_clip, clip_quantile, clip_count_noise, metrics, .. } = *arguments;
    if adaptive_clip {
        config.adaptive_clip.get_or_insert(AdaptiveClip { quantile: 0.5, noise: AdaptiveClip::noise() });
    }
    match &mut config.adaptive_clip {
        Some(AdaptiveClip { quantile, noise }) => {
            (*quantile, *noise) = (clip_quantile.unwrap_or(*quantile), clip_count_noise.unwrap_or(*noise));
        }
        None if clip_quantile.or(clip_count_noise).is_some() => return Err(SettingsError::AdaptiveWithout),
        None => {}
    }
    config.metrics = metrics.map(|noise| PaidMetrics { noise }).or(config.metrics);
    Ok(())
}

fn layer_clip(arguments: &Flags, layers: &mut LayerClip) {
    if let Some(norms) = arguments.layer_norms.clone().or(arguments.clip.map(|norm| vec![norm])) {
        layers.norms = norms;
    }
    match arguments.clipping {
        None => {}
        Some(LayersClipped::Separate) => layers.clipping = Clipping::Separate,
        Some(LayersClipped::Joint) => layers.clipping = Clipping::Joint,
    }
    match arguments.layer_noise {
        None => {}
        Some(LayerNoise::Proportional) => layers.strategy = NoiseStrategy::Proportional,
        Some(LayerNoise::DimensionAdjusted) => layers.strategy = NoiseStrategy::DimensionAdjusted,
    }
}

fn denoiser(arguments: &Flags, denoiser: &mut Denoiser) -> Result<(), SettingsError> {
    let named = if arguments.denoise { Some(Denoise::KolmogorovSmirnov) } else { arguments.denoiser };
    match named {
        None => {}
        Some(Denoise::None) => *denoiser = Denoiser::None,
        Some(Denoise::KolmogorovSmirnov) => *denoiser = Denoiser::KolmogorovSmirnov,
        Some(Denoise::LaplacianSmoothing) => *denoiser = Denoiser::LaplacianSmoothing { strength: 3.0 },
        Some(Denoise::JamesStein) => *denoiser = Denoiser::JamesStein,
        Some(Denoise::Linear) => *denoiser = Denoiser::Linear,
        Some(Denoise::SoftThreshold) => *denoiser = Denoiser::SoftThreshold,
        Some(Denoise::LowPass) => *denoiser = Denoiser::LowPass { keeps: 0.9 },
        Some(Denoise::Kalman) => *denoiser = Denoiser::Kalman { gain: 0.1 },
    }
    match (&mut *denoiser, arguments.smoothing) {
        (Denoiser::LaplacianSmoothing { strength }, Some(given)) => *strength = given,
        (_, Some(_)) => return Err(SettingsError::SmoothingWithout),
        _ => {}
    }
    match (denoiser, arguments.memory) {
        (Denoiser::LowPass { keeps }, Some(given)) => *keeps = given,
        (Denoiser::Kalman { gain }, Some(given)) => *gain = 1.0 - given,
        (_, Some(_)) => return Err(SettingsError::MemoryWithout),
        _ => {}
    }
    Ok(())
}

fn noise(arguments: &Flags, noise: &mut Option<NoiseSpec>) -> Result<(), Box<dyn Error>> {
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
                (_, Some(_)) => return Err(SettingsError::NuWithout.into()),
                _ => {}
            }
            match (noise, arguments.exponent) {
                (NoiseSpec::GeneralizedGaussian { exponent, .. }, Some(given)) => *exponent = given,
                (_, Some(_)) => return Err(SettingsError::ExponentWithout.into()),
                _ => {}
            }
        }
        None if arguments.sigma.is_some() || arguments.nu.is_some() || arguments.exponent.is_some() => {
            return Err(SettingsError::NoiseWithout.into());
        }
        None => {}
    }
    Ok(())
}
