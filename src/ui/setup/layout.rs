//! All controls, and their places in the page.

use crate::ui::settings::{Number, Select, keys};

/// A control of the set-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    Preset,
    /// The formula of a custom density.
    Density,
    /// A custom list of phases.
    PhaseList,
    /// A clipping norm for each layer.
    LayerNorms,
    Select(Select),
    Number(Number),
}

/// The data set, placed individually.
pub const DIGITS: Control = Control::Select(Select::Digits);
/// The model, placed individually.
pub const MODEL: Control = Control::Select(Select::Model);
/// The denoiser and its numbers, grouped in the panel.
pub const DENOISER: &[Control] =
    &[Control::Select(Select::Denoiser), Control::Number(Number::Smoothing), Control::Number(Number::Memory)];

/// Controls on the stage: the knob.
pub const NOISE: &[Control] = &[Control::Number(Number::Scale)];

/// Controls of the fieldset *Privacy*, in order.
pub const PRIVACY: &[Control] = &[
    Control::Select(Select::Encoder),
    Control::Number(Number::ClipNorm),
    Control::Number(Number::PreScale),
    Control::Select(Select::Shape),
    Control::Number(Number::Vectors),
    Control::Select(Select::Noise),
    Control::Density,
    Control::Number(Number::Nu),
    Control::Number(Number::Exponent),
    Control::Number(Number::Budget),
    Control::Number(Number::Delta),
];
/// Controls of the fieldset *Training*, in order.
pub const TRAINING: &[Control] =
    &[Control::Number(Number::Lot), Control::Number(Number::LearningRate), Control::Number(Number::Steps)];
/// Controls of the attack, in its panel.
pub const ATTACK: &[Control] = &[Control::Select(Select::Break), Control::Number(Number::Canaries)];
/// Controls of the advanced settings, in order.
pub const ADVANCED: &[Control] = &[
    Control::Select(Select::Sampling),
    Control::Number(Number::MicroBatch),
    Control::Select(Select::Protects),
    Control::Number(Number::Users),
    Control::Select(Select::UserSource),
    Control::Number(Number::UserSkew),
    Control::Number(Number::LocalSteps),
    Control::Number(Number::LocalRate),
    Control::Number(Number::UserSeed),
    Control::Number(Number::Bands),
    Control::Number(Number::ClipQuantile),
    Control::Number(Number::ClipCountNoise),
    Control::Number(Number::MetricsNoise),
    Control::Select(Select::Clipping),
    Control::Select(Select::LayerNoise),
    Control::LayerNorms,
    Control::Select(Select::Schedule),
    Control::Number(Number::RateEnd),
    Control::Select(Select::Phases),
    Control::PhaseList,
    Control::Number(Number::PhaseCount),
    Control::Number(Number::NoiseEnd),
    Control::Number(Number::Momentum),
    Control::Number(Number::Copies),
    Control::Number(Number::Reach),
    Control::Select(Select::Start),
    Control::Select(Select::Minority),
    Control::Select(Select::Reading),
    Control::Select(Select::Averaging),
    Control::Number(Number::InitSeed),
    Control::Number(Number::EnvelopeSeed),
    Control::Number(Number::Replay),
    Control::Number(Number::GridBits),
];

impl Control {
    /// Returns the id of its field in the page.
    #[must_use]
    pub fn id(self) -> String {
        match self {
            Self::Preset => keys::PRESET.to_owned(),
            Self::Density => "density".to_owned(),
            Self::PhaseList => "phase-list".to_owned(),
            Self::LayerNorms => "layer-norms".to_owned(),
            Self::Select(select) => select.spec().id.to_owned(),
            Self::Number(number) => format!("number-{}", number.spec().key),
        }
    }

    /// Returns the control with this key in an embed's link.
    #[must_use]
    pub fn by_key(key: &str) -> Option<Self> {
        let select = Select::by_key(key).filter(|select| select.spec().framed);
        (key == keys::PRESET)
            .then_some(Self::Preset)
            .or(select.map(Self::Select))
            .or_else(|| Number::by_key(key).map(Self::Number))
    }

    /// Returns the keys known to [`by_key`](Self::by_key).
    pub fn keys() -> impl Iterator<Item = &'static str> {
        keys::keys(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_has_one_place() {
        let placed: Vec<Control> = [&[DIGITS, MODEL], DENOISER, NOISE, PRIVACY, TRAINING, ADVANCED, ATTACK].concat();
        let settings = Select::ALL.map(Control::Select).into_iter().chain(Number::ALL.map(Control::Number));
        for control in settings {
            assert_eq!(placed.iter().filter(|each| **each == control).count(), 1, "{control:?}");
        }
        assert_eq!(
            placed.len(),
            Select::ALL.len() + Number::ALL.len() + 3,
            "and the density, the phases and the layers' norms"
        );
    }

    #[test]
    fn keys_are_found() {
        for key in Control::keys() {
            assert!(Control::by_key(key).is_some(), "{key}");
        }
        assert_eq!((Control::by_key("sampling"), Control::by_key("density")), (None, None));
    }
}
