//! The page's state in its address: short, readable, checked. Only what differs from the default is written; unknown
//! keys are ignored; a bad value gets a sentence, and its default stays.

use super::noise_query::{Asked, KEYS, PSIS};
use crate::{
    mechanism::EnvelopeShape,
    ui::settings::{
        Choice, Family, Number, Settings, Speed, Theme, clipped,
        presets::{self, Preset},
    },
    worker::protocol::BackendChoice,
};

/// Version of the keys below; a link from a later one is read as far as it is understood, and says so.
const VERSION: u32 = 1;
/// Longest formula of a density.
const LONGEST_FORMULA: usize = 1000;
/// A longer address is not one of ours.
const LONGEST: usize = 4096;

/// All that an address can say.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    pub settings: Settings,
    pub backend: BackendChoice,
    pub speed: Speed,
    pub theme: Option<Theme>,
    /// The lesson that is open, and its step: `why-noise.2`.
    pub lesson: Option<String>,
    /// Whether the noise lab is open, and what it is asked.
    pub lab: bool,
    pub asked: Asked,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            backend: BackendChoice::Automatic,
            speed: Speed::Max,
            theme: None,
            lesson: None,
            lab: false,
            asked: Asked::default(),
        }
    }
}

/// Reads a query (`?model=mlp&sigma=2`), and says in a sentence each what was wrong with it.
#[must_use]
pub fn read(query: &str) -> (Link, Vec<String>) {
    read_onto(Link::default(), query)
}

/// Reads a query on the ground of `link`: what it does not name stays.
#[must_use]
pub fn read_onto(mut link: Link, query: &str) -> (Link, Vec<String>) {
    let mut problems = vec![];
    if query.len() > LONGEST {
        problems.push(format!(
            "The address is {} characters long, and no link of this page is; it was left aside.",
            crate::plot::format::integer(query.len() as u64)
        ));
        return (link, problems);
    }
    // A preset is the ground that all else is laid on, wherever it stands.
    let (ground, rest): (Vec<_>, Vec<_>) = pairs(query).into_iter().partition(|(key, _)| key == "preset");
    for (key, value) in ground.into_iter().chain(rest) {
        if let Err(problem) = link.take(&key, &value) {
            problems.push(problem);
        }
    }
    (link, problems)
}

/// Keys and values, decoded; of an address that is none of ours, none.
#[must_use]
pub fn pairs(query: &str) -> Vec<(String, String)> {
    let query = if query.len() > LONGEST { "" } else { query.trim_start_matches('?') };
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(key, value)| (decode(key), decode(value)))
        .collect()
}

impl Link {
    fn take(&mut self, key: &str, value: &str) -> Result<(), String> {
        let settings = &mut self.settings;
        let read = |number: Number| number.parse(value).map_err(|problem| format!("In the link, {key}: {problem}"));
        match key {
            "v" => match value.parse::<u32>() {
                Ok(version) if version <= VERSION => {}
                Ok(version) => {
                    return Err(format!(
                        "The link is of version {version}, and this page reads {VERSION}; parts of it may be missing."
                    ));
                }
                Err(_) => return Err(format!("The link's version (v) must be a number; “{}” is not.", clipped(value))),
            },
            "preset" => {
                let preset = Preset::by_key(value);
                *settings = preset
                    .ok_or_else(|| wrong(key, value, &presets::all().map(|preset| preset.key).collect::<Vec<_>>()))?
                    .settings(settings);
            }
            "dataset" => settings.digits = choice(key, value)?,
            "model" => settings.model = choice(key, value)?,
            "encoder" => settings.encoder = choice(key, value)?,
            "shape" => settings.shape = choice::<EnvelopeShape>(key, value)?,
            "noise" => settings.family = choice(key, value)?,
            "density" | "lab-density" => {
                if value.is_empty() || value.chars().count() > LONGEST_FORMULA {
                    return Err(format!(
                        "In the link, {key} must be a formula of 1 to {LONGEST_FORMULA} characters; “{}” is not.",
                        clipped(value)
                    ));
                }
                let formula = if key == "density" { &mut settings.formula } else { &mut self.asked.formula };
                value.clone_into(formula);
            }
            "denoiser" => settings.denoiser = choice(key, value)?,
            "lesson" => self.lesson = Some(clipped(value)),
            "lab" => {
                self.lab = value != "0";
                if !matches!(value, "" | "0" | "1") {
                    self.asked.choose(value).map_err(|name| wrong(key, name, &KEYS))?;
                }
            }
            "lab-envelope" => {
                let found = PSIS.iter().find(|(name, ..)| *name == value);
                self.asked.psi = found.ok_or_else(|| wrong(key, value, &PSIS.map(|(name, ..)| name)))?.1;
            }
            // Empty, either stays.
            "lab-epsilon" => self.asked.epsilon = read(Number::Budget)?.unwrap_or(self.asked.epsilon),
            "lab-exponent" => self.asked.exponent = read(Number::Exponent)?.unwrap_or(self.asked.exponent),
            "sampling" => settings.sampling = choice(key, value)?,
            "schedule" => settings.decay = choice(key, value)?,
            "start" => settings.start = choice(key, value)?,
            "reading" => settings.reading = choice(key, value)?,
            "averaging" => settings.averaging = choice(key, value)?,
            "speed" => self.speed = choice(key, value)?,
            "theme" => self.theme = Some(choice(key, value)?),
            "backend" => {
                self.backend = match value {
                    "auto" => BackendChoice::Automatic,
                    "cpu" => BackendChoice::Cpu,
                    "gpu" => BackendChoice::Gpu,
                    _ => return Err(wrong(key, value, &["auto", "cpu", "gpu"])),
                }
            }
            _ => {
                if let Some(number) = Number::by_key(key) {
                    settings.set_number(number, read(number)?);
                }
            }
        }
        Ok(())
    }

    /// The query that says this, without `?`; empty where everything is as by default.
    #[must_use]
    pub fn write(&self) -> String {
        let settings = &self.settings;
        let mut pairs: Vec<(&str, String)> = vec![];
        let preset = Preset::of(settings).filter(|preset| preset.settings(&Settings::default()) != Settings::default());
        let default = preset.map_or_else(Settings::default, |preset| preset.settings(&Settings::default()));
        if let Some(preset) = preset {
            pairs.push(("preset", preset.key.to_owned()));
        }
        // One function for all of them keeps the page small.
        let put = |pairs: &mut Vec<(&str, String)>, key: &'static str, now: &str, before: &str| {
            if now != before {
                pairs.push((key, now.to_owned()));
            }
        };
        put(&mut pairs, "dataset", settings.digits.key(), default.digits.key());
        put(&mut pairs, "model", settings.model.key(), default.model.key());
        put(&mut pairs, "encoder", settings.encoder.key(), default.encoder.key());
        put(&mut pairs, "shape", settings.shape.key(), default.shape.key());
        put(&mut pairs, "noise", settings.family.key(), default.family.key());
        if settings.family == Family::Custom && settings.formula != default.formula {
            pairs.push(("density", encode(&settings.formula)));
        }
        put(&mut pairs, "denoiser", settings.denoiser.key(), default.denoiser.key());
        put(&mut pairs, "sampling", settings.sampling.key(), default.sampling.key());
        put(&mut pairs, "schedule", settings.decay.key(), default.decay.key());
        put(&mut pairs, "start", settings.start.key(), default.start.key());
        put(&mut pairs, "reading", settings.reading.key(), default.reading.key());
        put(&mut pairs, "averaging", settings.averaging.key(), default.averaging.key());
        for number in Number::ALL {
            let value = settings.number(number);
            if value != default.number(number) {
                pairs.push((number.spec().key, value.map_or_else(String::new, crate::plot::format::exact)));
            }
        }
        if self.speed != Speed::Max {
            pairs.push(("speed", self.speed.key().to_owned()));
        }
        match self.backend {
            BackendChoice::Automatic => {}
            BackendChoice::Cpu => pairs.push(("backend", "cpu".to_owned())),
            BackendChoice::Gpu => pairs.push(("backend", "gpu".to_owned())),
        }
        if let Some(theme) = self.theme {
            pairs.push(("theme", theme.key().to_owned()));
        }
        if let Some(lesson) = &self.lesson {
            pairs.push(("lesson", encode(lesson)));
        }
        if self.lab {
            let (asked, first) = (&self.asked, Asked::default());
            pairs.push(("lab", asked.names()));
            if let Some((name, ..)) = PSIS.iter().find(|(_, psi, _)| *psi == asked.psi && *psi != first.psi) {
                pairs.push(("lab-envelope", (*name).to_owned()));
            }
            let numbers =
                [("lab-epsilon", asked.epsilon, first.epsilon), ("lab-exponent", asked.exponent, first.exponent)];
            for (key, value, first) in numbers {
                if value != first {
                    pairs.push((key, crate::plot::format::exact(value)));
                }
            }
            if !asked.formula.is_empty() {
                pairs.push(("lab-density", encode(&asked.formula)));
            }
        }
        if pairs.is_empty() {
            return String::new();
        }
        pairs.insert(0, ("v", VERSION.to_string()));
        pairs.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join("&")
    }
}

fn choice<C: Choice>(key: &str, value: &str) -> Result<C, String> {
    C::by_key(value).ok_or_else(|| not_among(key, value, |place| C::ALL.get(place).map(|choice| choice.key())))
}

fn not_among(key: &str, value: &str, choice: fn(usize) -> Option<&'static str>) -> String {
    wrong(key, value, &(0..).map_while(choice).collect::<Vec<_>>())
}

fn wrong(key: &str, value: &str, allowed: &[&str]) -> String {
    format!("In the link, {key} must be one of {}; “{}” is not.", allowed.join(", "), clipped(value))
}

/// Percent-encoding of all that an address may not hold as it is.
fn encode(text: &str) -> String {
    use std::fmt::Write;
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~()*,".contains(&byte) {
            out.push(byte.into());
        } else {
            // Writing into a string cannot fail.
            _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

/// Percent-decoding, `+` as a space; what is not UTF-8 becomes �.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = |b: u8| (b as char).to_digit(16).map(|d| d as u8);
        rest = tail;
        match (first, tail) {
            (b'+', _) => bytes.push(b' '),
            (b'%', [a, b, after @ ..]) if hex(*a).is_some() && hex(*b).is_some() => {
                bytes.push(hex(*a).unwrap_or(0) << 4 | hex(*b).unwrap_or(0));
                rest = after;
            }
            _ => bytes.push(*first),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        engine::Reading,
        mechanism::Denoiser,
        model::Architecture,
        train::config::{Averaging, SamplingPolicy, Start},
        ui::settings::{Decay, Digits, Encoder},
    };
    use proptest::prelude::*;

    #[test]
    fn the_default_state_is_an_empty_query() {
        assert_eq!(Link::default().write(), "");
        assert_eq!(read(""), (Link::default(), vec![]));
        assert_eq!(read("?utm_source=x&foo"), (Link::default(), vec![]));
    }

    #[test]
    fn links_are_short_and_readable() {
        let mut link = Link::default();
        link.settings.family = Family::StudentT;
        link.settings.scale = 1.5;
        link.backend = BackendChoice::Cpu;
        assert_eq!(link.write(), "v=1&noise=student-t&sigma=1.5&backend=cpu");
        assert_eq!(read("?v=1&noise=student-t&sigma=1.5&backend=cpu"), (link, vec![]));
        let mut link = Link::default();
        link.settings.sampling = SamplingPolicy::Shuffled;
        assert_eq!(link.write(), "v=1&sampling=shuffled");
    }

    #[test]
    fn a_preset_is_one_word_and_can_be_changed() {
        for preset in presets::all() {
            let link = Link { settings: preset.settings(&Settings::default()), ..Link::default() };
            let expected = if preset.key == "dp-sgd" { String::new() } else { format!("v=1&preset={}", preset.key) };
            assert_eq!(link.write(), expected);
            assert_eq!(read(&link.write()), (link, vec![]));
        }
        let (link, problems) = read("?sigma=2&preset=best-1");
        assert_eq!((link.settings.scale, link.settings.lot, problems), (2.0, 2048, vec![]));
    }

    #[test]
    fn what_a_query_does_not_name_stays() {
        let (ground, _) = read("?model=mlp&sigma=3&backend=cpu");
        let (link, problems) = read_onto(ground, "sigma=2");
        assert_eq!((link.write(), problems), ("v=1&model=mlp&sigma=2&backend=cpu".to_owned(), vec![]));
    }

    #[test]
    fn bad_values_are_named_and_the_rest_is_taken() {
        let (link, problems) = read("?backend=quantum&sigma=-2&model=mlp&delta=%2B7&v=9&lot=NaN");
        assert_eq!(
            link,
            Link { settings: Settings { model: Architecture::Mlp, ..Settings::default() }, ..Link::default() }
        );
        assert_eq!(
            problems,
            [
                "In the link, backend must be one of auto, cpu, gpu; “quantum” is not.",
                "In the link, sigma: Noise scale must be a number from 1e-6 to 10,000; “-2” is not.",
                "In the link, delta: δ must be a number between 0 and 1, without the ends; “+7” is not.",
                "The link is of version 9, and this page reads 1; parts of it may be missing.",
                "In the link, lot: Lot size must be a whole number from 1 to 1e9; “NaN” is not.",
            ]
        );
        assert_eq!(
            read("?sampling=all").1,
            ["In the link, sampling must be one of poisson, fixed-size, shuffled; “all” is not."]
        );
        assert!(read("?preset=x").1[0].starts_with("In the link, preset must be one of no-privacy, dp-sgd, "));
        let (link, problems) = read(&format!("?sigma={}", "1".repeat(100_000)));
        assert_eq!(link, Link::default());
        assert_eq!(problems.len(), 1);
        assert!(problems[0].contains("100,007 characters"));
    }

    fn any<C: Choice + std::fmt::Debug>() -> impl Strategy<Value = C> {
        (0..C::ALL.len()).prop_map(|i| C::ALL[i])
    }

    prop_compose! {
        fn settings()(
            digits in any::<Digits>(), model in any::<Architecture>(), encoder in any::<Encoder>(), shape in any::<EnvelopeShape>(),
            family in any::<Family>(), denoiser in any::<Denoiser>(), decay in any::<Decay>(), start in any::<Start>(), reading in any::<Reading>(),
            sampling in any::<SamplingPolicy>(), averaging in any::<Averaging>(),
            a in (1e-6..1e6f64, 1u32..=4096, 1e-6..1e6f64, 0u64..1 << 53, prop::option::of(1e-6..1e3f64), 1e-6..1e4f64, 2.0001..1e6f64),
            b in (1.0..100.0f64, 1u32..=1_000_000_000, 1e-6..1e6f64, 0.0..=1.0f64, 0.0..0.9999f64, 1u32..=16, 1u32..=4),
            formula in "[-+*/^()x0-9a-z .]{1,40}",
            c in (prop::option::of(1u64..=1_000_000_000), 1e-12..0.999f64, 0u64..1 << 53, prop::option::of(0u64..1 << 53)),
            grid_bits in prop::option::of(1u32..=24),
        ) -> Settings {
            Settings {
                digits, model, encoder, shape, family, denoiser, decay, sampling,
                clip_norm: a.0, vectors: a.1, pre_scale: a.2, envelope_seed: a.3, budget: a.4, scale: a.5, nu: a.6,
                exponent: b.0, lot: b.1, learning_rate: b.2, rate_end: b.3, momentum: b.4, copies: b.5, reach: b.6,
                steps: c.0, delta: c.1, init_seed: c.2, replay: c.3, start, reading, averaging, grid_bits,
                formula: if family == Family::Custom { formula } else { Settings::default().formula },
                density: None,
            }
        }
    }

    prop_compose! {
        fn asked()(
            chosen in prop::array::uniform9(proptest::bool::ANY), psi in 0..PSIS.len(), epsilon in 1e-6..1e3f64,
            exponent in 1.0..100.0f64, formula in "[-+*/^()x0-9a-z .]{0,40}",
        ) -> Asked {
            Asked { chosen, psi: PSIS[psi].1, epsilon, exponent, formula }
        }
    }

    fn backend() -> impl Strategy<Value = BackendChoice> {
        prop::sample::select(vec![BackendChoice::Automatic, BackendChoice::Cpu, BackendChoice::Gpu])
    }

    /// A link for each key but those of numbers, which says something by it that is not so by default.
    const SAID: [&str; 21] = [
        "preset=best-1",
        "dataset=synthetic",
        "model=mlp",
        "encoder=none",
        "shape=sparse",
        "noise=laplace",
        "noise=custom&density=1%2Fcosh(x)",
        "denoiser=kolmogorov-smirnov",
        "sampling=fixed-size",
        "schedule=cosine",
        "start=pretrained",
        "reading=second-look",
        "averaging=exponential",
        "speed=slow",
        "backend=gpu",
        "theme=dark",
        "lesson=one-step.3",
        "lab=cauchy,density",
        "lab=1&lab-envelope=26",
        "lab=1&lab-epsilon=2.5&lab-exponent=4",
        "lab=1&lab-density=exp(-x%5E4)",
    ];

    /// The same, and a number each.
    fn said() -> Vec<String> {
        let number = |number: Number| {
            let value = Settings::default().number(number).map_or(Some(3.0), |value| number.spec().nudged(value, true));
            format!("{}={}", number.spec().key, crate::plot::format::exact(value.unwrap()))
        };
        SAID.into_iter().map(str::to_owned).chain(Number::ALL.into_iter().map(number)).collect()
    }

    /// The keys that `Link::take` knows, as its source says, and those of numbers.
    fn keys() -> Vec<String> {
        let (_, source) = include_str!("query.rs").split_once("fn take(").unwrap();
        let (source, _) = source.split_once("fn write(").unwrap();
        let arms = source.lines().filter(|line| line.starts_with(&format!("{:12}\"", ""))).filter_map(|line| {
            let (keys, _) = line.split_once("=>")?;
            Some(keys.split('|').map(|key| key.trim().trim_matches('"').to_owned()).collect::<Vec<_>>())
        });
        arms.flatten().chain(Number::ALL.map(|number| number.spec().key.to_owned())).collect()
    }

    #[test]
    fn every_key_is_read_and_written() {
        let mut silent = keys();
        assert!(silent.len() > 35, "{silent:?}");
        for query in said() {
            let (link, problems) = read(&query);
            assert_eq!((link.write(), problems), (format!("v=1&{query}"), vec![]));
            silent.retain(|key| !pairs(&query).iter().any(|(said, _)| said == key));
        }
        assert_eq!(silent, ["v"], "keys for which `SAID` says nothing");
    }

    #[test]
    fn no_key_takes_what_is_wrong_or_too_long() {
        let (ground, _) = read("?theme=dark&model=mlp");
        for key in keys() {
            let free = ["density", "lab-density", "lesson"].contains(&key.as_str());
            let value = if free { "1".repeat(LONGEST_FORMULA + 1) } else { "~".to_owned() };
            let (link, problems) = read(&format!("?theme=dark&{key}={value}&model=mlp"));
            if key == "lesson" {
                assert!(problems.is_empty() && link.lesson.unwrap().len() < 100, "{problems:?}");
                continue;
            }
            assert_eq!(Link { lab: false, ..link }, ground, "{key}");
            assert!(
                problems.len() == 1 && problems[0].contains(&key) && problems[0].len() < 300,
                "{key}: {problems:?}"
            );
            let (link, problems) = read(&format!("?model=mlp&{key}={}", "1".repeat(100_000)));
            assert!(
                link == Link::default() && problems.len() == 1 && problems[0].contains("characters"),
                "{problems:?}"
            );
        }
    }

    #[test]
    fn what_the_noise_lab_is_asked_is_readable_and_checked() {
        let query = "v=1&lab=gaussian,cauchy&lab-envelope=26&lab-epsilon=2.5&lab-exponent=4";
        let (link, problems) = read(query);
        assert_eq!((link.write().as_str(), problems), (query, vec![]));
        assert_eq!(read("?lab=1").0, Link { lab: true, ..Link::default() });
        assert_eq!(read("?lab=0").0, Link::default());
        let (link, problems) = read("?lab=gaussian,magic&lab-envelope=27&lab-epsilon=-1&lab-exponent=0&lab-density=");
        assert_eq!(link, Link { lab: true, ..Link::default() });
        assert!(problems[0].starts_with("In the link, lab must be one of gaussian, student-t-9, "), "{problems:?}");
        assert!(problems[0].ends_with("“magic” is not."), "{problems:?}");
        assert_eq!(
            problems[1],
            "In the link, lab-envelope must be one of spread, heavy-tailed, 260, 26, 1; “27” is not."
        );
        assert!(problems[2].starts_with("In the link, lab-epsilon: Budget ε must be"), "{problems:?}");
        assert!(problems[3].starts_with("In the link, lab-exponent: Exponent must be"), "{problems:?}");
        assert!(problems[4].starts_with("In the link, lab-density must be a formula"), "{problems:?}");
    }

    proptest! {
        #[test]
        fn every_state_survives_its_link(
            settings in settings(), speed in any::<Speed>(), theme in prop::option::of(any::<Theme>()), backend in backend(),
            asked in prop::option::of(asked()), lesson in prop::option::of("[a-z-]{1,12}\\.[0-9]{1,2}"),
        ) {
            let lab = asked.is_some();
            let asked = asked.unwrap_or_default();
            let link = Link { settings, backend, speed, theme, lesson, lab, asked };
            let (back, problems) = read(&format!("?{}", link.write()));
            prop_assert_eq!(problems, Vec::<String>::new());
            prop_assert_eq!(back, link);
        }

        #[test]
        fn what_nobody_knows_changes_nothing(
            said in prop::sample::subsequence(said(), 0..=SAID.len()).prop_shuffle(),
            unknown in prop::collection::vec(("x-[a-z%+=]{0,12}", 0..SAID.len()), 0..8),
        ) {
            // A density is written where it is the noise's.
            let said = [said, vec!["noise=custom".to_owned()]].concat();
            let (link, problems) = read(&said.join("&"));
            prop_assert_eq!(problems, Vec::<String>::new());
            let mut mixed = said;
            for (nonsense, place) in unknown {
                mixed.insert(place.min(mixed.len()), nonsense);
            }
            prop_assert_eq!(read(&mixed.join("&")), (link.clone(), vec![]));
            prop_assert_eq!(read(&link.write()), (link, vec![]));
        }

        #[test]
        fn whatever_a_key_is_given_is_taken_or_named(key in prop::sample::select(keys()), value in "\\PC{0,60}") {
            // With what the page must show for each key to be written.
            let (ground, _) = read("noise=custom&lab=1");
            let (link, problems) = read(&format!("noise=custom&lab=1&{key}={}", encode(&value)));
            match &problems[..] {
                [] => prop_assert_eq!(read(&link.write()), (link, vec![])),
                [problem] => prop_assert!(problem.contains(&key) && link == ground, "{problem}"),
                _ => prop_assert!(false, "{problems:?}"),
            }
        }

        #[test]
        fn no_query_makes_the_page_panic(query in ".{0,200}") {
            let (link, _) = read(&query);
            for number in Number::ALL {
                if let Some(value) = link.settings.number(number) {
                    prop_assert!(number.spec().allows(value));
                }
            }
        }
    }
}
