//! What a visitor set ([`RunConfig`]), checked once into what will run ([`Plan`](super::plan::Plan)).

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

/// Everything that decides what a run computes and what it costs. JSON with these names is the file format.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct RunConfig {
    pub model: Architecture,
    pub encoder: EncoderSpec,
    /// Scale relative to the encoder's norm (for a Gaussian: the noise multiplier). `None`: train without noise, and
    /// without a guarantee.
    pub noise: Option<NoiseSpec>,
    /// Gradients, sums and noise are rounded to multiples of a power of two, at most 2^−`grid_bits` noise scales, and ε then covers what the low bits
    /// of floating-point noise reveal. `None`: nothing is rounded, and ε does not cover them.
    pub grid_bits: Option<u32>,
    pub denoiser: Denoiser,
    /// Examples of a step (users, where there are some): their expected number (Poisson), their exact number (fixed size), or an upper bound on their expected number
    /// (shuffled and random allocation, where an epoch has whole batches). Updates divide by the expected number.
    pub lot: u32,
    pub sampling: SamplingPolicy,
    /// Steps over which noise is correlated, b (banded square root; [`crate::mechanism::correlated`]); examples are then sampled from b groups that take
    /// turns. 1: each step's noise is its own.
    pub bands: u32,
    pub learning_rate: f64,
    pub schedule: Schedule,
    /// Whether noise, clipping norm, lot and rate change in the course of the run.
    pub phases: Phases,
    pub momentum: f64,
    /// Whether images are read with the last parameters or with an average.
    pub averaging: Averaging,
    /// Whether some training images are unlike the others.
    pub minority: Minority,
    /// An example's gradient is the mean over moved copies of it; `None`: over the example alone.
    pub augmentation: Option<Augmentation>,
    /// Whether examples share bounded vectors: micro-batches, and users with all their images.
    pub sharing: Sharing,
    /// What one is to the guarantee where it is in a micro-batch.
    pub protects: Protects,
    /// How such a vector is made.
    pub local: LocalSteps,
    /// Whether the clip follows the norms of the gradients from step to step, beginning with the encoder's; `None`: it stays.
    pub adaptive_clip: Option<AdaptiveClip>,
    /// Whether right answers and digits are counted with each step, and paid for.
    pub metrics: Option<PaidMetrics>,
    /// Records of an auditor among those that are sampled, m ([`super::audit`]); 0: the run is not audited.
    pub canaries: u32,
    /// How test images and drawings are read.
    pub reading: Reading,
    /// Steps after which the run completes by itself; `None`: until paused.
    pub steps: Option<u64>,
    pub delta: f64,
    /// The parameters before the first step.
    pub start: Start,
    /// Seed of the random start (public).
    pub init_seed: u64,
    /// Replayable sampling and noise: reproducible, and **not private**; reports say so.
    pub replay: Option<u64>,
}

/// How the examples of a step are chosen. With a lot and a training set it becomes a [`Sampling`], by which lots are drawn and ε is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SamplingPolicy {
    /// Each example by itself, with probability lot / examples.
    #[default]
    Poisson,
    /// Exactly `lot` of them, without replacement. Neighbours then differ by the replacement of one example.
    FixedSize,
    /// Each example in one batch of every epoch. Sampling amplifies nothing, and an epoch counts in full from its first batch on.
    Shuffled,
    /// The same draw, and priced for what it is: nobody is told which batch an example is in (Feldman & Shenfeld 2026). An epoch counts as a whole one from
    /// its first batch on.
    RandomAllocation,
}

impl SamplingPolicy {
    /// The policy over `examples` training examples.
    #[must_use]
    pub fn over(self, examples: u32, lot: u32) -> Sampling {
        // Rounded up, so that a number of passes over the examples is no more than as many epochs.
        let batches = examples.div_ceil(lot.max(1)).into();
        match self {
            Self::Poisson => Sampling::Poisson { rate: f64::from(lot) / f64::from(examples) },
            Self::FixedSize => Sampling::FixedSize { population: examples.into(), size: lot.into() },
            Self::Shuffled => Sampling::Shuffled { batches },
            Self::RandomAllocation => Sampling::RandomAllocation { batches },
        }
    }

    /// Expected steps in which every example takes part once.
    #[must_use]
    pub fn steps_per_epoch(self, examples: u32, lot: u32) -> f64 {
        let batches = self.over(examples, lot).batches();
        batches.map_or(f64::from(examples) / f64::from(lot), |batches| batches as f64)
    }
}

/// Augmentation multiplicity (De, Berrada, Hayes, Smith & Balle 2022, §3.2): an example's gradient is the mean over copies
/// of its image, *then* it is clipped or encoded. It is still one example's, so it costs no privacy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Augmentation {
    /// Copies, from 2 up; each step moves them anew, each in another way.
    pub copies: u32,
    /// Pixels by which a copy is moved at most, in either direction.
    pub reach: u32,
}

impl Augmentation {
    /// Ways to move an image.
    #[must_use]
    pub const fn ways(self) -> u32 {
        (2 * self.reach + 1).pow(2)
    }

    /// Fills `shifts` with different ways to move an image, drawn evenly.
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

/// A few training images made unlike the others, to see what a bound and noise cost those who are few (Bagdasaryan, Poursaeed & Shmatikov 2019).
/// It is done to each image by itself, before anything else, so sensitivity, sampling and ε are what they are without it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Minority {
    /// Training images are as they came.
    #[default]
    None,
    /// About one image in fifty is turned a quarter ([`Dataset::turned_by_coin`]).
    Turned,
}

impl Minority {
    /// The training set as a run sees it.
    #[must_use]
    pub fn among(self, train: &Dataset) -> Dataset {
        match self {
            Self::None => train.clone(),
            Self::Turned => train.turned_by_coin(),
        }
    }
}

/// What ε is of where micro-batches are sampled. Users are what is protected where there are some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protects {
    /// One example: it turns the vector of its micro-batch into another.
    #[default]
    Example,
    /// The micro-batch, as if all its examples were one person's.
    MicroBatch,
}

/// Parameters before the first step. Both starts are public: neither looks at a private example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// Glorot's uniform weights, from `init-seed`.
    #[default]
    Random,
    /// Parameters trained on the program's own digits ([`crate::model::pretrained`]).
    Pretrained,
}

/// Learning rate over the run: a factor on `learning_rate` by progress t in [0, 1] of `steps`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    Constant,
    /// From 1 down to `to`, in a line.
    Linear {
        to: f64,
    },
    /// From 1 down to `to`, by half a cosine.
    Cosine {
        to: f64,
    },
}

impl Schedule {
    /// The factor on the learning rate in step `step` (the first is 0) of so many. A run without an end has no progress to follow.
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

/// Averaged iterates (Polyak & Juditsky 1992), of what was released: ε has no part in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Averaging {
    /// Images are read with the last parameters.
    #[default]
    None,
    /// Images are read with an exponential moving average, as in De, Berrada, Hayes, Smith & Balle 2022 with a shorter memory: over the last ninth of
    /// the steps, 1000 at most.
    Exponential,
}

impl Averaging {
    /// Weight of the old average in step `step` (the first is 0).
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
    /// The same run on images of this size and of so many classes: the model's layers stay, and their shapes follow ([`Architecture::fitted`]). What was trained
    /// beforehand is of the model that it was trained with, so another one starts at random.
    ///
    /// # Errors
    /// Where the model's windows do not fit such images, or it would be too large.
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
