//! The presets of [`presets`] as settings of the page.

use super::values::Settings;
use crate::{
    train::presets,
    ui::text::{Text, text},
};

/// Label and description of each preset, in the order of [`presets::ALL`].
const WORDS: [[Text; 2]; presets::ALL.len()] = [
    [
        text!("A small model, in seconds"),
        text!(
            "The linear model from random parameters, at a suitable rate: its gradient is built from the image, so the stage can show what one image adds. ε is by tight accounting, for 60,000 images; with fewer it costs more."
        ),
    ],
    [
        text!("A small CNN from scratch"),
        text!(
            "The tanh CNN from random parameters, with a tight clip and a large rate: 19 of 20 test digits right within seconds. ε is by tight accounting, for 60,000 images; with fewer it costs more."
        ),
    ],
    [
        text!("No privacy"),
        text!("Plain training, for comparison: its curve stays in the charts as a ghost when you switch privacy on."),
    ],
    [
        text!("DP-SGD"),
        text!(
            "Gradients clipped to length 1, Gaussian noise: how private models are usually trained (Abadi et al. 2016)."
        ),
    ],
    [
        text!("Algorithm 1, as published"),
        text!(
            "Envelope, Student-t noise and Kolmogorov–Smirnov denoiser on the paper's CNN (Nasr, Shokri, Houmansadr 2020): 60 epochs, so give it time."
        ),
    ],
    [
        text!("Student-t noise"),
        text!(
            "Heavy-tailed noise under an envelope, on the small model. It learns less than DP-SGD does at the same ε, and the envelope is why: Gaussian noise under it learns no more."
        ),
    ],
    [
        text!("Best at ε = 3"),
        text!(
            "A tanh CNN pre-trained on digits drawn by this program, which costs no privacy, then trained on real ones: large lots, a falling rate, 20 epochs. ε is by tight accounting, for 60,000 images; with fewer it costs more."
        ),
    ],
    [text!("Best at ε = 1"), text!("The same with more than twice the noise.")],
    [
        text!("Best at ε = 0.3"),
        text!("The same with the noise doubled again and half the steps: after pre-training, little is left to learn."),
    ],
    [
        text!("Fast at ε = 3"),
        text!(
            "The pre-trained CNN for one epoch: few steps need little noise each. Noise is correlated over eight steps, so less adds up. ε is by tight accounting, for 60,000 images; the Rényi bound is far higher here."
        ),
    ],
    [
        text!("Scattering at ε = 3"),
        text!(
            "A linear model on scattering features, handcrafted and normalised without looking at private digits (Tramèr & Boneh 2021), after pre-training as above. ε is by tight accounting, for 60,000 images; with fewer it costs more."
        ),
    ],
    [text!("Scattering at ε = 1"), text!("The same with more than twice the noise.")],
    [
        text!("From scratch at ε = 3"),
        text!(
            "The tanh CNN from random parameters, with a tight clip, large lots, a falling rate and each gradient the mean over four moved copies of its image: what privacy costs without pre-training. On the CPU; takes half an hour in a browser. ε is by tight accounting, for 60,000 images; with fewer it costs more."
        ),
    ],
    [text!("CPU-friendly"), text!("The small model with small lots: many steps a second on any machine.")],
];

/// The page's settings if the link has none: the first preset, on MNIST.
#[must_use]
pub fn first_settings() -> Settings {
    let ground = Settings::default();
    Preset::by_key(presets::FIRST).map_or_else(|| ground.clone(), |first| first.settings(&ground))
}

/// A preset.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    pub key: &'static str,
    pub label: Text,
    /// A description of what it shows.
    pub note: Text,
    entry: presets::Preset,
}

impl PartialEq for Preset {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

/// Returns all presets, in the order of the list.
pub fn all() -> impl Iterator<Item = Preset> {
    let preset = |(entry, [label, note]): (presets::Preset, [Text; 2])| Preset { key: entry.key, label, note, entry };
    presets::ALL.into_iter().zip(WORDS).map(preset)
}

impl Preset {
    /// Returns the preset whose key in links is `key`.
    #[must_use]
    pub fn by_key(key: &str) -> Option<Self> {
        all().find(|preset| preset.key == key)
    }

    /// Returns its settings, with the data set of `now`.
    #[must_use]
    pub fn settings(self, now: &Settings) -> Settings {
        Settings::of_config(&self.entry.config(), now.digits)
    }

    /// Returns the preset that these settings equal, whatever the data set.
    #[must_use]
    pub fn of(settings: &Settings) -> Option<Self> {
        all().find(|preset| preset.entry.config() == settings.config())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::settings::numbers::Number;

    #[test]
    fn presets_can_be_set_and_are_recognised() {
        for preset in all() {
            let settings = preset.settings(&Settings::default());
            assert_eq!(Preset::of(&settings), Some(preset));
            assert_eq!(Preset::by_key(preset.key), Some(preset));
            assert_eq!(preset.label.get(), preset.entry.label);
            assert!(preset.note.get().ends_with('.'), "{}", preset.key);
            for number in Number::ALL {
                if let Some(value) = settings.number(number) {
                    assert!(number.spec().allows(value), "{}: {number:?}", preset.key);
                }
            }
        }
        assert!(Preset::by_key("").is_none());
    }
}
