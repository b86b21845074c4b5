//! A checked configuration. Its one [`Sampling`] determines both the lots drawn and ε.

use std::sync::Arc;

use super::{
    check,
    config::{Averaging, Minority, RunConfig, Start},
    error::{ConfigError, NoGuarantee},
    phased,
    price::{self, Drawn},
    units::{absolute_noise, expected_lot, grid},
};
use crate::{
    accounting::{ledger::Release, rdp::RdpCurve, sampling::Sampling},
    data::ONE_IN,
    engine::Task,
    mechanism::{AdaptiveClip, EncoderSpec, MechanismError, canaries::Canaries, envelope::Envelope},
    model,
};
use hushgrad_message::word;

/// What will run. A run begins with its first phase, and most have no other.
#[derive(Clone, Debug)]
pub struct Plan {
    pub config: RunConfig,
    /// The configuration in the first phase.
    pub opening: RunConfig,
    /// What the engine is made for, and computes in the first phase.
    pub task: Task,
    /// Of the first phase.
    pub sampling: Sampling,
    /// Each step's release in the first phase and its cost; `Err`: why there is no guarantee.
    pub priced: Result<(Release, RdpCurve), NoGuarantee>,
    /// The phases after the first, in order.
    pub later: Vec<PlannedPhase>,
    /// Training examples, fixed for the run.
    pub train_examples: u32,
}

/// A phase of a run.
#[derive(Clone, Debug)]
pub struct PlannedPhase {
    /// Its first step; the run's first is 0.
    pub first: u64,
    /// The run's configuration in this phase.
    pub config: RunConfig,
    pub task: Task,
    pub sampling: Sampling,
    /// As [`Plan::priced`].
    pub priced: Result<(Release, RdpCurve), NoGuarantee>,
}

impl PlannedPhase {
    /// Creates a phase from a checked configuration, with the run's envelope and canaries.
    fn new(
        first: u64,
        config: RunConfig,
        envelope: Option<Arc<Envelope>>,
        canaries: Option<Arc<Canaries>>,
        train_examples: u32,
    ) -> Result<Self, ConfigError> {
        let sampling = config.drawn_from(train_examples);
        let priced = price::step(&config, sampling, envelope.as_deref())?;
        let task = Task {
            model: config.model,
            encoder: config.encoder.clone(),
            envelope,
            noise: absolute_noise(&config),
            grid: grid(&config)?,
            bands: config.bands,
            denoiser: config.denoiser,
            expected_lot: expected_lot(&config, train_examples) as f32,
            momentum: config.momentum as f32,
            averaging: config.averaging != Averaging::None,
            copies: config.augmentation.map_or(1, |augmentation| augmentation.copies),
            sharing: config.sharing,
            local: config.local,
            counting: config.counting(),
            canaries,
        };
        Ok(Self { first, config, task, sampling, priced })
    }
}

impl Plan {
    /// Plans `config` on a training set of `train_examples`, priced by `train::price`.
    ///
    /// # Errors
    /// The first field that is out of its range or contradicts another.
    pub fn new(config: RunConfig, train_examples: u32) -> Result<Self, ConfigError> {
        check::check(&config, train_examples)?;
        // A run's cost does not depend on this.
        if config.minority == Minority::Turned && u64::from(train_examples) < ONE_IN {
            return Err(ConfigError::Contradiction {
                field: "minority",
                sentence: word!(
                    "about one training image in fifty is turned, and there are fewer than fifty; give more images, or choose no minority"
                ),
            });
        }
        let envelope = Drawn::of(&config).map(Drawn::draw).transpose()?.map(Arc::new);
        let mut begun = 0u64;
        let mut phases = Vec::new();
        let configurations = phased::configurations(&config)?;
        let canaries = canaries(&configurations, envelope.as_deref())?.map(Arc::new);
        for (steps, phase) in configurations {
            phases.push(PlannedPhase::new(begun, phase, envelope.clone(), canaries.clone(), train_examples)?);
            begun = begun.saturating_add(steps);
        }
        // One phase without a guarantee leaves none for the run.
        let unpriced = phases.iter().find_map(|phase| phase.priced.as_ref().err().copied());
        let later = phases.split_off(1);
        let first = phases.remove(0);
        let priced = unpriced.map_or(first.priced, Err);
        let (opening, task, sampling) = (first.config, first.task, first.sampling);
        Ok(Self { config, opening, task, sampling, priced, later, train_examples })
    }

    /// Checks a configuration as [`Plan::new`] does, except for its price, without drawing anything.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn check(config: &RunConfig, train_examples: u32) -> Result<(), ConfigError> {
        check::check(config, train_examples)
    }

    /// Returns the phase of step `step` (from 0): 0, or k for the k-th of [`Plan::later`].
    #[must_use]
    pub fn phase_of(&self, step: u64) -> usize {
        self.later.iter().take_while(|phase| phase.first <= step).count()
    }

    /// Returns what the engine computes in a phase, and how lots are drawn.
    #[must_use]
    pub fn phase(&self, phase: usize) -> (&Task, Sampling) {
        match phase.checked_sub(1).and_then(|place| self.later.get(place)) {
            Some(later) => (&later.task, later.sampling),
            None => (&self.task, self.sampling),
        }
    }

    /// Returns the releases from `step` on and their numbers of steps; the last one never ends.
    ///
    /// # Errors
    /// Why no guarantee can be stated.
    pub fn releases_from(&self, step: u64) -> Result<Vec<(&Release, u64)>, NoGuarantee> {
        let first = self.priced.as_ref().map_err(|reason| *reason)?;
        let later = self.later.iter().filter_map(|phase| phase.priced.as_ref().ok());
        let ends = self.later.iter().map(|phase| phase.first).chain([u64::MAX]);
        let mut at = step;
        let mut releases = Vec::new();
        for ((release, _), end) in std::iter::once(first).chain(later).zip(ends) {
            if end > at {
                releases.push((release, end - at));
                at = end;
            }
        }
        Ok(releases)
    }

    /// Returns the releases of all phases with their Rényi curves.
    #[must_use]
    pub fn prices(&self) -> Vec<(&Release, &RdpCurve)> {
        let all = std::iter::once(&self.priced).chain(self.later.iter().map(|phase| &phase.priced));
        all.filter_map(|priced| priced.as_ref().ok()).map(|(release, curve)| (release, curve)).collect()
    }

    /// Returns the learning rate of step `step` (the first is 0).
    #[must_use]
    pub fn learning_rate(&self, step: u64) -> f64 {
        let RunConfig { schedule, steps, .. } = self.config;
        let phase = self.phase_of(step).checked_sub(1).and_then(|place| self.later.get(place));
        let learning_rate = phase.map_or(&self.opening, |phase| &phase.config).learning_rate;
        learning_rate * schedule.factor(step, steps)
    }

    /// Returns the initial parameters, flat.
    #[must_use]
    pub fn initial_parameters(&self) -> Vec<f32> {
        initial_parameters(&self.config)
    }

    /// Returns the expected steps per pass over the examples, by the first phase's lot.
    #[must_use]
    pub fn steps_per_epoch(&self) -> f64 {
        self.opening.steps_per_epoch(self.train_examples)
    }

    /// Returns the number of units to sample from: examples, micro-batches or users, with canaries.
    #[must_use]
    pub fn units(&self) -> u32 {
        self.config.units(self.train_examples)
    }
}

/// Draws the canaries of a run: longer than every phase's bound and any adaptive clipping norm.
fn canaries(phases: &[(u64, RunConfig)], envelope: Option<&Envelope>) -> Result<Option<Canaries>, MechanismError> {
    let bound = |config: &RunConfig| match &config.encoder {
        EncoderSpec::Clip { .. } if config.adaptive_clip.is_some() => AdaptiveClip::MOST,
        EncoderSpec::Clip { norm } => *norm,
        EncoderSpec::Layers(clip) => clip.norms.iter().copied().fold(0.0, f64::max),
        EncoderSpec::None | EncoderSpec::Envelope { .. } => 0.0,
    };
    let widest = phases.iter().map(|(_, config)| config).max_by(|a, b| bound(a).total_cmp(&bound(b)));
    let Some(config) = widest.filter(|config| config.canaries > 0) else { return Ok(None) };
    let RunConfig { canaries, encoder, model, init_seed, .. } = config;
    let longest = match encoder {
        EncoderSpec::Clip { .. } => EncoderSpec::Clip { norm: bound(config) },
        other => other.clone(),
    };
    Canaries::draw(*canaries, &longest, envelope, model.parameters(), *init_seed).map(Some)
}

/// True if `parameters` are, to the last bit, a run's initial ones. Reads no file of parameters.
#[must_use]
pub(super) fn starts_with(config: &RunConfig, parameters: &[f32]) -> bool {
    match config.start {
        Start::Pretrained => model::pretrained::are(config.model, parameters),
        Start::Random => model::initial_parameters(config.model, config.init_seed) == parameters,
    }
}

/// Returns the initial parameters of a run of this configuration, flat.
#[must_use]
pub(super) fn initial_parameters(config: &RunConfig) -> Vec<f32> {
    let pretrained = match config.start {
        Start::Random => None,
        Start::Pretrained => model::pretrained::parameters(config.model),
    };
    // Plans without pre-trained parameters are refused, so this is for random starts only.
    pretrained.unwrap_or_else(|| model::initial_parameters(config.model, config.init_seed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Architecture;

    #[test]
    fn too_large_a_lot_is_refused_with_the_number_of_examples() {
        let of = |lot, examples| Plan::new(RunConfig { lot, ..RunConfig::default() }, examples);
        assert!(of(1, 1).is_ok());
        assert_eq!(of(2, 1).unwrap_err().to_string(), "lot is 2; it must be 1, as there is one training example");
        assert_eq!(of(3, 2).unwrap_err().to_string(), "lot is 3; it must be between 1 and the 2 training examples");
    }

    #[test]
    fn a_minority_of_none_is_refused() {
        let of =
            |examples| Plan::new(RunConfig { lot: 8, minority: Minority::Turned, ..RunConfig::default() }, examples);
        assert!(of(50).is_ok());
        let error = of(49).unwrap_err();
        assert_eq!(error.field(), "minority");
        assert!(error.to_string().contains("there are fewer than fifty"), "{error}");
    }

    /// The refusal names exactly the models with pre-trained parameters.
    #[test]
    fn a_start_that_does_not_exist_names_the_models_that_have_one() {
        let names = [(Architecture::CnnTanh, "tanh CNN"), (Architecture::Scattering, "scattering")];
        let with: Vec<Architecture> =
            Architecture::ALL.into_iter().filter(|m| model::pretrained::available(*m)).collect();
        assert_eq!(with.len(), names.len());
        for model in Architecture::ALL {
            let plan = Plan::new(RunConfig { model, start: Start::Pretrained, ..RunConfig::default() }, 60_000);
            match names.iter().any(|(named, _)| *named == model) {
                true => assert!(plan.is_ok() && with.contains(&model), "{model:?}"),
                false => {
                    let sentence = plan.unwrap_err().to_string();
                    assert!(names.iter().all(|(_, name)| sentence.contains(name)), "{sentence}");
                }
            }
        }
    }
}
