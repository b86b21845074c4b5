//! The options that the tables of settings make: each [`Number`] and each [`Select`] is one, with the page's own words as its help.

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

/// Vectors of an envelope that an option names.
const VECTORS: f64 = 1000.0;
/// Share of the lot by which counts that are paid for are noisy, where `--metrics` has no number.
const METRICS: &str = "0.05";

/// A setting and its value.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    Number(Number, Option<f64>),
    Choice(Select, &'static str),
}

/// Options of one table each that other options take the place of.
const OTHER_NUMBERS: [Number; 3] = [Number::Budget, Number::PhaseCount, Number::NoiseEnd];
const OTHER_CHOICES: [Select; 3] = [Select::Digits, Select::Phases, Select::Break];

fn numbers() -> impl Iterator<Item = Number> {
    Number::ALL.into_iter().filter(|number| !OTHER_NUMBERS.contains(number))
}

fn choices() -> impl Iterator<Item = Select> {
    Select::ALL.into_iter().filter(|select| !OTHER_CHOICES.contains(select))
}

/// Choices of what another option brings: layers, and a density.
const BROUGHT: [&str; 2] = ["built", "custom"];

/// Keys and labels of a choice that is made by its key alone.
fn options(select: Select) -> impl Iterator<Item = (&'static str, String)> {
    select.spec().options().filter(|(key, _)| !BROUGHT.contains(key))
}

fn help(label: &Text, hint: &Text) -> String {
    format!("{}. {}", label.get(), hint.get())
}

/// The option of a key of links.
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

    /// The fields of a configuration that it is in.
    pub fn fields(&self) -> Vec<&'static str> {
        match self {
            Self::Number(number, _) => number.spec().paths.iter().filter_map(|path| path.split('.').next()).collect(),
            Self::Choice(Select::Clipping | Select::LayerNoise | Select::Shape, _) => vec!["encoder"],
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

    /// Whether the run that `settings` describe has it.
    fn is_in(&self, settings: &Settings) -> bool {
        let run = Settings::of_config(&settings.config(), settings.digits);
        match *self {
            Self::Number(number, value) => {
                let same = match (run.number(number), value) {
                    // 1 − (1 − x) need not be x.
                    (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * b.abs(),
                    (a, b) => a == b,
                };
                // A seed that another start does not need, and none of what there is none of, do no harm.
                same && (settings.applies(number) || number == Number::InitSeed || value == Some(0.0))
            }
            Self::Choice(select, key) => {
                let usual = (select.spec().get)(&Settings::default()) == key;
                (select.applies(settings) || usual) && (select.spec().get)(&run) == key
            }
        }
    }

    /// With which other option the run would have it.
    fn needs(&self, settings: &Settings) -> Option<String> {
        let would = |other: Self| {
            let mut settings = settings.clone();
            other.set(&mut settings);
            self.set(&mut settings);
            self.is_in(&settings)
        };
        for select in choices() {
            let keys = options(select).map(|(key, _)| key);
            // Without noise or a bound there is no guarantee: nobody is sent there.
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

/// An option that has no part in the run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Need {
    pub option: &'static str,
    /// With what it would have one.
    pub needs: Option<String>,
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.needs {
            Some(needs) => write!(f, "--{} needs {needs}", self.option),
            None => write!(f, "--{} has no part in this run: other options exclude it", self.option),
        }
    }
}

/// Checks that the run which `settings` describe has each of `given`.
///
/// # Errors
/// The first that it has not, with what it needs.
pub fn check(given: &[Setting], settings: &Settings) -> Result<(), Need> {
    match given.iter().find(|setting| !setting.is_in(settings)) {
        None => Ok(()),
        Some(setting) => Err(Need { option: option(setting.key()), needs: setting.needs(settings) }),
    }
}

/// The settings that the command line names, in the order of the tables.
#[derive(Clone, Debug, Default)]
pub struct SettingFlags(pub Vec<Setting>);

impl SettingFlags {
    /// Whether one is named by its key.
    pub fn names(&self, key: &str) -> bool {
        self.0.iter().any(|setting| setting.key() == key)
    }

    /// The value of a number that is named.
    pub fn number(&self, wanted: Number) -> Option<f64> {
        self.0.iter().find_map(|setting| match setting {
            Setting::Number(number, value) if *number == wanted => *value,
            _ => None,
        })
    }
}

/// Reads the number of an option; what it may be the plan checks.
fn read(number: Number, text: &str) -> Result<Option<f64>, String> {
    let value = if number.spec().whole {
        // A field takes no more, or a number keeps its digits no further.
        let most = if number.spec().most == Bound::At(WHOLE) { WHOLE } else { u32::MAX.into() };
        let value = text.parse::<u64>().map_err(|error| error.to_string())? as f64;
        if value > most {
            return Err(format!("it must be at most {most}"));
        }
        value
    } else {
        finite(text)?
    };
    // Nobody holds the examples together.
    Ok(Some(value).filter(|value| number != Number::Users || *value != 0.0))
}

/// Reads a finite number.
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

/// Reads one of the choices of `C` by its key.
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
