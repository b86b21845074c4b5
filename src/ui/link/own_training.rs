//! The numbers of the visitor's own training, by any library, as plain data. Keys in links are the
//! options of `hushgrad account`, after `own-`.

use crate::{
    plot::format,
    train::{
        config::SamplingPolicy,
        elsewhere::{Batches, Length, Training},
    },
    ui::{
        settings::{
            Choice, Family, Settings,
            number::{
                Bound::{At, Beyond},
                NumberSpec,
            },
            numbers::{DELTA_HINT, EXPONENT_HINT, NU_HINT},
        },
        text::text,
    },
};

/// The numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnTraining {
    pub noise_multiplier: f64,
    pub lot: u32,
    pub examples: u32,
    pub epochs: f64,
    /// Number of steps, instead of `epochs`.
    pub steps: Option<u64>,
    pub delta: f64,
    /// ε for which a noise multiplier is sought.
    pub epsilon: Option<f64>,
    pub sampling: SamplingPolicy,
    pub noise: Family,
    pub nu: f64,
    pub exponent: f64,
}

impl Default for OwnTraining {
    /// The MNIST tutorial of Opacus and TensorFlow Privacy.
    fn default() -> Self {
        let usual = Settings::default();
        Self {
            noise_multiplier: 1.1,
            lot: 256,
            examples: 60_000,
            epochs: 15.0,
            steps: None,
            delta: 1e-5,
            epsilon: None,
            sampling: SamplingPolicy::Poisson,
            noise: Family::Gaussian,
            nu: usual.nu,
            exponent: usual.exponent,
        }
    }
}

/// Noises to choose from: those without a formula.
pub const NOISES: [Family; 7] = [
    Family::Gaussian,
    Family::StudentT,
    Family::Laplace,
    Family::Cauchy,
    Family::VarianceGamma,
    Family::HyperbolicSecant,
    Family::GeneralizedGaussian,
];

const PLAIN: NumberSpec<OwnTraining> = NumberSpec::PLAIN;

/// The fields, in the order of the panel and of links.
pub static FIELDS: [NumberSpec<OwnTraining>; 9] = [
    NumberSpec {
        key: "own-noise-multiplier",
        label: text!("Noise multiplier σ"),
        hint: text!(
            "Standard deviation of the noise, divided by the clipping norm: “noise_multiplier” in Opacus, TensorFlow Privacy and JAX Privacy."
        ),
        least: At(1e-6),
        most: At(1e4),
        get: |own| Some(own.noise_multiplier),
        set: |own, value| own.noise_multiplier = value.unwrap_or(own.noise_multiplier),
        ..PLAIN
    },
    NumberSpec {
        key: "own-lot",
        label: text!("Batch size (lot)"),
        hint: text!(
            "Examples of one step, on average. With gradient accumulation, or several devices: of all of them together."
        ),
        least: At(1.0),
        most: At(1e9),
        whole: true,
        get: |own| Some(own.lot.into()),
        set: |own, value| own.lot = value.map_or(own.lot, |value| value as u32),
        ..PLAIN
    },
    NumberSpec {
        key: "own-examples",
        label: text!("Training examples"),
        hint: text!("Number of examples in the training set. It counts as public."),
        least: At(1.0),
        most: At(1e9),
        whole: true,
        get: |own| Some(own.examples.into()),
        set: |own, value| own.examples = value.map_or(own.examples, |value| value as u32),
        ..PLAIN
    },
    NumberSpec {
        key: "own-epochs",
        label: text!("Epochs"),
        hint: text!("Passes over the training set, rounded up to whole steps."),
        applies: |own| own.steps.is_none(),
        get: |own| Some(own.epochs),
        set: |own, value| own.epochs = value.unwrap_or(own.epochs),
        ..PLAIN
    },
    NumberSpec {
        key: "own-steps",
        label: text!("Or steps"),
        hint: text!("Number of noisy updates, if you know it; then the epochs do not count."),
        least: At(1.0),
        most: At(1e9),
        whole: true,
        optional: true,
        get: |own| own.steps.map(|steps| steps as f64),
        set: |own, value| own.steps = value.map(|value| value as u64),
        ..PLAIN
    },
    NumberSpec {
        key: "own-delta",
        label: text!("δ"),
        hint: DELTA_HINT,
        most: Beyond(1.0),
        get: |own| Some(own.delta),
        set: |own, value| own.delta = value.unwrap_or(own.delta),
        ..PLAIN
    },
    NumberSpec {
        key: "own-nu",
        label: text!("Degrees of freedom ν"),
        hint: NU_HINT,
        least: Beyond(2.0),
        applies: |own| own.noise == Family::StudentT,
        get: |own| Some(own.nu),
        set: |own, value| own.nu = value.unwrap_or(own.nu),
        ..PLAIN
    },
    NumberSpec {
        key: "own-exponent",
        label: text!("Exponent"),
        hint: EXPONENT_HINT,
        least: At(1.0),
        most: At(100.0),
        applies: |own| own.noise == Family::GeneralizedGaussian,
        get: |own| Some(own.exponent),
        set: |own, value| own.exponent = value.unwrap_or(own.exponent),
        ..PLAIN
    },
    NumberSpec {
        key: "own-epsilon",
        label: text!("Noise for which ε?"),
        hint: text!(
            "With a number here, the smallest noise multiplier is found with which the training stays within this ε."
        ),
        most: At(1000.0),
        optional: true,
        get: |own| own.epsilon,
        set: |own, value| own.epsilon = value,
        ..PLAIN
    },
];

impl OwnTraining {
    /// Returns the training and its length.
    #[must_use]
    pub fn training(&self) -> (Training, Length) {
        let noise = Settings {
            family: self.noise,
            scale: self.noise_multiplier,
            nu: self.nu,
            exponent: self.exponent,
            ..Settings::default()
        };
        let batches = Batches::Lot { lot: self.lot, examples: self.examples, sampling: self.sampling };
        let length = self.steps.map_or(Length::Epochs(self.epochs), Length::Steps);
        (Training { noise: noise.noise(), batches }, length)
    }

    /// Returns keys and values of what differs from the default, for a link or, without `own-`, as
    /// options of the tool.
    #[must_use]
    pub fn changes(&self) -> Vec<(&'static str, String)> {
        let first = Self::default();
        let mut pairs: Vec<(&str, String)> = FIELDS
            .iter()
            .filter(|field| (field.get)(self) != (field.get)(&first))
            .map(|field| (field.key, (field.get)(self).map_or_else(String::new, format::exact)))
            .collect();
        if self.sampling != first.sampling {
            pairs.push(("own-sampling", self.sampling.key().to_owned()));
        }
        if self.noise != first.noise {
            pairs.push(("own-noise", self.noise.key().to_owned()));
        }
        pairs
    }

    /// Returns the command that prints the same price.
    #[must_use]
    pub fn command(&self) -> String {
        let number = |field: &&NumberSpec<Self>| {
            let wanted = (field.applies)(self) && field.key != "own-epsilon";
            Some((field.key, format::exact((field.get)(self).filter(|_| wanted)?)))
        };
        let mut pairs: Vec<_> = FIELDS.iter().filter_map(|field| number(&field)).collect();
        pairs.extend(self.changes().into_iter().filter(|(key, _)| matches!(*key, "own-sampling" | "own-noise")));
        let options = pairs.iter().map(|(key, value)| format!(" --{} {value}", key.trim_start_matches("own-")));
        format!("hushgrad account{}", options.collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_names_everything_that_applies() {
        assert_eq!(
            OwnTraining::default().command(),
            "hushgrad account --noise-multiplier 1.1 --lot 256 --examples 60000 --epochs 15 --delta 1e-5"
        );
        let other = OwnTraining {
            steps: Some(100),
            noise: Family::StudentT,
            sampling: SamplingPolicy::FixedSize,
            epsilon: Some(2.0),
            ..OwnTraining::default()
        };
        assert_eq!(
            other.command(),
            "hushgrad account --noise-multiplier 1.1 --lot 256 --examples 60000 --steps 100 --delta 1e-5 --nu 9 --sampling fixed-size --noise student-t"
        );
    }
}
