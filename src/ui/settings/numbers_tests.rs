//! Tests of every number in the table, and of single ones.

use super::*;
use crate::{
    accounting::noise::NoiseSpec,
    mechanism::EncoderSpec,
    plot::format,
    train::{config::RunConfig, plan::Plan},
};
use proptest::prelude::*;

#[test]
fn bad_values_get_a_sentence_that_names_field_range_and_value() {
    let refused = |number: Number, text: &str| number.parse(text).unwrap_err().to_string();
    assert_eq!(refused(Number::Scale, "-1"), "Noise scale must be a number from 1e-6 to 10,000; “-1” is not.");
    assert_eq!(refused(Number::Scale, "0"), "Noise scale must be a number from 1e-6 to 10,000; “0” is not.");
    assert_eq!(refused(Number::Delta, "1"), "δ must be a number between 0 and 1, without the ends; “1” is not.");
    assert!(Number::Delta.parse("0").is_err());
    assert!(Number::Nu.parse("2").is_err());
    assert_eq!(Number::Nu.parse("2.5"), Ok(Some(2.5)));
    assert!(Number::Lot.parse("12.5").is_err());
    assert!(Number::Scale.parse("NaN").is_err());
    assert_eq!(refused(Number::Scale, ""), "Noise scale is empty; it must be a number from 1e-6 to 10,000.");
    assert_eq!(Number::Steps.parse("  "), Ok(None));
    assert!(refused(Number::Steps, &"9".repeat(100_000)).len() < 200);
}

/// The training thread accepts the ends of a field's range, other settings at their defaults.
#[test]
fn ends_of_ranges_can_be_trained() {
    type Set = fn(f64) -> RunConfig;
    let fields: [(Number, Set); 6] = [
        (Number::Scale, |sigma| RunConfig { noise: Some(NoiseSpec::Gaussian { sigma }), ..RunConfig::default() }),
        (Number::Nu, |nu| RunConfig { noise: Some(NoiseSpec::StudentT { nu, scale: 1.0 }), ..RunConfig::default() }),
        (Number::ClipNorm, |norm| RunConfig { encoder: EncoderSpec::Clip { norm }, ..RunConfig::default() }),
        (Number::LearningRate, |learning_rate| RunConfig { learning_rate, ..RunConfig::default() }),
        (Number::Momentum, |momentum| RunConfig { momentum, ..RunConfig::default() }),
        (Number::Delta, |delta| RunConfig { delta, ..RunConfig::default() }),
    ];
    for (number, set) in fields {
        let &NumberSpec { least, most, .. } = number.spec();
        let inside = |bound, beyond: f64| match bound {
            At(value) => value,
            Beyond(value) => value + beyond,
        };
        for value in [inside(least, 1e-9), inside(most, -1e-9)] {
            let planned = Plan::new(RunConfig { steps: Some(1000), ..set(value) }, 60_000);
            assert!(planned.is_ok(), "{number:?} {value}: {}", planned.unwrap_err());
        }
    }
    for text in ["1e-300", "1e-40", "1e-7"] {
        assert!(Number::Scale.parse(text).unwrap_err().to_string().ends_with(&format!("“{text}” is not.")));
    }
}

/// Settings in which every number has a value; each applies in at least one of them.
fn filled() -> [Settings; 8] {
    let plain = Settings {
        budget: Some(2.0),
        clip_quantile: Some(0.5),
        metrics_noise: Some(0.1),
        grid_bits: Some(8),
        decay: Decay::Linear,
        copies: 3,
        steps: Some(700),
        replay: Some(5),
        ..Settings::default()
    };
    [
        Settings { users: Some(600), ..plain.clone() },
        Settings { micro_batch: 4, encoder: Encoder::Envelope, family: Family::StudentT, ..plain.clone() },
        Settings { encoder: Encoder::Envelope, family: Family::GeneralizedGaussian, ..plain.clone() },
        Settings { denoiser: DenoiserKind::Smoothing, ..plain.clone() },
        Settings { denoiser: DenoiserKind::Kalman, ..plain.clone() },
        Settings { phases: crate::ui::settings::PhaseKind::Time, ..plain.clone() },
        plain.clone(),
        Settings { canaries: 300, replay: None, ..plain },
    ]
}

/// Collects the paths at which two configurations differ.
fn differences(at: &str, a: &serde_json::Value, b: &serde_json::Value, found: &mut Vec<String>) {
    match (a.as_object(), b.as_object()) {
        (Some(a), Some(b)) => {
            for (key, value) in a {
                differences(&format!("{at}.{key}"), value, b.get(key).unwrap_or(&serde_json::Value::Null), found);
            }
        }
        _ if a != b => found.push(at.to_owned()),
        _ => {}
    }
}

#[test]
fn the_table_names_each_number_once() {
    let words: [fn(&NumberSpec) -> &'static str; 3] =
        [|spec| spec.key, |spec| spec.label.get(), |spec| spec.hint.get()];
    for word in words {
        let mut all: Vec<&str> = Number::ALL.iter().map(|number| word(number.spec())).collect();
        all.sort_unstable();
        all.dedup();
        assert!(all.len() == Number::ALL.len() && all.iter().all(|word| !word.is_empty()), "{all:?}");
    }
    for number in Number::ALL {
        assert_eq!(Number::by_key(number.spec().key), Some(number));
        assert!(number.spec().hint.get().ends_with('.'), "{number:?}");
        let named = number.spec().named.with(&[("value", "2".to_owned())]);
        assert_eq!(named, format!("{} 2", number.spec().label.get().to_ascii_lowercase()));
        for path in number.spec().paths {
            assert_eq!(Number::by_config_path(path), Some(number), "{path}");
        }
    }
    assert_eq!(Number::by_config_path("dataset"), None);
}

#[test]
fn each_entry_reads_what_it_writes_and_nothing_else() {
    for number in Number::ALL {
        let mut settings = Settings::default();
        settings.set_number(number, Some(3.0));
        for other in Number::ALL {
            let expected = if other == number { Some(3.0) } else { Settings::default().number(other) };
            assert_eq!(settings.number(other), expected, "{number:?} sets {other:?}");
        }
        // `None` empties an optional field; others keep their value.
        settings.set_number(number, None);
        let expected = if number.spec().optional { None } else { Some(3.0) };
        assert_eq!(settings.number(number), expected, "{number:?}");
        // Fields of whole numbers drop the fraction.
        settings.set_number(number, Some(2.5));
        assert_eq!(settings.number(number) == Some(2.5), !number.spec().whole, "{number:?}");
    }
}

#[test]
fn paths_name_the_fields_that_a_number_changes() {
    for number in Number::ALL {
        let spec = number.spec();
        let settings = filled().into_iter().find(|settings| settings.applies(number)).unwrap();
        let changed = {
            let mut settings = settings.clone();
            let value = settings.number(number).unwrap();
            settings.set_number(number, spec.nudged(value, true).or_else(|| spec.nudged(value, false)));
            assert_ne!(settings.number(number), Some(value), "{number:?}");
            settings
        };
        let json = |settings: &Settings| serde_json::to_value(settings.config()).unwrap();
        let mut found = vec![];
        differences("", &json(&settings), &json(&changed), &mut found);
        // Variants (`clip`, `linear`) and inner fields come between and after the names of a path.
        let named = |found: &str, path: &str| {
            let mut parts = found.split('.').map(|part| part.replace('_', "-"));
            path.split('.').all(|part| parts.any(|other| other == part))
        };
        let known = |found: &String| spec.paths.iter().any(|path| named(found, path));
        assert_eq!(found.is_empty(), spec.paths.is_empty(), "{number:?} {found:?}");
        assert!(found.iter().all(known), "{number:?} {found:?}");
    }
}

#[test]
fn each_entry_takes_the_ends_of_its_range_and_nothing_beyond() {
    for number in Number::ALL {
        let spec = number.spec();
        for end in [spec.least, spec.most] {
            let (value, allowed) = match end {
                At(value) => (value, true),
                Beyond(value) => (value, false),
            };
            assert_eq!(spec.allows(value), allowed, "{number:?} {value}");
            assert!(value >= WHOLE || spec.range().contains(&format::number(value)), "{number:?}: {}", spec.range());
        }
        for beyond in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0] {
            assert!(!spec.allows(beyond), "{number:?} {beyond}");
        }
        let first = Settings::default().number(number);
        assert!(first.is_none_or(|value| spec.allows(value)), "{number:?} begins out of its range");
        assert!(first.is_some() || spec.optional, "{number:?}");
        if let Some(slider) = spec.slider {
            assert!(spec.allows(slider.low) && spec.allows(slider.high), "{number:?}");
        }
    }
}

#[test]
fn nudging_moves_any_value_within_its_range() {
    let nudged = |number: Number, value: f64| [false, true].map(|up| number.spec().nudged(value, up));
    assert_eq!(nudged(Number::Momentum, 0.0), [None, Some(0.01)]);
    assert_eq!(nudged(Number::Momentum, 0.5), [Some(0.49), Some(0.51)]);
    assert_eq!(nudged(Number::Momentum, 0.99), [Some(0.98), Some(0.9999)]);
    assert_eq!(nudged(Number::Momentum, 0.9999)[1], None);
    assert_eq!(nudged(Number::RateEnd, 1.0), [Some(0.99), None]);
    assert_eq!(nudged(Number::Exponent, 1.0), [None, Some(1.1)]);
    assert_eq!(nudged(Number::Exponent, 99.0), [Some(90.0), Some(100.0)]);
    // Beyond a slider's ends.
    assert_eq!(nudged(Number::Delta, 1e-12), [Some(9.09e-13), Some(1.1e-12)]);
    assert_eq!(nudged(Number::Scale, 100.0), [Some(90.9), Some(110.0)]);
    assert_eq!(nudged(Number::Lot, 8.0), [Some(7.0), Some(9.0)]);
    assert_eq!(nudged(Number::Lot, 1.0), [None, Some(2.0)]);
    assert_eq!(nudged(Number::InitSeed, 0.0), [None, Some(1.0)]);
    // From 1e-5 downwards, each key press gives a slightly smaller value.
    let mut delta = 1e-5;
    for _ in 0..200 {
        let less = Number::Delta.spec().nudged(delta, false).unwrap();
        assert!(less < delta && less > 0.8 * delta, "{delta}");
        delta = less;
    }
    assert!(delta < 1e-11);
}

proptest! {
    #[test]
    fn no_text_makes_a_field_panic(text in ".{0,60}") {
        for number in Number::ALL {
            if let Ok(Some(value)) = number.parse(&text) {
                prop_assert!(number.spec().allows(value));
            }
        }
    }

    #[test]
    fn slider_values_are_in_range_and_return_to_their_positions(share in 0.0..=1.0f64) {
        for number in Number::ALL {
            let spec = number.spec();
            if let Some(slider) = spec.slider {
                let value = slider.value(share);
                prop_assert!(spec.allows(value), "{number:?} {value}");
                prop_assert!((slider.share(value) - share).abs() < 0.05);
                prop_assert!(format::exact(value).len() <= 7, "{number:?} {value}");
            }
        }
    }
}
