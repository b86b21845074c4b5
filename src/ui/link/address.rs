//! The page's state in its address: short, readable, validated. Only what differs from the default
//! is written; an unknown key or a bad value is reported in a sentence, and the default stays.

use super::{
    encoding::{LONGEST, encode, pairs},
    error::LinkError,
    handed_in, lock,
    noise_query::{KEYS, NoiseQuery, PSIS},
    own_training::{FIELDS, NOISES, OwnTraining},
};
use crate::{
    data::name::kept,
    model::{Architecture, layers::LayerList},
    plot::format,
    train::{
        config::SamplingPolicy,
        functional::{features::Features, price::Mechanism},
    },
    ui::{
        settings::{
            Choice, Encoder, Family, Number, PhaseKind, Select, Settings, Speed, Theme, clipped,
            presets::{self, Preset},
        },
        text::t,
    },
    worker::protocol::BackendChoice,
};

/// Version of the keys below. A link of a later version is read as far as possible, and reported.
const VERSION: u32 = 1;
/// ε of the pay-once release, if a link does not name it.
const PAY_ONCE: f64 = 1.0;
/// Maximum length of a formula or list, in characters.
const LONGEST_FORMULA: usize = 1000;

/// Numbers of cores that a link may name, by index; 0 is `auto`.
pub const CORES: [&str; 9] = ["auto", "1", "2", "3", "4", "5", "6", "7", "8"];

/// The state that an address encodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    pub settings: Settings,
    pub backend: BackendChoice,
    /// Cores that the CPU computes on; `None`: as many as the machine can spare.
    pub cores: Option<u32>,
    pub speed: Speed,
    pub theme: Option<Theme>,
    /// Such as `de`. `www/start.js` has already applied it, or ignored an unknown one.
    pub language: Option<String>,
    /// Whether the page is in presentation mode.
    pub present: bool,
    /// The open lesson and its step: `why-noise.2`.
    pub lesson: Option<String>,
    /// Whether the noise lab is open, and its query.
    pub lab: bool,
    pub query: NoiseQuery,
    /// The open panel of the visitor's own training.
    pub own: Option<OwnTraining>,
    /// Whether the demonstrations of attacks are open.
    pub attacks: bool,
    /// Features of the open pay-once release, its noise and its ε.
    pub pay_once: Option<Features>,
    pub pay_once_noise: Mechanism,
    pub pay_once_epsilon: f64,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            settings: presets::first_settings(),
            backend: BackendChoice::Automatic,
            cores: None,
            speed: Speed::Max,
            theme: None,
            language: None,
            present: false,
            lesson: None,
            lab: false,
            query: NoiseQuery::default(),
            own: None,
            attacks: false,
            pay_once: None,
            pay_once_noise: Mechanism::Gaussian,
            pay_once_epsilon: PAY_ONCE,
        }
    }
}

/// Reads a query (`?model=mlp&sigma=2`); returns a sentence for each problem.
#[must_use]
pub fn read(query: &str) -> (Link, Vec<String>) {
    let mut ground = Link::default();
    // Links that name a setting start from `Settings::default()`, as all did before the presets.
    if query.len() <= LONGEST && pairs(query).iter().any(|(key, _)| names_a_setting(key)) {
        ground.settings = Settings::default();
    }
    read_onto(ground, query)
}

/// True if a key of a link sets something of the run.
fn names_a_setting(key: &str) -> bool {
    matches!(key, "preset" | "layers" | "density" | "phase-list" | "layer-norms")
        || Number::by_key(key).is_some()
        || Select::by_key(key).is_some()
}

/// Reads a query onto `link`: what the query does not name stays.
#[must_use]
pub fn read_onto(mut link: Link, query: &str) -> (Link, Vec<String>) {
    let mut problems = vec![];
    if query.len() > LONGEST {
        problems.push(t!(
            "The address is {n} characters long, too long for a link of this page; it was ignored.",
            n = format::integer(query.len() as u64)
        ));
        return (link, problems);
    }
    // A preset is applied first, wherever it stands.
    let (ground, rest): (Vec<_>, Vec<_>) = pairs(query).into_iter().partition(|(key, _)| key == "preset");
    let mut unknown = vec![];
    for (key, value) in ground.into_iter().chain(rest) {
        match link.take(&key, &value) {
            Ok(()) => {}
            Err(LinkError::Unknown) if unknown.len() < MOST_UNKNOWN => unknown.push(clipped(&key)),
            Err(LinkError::Unknown) => {}
            Err(problem) => problems.push(problem.to_string()),
        }
    }
    if !unknown.is_empty() {
        let names = unknown.join(", ");
        problems.push(t!("The link has settings unknown to this page; they were ignored: {names}.", names = names));
    }
    (link, problems)
}

/// Maximum length of a lesson's name, in characters; longer than any.
const LONGEST_LESSON: usize = 30;

/// Maximum number of unknown keys that are listed.
const MOST_UNKNOWN: usize = 5;

/// True if other code reads this key, or another site appended it to count its visitors.
fn is_elsewhere(key: &str) -> bool {
    lock::KEYS.contains(&key)
        || [handed_in::KEY, handed_in::BY, "hide", "view", "poster"].contains(&key)
        || key.starts_with("utm_")
        || key.ends_with("clid")
}

impl Link {
    fn take(&mut self, key: &str, value: &str) -> Result<(), LinkError> {
        let settings = &mut self.settings;
        let read =
            |number: Number| number.parse(value).map_err(|problem| LinkError::Number { key: key.to_owned(), problem });
        match key {
            "v" => match value.parse::<u32>() {
                Ok(version) if version <= VERSION => {}
                Ok(version) => return Err(LinkError::Later { version, known: VERSION }),
                Err(_) => return Err(LinkError::Version(clipped(value))),
            },
            "preset" => {
                let preset = Preset::by_key(value);
                *settings = preset
                    .ok_or_else(|| wrong(key, value, &presets::all().map(|preset| preset.key).collect::<Vec<_>>()))?
                    .settings(settings);
            }
            "layers" => {
                let list = value.parse().map_err(LinkError::Layers)?;
                settings.model = Architecture::Built(list);
            }
            "density" | "lab-density" | "phase-list" | "layer-norms" => {
                if value.is_empty() || value.chars().count() > LONGEST_FORMULA {
                    return Err(LinkError::Formula {
                        key: key.to_owned(),
                        value: clipped(value),
                        most: LONGEST_FORMULA,
                    });
                }
                let text = match key {
                    "density" => &mut settings.formula,
                    "phase-list" => &mut settings.phase_list,
                    "layer-norms" => &mut settings.layer_norms,
                    _ => &mut self.query.formula,
                };
                value.clone_into(text);
            }
            "lang" => {
                let known = (2..=3).contains(&value.len()) && value.bytes().all(|letter| letter.is_ascii_lowercase());
                self.language = known.then(|| value.to_owned());
            }
            "present" => self.present = is_on(key, value)?,
            "lesson" => self.lesson = Some(kept(value, LONGEST_LESSON)),
            "lab" => {
                self.lab = value != "0";
                if !matches!(value, "" | "0" | "1") {
                    self.query.choose(value).map_err(|name| wrong(key, name, &KEYS))?;
                }
            }
            "lab-envelope" => {
                let found = PSIS.iter().find(|(name, ..)| *name == value);
                self.query.psi = found.ok_or_else(|| wrong(key, value, &PSIS.map(|(name, ..)| name)))?.1;
            }
            // An empty value changes nothing.
            "lab-epsilon" => self.query.epsilon = read(Number::Budget)?.unwrap_or(self.query.epsilon),
            "lab-exponent" => self.query.exponent = read(Number::Exponent)?.unwrap_or(self.query.exponent),
            "own" => self.own = is_on(key, value)?.then(|| self.own.take().unwrap_or_default()),
            "own-sampling" => {
                let found = SamplingPolicy::by_key(value).ok_or_else(|| wrong(key, value, &keys(SamplingPolicy::ALL)));
                self.own.get_or_insert_default().sampling = found?;
            }
            "own-noise" => {
                let found = NOISES.into_iter().find(|noise| noise.key() == value);
                self.own.get_or_insert_default().noise = found.ok_or_else(|| wrong(key, value, &keys(&NOISES)))?;
            }
            "attacks" => self.attacks = is_on(key, value)?,
            "pay-once" => {
                let found = Features::by_key(value);
                self.pay_once = Some(found.ok_or_else(|| wrong(key, value, &Features::ALL.map(Features::key)))?);
            }
            "pay-once-noise" => {
                let found = Mechanism::by_key(value);
                self.pay_once_noise = found.ok_or_else(|| wrong(key, value, &Mechanism::ALL.map(Mechanism::key)))?;
            }
            "pay-once-epsilon" => self.pay_once_epsilon = read(Number::Budget)?.unwrap_or(PAY_ONCE),
            "speed" => self.speed = Speed::by_key(value).ok_or_else(|| wrong(key, value, &keys(Speed::ALL)))?,
            "theme" => {
                self.theme = Some(Theme::by_key(value).ok_or_else(|| wrong(key, value, &keys(Theme::ALL)))?);
            }
            "backend" => {
                self.backend = match value {
                    "auto" => BackendChoice::Automatic,
                    "cpu" => BackendChoice::Cpu,
                    "gpu" => BackendChoice::Gpu,
                    _ => return Err(wrong(key, value, &["auto", "cpu", "gpu"])),
                }
            }
            "cores" => {
                let place = CORES.iter().position(|&cores| cores == value);
                self.cores = match place.ok_or_else(|| wrong(key, value, &CORES))? {
                    0 => None,
                    cores => Some(cores as u32),
                };
            }
            _ => {
                if let Some(field) = FIELDS.iter().find(|field| field.key == key) {
                    let value =
                        field.parse(value).map_err(|problem| LinkError::Number { key: key.to_owned(), problem })?;
                    (field.set)(self.own.get_or_insert_default(), value);
                } else if let Some(number) = Number::by_key(key) {
                    settings.set_number(number, read(number)?);
                } else if let Some(spec) = Select::by_key(key).map(Select::spec) {
                    if !(spec.set)(settings, value) {
                        return Err(wrong(key, value, &spec.options().map(|(key, _)| key).collect::<Vec<_>>()));
                    }
                } else if !is_elsewhere(key) {
                    return Err(LinkError::Unknown);
                }
            }
        }
        Ok(())
    }

    /// Writes the query, without `?`; empty if everything has its default.
    #[must_use]
    pub fn write(&self) -> String {
        let settings = &self.settings;
        let mut pairs: Vec<(&str, String)> = vec![];
        let first = *settings == presets::first_settings();
        let preset = Preset::of(settings).filter(|preset| preset.settings(&Settings::default()) != Settings::default());
        let default = preset.map_or_else(Settings::default, |preset| preset.settings(&Settings::default()));
        if let Some(preset) = preset.filter(|_| !first) {
            pairs.push(("preset", preset.key.to_owned()));
        }
        for select in Select::ALL {
            let spec = select.spec();
            let chosen = (spec.get)(settings);
            if chosen != (spec.get)(&default) {
                pairs.push((spec.key, chosen.to_owned()));
            }
            if let (Select::Model, Architecture::Built(list)) = (select, settings.model)
                && list != LayerList::FIRST
            {
                pairs.push(("layers", encode(&list.to_string())));
            }
            if select == Select::Noise && settings.family == Family::Custom && settings.formula != default.formula {
                pairs.push(("density", encode(&settings.formula)));
            }
            if select == Select::Clipping
                && settings.encoder == Encoder::Layers
                && settings.layer_norms != default.layer_norms
            {
                pairs.push(("layer-norms", encode(&settings.layer_norms)));
            }
            if select == Select::Phases
                && settings.phases == PhaseKind::List
                && settings.phase_list != default.phase_list
            {
                pairs.push(("phase-list", encode(&settings.phase_list)));
            }
        }
        for number in Number::ALL {
            let value = settings.number(number);
            if value != default.number(number) {
                pairs.push((number.spec().key, value.map_or_else(String::new, format::exact)));
            }
        }
        // Name something, or the query would be read as the page's first settings.
        if pairs.is_empty() && !first {
            pairs.push(("preset", "dp-sgd".to_owned()));
        }
        if self.speed != Speed::Max {
            pairs.push(("speed", self.speed.key().to_owned()));
        }
        match self.backend {
            BackendChoice::Automatic => {}
            BackendChoice::Cpu => pairs.push(("backend", "cpu".to_owned())),
            BackendChoice::Gpu => pairs.push(("backend", "gpu".to_owned())),
        }
        if let Some(cores) = self.cores {
            pairs.push(("cores", CORES.get(cores as usize).copied().unwrap_or_default().to_owned()));
        }
        if let Some(theme) = self.theme {
            pairs.push(("theme", theme.key().to_owned()));
        }
        if let Some(language) = &self.language {
            pairs.push(("lang", language.clone()));
        }
        if self.present {
            pairs.push(("present", "1".to_owned()));
        }
        if let Some(lesson) = &self.lesson {
            pairs.push(("lesson", encode(lesson)));
        }
        if self.lab {
            let (query, first) = (&self.query, NoiseQuery::default());
            pairs.push(("lab", query.names()));
            if let Some((name, ..)) = PSIS.iter().find(|(_, psi, _)| *psi == query.psi && *psi != first.psi) {
                pairs.push(("lab-envelope", (*name).to_owned()));
            }
            let numbers =
                [("lab-epsilon", query.epsilon, first.epsilon), ("lab-exponent", query.exponent, first.exponent)];
            for (key, value, first) in numbers {
                if value != first {
                    pairs.push((key, format::exact(value)));
                }
            }
            if !query.formula.is_empty() {
                pairs.push(("lab-density", encode(&query.formula)));
            }
        }
        if let Some(own) = &self.own {
            pairs.push(("own", "1".to_owned()));
            pairs.extend(own.changes());
        }
        if self.attacks {
            pairs.push(("attacks", "1".to_owned()));
        }
        if let Some(features) = self.pay_once {
            pairs.push(("pay-once", features.key().to_owned()));
            if self.pay_once_noise != Mechanism::Gaussian {
                pairs.push(("pay-once-noise", self.pay_once_noise.key().to_owned()));
            }
            if self.pay_once_epsilon != PAY_ONCE {
                pairs.push(("pay-once-epsilon", format::exact(self.pay_once_epsilon)));
            }
        }
        if pairs.is_empty() {
            return String::new();
        }
        pairs.insert(0, ("v", VERSION.to_string()));
        pairs.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join("&")
    }
}

/// Reads a switch, which is on if its key has no value.
fn is_on(key: &str, value: &str) -> Result<bool, LinkError> {
    match value {
        "1" | "" => Ok(true),
        "0" => Ok(false),
        _ => Err(wrong(key, value, &["1", "0"])),
    }
}

/// Returns the keys of all options.
fn keys<C: Choice>(all: &[C]) -> Vec<&'static str> {
    all.iter().map(|choice| choice.key()).collect()
}

fn wrong(key: &str, value: &str, allowed: &[&str]) -> LinkError {
    LinkError::Choice { key: key.to_owned(), value: clipped(value), allowed: allowed.join(", ") }
}

#[cfg(test)]
#[path = "address_tests.rs"]
mod tests;
