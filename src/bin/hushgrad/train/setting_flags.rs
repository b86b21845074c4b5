//! Options generated from the settings tables ([`Number`], [`Select`]), with the page's help.

use std::fmt;

use clap::{
    Arg, ArgMatches, Command,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser, ValueParser},
};
use hushgrad::{
    mechanism::EnvelopeShape,
    ui::{
        settings::{
            Choice, Number, Select, Settings,
            number::{Bound, WHOLE},
        },
        text::Text,
    },
};

/// Default number of vectors of an envelope.
const VECTORS: f64 = 1000.0;
/// Default of `--metrics`: noise of the released counts, as a share of the lot.
const METRICS: &str = "0.05";

/// A setting and its value.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    Number(Number, Option<f64>),
    Choice(Select, &'static str),
}

/// Settings without an option, because other options replace them.
const OTHER_NUMBERS: [Number; 3] = [Number::Budget, Number::PhaseCount, Number::NoiseEnd];
const OTHER_CHOICES: [Select; 3] = [Select::Digits, Select::Phases, Select::Break];

fn numbers() -> impl Iterator<Item = Number> {
    Number::ALL.into_iter().filter(|number| !OTHER_NUMBERS.contains(number))
}

fn choices() -> impl Iterator<Item = Select> {
    Select::ALL.into_iter().filter(|select| !OTHER_CHOICES.contains(select))
}

/// Keys that cannot be chosen alone, because another option brings layers or a density.
const BROUGHT: [&str; 2] = ["built", "custom"];

/// Keys and labels of the choices that the option accepts.
fn options(select: Select) -> impl Iterator<Item = (&'static str, String)> {
    select.spec().options().filter(|(key, _)| !BROUGHT.contains(key))
}

fn help(label: &Text, hint: &Text) -> String {
    format!("{}. {}", label.get(), hint.get())
}

/// Returns the option for a setting's key.
fn option(key: &'static str) -> &'static str {
    match key {
        "rate" => "lr",
        "seed" => "init-seed",
        key => key,
    }
}

impl Setting {
    fn key(&self) -> &'static str {
        match self {
            Self::Number(number, _) => number.spec().key,
            Self::Choice(select, _) => select.spec().key,
        }
    }

    /// The configuration's fields that contain the setting.
    pub fn fields(&self) -> Vec<&'static str> {
        match self {
            Self::Number(number, _) => number.spec().paths.iter().filter_map(|path| path.split('.').next()).collect(),
            Self::Choice(Select::Clipping | Select::LayerNoise | Select::Shape, _) => vec!["encoder"],
            Self::Choice(Select::UserSource, _) => vec!["sharing"],
            Self::Choice(select, _) => vec![select.spec().key],
        }
    }

    pub fn set(&self, settings: &mut Settings) {
        match *self {
            Self::Number(number, value) => settings.set_number(number, value),
            Self::Choice(select, key) => {
                (select.spec().set)(settings, key);
            }
        }
    }

    /// True if the run that `settings` describe has this setting.
    fn is_in(&self, settings: &Settings) -> bool {
        let run = Settings::of_config(&settings.config(), settings.digits);
        match *self {
            Self::Number(number, value) => {
                let same = match (run.number(number), value) {
                    // 1 − (1 − x) need not equal x.
                    (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * b.abs(),
                    (a, b) => a == b,
                };
                // A seed that a different start ignores, and a value of zero, do no harm.
                same && (settings.applies(number) || number == Number::InitSeed || value == Some(0.0))
            }
            Self::Choice(select, key) => {
                let usual = (select.spec().get)(&Settings::default()) == key;
                (select.applies(settings) || usual) && (select.spec().get)(&run) == key
            }
        }
    }

    /// Returns another option with which the run would have this setting.
    fn needs(&self, settings: &Settings) -> Option<String> {
        let would = |other: Self| {
            let mut settings = settings.clone();
            other.set(&mut settings);
            self.set(&mut settings);
            self.is_in(&settings)
        };
        for select in choices() {
            let keys = options(select).map(|(key, _)| key);
            // Without noise or a bound there is no guarantee: never suggested.
            let keys = keys.filter(|&key| key != "none" || select == Select::Denoiser);
            let keys: Vec<&str> = keys.filter(|&key| would(Self::Choice(select, key))).collect();
            let option = option(select.spec().key);
            match keys.len() {
                0 => {}
                1..=3 => return Some(format!("--{option} {}", keys.join(" or "))),
                _ => return Some(format!("another --{option}")),
            }
        }
        let other = |number: Number| Self::Number(number, Some(if number.spec().whole { 2.0 } else { 0.5 }));
        numbers().find(|&number| would(other(number))).map(|number| format!("--{}", option(number.spec().key)))
    }
}

/// An option without effect on the run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Need {
    pub option: &'static str,
    /// Another option that would give it an effect.
    pub needs: Option<String>,
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.needs {
            Some(needs) => write!(f, "--{} needs {needs}", self.option),
            None => write!(f, "--{} has no effect in this run: other options exclude it", self.option),
        }
    }
}

/// Checks that the run described by `settings` has each setting of `given`.
///
/// # Errors
/// The first setting that it lacks, with what that needs.
pub fn check(given: &[Setting], settings: &Settings) -> Result<(), Need> {
    match given.iter().find(|setting| !setting.is_in(settings)) {
        None => Ok(()),
        Some(setting) => Err(Need { option: option(setting.key()), needs: setting.needs(settings) }),
    }
}

/// Settings given on the command line, in the order of the tables.
#[derive(Clone, Debug, Default)]
pub struct SettingFlags(pub Vec<Setting>);

impl SettingFlags {
    /// True if the setting with this key is given.
    pub fn names(&self, key: &str) -> bool {
        self.0.iter().any(|setting| setting.key() == key)
    }

    /// Returns the value of a number that is given.
    pub fn number(&self, wanted: Number) -> Option<f64> {
        self.0.iter().find_map(|setting| match setting {
            Setting::Number(number, value) if *number == wanted => *value,
            _ => None,
        })
    }
}

/// Parses the number of an option; the plan checks its range.
fn read(number: Number, text: &str) -> Result<Option<f64>, String> {
    let value = if number.spec().whole {
        // Limited by the field's type, or by the integers that f64 represents exactly.
        let most = if number.spec().most == Bound::At(WHOLE) { WHOLE } else { u32::MAX.into() };
        let value = text.parse::<u64>().map_err(|error| error.to_string())? as f64;
        if value > most {
            return Err(format!("it must be at most {most}"));
        }
        value
    } else {
        finite(text)?
    };
    // 0 users: examples do not belong to users.
    Ok(Some(value).filter(|value| number != Number::Users || *value != 0.0))
}

/// Parses a finite number.
pub fn finite(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(_) => Err("not a finite number".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn possible((key, label): (&'static str, String)) -> PossibleValue {
    PossibleValue::new(key).help(label)
}

/// Parses a choice of `C` by its key.
pub fn choice<C: Choice + Send + Sync>() -> impl TypedValueParser<Value = C> {
    let named = C::ALL.iter().filter(|choice| !BROUGHT.contains(&choice.key()));
    let values = named.map(|choice| possible((choice.key(), choice.label())));
    PossibleValuesParser::new(values).try_map(|key| C::by_key(&key).ok_or("not a choice"))
}

impl clap::Args for SettingFlags {
    fn augment_args(mut command: Command) -> Command {
        for select in choices() {
            let spec = select.spec();
            let mut values: Vec<_> = options(select).map(possible).collect();
            if select == Select::Encoder {
                let shapes = EnvelopeShape::ALL.iter();
                values.extend(shapes.map(|shape| possible((shape.key(), format!("An envelope: {}", shape.label())))));
            }
            let mut arg = Arg::new(spec.key)
                .long(option(spec.key))
                .value_name("NAME")
                .value_parser(PossibleValuesParser::new(values))
                .help(help(&spec.label, &spec.hint));
            if select == Select::Noise {
                arg = arg.conflicts_with_all(["noise_table", "noise_formula"]);
            }
            command = command.arg(arg);
        }
        for number in numbers() {
            let spec = number.spec();
            let mut arg = Arg::new(spec.key)
                .long(option(spec.key))
                .alias(spec.key)
                .value_name(if spec.whole { "N" } else { "X" })
                .allow_negative_numbers(true)
                .value_parser(ValueParser::new(move |text: &str| read(number, text)))
                .help(help(&spec.label, &spec.hint));
            match number {
                Number::MetricsNoise => arg = arg.num_args(0..=1).default_missing_value(METRICS),
                Number::Users => arg = arg.conflicts_with(Number::MicroBatch.spec().key),
                _ => {}
            }
            command = command.arg(arg);
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for SettingFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = Vec::new();
        for select in choices() {
            let Some(named) = matches.get_one::<String>(select.spec().key) else { continue };
            let known = options(select).map(|(key, _)| key).find(|key| key == named);
            match (known, EnvelopeShape::by_key(named)) {
                (Some(key), _) => given.push(Setting::Choice(select, key)),
                (None, Some(shape)) => {
                    given.push(Setting::Choice(Select::Encoder, "envelope"));
                    given.push(Setting::Choice(Select::Shape, shape.key()));
                }
                (None, None) => {}
            }
        }
        let envelope = given.contains(&Setting::Choice(Select::Encoder, "envelope"));
        for number in numbers() {
            match matches.get_one::<Option<f64>>(number.spec().key) {
                Some(value) => given.push(Setting::Number(number, *value)),
                None if envelope && number == Number::Vectors => {
                    given.push(Setting::Number(number, Some(VECTORS)));
                }
                None => {}
            }
        }
        Ok(Self(given))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
