//! A run's settings ([`RunConfig`]), checked once into a [`Plan`](super::plan::Plan).

use serde::{Deserialize, Serialize};

use super::phases::Phases;
use crate::{
    accounting::{noise::NoiseSpec, sampling::Sampling},
    data::{Dataset, Picture, Shift, sharing::Sharing},
    engine::{LocalSteps, Reading},
    mechanism::{AdaptiveClip, Denoiser, EncoderSpec, PaidMetrics},
    model::{Architecture, layers::LayersError},
    rng::RandomSource,
};

/// All that decides what a run computes and costs. JSON with these names is the file format.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct RunConfig {
    pub model: Architecture,
    pub encoder: EncoderSpec,
    /// Scale relative to the encoder's norm (Gaussian: the noise multiplier). `None`: no noise, and
    /// no guarantee.
    pub noise: Option<NoiseSpec>,
    /// Rounds gradients, sums and noise to multiples of a power of two, at most 2^−`grid_bits`
    /// noise scales; ε then covers what the low bits of floating-point noise reveal. `None`: no
    /// rounding, and ε does not cover them.
    pub grid_bits: Option<u32>,
    pub denoiser: Denoiser,
    /// Examples (or users) of a step: the expected number (Poisson), the exact number (fixed size),
    /// or an upper bound on the expected one (shuffled and random allocation, where an epoch has
    /// whole batches). Updates divide by the expected number.
    pub lot: u32,
    pub sampling: SamplingPolicy,
    /// Steps over which noise is correlated, b (banded square root;
    /// [`crate::mechanism::correlated`]); b groups of examples are then sampled in turn. 1:
    /// independent noise at each step.
    pub bands: u32,
    pub learning_rate: f64,
    pub schedule: Schedule,
    /// Changes of noise, clipping norm, lot and rate in the course of the run.
    pub phases: Phases,
    pub momentum: f64,
    /// Whether images are classified with the last parameters or with an average.
    pub averaging: Averaging,
    /// Whether some training images are made unlike the others.
    pub minority: Minority,
    /// Averages an example's gradient over shifted copies of it; `None`: no copies.
    pub augmentation: Option<Augmentation>,
    /// Whether examples share a bounded vector: micro-batches, or users with all their images.
    pub sharing: Sharing,
    /// The unit that ε protects with micro-batches.
    pub protects: Protects,
    /// How a shared vector is made.
    pub local: LocalSteps,
    /// Adapts the clipping norm to the gradients' norms, from the encoder's; `None`: fixed.
    pub adaptive_clip: Option<AdaptiveClip>,
    /// Counts right answers and digits with each step, at a privacy cost.
    pub metrics: Option<PaidMetrics>,
    /// An auditor's records among those sampled from, m ([`super::audit`]); 0: no audit.
    pub canaries: u32,
    /// How test images and drawings are classified.
    pub reading: Reading,
    /// Steps after which the run completes; `None`: until paused.
    pub steps: Option<u64>,
    pub delta: f64,
    /// The parameters before the first step.
    pub start: Start,
    /// Seed of the random start (public).
    pub init_seed: u64,
    /// Seed of replayable sampling and noise: reproducible, and **not private**; reports say so.
    pub replay: Option<u64>,
}

/// How the examples of a step are chosen. With a lot and a training set it becomes a [`Sampling`],
/// by which lots are drawn and ε is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SamplingPolicy {
    /// Each example independently, with probability lot / examples.
    #[default]
    Poisson,
    /// Exactly `lot`, without replacement. Neighbours differ by the replacement of one example.
    FixedSize,
    /// Each example in one batch per epoch, without amplification; a begun epoch counts in full.
    Shuffled,
    /// The same draw, priced with amplification, as no one learns which batch an example is in
    /// (Feldman & Shenfeld 2026). A begun epoch counts in full.
    RandomAllocation,
}

impl SamplingPolicy {
    /// Returns the policy over `examples` training examples.
    #[must_use]
    pub fn over(self, examples: u32, lot: u32) -> Sampling {
        // Rounded up, so that a number of passes over the examples is at most as many epochs.
        let batches = examples.div_ceil(lot.max(1)).into();
        match self {
            Self::Poisson => Sampling::Poisson { rate: f64::from(lot) / f64::from(examples) },
            Self::FixedSize => Sampling::FixedSize { population: examples.into(), size: lot.into() },
            Self::Shuffled => Sampling::Shuffled { batches },
            Self::RandomAllocation => Sampling::RandomAllocation { batches },
        }
    }

    /// Returns the expected number of steps in which every example takes part once.
    #[must_use]
    pub fn steps_per_epoch(self, examples: u32, lot: u32) -> f64 {
        let batches = self.over(examples, lot).batches();
        batches.map_or(f64::from(examples) / f64::from(lot), |batches| batches as f64)
    }
}

/// Augmentation multiplicity (De, Berrada, Hayes, Smith & Balle 2022, §3.2): an example's gradient
/// is the mean over copies of its image, *then* it is clipped or encoded. It is still one
/// example's, so it costs no privacy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Augmentation {
    /// Number of copies, at least 2; each step shifts them anew, each differently.
    pub copies: u32,
    /// Largest shift of a copy, in pixels along each axis.
    pub reach: u32,
}

impl Augmentation {
    /// Returns the number of distinct shifts.
    #[must_use]
    pub const fn ways(self) -> u32 {
        (2 * self.reach + 1).pow(2)
    }

    /// Fills `shifts` with distinct shifts, drawn uniformly.
    pub fn draw(self, rng: &mut dyn RandomSource, shifts: &mut Vec<Shift>) {
        let reach = self.reach as i8;
        let side = -reach..=reach;
        let mut ways: Vec<Shift> =
            side.clone().flat_map(|down| side.clone().map(move |right| Shift { right, down })).collect();
        shifts.clear();
        for _ in 0..self.copies.min(self.ways()) {
            let at = (u64::from(rng.next_u32()) * ways.len() as u64) >> 32;
            shifts.push(ways.swap_remove(at as usize));
        }
    }
}

/// A few training images made unlike the others, to see what clipping and noise cost a minority
/// (Bagdasaryan, Poursaeed & Shmatikov 2019). Each image is changed independently and before
/// anything else, so sensitivity, sampling and ε stay the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Minority {
    /// Training images are unchanged.
    #[default]
    None,
    /// About one image in fifty is rotated by 90° ([`Dataset::turned_by_coin`]).
    Turned,
}

impl Minority {
    /// Returns the training set with the minority's images changed.
    #[must_use]
    pub fn among(self, train: &Dataset) -> Dataset {
        match self {
            Self::None => train.clone(),
            Self::Turned => train.turned_by_coin(),
        }
    }
}

/// The unit of ε with sampled micro-batches; with users, the unit is the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protects {
    /// One example, which changes its micro-batch's vector into another.
    #[default]
    Example,
    /// The micro-batch, as if all its examples were one person's.
    MicroBatch,
}

/// Parameters before the first step. Both starts are public: neither depends on a private example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// Glorot's uniform weights, from `init-seed`.
    #[default]
    Random,
    /// Parameters trained on the program's own digits ([`crate::model::pretrained`]).
    Pretrained,
}

/// Learning-rate schedule: a factor on `learning_rate` by progress t in [0, 1] through `steps`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    Constant,
    /// Linear, from 1 to `to`.
    Linear {
        to: f64,
    },
    /// Half a cosine, from 1 to `to`.
    Cosine {
        to: f64,
    },
}

impl Schedule {
    /// Returns the factor in step `step` (the first is 0) of `steps`; 1 for a run without an end.
    #[must_use]
    pub fn factor(self, step: u64, steps: Option<u64>) -> f64 {
        let Some(steps) = steps else { return 1.0 };
        let progress = (step as f64 / steps as f64).min(1.0);
        match self {
            Self::Constant => 1.0,
            Self::Linear { to } => 1.0 + (to - 1.0) * progress,
            Self::Cosine { to } => to + (1.0 - to) * 0.5 * (1.0 + (std::f64::consts::PI * progress).cos()),
        }
    }
}

/// Averaged iterates (Polyak & Juditsky 1992): post-processing of the releases, free in ε.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Averaging {
    /// Images are classified with the last parameters.
    #[default]
    None,
    /// Images are classified with an exponential moving average, as in De, Berrada, Hayes, Smith &
    /// Balle 2022 but with a shorter memory: the last ninth of the steps, at most 1000.
    Exponential,
}

impl Averaging {
    /// Returns the weight of the old average in step `step` (the first is 0).
    #[must_use]
    pub fn keeps(self, step: u64) -> f64 {
        let step = step as f64;
        match self {
            Self::None => 0.0,
            Self::Exponential => ((1.0 + step) / (10.0 + step)).min(0.999),
        }
    }
}

impl RunConfig {
    /// Returns the same run for images of this size and number of classes: the model keeps its
    /// layers, with new shapes ([`Architecture::fitted`]). A changed model starts at random.
    ///
    /// # Errors
    /// A model whose windows do not fit such images, or that would be too large.
    pub fn fitted(self, picture: Picture, classes: usize) -> Result<Self, LayersError> {
        let model = self.model.fitted(picture, classes)?;
        let start = if model == self.model { self.start } else { Start::Random };
        Ok(Self { model, start, ..self })
    }
}

impl Default for RunConfig {
    fn default() -> Self {
        Self {
            model: Architecture::Linear,
            encoder: EncoderSpec::Clip { norm: 1.0 },
            noise: Some(NoiseSpec::Gaussian { sigma: 1.1 }),
            grid_bits: None,
            denoiser: Denoiser::None,
            lot: 256,
            sampling: SamplingPolicy::Poisson,
            bands: 1,
            learning_rate: 0.5,
            schedule: Schedule::Constant,
            phases: Phases::None,
            momentum: 0.0,
            averaging: Averaging::None,
            minority: Minority::None,
            augmentation: None,
            sharing: Sharing::Alone,
            protects: Protects::Example,
            local: LocalSteps::MEAN,
            adaptive_clip: None,
            metrics: None,
            canaries: 0,
            reading: Reading::Once,
            steps: None,
            delta: 1e-5,
            start: Start::Random,
            init_seed: 0,
            replay: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::NotPrivateReplay;

    #[test]
    fn copies_are_moved_differently_and_evenly() {
        let mut rng = NotPrivateReplay::new(1);
        let (mut shifts, mut drawn) = (Shift::ALONE.to_vec(), std::collections::BTreeMap::new());
        let augmentation = Augmentation { copies: 4, reach: 2 };
        for _ in 0..2500 {
            augmentation.draw(&mut rng, &mut shifts);
            assert_eq!(shifts.len(), 4);
            for (k, &shift) in shifts.iter().enumerate() {
                assert!(!shifts[..k].contains(&shift), "{shifts:?}");
                *drawn.entry((shift.right, shift.down)).or_insert(0) += 1;
            }
        }
        assert!(drawn.keys().all(|(right, down)| right.abs() <= 2 && down.abs() <= 2));
        assert_eq!(drawn.len(), 25);
        // 400 each, with a standard deviation of 18.
        assert!(drawn.values().all(|count| (310..490).contains(count)), "{drawn:?}");
        let all = Augmentation { copies: 9, reach: 1 };
        all.draw(&mut rng, &mut shifts);
        assert_eq!((shifts.len(), all.ways()), (9, 9));
    }

    #[test]
    fn a_file_without_a_minority_has_none_and_its_name_is_kept() {
        let read = |text: &str| serde_json::from_str::<RunConfig>(text).unwrap();
        assert_eq!(read("{}").minority, Minority::None);
        let some = read(r#"{"minority":"turned"}"#);
        assert_eq!(some, RunConfig { minority: Minority::Turned, ..RunConfig::default() });
        assert_eq!(read(&serde_json::to_string(&some).unwrap()), some);
        assert_eq!(postcard::from_bytes::<RunConfig>(&postcard::to_stdvec(&some).unwrap()).unwrap(), some);
    }

    #[test]
    fn a_file_without_augmentation_has_none() {
        let read = |text: &str| serde_json::from_str::<RunConfig>(text).unwrap();
        assert_eq!(read("{}"), RunConfig::default());
        assert_eq!(read(r#"{"augmentation":null}"#).augmentation, None);
        let some = read(r#"{"augmentation":{"copies":4,"reach":2}}"#);
        assert_eq!(some.augmentation, Some(Augmentation { copies: 4, reach: 2 }));
        let bytes = postcard::to_stdvec(&some).unwrap();
        assert_eq!(postcard::from_bytes::<RunConfig>(&bytes).unwrap(), some);
    }
}
