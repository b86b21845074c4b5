//! The table of the choices for a run: keys in links, options and texts.
//!
//! A new choice is one entry here, for a field of [`Settings`] that [`Settings::config`] reads;
//! `setup::layout` places it in the panel. Links, lists, names of runs, frames and tests follow
//! from the entry.

use super::{
    choice::{Choice, Decay, DenoiserKind, Digits, Encoder, Family, PhaseKind, UserSource},
    values::Settings,
};
use crate::{
    accounting::groups::{Clipping, NoiseStrategy},
    engine::Reading,
    mechanism::EnvelopeShape,
    model::{Architecture, pretrained},
    train::{
        audit::InjectedBug,
        config::{Averaging, Minority, Protects, SamplingPolicy, Start},
    },
    ui::text::{Text, text},
};

/// An entry of the table.
pub struct SelectSpec {
    /// Key in links.
    pub key: &'static str,
    /// Id of the element in the page.
    pub id: &'static str,
    pub label: Text,
    /// The text behind ⓘ.
    pub hint: Text,
    /// True if it affects the run that these settings describe; `None`: always.
    pub applies: Option<fn(&Settings) -> bool>,
    /// True if an embedded page may show it.
    pub framed: bool,
    /// Label of a run in which it changed, with a placeholder `{option}`; `None`: no label.
    pub change: Option<Text>,
    /// Returns key and label of the option at an index; `None` after the last.
    pub option: fn(usize) -> Option<(&'static str, String)>,
    /// Returns the key of the current option.
    pub get: fn(&Settings) -> &'static str,
    /// Selects an option by its key; returns `false`, without a change, if there is none.
    pub set: fn(&mut Settings, &str) -> bool,
}

impl SelectSpec {
    /// Returns keys and labels of all options, in the order of the list.
    pub fn options(&self) -> impl Iterator<Item = (&'static str, String)> {
        (0..).map_while(self.option)
    }

    /// Returns the label of an option; empty for an unknown key.
    #[must_use]
    pub fn label_of(&self, key: &str) -> String {
        self.options().find(|(other, _)| *other == key).map(|(_, label)| label).unwrap_or_default()
    }
}

/// Each entry is `Name: field of Settings, its type = SelectSpec { … }`, in the order of links.
macro_rules! selects {
    ($($name:ident: $field:ident, $kind:ty = $spec:expr;)*) => {
        /// The choices for a run.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Select { $($name),* }

        static TABLE: [SelectSpec; Select::ALL.len()] = [$(SelectSpec {
            option: |place| <$kind as Choice>::ALL.get(place).map(|choice| (choice.key(), choice.label())),
            get: |settings| settings.$field.key(),
            set: |settings, key| <$kind as Choice>::by_key(key).map(|choice| settings.$field = choice).is_some(),
            ..$spec
        }),*];

        impl Select {
            pub const ALL: [Self; [$(stringify!($name)),*].len()] = [$(Self::$name),*];
        }
    };
}

/// Defaults of an entry.
const PLAIN: SelectSpec = SelectSpec {
    key: "",
    id: "",
    label: Text::of(""),
    hint: Text::of(""),
    applies: None,
    framed: false,
    change: Some(text!("{option}")),
    option: |_| None,
    get: |_| "",
    set: |_, _| false,
};

selects! {
    Digits: digits, Digits = SelectSpec {
        key: "dataset",
        id: "dataset",
        label: text!("Images"),
        hint: text!("What the model learns from; your own files are read in this page and never leave it."),
        framed: true,
        ..PLAIN
    };

    Model: model, Architecture = SelectSpec {
        key: "model",
        id: "model",
        label: text!("Model"),
        hint: text!("More parameters can learn more, but each gets its own noise."),
        framed: true,
        ..PLAIN
    };

    Encoder: encoder, Encoder = SelectSpec {
        key: "encoder",
        id: "encoder",
        label: text!("Bound each example by"),
        hint: text!("What one example may contribute must be bounded, or no noise could hide it."),
        framed: true,
        change: Some(text!("encoder: {option}")),
        ..PLAIN
    };

    Clipping: clipping, Clipping = SelectSpec {
        key: "clipping",
        id: "clipping",
        label: text!("Layers are clipped"),
        hint: text!("Each by itself: a layer with a long gradient takes nothing from the others. All by one factor: the whole is clipped, in units of the layers' norms. ε is the same."),
        applies: Some(|s| s.encoder == Encoder::Layers),
        change: Some(text!("layers clipped {option}")),
        ..PLAIN
    };

    LayerNoise: layer_noise, NoiseStrategy = SelectSpec {
        key: "layer-noise",
        id: "layer-noise",
        label: text!("A layer's noise"),
        hint: text!("One budget, split: the same privacy for every layer, or less noise per parameter in layers with many. The noise scale is for all layers together, so ε is the same. The second costs accuracy: at ε ≤ 1 the tanh CNN loses 0.5 points against DP-SGD, the perceptron 3.5."),
        // Groups can name their own.
        applies: Some(|s| s.encoder == Encoder::Layers && !s.layer_norms.contains('@')),
        change: Some(text!("layers' noise {option}")),
        ..PLAIN
    };

    Shape: shape, EnvelopeShape = SelectSpec {
        key: "shape",
        id: "envelope-shape",
        label: text!("Envelope shape"),
        hint: text!("The distribution that the envelope's public vectors are drawn from: a formula, or the values of gradients of digits that the program draws itself. At ε ≤ 1 the tanh CNN loses 0.5 points with Gaussian and sparse envelopes, and no more than chance with others."),
        applies: Some(|s| s.encoder == Encoder::Envelope),
        framed: true,
        change: Some(text!("{option} envelope")),
        ..PLAIN
    };

    Noise: family, Family = SelectSpec {
        key: "noise",
        id: "noise-family",
        label: text!("Noise"),
        hint: text!("The accountant handles any symmetric noise with a single peak; its tails decide what it costs."),
        framed: true,
        ..PLAIN
    };

    Denoiser: denoiser, DenoiserKind = SelectSpec {
        key: "denoiser",
        id: "denoiser",
        label: text!("Denoiser"),
        hint: text!("What is done to the noisy sum before it moves the model: it is shrunk, smoothed across pixels, or averaged over steps. Processing what is already released costs no privacy, but may cost accuracy: at ε ≤ 1 and its best rate the tanh CNN loses 2.1 points with Kolmogorov–Smirnov, 3.6 with Cramér–von Mises or Wasserstein, 5.0 with James–Stein and 82.4 with a soft threshold; smoothing costs it 0.3, but gains the perceptron 1.1."),
        framed: true,
        change: Some(text!("denoiser: {option}")),
        ..PLAIN
    };

    Sampling: sampling, SamplingPolicy = SelectSpec {
        key: "sampling",
        id: "sampling",
        label: text!("Sampling"),
        hint: text!("Poisson: each digit joins a step by its own coin toss. Fixed size: exactly the lot size; ε covers replacing one digit. Random allocation: each digit in one batch of every epoch, by a secret draw. Shuffled: the same draw, priced as if it were known."),
        ..PLAIN
    };

    Protects: protects, Protects = SelectSpec {
        key: "protects",
        id: "protects",
        label: text!("ε covers"),
        hint: text!("One digit of a micro-batch, which changes the batch's mean; or the whole micro-batch, as if one person had written it, which says nothing about single digits."),
        applies: Some(|s| !s.has_users() && s.micro_batch > 1),
        ..PLAIN
    };

    UserSource: user_source, UserSource = SelectSpec {
        key: "user-source",
        id: "user-source",
        label: text!("Users are"),
        hint: text!("Made up: a coin of its own decides whose an image is. As the files say: own files can tell who wrote each image, and then ε covers one of these people with all their images. How many they are counts as public."),
        applies: Some(Settings::has_users),
        change: Some(text!("users {option}")),
        ..PLAIN
    };

    Schedule: decay, Decay = SelectSpec {
        key: "schedule",
        id: "schedule",
        label: text!("Learning rate"),
        hint: text!("A rate that falls towards the planned end averages out the noise; this needs a set number of steps."),
        change: Some(text!("rate {option}")),
        ..PLAIN
    };

    Phases: phases, PhaseKind = SelectSpec {
        key: "phases",
        id: "phases",
        label: text!("Noise over the run"),
        hint: text!("Phases of equal length, whose noise changes from the noise scale to another by a rule; or phases that you list. All is fixed before the first step and looks at no digit, so ε is that of the phases together. At ε ≤ 1 the tanh CNN loses 0.9 points if the noise falls to half, and 0.2 if it doubles."),
        applies: Some(|s| s.family != Family::None),
        change: Some(text!("noise {option}")),
        ..PLAIN
    };

    Start: start, Start = SelectSpec {
        key: "start",
        id: "start",
        label: text!("Start from"),
        hint: text!("Digits that this page draws are public, so pre-training on them costs no privacy."),
        // Other models have only random parameters.
        applies: Some(|s| pretrained::available(s.model)),
        change: None,
        ..PLAIN
    };

    Break: broken, Option<InjectedBug> = SelectSpec {
        key: "break",
        id: "break",
        label: text!("Injected bug"),
        hint: text!("The run no longer does what its books say: a mistake that real programs have made. ε on the page stays the same, but is no longer true; an attack can show it. Such a run has no run file, ledger or label, and cannot be handed in."),
        applies: Some(|s| s.canaries > 0),
        change: Some(text!("bug: {option}")),
        ..PLAIN
    };

    Minority: minority, Minority = SelectSpec {
        key: "minority",
        id: "minority",
        label: text!("Minority"),
        hint: text!("About one training image in fifty is turned by 90°, each by itself and before anything else, always the same ones. This costs no privacy; “Who pays for privacy” shows how well they are read."),
        change: Some(text!("minority: {option}")),
        ..PLAIN
    };

    Reading: reading, Reading = SelectSpec {
        key: "reading",
        id: "reading",
        label: text!("Test-time augmentation"),
        hint: text!("If the model is less than 99% sure of an image, the mean over five positions of it, a pixel apart, decides. Reading costs no privacy."),
        change: Some(text!("read {option}")),
        ..PLAIN
    };

    Averaging: averaging, Averaging = SelectSpec {
        key: "averaging",
        id: "averaging",
        label: text!("Read with"),
        hint: text!("A mean of the parameters over the last ninth of the steps, at most 1000, evens out the noise of single ones. It is made from what was released, so it costs no privacy."),
        change: Some(text!("read with {option}")),
        ..PLAIN
    };
}

impl Select {
    /// Returns its entry in the table.
    #[must_use]
    pub fn spec(self) -> &'static SelectSpec {
        &TABLE[self as usize]
    }

    /// Returns the choice whose key in links is `key`.
    #[must_use]
    pub fn by_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|select| select.spec().key == key)
    }

    /// True if it affects the run that these settings describe.
    #[must_use]
    pub fn applies(self, settings: &Settings) -> bool {
        self.spec().applies.is_none_or(|applies| applies(settings))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::settings::numbers::Number;

    #[test]
    fn the_table_names_each_choice_once() {
        let words: [fn(&SelectSpec) -> &'static str; 4] =
            [|spec| spec.key, |spec| spec.id, |spec| spec.label.get(), |spec| spec.hint.get()];
        for word in words {
            let mut all: Vec<&str> = Select::ALL.iter().map(|select| word(select.spec())).collect();
            all.sort_unstable();
            all.dedup();
            assert!(all.len() == Select::ALL.len() && all.iter().all(|word| !word.is_empty()), "{all:?}");
        }
        for select in Select::ALL {
            assert_eq!(Select::by_key(select.spec().key), Some(select));
            assert!(select.spec().hint.get().ends_with('.'), "{select:?}");
            assert_eq!(Number::by_key(select.spec().key), None, "{select:?} is called as a number is");
        }
    }

    #[test]
    fn each_entry_reads_what_it_writes_and_nothing_else() {
        for select in Select::ALL {
            let spec = select.spec();
            assert!(spec.options().count() > 1, "{select:?}");
            for (key, label) in spec.options() {
                let mut settings = Settings::default();
                assert!((spec.set)(&mut settings, key), "{select:?} {key}");
                for other in Select::ALL {
                    let expected = if other == select { key } else { (other.spec().get)(&Settings::default()) };
                    assert_eq!((other.spec().get)(&settings), expected, "{select:?} sets {other:?}");
                }
                assert!(!label.is_empty() && spec.label_of(key) == label, "{select:?} {key}");
                let before = settings.clone();
                assert!(!(spec.set)(&mut settings, "no such thing") && settings == before, "{select:?}");
            }
        }
    }
}
