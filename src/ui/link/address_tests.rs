//! Links state the settings, and are read as far as possible.

use super::*;
use crate::{
    model::Architecture,
    train::config::SamplingPolicy,
    ui::settings::number::{Bound, NumberSpec},
};
use proptest::prelude::*;

#[test]
fn the_default_state_is_an_empty_query() {
    assert_eq!(Link::default().write(), "");
    assert_eq!(read(""), (Link::default(), vec![]));
    assert_eq!(read("?utm_source=x&fbclid=y"), (Link::default(), vec![]));
    assert_eq!(Link::default().settings, presets::first_settings());
}

/// The state of a link that names a setting.
fn ground() -> Link {
    Link { settings: Settings::default(), ..Link::default() }
}

#[test]
fn old_links_keep_their_meaning() {
    assert_eq!(ground().write(), "v=1&preset=dp-sgd");
    for query in ["?preset=dp-sgd", "?lot=256", "?dataset=mnist", "?steps="] {
        assert_eq!(read(query), (ground(), vec![]), "{query}");
    }
    for query in ["?backend=cpu", "?cores=2", "?theme=dark", "?lab=1", "?speed=slow", "?present=1"] {
        assert_eq!(read(query).0.settings, presets::first_settings(), "{query}");
    }
}

#[test]
fn links_are_short_and_readable() {
    let mut link = ground();
    link.settings.family = Family::StudentT;
    link.settings.scale = 1.5;
    link.backend = BackendChoice::Cpu;
    assert_eq!(link.write(), "v=1&noise=student-t&sigma=1.5&backend=cpu");
    assert_eq!(read("?v=1&noise=student-t&sigma=1.5&backend=cpu"), (link, vec![]));
    let mut link = ground();
    link.settings.sampling = SamplingPolicy::Shuffled;
    assert_eq!(link.write(), "v=1&sampling=shuffled");
}

#[test]
fn a_preset_is_one_word_and_can_be_changed() {
    for preset in presets::all() {
        let link = Link { settings: preset.settings(&Settings::default()), ..Link::default() };
        let expected = if preset.key == "quick-linear" { String::new() } else { format!("v=1&preset={}", preset.key) };
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
            "The link has version 9, but this page reads 1; parts of it may be missing.",
            "In the link, lot: Lot size must be a whole number from 1 to 1e9; “NaN” is not.",
        ]
    );
    assert_eq!(
        read("?sampling=all").1,
        ["In the link, sampling must be one of poisson, fixed-size, random-allocation, shuffled; “all” is not."]
    );
    assert!(
        read("?preset=x").1[0]
            .starts_with("In the link, preset must be one of quick-linear, quick-cnn, no-privacy, dp-sgd, ")
    );
    let (link, problems) = read("?decay=linear&sigma=2&controls=sigma&utm_source=a&fbclid=b&x&y&z&w&v0&v1");
    assert_eq!(link.settings.scale, 2.0);
    assert_eq!(problems, ["The link has settings unknown to this page; they were ignored: decay, x, y, z, w."]);
    let (link, problems) = read(&format!("?sigma={}", "1".repeat(100_000)));
    assert_eq!(link, Link::default());
    assert_eq!(problems.len(), 1);
    assert!(problems[0].contains("100,007 characters"));
}

/// The page understands every link in documents and pages of the site.
#[test]
fn every_link_that_is_written_down_is_understood() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = ["docs", "www", "packages/element", "packages/accountant", "packages/python", "."].map(|folder| {
        let entries = std::fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.extension().is_some_and(|ending| ending == "md" || ending == "html"))
    });
    let mut links = 0;
    for path in files.into_iter().flatten() {
        let text = std::fs::read_to_string(&path).unwrap();
        for after in text.split('?').skip(1) {
            let end = after.find(|c: char| c.is_whitespace() || "\"'<>)`|…".contains(c)).unwrap_or(after.len());
            let query = after[..end].replace("&amp;", "&");
            let named = query
                .split_once('=')
                .is_some_and(|(key, _)| !key.is_empty() && key.bytes().all(|c| c.is_ascii_lowercase() || c == b'-'));
            // `sw.js` requests files by kind.
            if named && !query.starts_with("is=") {
                links += 1;
                assert_eq!(read(query.trim_end_matches('&')).1, Vec::<String>::new(), "{}: {query}", path.display());
            }
        }
    }
    assert!(links > 40, "{links}");
}

fn choice<C: Choice + std::fmt::Debug>() -> impl Strategy<Value = C> {
    (0..C::ALL.len()).prop_map(|i| C::ALL[i])
}

/// Settings with any option of every choice and any value of every number.
fn settings() -> impl Strategy<Value = Settings> {
    let places = prop::collection::vec(any::<prop::sample::Index>(), Select::ALL.len());
    let shares = prop::collection::vec(prop::option::weighted(0.8, 0.0..=1.0f64), Number::ALL.len());
    (places, shares, "[-+*/^()x0-9a-z .]{1,40}").prop_map(|(places, shares, formula)| {
        let mut settings = Settings::default();
        for (select, place) in Select::ALL.into_iter().zip(places) {
            let options: Vec<_> = select.spec().options().map(|(key, _)| key).collect();
            assert!((select.spec().set)(&mut settings, options[place.index(options.len())]));
        }
        for (number, share) in Number::ALL.into_iter().zip(shares) {
            settings.set_number(number, share.map(|share| within(number.spec(), share)));
        }
        if settings.family == Family::Custom {
            settings.formula = formula;
        }
        settings
    })
}

/// Returns the value at a share (0 to 1) of a number's range, geometrically if it starts above 0.
fn within(spec: &NumberSpec, share: f64) -> f64 {
    let inside = |end, beyond: f64| match end {
        Bound::At(value) => value,
        Bound::Beyond(value) => value + beyond,
    };
    let (low, high) = (inside(spec.least, 1e-6), inside(spec.most, -1e-6));
    let value = if low > 0.0 { low * (high / low).powf(share) } else { low + (high - low) * share };
    let value = if spec.whole { value.round() } else { value }.clamp(low, high);
    let value = if spec.whole { value.ceil() } else { value };
    assert!(spec.allows(value), "{} {value}", spec.key);
    value
}

prop_compose! {
    fn noise_query()(
        chosen in prop::array::uniform9(proptest::bool::ANY), psi in 0..PSIS.len(), epsilon in 1e-6..1e3f64,
        exponent in 1.0..100.0f64, formula in "[-+*/^()x0-9a-z .]{0,40}",
    ) -> NoiseQuery {
        NoiseQuery { chosen, psi: PSIS[psi].1, epsilon, exponent, formula }
    }
}

fn backend() -> impl Strategy<Value = BackendChoice> {
    prop::sample::select(vec![BackendChoice::Automatic, BackendChoice::Cpu, BackendChoice::Gpu])
}

/// For each key outside the tables, a link that gives it a non-default value.
const SAID: [&str; 20] = [
    "preset=best-1",
    "model=built&layers=conv%208%205x5%2F2%20same,%20tanh,%20dense%2010",
    "noise=custom&density=1%2Fcosh(x)",
    "encoder=layers&layer-norms=0.5%201",
    "phases=list&phase-list=3%3B%204%20noise%200.5",
    "speed=slow",
    "backend=gpu",
    "cores=3",
    "theme=dark",
    "lang=de",
    "present=1",
    "lesson=one-step.3",
    "lab=cauchy,density",
    "lab=1&lab-envelope=26",
    "lab=1&lab-epsilon=2.5&lab-exponent=4",
    "lab=1&lab-density=exp(-x%5E4)",
    "own=1&own-lot=64&own-sampling=shuffled&own-noise=laplace",
    "attacks=1",
    "pay-once=cosines",
    "pay-once=pixels-14&pay-once-noise=laplace&pay-once-epsilon=0.3",
];

/// `SAID`, and a non-default value for each entry of the tables.
fn said() -> Vec<String> {
    let first = Settings::default();
    let number = |number: Number| {
        let open = if number.parse("3").is_ok() { 3.0 } else { 0.5 };
        let value = first.number(number).map_or(Some(open), |value| number.spec().nudged(value, true));
        format!("{}={}", number.spec().key, format::exact(value.unwrap()))
    };
    let select = |select: Select| {
        let spec = select.spec();
        let (key, _) = spec.options().filter(|(key, _)| *key != (spec.get)(&first)).last().unwrap();
        format!("{}={key}", spec.key)
    };
    let tables = Select::ALL.into_iter().map(select).chain(Number::ALL.into_iter().map(number));
    SAID.into_iter().map(str::to_owned).chain(tables).collect()
}

/// The keys of the tables, and the others in the source of `Link::take`.
fn keys() -> Vec<String> {
    let (_, source) = include_str!("address.rs").split_once("fn take(").unwrap();
    let (source, _) = source.split_once("fn write(").unwrap();
    let arms = source.lines().filter(|line| line.starts_with(&format!("{:12}\"", ""))).filter_map(|line| {
        let (keys, _) = line.split_once("=>")?;
        Some(keys.split('|').map(|key| key.trim().trim_matches('"').to_owned()).collect::<Vec<_>>())
    });
    let tables =
        Select::ALL.map(|select| select.spec().key).into_iter().chain(Number::ALL.map(|number| number.spec().key));
    arms.flatten().chain(tables.map(str::to_owned)).collect()
}

#[test]
fn every_key_is_read_and_written() {
    let mut silent = keys();
    assert!(silent.len() > 35, "{silent:?}");
    for key in &silent {
        assert_eq!(silent.iter().filter(|other| *other == key).count(), 1, "{key} means two things");
    }
    for query in said() {
        let (link, problems) = read(&query);
        assert_eq!((link.write(), problems), (format!("v=1&{query}"), vec![]));
        silent.retain(|key| !pairs(&query).iter().any(|(said, _)| said == key));
    }
    assert_eq!(silent, ["v"], "keys for which `SAID` says nothing");
}

#[test]
fn every_key_refuses_wrong_and_long_values() {
    let (ground, _) = read("?theme=dark&model=mlp");
    for key in keys() {
        let free = ["density", "lab-density", "phase-list", "layer-norms", "lesson"].contains(&key.as_str());
        let value = if free { "1".repeat(LONGEST_FORMULA + 1) } else { "~".to_owned() };
        let (link, problems) = read(&format!("?theme=dark&{key}={value}&model=mlp"));
        if key == "lang" {
            // An unknown language is ignored without a problem.
            assert_eq!((link, problems), (ground.clone(), vec![]));
            continue;
        }
        if key == "lesson" {
            assert!(problems.is_empty() && link.lesson.unwrap().len() < 100, "{problems:?}");
            continue;
        }
        assert_eq!(Link { lab: false, ..link }, ground, "{key}");
        assert!(problems.len() == 1 && problems[0].contains(&key) && problems[0].len() < 300, "{key}: {problems:?}");
        let (link, problems) = read(&format!("?model=mlp&{key}={}", "1".repeat(100_000)));
        assert!(link == Link::default() && problems.len() == 1 && problems[0].contains("characters"), "{problems:?}");
    }
}

#[test]
fn noise_lab_queries_are_readable_and_checked() {
    let query = "v=1&lab=gaussian,cauchy&lab-envelope=26&lab-epsilon=2.5&lab-exponent=4";
    let (link, problems) = read(query);
    assert_eq!((link.write().as_str(), problems), (query, vec![]));
    assert_eq!(read("?lab=1").0, Link { lab: true, ..Link::default() });
    assert_eq!(read("?lab=0").0, Link::default());
    let (link, problems) = read("?lab=gaussian,magic&lab-envelope=27&lab-epsilon=-1&lab-exponent=0&lab-density=");
    assert_eq!(link, Link { lab: true, ..Link::default() });
    assert!(problems[0].starts_with("In the link, lab must be one of gaussian, student-t-9, "), "{problems:?}");
    assert!(problems[0].ends_with("“magic” is not."), "{problems:?}");
    assert_eq!(problems[1], "In the link, lab-envelope must be one of spread, heavy-tailed, 260, 26, 1; “27” is not.");
    assert!(problems[2].starts_with("In the link, lab-epsilon: Budget ε must be"), "{problems:?}");
    assert!(problems[3].starts_with("In the link, lab-exponent: Exponent must be"), "{problems:?}");
    assert!(problems[4].starts_with("In the link, lab-density must be a formula"), "{problems:?}");
}

#[test]
fn the_own_training_is_written_as_the_options_of_the_tool() {
    let query =
        "v=1&own=1&own-noise-multiplier=0.8&own-steps=500&own-epsilon=2&own-sampling=fixed-size&own-noise=laplace";
    let (link, problems) = read(query);
    assert_eq!((link.write().as_str(), problems), (query, vec![]));
    let own = link.own.unwrap();
    assert_eq!((own.noise_multiplier, own.steps, own.epochs, own.lot), (0.8, Some(500), 15.0, 256));
    // A number alone opens the panel; with `own=0` it is closed.
    assert_eq!(read("?own-lot=64").0.own.unwrap().lot, 64);
    assert_eq!(read("?own=1").0, Link { own: Some(OwnTraining::default()), ..Link::default() });
    assert_eq!(read("?own-lot=64&own=0").0, Link::default());
    let (link, problems) = read("?own=1&own-lot=0&own-noise=custom&own-sampling=magic&own-delta=1");
    assert_eq!(link.own, Some(OwnTraining::default()));
    assert!(problems[0].starts_with("In the link, own-lot: Batch size (lot) must be"), "{problems:?}");
    assert!(problems[1].starts_with("In the link, own-noise must be one of gaussian, "), "{problems:?}");
    assert!(problems[2].starts_with("In the link, own-sampling must be one of poisson, "), "{problems:?}");
    assert!(problems[3].starts_with("In the link, own-delta: δ must be"), "{problems:?}");
}

#[test]
fn pay_once_is_written_while_it_is_open() {
    let (link, problems) = read("?pay-once=cosines&pay-once-epsilon=3");
    assert_eq!((link.pay_once, link.pay_once_epsilon, problems), (Some(Features::Cosines), 3.0, vec![]));
    assert_eq!(Link { pay_once: None, ..link }.write(), Link::default().write());
    let (link, problems) = read("?pay-once=magic&pay-once-epsilon=-1");
    assert_eq!(link, Link::default());
    assert!(problems[0].contains("pay-once must be one of pixels-14, pixels-28, cosines, scattering"), "{problems:?}");
    assert!(problems[1].starts_with("In the link, pay-once-epsilon: Budget ε must be"), "{problems:?}");
}

proptest! {
    #[test]
    fn every_state_survives_its_link(
        settings in settings(), speed in choice::<Speed>(), theme in prop::option::of(choice::<Theme>()), backend in backend(), present in any::<bool>(), cores in prop::option::of(1..=8_u32),
        query in prop::option::of(noise_query()), lesson in prop::option::of("[a-z-]{1,12}\\.[0-9]{1,2}"),
        language in prop::option::of("[a-z]{2,3}"),
    ) {
        let lab = query.is_some();
        let query = query.unwrap_or_default();
        let link = Link { settings, backend, cores, speed, theme, language, present, lesson, lab, query, ..Link::default() };
        let (back, problems) = read(&format!("?{}", link.write()));
        prop_assert_eq!(problems, Vec::<String>::new());
        prop_assert_eq!(back, link);
    }

    #[test]
    fn unknown_keys_change_nothing(
        said in prop::sample::subsequence(said(), 0..=SAID.len()).prop_shuffle(),
        unknown in prop::collection::vec(("x-[a-z%+=]{0,12}", 0..SAID.len()), 0..8),
    ) {
        // A density is written for custom noise alone, phases and layer norms likewise.
        let said = [said, ["noise=custom", "phases=list", "encoder=layers"].map(str::to_owned).to_vec()].concat();
        let (link, problems) = read(&said.join("&"));
        prop_assert_eq!(problems, Vec::<String>::new());
        let mut mixed = said;
        for (nonsense, place) in unknown {
            mixed.insert(place.min(mixed.len()), nonsense);
        }
        let (read_mixed, problems) = read(&mixed.join("&"));
        prop_assert_eq!(&read_mixed, &link);
        prop_assert!(problems.len() <= 1 && problems.iter().all(|problem| problem.contains("ignored: x-")), "{problems:?}");
        prop_assert_eq!(read(&link.write()), (link, vec![]));
    }

    #[test]
    fn any_value_is_taken_or_reported(key in prop::sample::select(keys()), value in "\\PC{0,60}") {
        // With the choices for which each key is written.
        let (ground, _) = read("noise=custom&phases=list&encoder=layers&lab=1");
        let (link, problems) = read(&format!("noise=custom&phases=list&encoder=layers&lab=1&{key}={}", encode(&value)));
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
