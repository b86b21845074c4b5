//! Applies options to a configuration.

use std::{collections::BTreeSet, error::Error, path::Path};

use hushgrad::{
    data::{Dataset, Users, idx::MAX_EXAMPLES, sharing::Sharing},
    engine::Reading,
    model::Architecture,
    train::{
        config::{Averaging, RunConfig},
        phases::Phases,
        plan::Plan,
        presets::{self, Preset},
        run_file::RunFile,
    },
    ui::settings::{Choice as _, Decay, DenoiserKind, Digits, Encoder, Family, Number, Select, Settings},
};
use serde_json::Value;

use super::{
    flags::Flags,
    setting_flags::{self, Need, Setting},
};
use crate::given;

/// Defaults for σ if a noise is named without it, and for C if an encoder is.
const SIGMA: f64 = 1.1;
const CLIP: f64 = 1.0;
/// Default share of norms within an adaptive clip.
const QUANTILE: f64 = 0.5;

/// Returns the configuration of the file or the preset, or the defaults.
///
/// # Errors
/// If the file cannot be read or is not a configuration.
pub fn ground(file: Option<&Path>, preset: Option<Preset>) -> Result<RunConfig, Box<dyn Error>> {
    let Some(path) = file else { return Ok(preset.map_or_else(RunConfig::default, Preset::config)) };
    let text = given::text(path, given::TEXT)?;
    Ok(serde_json::from_str(&text).map_err(|e| format!("{} is not a configuration: {e}", path.display()))?)
}

/// Number of training images, and of the users whom they name, if any do.
#[derive(Clone, Copy)]
pub struct Sizes {
    pub examples: usize,
    pub users: Option<u32>,
}

impl Sizes {
    pub fn of(train: &Dataset) -> Self {
        Self { examples: train.len(), users: train.users.as_ref().map(Users::count) }
    }
}

/// Returns the resumed run's, file's, preset's or default configuration, changed by the options.
///
/// # Errors
/// A sentence that names the option.
pub fn configuration(
    arguments: &Flags,
    Sizes { examples, users }: Sizes,
    resumed: Option<&RunFile>,
) -> Result<RunConfig, Box<dyn Error>> {
    let ground = match resumed {
        Some(file) => file.run.config.clone(),
        None => ground(arguments.config.as_deref(), arguments.preset)?,
    };
    let mut settings = Settings::of_config(&ground, Digits::Mnist);
    let fields = change(arguments, &mut settings)?;
    let mut config = changed(&ground, &settings.config(), &fields)?;
    if let Some(phases) = &arguments.phases {
        config.phases = phases.clone();
    }

    if let Sharing::UsersOfData { users: said @ 0 } = &mut config.sharing {
        *said = users.unwrap_or_default();
    }
    let epoch = RunConfig { lot: config.lot.max(1), ..config.clone() }.steps_per_epoch(examples as u32);
    if !arguments.settings.names("steps") {
        config.steps = arguments.phases.as_ref().and_then(Phases::steps).or(config.steps);
    }
    if let Some(epochs) = arguments.epochs {
        if !(epochs > 0.0 && epochs.is_finite()) {
            return Err(format!("--epochs is {epochs}; it must be above 0").into());
        }
        config.steps = Some((epochs * epoch).round().max(1.0) as u64);
    }
    // The tool's runs are finite, because a learning rate may decay towards the end.
    let done = resumed.map_or(0, |file| file.run.report.step);
    config.steps = config.steps.or(Some(done + epoch.ceil() as u64));
    if let Some(file) = resumed {
        check_resumed(&config, &file.run.config)?;
        if config.steps.is_some_and(|steps| steps <= done) {
            let steps = super::said::count(done, "step");
            return Err(
                format!("the run has taken {steps} already; choose a larger total with --steps or --epochs").into()
            );
        }
    }
    Ok(config)
}

/// Checks all values before images are looked for, whose number may be unknown.
///
/// # Errors
/// As [`configuration`] and [`Plan::check`].
pub fn check(arguments: &Flags, resumed: Option<&RunFile>) -> Result<(), Box<dyn Error>> {
    let known = arguments.images.known();
    let examples = known.unwrap_or(super::EXAMPLES);
    // As many users as can be, until the images tell.
    let config = configuration(arguments, Sizes { examples, users: Some(MAX_EXAMPLES) }, resumed)?;
    Ok(Plan::check(&config, known.map_or(u32::MAX, |examples| examples as u32))?)
}

/// Applies the given options; returns the configuration's fields that they affect.
fn change(arguments: &Flags, settings: &mut Settings) -> Result<BTreeSet<&'static str>, Box<dyn Error>> {
    let named = &arguments.settings;
    let mut given = named.0.clone();
    let mut fields = BTreeSet::new();
    if let Some(layers) = arguments.layers {
        settings.model = Architecture::Built(layers);
        fields.insert("model");
    }
    // An explicit noise or encoder starts from the default scale, not a preset's.
    if named.names("noise") {
        settings.scale = SIGMA;
    }
    if named.names("encoder") {
        settings.clip_norm = CLIP;
        settings.layer_norms.clear();
    }
    if named.names("clip") {
        settings.layer_norms.clear();
    }
    // No users, or micro-batches in their place.
    if named.names("micro-batch") || named.names("users") && named.number(Number::Users).is_none() {
        settings.forget_users();
    }
    if named.names("users") || named.names("user-source") {
        settings.micro_batch = 1;
    }
    if arguments.adaptive_clip && !named.names("clip-quantile") {
        given.push(Setting::Number(Number::ClipQuantile, settings.clip_quantile.or(Some(QUANTILE))));
    }
    if arguments.denoise {
        given.push(Setting::Choice(Select::Denoiser, DenoiserKind::KolmogorovSmirnov.key()));
    }
    if arguments.test_time_augmentation {
        given.push(Setting::Choice(Select::Reading, Reading::TestTimeAugmentation.key()));
    }
    if arguments.average {
        given.push(Setting::Choice(Select::Averaging, Averaging::Exponential.key()));
    }
    if let Some(to) = arguments.decay_to {
        given.push(Setting::Choice(Select::Schedule, Decay::Linear.key()));
        given.push(Setting::Number(Number::RateEnd, Some(to)));
    }
    if let Some(density) = arguments.density.density()? {
        (settings.family, settings.scale) = (Family::Custom, 1.0);
        density.source().clone_into(&mut settings.formula);
        settings.density = Some(density);
        fields.insert("noise");
    }
    given.iter().for_each(|setting| setting.set(settings));
    if let Some(groups) = &arguments.groups {
        if settings.encoder != Encoder::Layers {
            return Err(Need { option: "groups", needs: Some("--encoder layers".to_owned()) }.into());
        }
        groups.clone_into(&mut settings.layer_norms);
        settings.layer_clip()?;
        fields.insert("encoder");
    }
    setting_flags::check(&given, settings)?;
    fields.extend(given.iter().flat_map(Setting::fields));
    if fields.contains("sharing") {
        fields.extend(["local", "protects"]);
    }
    Ok(fields)
}

/// Replaces these fields of `ground`; all others stay, whether consistent or not.
fn changed(ground: &RunConfig, changed: &RunConfig, fields: &BTreeSet<&str>) -> Result<RunConfig, serde_json::Error> {
    let [mut ground, changed] = [serde_json::to_value(ground)?, serde_json::to_value(changed)?];
    if let (Value::Object(ground), Value::Object(changed)) = (&mut ground, changed) {
        ground.extend(changed.into_iter().filter(|(field, _)| fields.contains(field.as_str())));
    }
    serde_json::from_value(ground)
}

/// A resumed run's fixed settings were changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a resumed run keeps its settings; with --resume only --steps and --epochs (of a run without phases), --lr, --decay-to, --delta and --test-time-augmentation may change"
)]
pub struct Resumed;

/// Checks the settings that apply to all steps of a run file.
fn check_resumed(config: &RunConfig, was: &RunConfig) -> Result<(), Resumed> {
    let RunConfig { steps, learning_rate, schedule, delta, reading, .. } = *was;
    let otherwise = RunConfig { steps, learning_rate, schedule, delta, reading, ..config.clone() };
    // The ends of phases depend on the number of steps.
    if otherwise == *was && (was.phases.is_none() || config.steps == was.steps) {
        return Ok(());
    }
    Err(Resumed)
}

/// Parses a preset's key.
pub fn preset(name: &str) -> Result<Preset, String> {
    let known = || presets::ALL.map(|preset| preset.key).join(", ");
    Preset::by_key(name).ok_or_else(|| format!("presets are {}", known()))
}
