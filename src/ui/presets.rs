//! Ready-made settings: each a thing to see.

use super::settings::{Decay, Encoder, Family, Settings};
use crate::{
    mechanism::{Denoiser, EnvelopeShape},
    model::Architecture,
};

/// One entry of the list.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    pub key: &'static str,
    pub label: &'static str,
    /// What it is for, in a sentence.
    pub note: &'static str,
    make: fn() -> Settings,
}

/// All of them, in the order of the list.
pub const ALL: [Preset; 7] = [
    Preset {
        key: "no-privacy",
        label: "No privacy",
        note: "Plain training, for comparison: its curve stays in the charts as a ghost when you switch privacy on.",
        make: || Settings { encoder: Encoder::None, family: Family::None, ..Settings::default() },
    },
    Preset {
        key: "dp-sgd",
        label: "DP-SGD",
        note: "Gradients clipped to length 1, Gaussian noise: how private models are usually trained (Abadi et al. 2016).",
        make: Settings::default,
    },
    Preset {
        key: "algorithm-1",
        label: "Algorithm 1, as published",
        note: "Envelope, Student-t noise and Kolmogorov–Smirnov denoiser on the paper's CNN (Nasr, Shokri, Houmansadr 2020): 60 epochs, so give it time.",
        make: || Settings {
            model: Architecture::CnnRelu,
            encoder: Encoder::Envelope,
            vectors: 1000,
            family: Family::StudentT,
            nu: 9.0,
            scale: 1.0,
            denoiser: Denoiser::KolmogorovSmirnov,
            learning_rate: 37.0,
            steps: Some(14_063),
            ..Settings::default()
        },
    },
    Preset {
        key: "student-t",
        label: "Student-t noise",
        note: "Heavy-tailed noise under an envelope, on the small model: nothing but the shape of the noise differs from a Gaussian run.",
        make: || Settings {
            encoder: Encoder::Envelope,
            shape: EnvelopeShape::Gaussian,
            family: Family::StudentT,
            scale: 1.0,
            ..Settings::default()
        },
    },
    Preset {
        key: "best-3",
        label: "Best at ε = 3",
        note: "A tanh CNN with large lots, a tight clip and a falling rate: about 98% on MNIST at ε = 3, after 20 epochs.",
        make: || Settings {
            model: Architecture::CnnTanh,
            clip_norm: 0.1,
            scale: 1.153,
            lot: 1024,
            learning_rate: 40.0,
            decay: Decay::Linear,
            steps: Some(1172),
            ..Settings::default()
        },
    },
    Preset {
        key: "best-1",
        label: "Best at ε = 1",
        note: "The same with twice the noise and fewer epochs: about 97% on MNIST at ε = 1, after 15 epochs.",
        make: || Settings {
            model: Architecture::CnnTanh,
            clip_norm: 0.1,
            scale: 2.228,
            lot: 1024,
            learning_rate: 30.0,
            decay: Decay::Linear,
            steps: Some(879),
            ..Settings::default()
        },
    },
    Preset {
        key: "cpu",
        label: "CPU-friendly",
        note: "The small model with small lots: many steps a second on any machine.",
        make: || Settings { lot: 64, scale: 1.3, learning_rate: 0.2, ..Settings::default() },
    },
];

impl PartialEq for Preset {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Preset {
    /// The preset whose name in links is `key`.
    #[must_use]
    pub fn by_key(key: &str) -> Option<Self> {
        ALL.into_iter().find(|preset| preset.key == key)
    }

    /// Its settings, with the digits that are chosen already.
    #[must_use]
    pub fn settings(self, now: &Settings) -> Settings {
        Settings { digits: now.digits, ..(self.make)() }
    }

    /// The preset that these settings are, whatever the digits.
    #[must_use]
    pub fn of(settings: &Settings) -> Option<Self> {
        ALL.into_iter().find(|preset| preset.settings(settings).config() == settings.config())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{train::plan::Plan, ui::field::Number};

    #[test]
    fn presets_are_distinct_valid_and_recognised() {
        for preset in ALL {
            let settings = preset.settings(&Settings::default());
            assert_eq!(Preset::of(&settings), Some(preset));
            assert_eq!(Preset::by_key(preset.key), Some(preset));
            assert!(preset.note.ends_with('.'));
            for number in Number::ALL {
                if let Some(value) = settings.number(number) {
                    assert!(number.spec().allows(value), "{}: {number:?}", preset.key);
                }
            }
            // Drawing a thousand vectors is tested elsewhere.
            let small = Settings { vectors: 3, ..settings };
            Plan::new(small.config(), 60_000).unwrap_or_else(|e| panic!("{}: {e}", preset.key));
        }
        assert!(Preset::by_key("").is_none());
    }

    #[test]
    fn the_best_presets_keep_their_promise() {
        for (key, budget) in [("best-3", 3.0), ("best-1", 1.0)] {
            let settings = Preset::by_key(key).unwrap().settings(&Settings::default());
            let end = super::super::project::project(&settings.config(), 60_000, settings.steps.unwrap()).unwrap();
            assert!(
                end.end.improved.epsilon <= budget && end.end.improved.epsilon > 0.97 * budget,
                "{key}: {}",
                end.end.improved.epsilon
            );
        }
    }
}
