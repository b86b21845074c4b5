//! Number fields: what each is called, what it may be, and the sentence that says so.

use crate::plot::format::significant;
pub use crate::train::run_file::clipped;

/// The numbers that a visitor can set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Number {
    ClipNorm,
    Vectors,
    PreScale,
    EnvelopeSeed,
    Budget,
    Scale,
    Nu,
    Exponent,
    Lot,
    LearningRate,
    RateEnd,
    Momentum,
    Copies,
    Reach,
    Steps,
    Delta,
    InitSeed,
    Replay,
    GridBits,
}

/// What a number field is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spec {
    /// Name in links, and of the element in the page.
    pub key: &'static str,
    pub label: &'static str,
    /// One sentence behind ⓘ.
    pub hint: &'static str,
    pub least: Bound,
    pub most: Bound,
    pub whole: bool,
    /// Whether the field may be left empty.
    pub optional: bool,
    /// What a slider shows, and what its two ends mean for the visitor.
    pub slider: Option<Slider>,
}

/// A slider.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slider {
    pub low: f64,
    pub high: f64,
    pub spacing: Spacing,
    pub low_end: &'static str,
    pub high_end: &'static str,
}

/// How a slider's values lie, and are rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// Equal factors apart; two digits.
    Factors,
    /// Equal factors apart; powers of two and what lies half-way: lots are counted so.
    Powers,
    /// Equally far apart; hundredths.
    Even,
}

/// One end of a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// This value is allowed.
    At(f64),
    /// Only what lies beyond this value is allowed.
    Beyond(f64),
}

/// Seeds and counts are exact in f64, and in JSON, up to here.
const WHOLE: f64 = 9_007_199_254_740_991.0;

impl Number {
    pub const ALL: [Self; 19] = [
        Self::ClipNorm,
        Self::Vectors,
        Self::PreScale,
        Self::EnvelopeSeed,
        Self::Budget,
        Self::Scale,
        Self::Nu,
        Self::Exponent,
        Self::Lot,
        Self::LearningRate,
        Self::RateEnd,
        Self::Momentum,
        Self::Copies,
        Self::Reach,
        Self::Steps,
        Self::Delta,
        Self::InitSeed,
        Self::Replay,
        Self::GridBits,
    ];

    /// Name, range and words of the field.
    #[must_use]
    pub const fn spec(self) -> Spec {
        use Bound::{At, Beyond};
        use Spacing::{Even, Factors, Powers};
        let plain = Spec {
            key: "",
            label: "",
            hint: "",
            least: Beyond(0.0),
            most: At(1e6),
            whole: false,
            optional: false,
            slider: None,
        };
        match self {
            Self::ClipNorm => Spec {
                key: "clip",
                label: "Clip norm",
                hint: "Each example's gradient is scaled down to this length where it is longer, so that no single digit can move the sum by more.",
                least: At(1e-9),
                slider: Some(Slider {
                    low: 0.01,
                    high: 10.0,
                    spacing: Factors,
                    low_end: "bounds more",
                    high_end: "keeps more",
                }),
                ..plain
            },
            Self::Vectors => Spec {
                key: "vectors",
                label: "Envelope vectors",
                hint: "How many public vectors the envelope offers; each gradient takes the one that looks most like it. The choice costs no extra privacy.",
                least: At(1.0),
                most: At(4096.0),
                whole: true,
                slider: Some(Slider {
                    low: 1.0,
                    high: 4096.0,
                    spacing: Powers,
                    low_end: "one for all",
                    high_end: "fits each better",
                }),
                ..plain
            },
            Self::PreScale => Spec {
                key: "pre-scale",
                label: "Pre-scale",
                hint: "Gradients are multiplied by this before they are fitted under the envelope, whose vectors have length 1; about 1 works best.",
                least: At(1e-9),
                slider: Some(Slider {
                    low: 0.01,
                    high: 100.0,
                    spacing: Factors,
                    low_end: "clamps less",
                    high_end: "clamps more",
                }),
                ..plain
            },
            Self::EnvelopeSeed => Spec {
                key: "envelope-seed",
                label: "Envelope seed",
                hint: "The envelope is public: it is drawn from this number, never from the training data.",
                least: At(0.0),
                most: At(WHOLE),
                whole: true,
                ..plain
            },
            Self::Budget => Spec {
                key: "epsilon",
                label: "Budget ε",
                hint: "Fix what the whole run may cost, and the noise scale follows from it; set the noise scale yourself, and the budget is off.",
                most: At(1000.0),
                optional: true,
                slider: Some(Slider {
                    low: 0.1,
                    high: 20.0,
                    spacing: Factors,
                    low_end: "more private",
                    high_end: "more accurate",
                }),
                ..plain
            },
            Self::Scale => Spec {
                key: "sigma",
                label: "Noise scale",
                hint: "How wide the noise is that is added to every coordinate of the sum, as a multiple of the most that one example can contribute.",
                least: At(1e-6),
                most: At(1e4),
                slider: Some(Slider {
                    low: 0.2,
                    high: 20.0,
                    spacing: Factors,
                    low_end: "more accurate",
                    high_end: "more private",
                }),
                ..plain
            },
            Self::Nu => Spec {
                key: "nu",
                label: "Degrees of freedom ν",
                hint: "How heavy the tails of the Student-t noise are: near 2 very heavy, at 30 almost Gaussian; the paper uses 9.",
                least: Beyond(2.0),
                slider: Some(Slider {
                    low: 2.1,
                    high: 100.0,
                    spacing: Factors,
                    low_end: "heavier tails",
                    high_end: "nearly Gaussian",
                }),
                ..plain
            },
            Self::Exponent => Spec {
                key: "exponent",
                label: "Exponent",
                hint: "The density falls like exp(−|x|^exponent): 1 is Laplace, 2 is Gaussian, more is flatter at the top.",
                least: At(1.0),
                most: At(100.0),
                slider: Some(Slider {
                    low: 1.0,
                    high: 8.0,
                    spacing: Factors,
                    low_end: "Laplace",
                    high_end: "nearly a box",
                }),
                ..plain
            },
            Self::Lot => Spec {
                key: "lot",
                label: "Lot size",
                hint: "Expected examples in a step. Larger lots drown the noise, and mostly cost more privacy.",
                least: At(1.0),
                most: At(1e9),
                whole: true,
                slider: Some(Slider {
                    low: 16.0,
                    high: 8192.0,
                    spacing: Powers,
                    low_end: "more private",
                    high_end: "more accurate",
                }),
                ..plain
            },
            Self::LearningRate => Spec {
                key: "rate",
                label: "Learning rate",
                hint: "How far a step goes along the noisy average gradient; it costs no privacy. The denoiser shrinks steps about a hundredfold, so it wants rates near 50.",
                least: At(1e-9),
                slider: Some(Slider {
                    low: 0.01,
                    high: 100.0,
                    spacing: Factors,
                    low_end: "slower",
                    high_end: "faster",
                }),
                ..plain
            },
            Self::RateEnd => Spec {
                key: "rate-end",
                label: "Falls to",
                hint: "The share of the learning rate that is left at the last step.",
                least: At(0.0),
                most: At(1.0),
                slider: Some(Slider {
                    low: 0.0,
                    high: 1.0,
                    spacing: Even,
                    low_end: "falls to nothing",
                    high_end: "stays",
                }),
                ..plain
            },
            Self::Momentum => Spec {
                key: "momentum",
                label: "Momentum",
                hint: "The share of the last step that is carried into the next; it costs no privacy.",
                least: At(0.0),
                most: At(0.9999),
                slider: Some(Slider {
                    low: 0.0,
                    high: 0.99,
                    spacing: Even,
                    low_end: "forgets at once",
                    high_end: "carries on",
                }),
                ..plain
            },
            Self::Copies => Spec {
                key: "copies",
                label: "Copies",
                hint: "An example's gradient is the mean over this many copies of it, each moved a little; then it is bounded, so they cost no privacy.",
                most: At(16.0),
                whole: true,
                ..plain
            },
            Self::Reach => Spec {
                key: "reach",
                label: "Moved by",
                hint: "Pixels by which a copy is moved at most.",
                most: At(4.0),
                whole: true,
                ..plain
            },
            Self::Steps => Spec {
                key: "steps",
                label: "Stop after",
                hint: "Steps after which the run is complete; leave it empty to train until you pause.",
                least: At(1.0),
                most: At(1e9),
                whole: true,
                optional: true,
                slider: Some(Slider {
                    low: 10.0,
                    high: 100_000.0,
                    spacing: Factors,
                    low_end: "more private",
                    high_end: "more accurate",
                }),
            },
            Self::Delta => Spec {
                key: "delta",
                label: "δ",
                hint: "The guarantee may fail with at most this probability; it should be well below one divided by the number of training examples.",
                most: Beyond(1.0),
                slider: Some(Slider {
                    low: 1e-9,
                    high: 1e-3,
                    spacing: Factors,
                    low_end: "fails less often",
                    high_end: "allows a lower ε",
                }),
                ..plain
            },
            Self::InitSeed => Spec {
                key: "seed",
                label: "Model seed",
                hint: "The model starts from weights drawn from this number; it is public and costs no privacy.",
                least: At(0.0),
                most: At(WHOLE),
                whole: true,
                ..plain
            },
            Self::Replay => Spec {
                key: "replay",
                label: "Replay seed",
                hint: "With a number here, sampling and noise repeat exactly, for lessons and comparisons; whoever knows the number can subtract the noise, so there is no guarantee.",
                least: At(0.0),
                most: At(WHOLE),
                whole: true,
                optional: true,
                ..plain
            },
            Self::GridBits => Spec {
                key: "grid-bits",
                label: "Grid bits",
                hint: "Rounds sums and noise so many bits below its scale, and ε counts what low bits tell. On the CPU; 10, say.",
                least: At(1.0),
                most: At(24.0),
                whole: true,
                optional: true,
                ..plain
            },
        }
    }

    /// The field whose name in links is `key`.
    #[must_use]
    pub fn by_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|number| number.spec().key == key)
    }

    /// The field that the training thread calls `path` in a configuration (`noise.sigma`, `learning-rate`).
    #[must_use]
    pub fn by_config_path(path: &str) -> Option<Self> {
        Some(match path {
            "encoder.norm" => Self::ClipNorm,
            "encoder.vectors" => Self::Vectors,
            "encoder.pre-scale" => Self::PreScale,
            "encoder.seed" => Self::EnvelopeSeed,
            "noise" | "noise.sigma" | "noise.scale" => Self::Scale,
            "noise.nu" => Self::Nu,
            "noise.exponent" => Self::Exponent,
            "lot" => Self::Lot,
            "learning-rate" => Self::LearningRate,
            "schedule" => Self::RateEnd,
            "momentum" => Self::Momentum,
            "augmentation.copies" => Self::Copies,
            "augmentation.reach" => Self::Reach,
            "steps" => Self::Steps,
            "delta" => Self::Delta,
            "init-seed" => Self::InitSeed,
            "replay" => Self::Replay,
            "grid-bits" => Self::GridBits,
            _ => return None,
        })
    }

    /// Whether four values along its slider show what it does: of a seed they do not.
    #[must_use]
    pub const fn can_be_swept(self) -> bool {
        self.spec().slider.is_some()
    }

    /// Reads what was typed: `None` for an empty optional field.
    ///
    /// # Errors
    /// One sentence that names the field, what it may be, and what it is.
    pub fn parse(self, text: &str) -> Result<Option<f64>, String> {
        let spec = self.spec();
        let typed = text.trim();
        if typed.is_empty() && spec.optional {
            return Ok(None);
        }
        let value = read(typed).filter(|&value| spec.allows(value));
        value.map(Some).ok_or_else(|| match typed {
            "" => format!("{} is empty; it must be {}.", spec.label, spec.range()),
            _ => format!("{} must be {}; “{}” is not.", spec.label, spec.range(), clipped(typed)),
        })
    }
}

impl Spec {
    /// Whether a value is in range.
    #[must_use]
    pub fn allows(&self, value: f64) -> bool {
        let above = match self.least {
            Bound::At(least) => value >= least,
            Bound::Beyond(least) => value > least,
        };
        let below = match self.most {
            Bound::At(most) => value <= most,
            Bound::Beyond(most) => value < most,
        };
        // NaN fails both comparisons.
        above && below && (!self.whole || value.fract() == 0.0)
    }

    /// The range in words: "a whole number from 1 to 4,096".
    #[must_use]
    pub fn range(&self) -> String {
        let n = crate::plot::format::number;
        let kind = if self.whole { "a whole number" } else { "a number" };
        match (self.least, self.most) {
            (Bound::At(least), Bound::At(most)) if most >= WHOLE => format!("{kind} of at least {}", n(least)),
            (Bound::At(least), Bound::At(most)) => format!("{kind} from {} to {}", n(least), n(most)),
            (Bound::At(least), Bound::Beyond(most)) => format!("{kind} from {} to below {}", n(least), n(most)),
            (Bound::Beyond(least), Bound::At(most)) => format!("{kind} above {} and at most {}", n(least), n(most)),
            (Bound::Beyond(least), Bound::Beyond(most)) => {
                format!("{kind} between {} and {}, without the ends", n(least), n(most))
            }
        }
    }

    /// Where on the slider (0 to 1) a value stands.
    #[must_use]
    pub fn slider_share(&self, value: f64) -> f64 {
        match self.slider {
            Some(Slider { low, high, spacing: Spacing::Even, .. }) => ((value - low) / (high - low)).clamp(0.0, 1.0),
            Some(Slider { low, high, .. }) if value > 0.0 => ((value / low).ln() / (high / low).ln()).clamp(0.0, 1.0),
            _ => 0.0,
        }
    }

    /// The value at a place on the slider, rounded as people would.
    #[must_use]
    pub fn slider_value(&self, share: f64) -> f64 {
        let Some(Slider { low, high, spacing, .. }) = self.slider else { return 0.0 };
        let share = share.clamp(0.0, 1.0);
        let value = if spacing == Spacing::Even { low + (high - low) * share } else { low * (high / low).powf(share) };
        let rounded = match spacing {
            Spacing::Even => (value * 100.0).round() / 100.0,
            Spacing::Factors => significant(value, 2),
            Spacing::Powers if value < 8.0 => value.round(),
            Spacing::Powers => {
                let power = 2f64.powf((value.log2() * 2.0).round() / 2.0);
                let unit = if power >= 64.0 { 16.0 } else { 4.0 };
                (power / unit).round() * unit
            }
        };
        // `clamp` would bring what it takes to write two numbers that are the wrong way round.
        rounded.max(low).min(high)
    }

    /// A little more than a value, or a little less: along the slider, and beyond its ends as far as the field goes.
    #[must_use]
    pub fn nudged(&self, value: f64, up: bool) -> Option<f64> {
        let sign = if up { 1.0 } else { -1.0 };
        let further = |next: &f64| (next - value) * sign > 0.0;
        let along = self.slider.filter(|slider| (slider.low..=slider.high).contains(&value)).and_then(|_| {
            let share = self.slider_share(value);
            (1..=100).map(|i| self.slider_value(share + 0.01 * sign * f64::from(i))).find(further)
        });
        let next = along.unwrap_or_else(|| match self.slider {
            Some(Slider { spacing: Spacing::Even, .. }) => ((value + 0.01 * sign) * 1e4).round() / 1e4,
            _ if self.whole => value + sign,
            _ => significant(value * 1.1f64.powf(sign), 3),
        });
        let next = if let Bound::At(least) = self.least { next.max(least) } else { next };
        let next = if let Bound::At(most) = self.most { next.min(most) } else { next };
        Some(next).filter(|next| further(next) && self.allows(*next))
    }
}

/// A number as people type it: `0.5`, `.5`, `1e-5`, `1,000`, `0,5`, `60 000`.
fn read(typed: &str) -> Option<f64> {
    let mut text: String = typed.chars().filter(|c| !c.is_whitespace() && *c != '\u{202f}').collect();
    text = text.replace('−', "-");
    if let Some((whole, rest)) = text.split_once(',') {
        let groups = !whole.is_empty() && rest.split(',').all(|g| g.split('.').next().is_some_and(|g| g.len() == 3));
        if groups && !whole.trim_start_matches('-').starts_with('0') {
            text = text.replace(',', "");
        } else if !rest.contains([',', '.']) {
            text = format!("{whole}.{rest}");
        }
    }
    decimal(&text).filter(|value| value.is_finite())
}

/// `1.5`, `-2e3` → the nearest f64.
#[cfg(not(target_arch = "wasm32"))]
pub fn decimal(text: &str) -> Option<f64> {
    text.parse().ok()
}

/// `1.5`, `-2e3` → the nearest f64, as the browser reads it: Rust's own reader brings 10 kB of tables that no compressor
/// makes smaller.
#[cfg(target_arch = "wasm32")]
pub fn decimal(text: &str) -> Option<f64> {
    // The browser takes hexadecimal for a number, too, and nothing for 0.
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b))
        && text.contains(|c: char| c.is_ascii_digit());
    plain.then(|| wasm_bindgen::JsValue::from_str(text).unchecked_into_f64()).filter(|value| !value.is_nan())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        accounting::noise::NoiseSpec,
        mechanism::EncoderSpec,
        train::{config::RunConfig, plan::Plan},
    };
    use proptest::prelude::*;

    #[test]
    fn numbers_are_read_as_people_type_them() {
        for (text, value) in [
            ("0.5", 0.5),
            (" .5 ", 0.5),
            ("1e-5", 1e-5),
            ("1,000", 1000.0),
            ("0,5", 0.5),
            ("60 000", 60_000.0),
            ("1,000.5", 1000.5),
            ("−3", -3.0),
            ("0,125", 0.125),
        ] {
            assert_eq!(read(text), Some(value), "{text}");
        }
        for text in ["", "NaN", "inf", "1e999", "abc", "1,2,3", "--1", "1.2.3"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn bad_values_get_a_sentence_that_names_field_range_and_value() {
        assert_eq!(
            Number::Scale.parse("-1"),
            Err("Noise scale must be a number from 1e-6 to 10,000; “-1” is not.".to_owned())
        );
        assert_eq!(
            Number::Scale.parse("0").unwrap_err(),
            "Noise scale must be a number from 1e-6 to 10,000; “0” is not."
        );
        assert_eq!(
            Number::Delta.parse("1").unwrap_err(),
            "δ must be a number between 0 and 1, without the ends; “1” is not."
        );
        assert!(Number::Delta.parse("0").is_err());
        assert!(Number::Nu.parse("2").is_err());
        assert_eq!(Number::Nu.parse("2.5"), Ok(Some(2.5)));
        assert!(Number::Lot.parse("12.5").is_err());
        assert!(Number::Scale.parse("NaN").is_err());
        assert_eq!(
            Number::Scale.parse("").unwrap_err(),
            "Noise scale is empty; it must be a number from 1e-6 to 10,000."
        );
        assert_eq!(Number::Steps.parse("  "), Ok(None));
        assert!(Number::Steps.parse(&"9".repeat(100_000)).unwrap_err().len() < 200);
    }

    /// What a field takes, the training thread takes, whatever else is set as at first.
    #[test]
    fn a_field_takes_what_can_be_trained() {
        type Set = fn(f64) -> RunConfig;
        let fields: [(Number, Set); 6] = [
            (Number::Scale, |sigma| RunConfig { noise: Some(NoiseSpec::Gaussian { sigma }), ..RunConfig::default() }),
            (Number::Nu, |nu| RunConfig {
                noise: Some(NoiseSpec::StudentT { nu, scale: 1.0 }),
                ..RunConfig::default()
            }),
            (Number::ClipNorm, |norm| RunConfig { encoder: EncoderSpec::Clip { norm }, ..RunConfig::default() }),
            (Number::LearningRate, |learning_rate| RunConfig { learning_rate, ..RunConfig::default() }),
            (Number::Momentum, |momentum| RunConfig { momentum, ..RunConfig::default() }),
            (Number::Delta, |delta| RunConfig { delta, ..RunConfig::default() }),
        ];
        for (number, set) in fields {
            let Spec { least, most, .. } = number.spec();
            let inside = |bound, beyond: f64| match bound {
                Bound::At(value) => value,
                Bound::Beyond(value) => value + beyond,
            };
            for value in [inside(least, 1e-9), inside(most, -1e-9)] {
                let planned = Plan::new(RunConfig { steps: Some(1000), ..set(value) }, 60_000);
                assert!(planned.is_ok(), "{number:?} {value}: {}", planned.unwrap_err());
            }
        }
        for text in ["1e-300", "1e-40", "1e-7"] {
            assert!(Number::Scale.parse(text).unwrap_err().ends_with(&format!("“{text}” is not.")));
        }
    }

    #[test]
    fn names_are_unique_and_found_again() {
        for number in Number::ALL {
            assert_eq!(Number::by_key(number.spec().key), Some(number));
            assert!(number.spec().hint.ends_with('.'), "{number:?}");
        }
        assert_eq!(Number::by_config_path("noise.sigma"), Some(Number::Scale));
        assert_eq!(Number::by_config_path("dataset"), None);
    }

    #[test]
    fn every_number_can_be_nudged_wherever_it_stands() {
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
        // Downwards from 1e-5 each press of the key is a little less.
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
        fn sliders_stay_in_range_and_come_back(share in 0.0..=1.0f64) {
            for number in Number::ALL {
                let spec = number.spec();
                if spec.slider.is_some() {
                    let value = spec.slider_value(share);
                    prop_assert!(spec.allows(value), "{number:?} {value}");
                    prop_assert!((spec.slider_share(value) - share).abs() < 0.05);
                    prop_assert!(crate::plot::format::exact(value).len() <= 7, "{number:?} {value}");
                }
            }
        }
    }
}
