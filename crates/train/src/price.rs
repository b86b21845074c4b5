//! What one step of a configuration releases, and what that costs. A plan, its projection, the noise for a budget and the tight account of a finished
//! run are all priced here, from all vectors of an envelope, so that ε before a run is ε after it.

use std::sync::{Mutex, PoisonError};

use super::{
    check,
    config::RunConfig,
    error::{ConfigError, NoGuarantee},
    phased,
    units::{absolute_noise, grid_of_release},
};
use crate::{
    accounting::{
        PrivacyError,
        envelope::EnvelopeProfile,
        ledger::{Release, Sensitivity},
        rdp::{Accountant, RdpCurve},
        sampling::Sampling,
    },
    mechanism::{EncoderSpec, EnvelopeShape, envelope::Envelope, error::MechanismError},
};

/// A step's release and its price; `Err` says why no guarantee can be stated for it.
pub(super) type Priced = Result<(Release, RdpCurve), NoGuarantee>;

/// Steps of a phase, what each releases, and what that costs.
#[derive(Clone, Debug)]
pub(super) struct PricedPhase {
    /// The last phase of a run without an end has `u64::MAX`.
    pub steps: u64,
    pub release: Release,
    pub curve: RdpCurve,
}

/// How many profiles are kept: that of the envelope in use, and those of a few used before. Each takes about a kilobyte a vector.
const KEPT: usize = 4;

/// Profiles of the envelopes that were priced last, the latest at the end. Drawing Ψ and summing over it takes a hundred times as long as pricing a noise
/// under it.
static PROFILES: Mutex<Vec<(Drawn, EnvelopeProfile)>> = Mutex::new(Vec::new());

/// What decides an envelope, to the last bit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Drawn {
    shape: EnvelopeShape,
    vectors: u32,
    dimension: usize,
    seed: u64,
}

impl Drawn {
    /// The envelope of a configuration that has one.
    pub fn of(config: &RunConfig) -> Option<Self> {
        match config.encoder {
            EncoderSpec::Envelope { shape, vectors, seed, .. } => {
                Some(Self { shape, vectors, dimension: config.model.parameters(), seed })
            }
            EncoderSpec::None | EncoderSpec::Clip { .. } | EncoderSpec::Layers(_) => None,
        }
    }

    /// # Errors
    /// As [`Envelope::draw`].
    pub fn draw(self) -> Result<Envelope, MechanismError> {
        Envelope::draw(self.shape, self.vectors, self.dimension, self.seed)
    }

    /// The envelope's profile: from the cache, or made of `envelope`, which must be what [`Drawn::draw`] gives, or of one that is drawn here.
    fn profile(self, envelope: Option<&Envelope>) -> Result<EnvelopeProfile, ConfigError> {
        // The lock is not held while Ψ is drawn and summed: the threads that do this may ask for another profile here.
        let known = |kept: &[(Self, EnvelopeProfile)]| {
            kept.iter().find(|(drawn, _)| *drawn == self).map(|(_, profile)| profile.clone())
        };
        if let Some(profile) = known(&PROFILES.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(profile);
        }
        let profile = match envelope {
            Some(envelope) => profile_of(envelope)?,
            None => profile_of(&self.draw()?)?,
        };
        let mut kept = PROFILES.lock().unwrap_or_else(PoisonError::into_inner);
        if known(&kept).is_none() {
            if kept.len() == KEPT {
                kept.remove(0);
            }
            kept.push((self, profile.clone()));
        }
        Ok(profile)
    }
}

fn profile_of(envelope: &Envelope) -> Result<EnvelopeProfile, PrivacyError> {
    EnvelopeProfile::from_vectors((0..envelope.vectors()).map(|index| envelope.vector(index)))
}

/// What the steps of `config` release on `train` examples, and what that costs, phase by phase. The configuration is checked as for a plan, except for what
/// only training needs.
///
/// # Errors
/// As [`Plan::new`].
pub(super) fn of(config: &RunConfig, train: u32) -> Result<Result<Vec<PricedPhase>, NoGuarantee>, ConfigError> {
    check::check(config, train)?;
    let mut phases = Vec::new();
    for (steps, phase) in phased::configurations(config)? {
        match step(&phase, phase.drawn_from(train), None)? {
            Ok((release, curve)) => phases.push(PricedPhase { steps, release, curve }),
            Err(reason) => return Ok(Err(reason)),
        }
    }
    Ok(Ok(phases))
}

/// The same of one step of a configuration that has no phases and has been checked, with its sampling. `envelope`: the configuration's envelope, if it has been drawn.
///
/// # Errors
/// As [`Plan::new`].
pub(super) fn step(config: &RunConfig, sampling: Sampling, envelope: Option<&Envelope>) -> Result<Priced, ConfigError> {
    let release = match (release_of(config, sampling, envelope)?, config.replay) {
        (Ok(_), Some(_)) => return Ok(Err(NoGuarantee::Replayed)),
        (Err(reason), _) => return Ok(Err(reason)),
        (Ok(release), None) => release,
    };
    let curve = RdpCurve::of(&release)?;
    if release.grid.is_some() {
        bounded(&curve, config.steps.unwrap_or(1), config.delta)?;
    }
    Ok(Ok((release, curve)))
}

/// Refuses a run whose inexact noise would use up all of δ in its planned steps.
fn bounded(curve: &RdpCurve, steps: u64, delta: f64) -> Result<(), PrivacyError> {
    match Accountant::of_steps(curve, steps).epsilon(delta) {
        // The report says so, as it does without a grid.
        Ok(_) | Err(PrivacyError::Infinite) => Ok(()),
        Err(error) => Err(error),
    }
}

/// What a step releases, or why nothing can be claimed of it.
fn release_of(
    config: &RunConfig,
    sampling: Sampling,
    envelope: Option<&Envelope>,
) -> Result<Result<Release, NoGuarantee>, ConfigError> {
    let Some(noise) = absolute_noise(config) else {
        return Ok(Err(NoGuarantee::NoNoise));
    };
    let parts = config.parts();
    let sensitivity = match (&config.encoder, Drawn::of(config)) {
        // In units of the clip, which may be another at each step.
        (EncoderSpec::Clip { .. }, _) if !parts.is_empty() => Sensitivity::L2 { norm: 1.0 },
        (EncoderSpec::Clip { norm }, _) => Sensitivity::L2 { norm: *norm },
        // In units of each layer's noise: mechanism::layers.
        (EncoderSpec::Layers(_), _) => Sensitivity::L2 { norm: 1.0 },
        (_, Some(drawn)) => Sensitivity::Envelope { profile: drawn.profile(envelope)? },
        (_, None) => return Ok(Err(NoGuarantee::NoBound)),
    };
    // Of a release of several vectors, the noise of all together.
    let noise = if parts.is_empty() { noise } else { config.noise.clone().unwrap_or(noise) };
    Ok(Ok(Release {
        unit: config.unit(),
        grid: grid_of_release(config)?,
        parts,
        ..Release::new(sampling, sensitivity, Some(noise))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::noise::NoiseSpec;
    use crate::plan::Plan;

    fn under(vectors: u32, seed: u64) -> RunConfig {
        let encoder = EncoderSpec::Envelope { shape: EnvelopeShape::Mixed, vectors, pre_scale: 1.0, seed };
        RunConfig { encoder, noise: Some(NoiseSpec::Laplace { scale: 1.0 }), ..RunConfig::default() }
    }

    /// Layers cost what their groups cost as one query, which is what one clip with this noise costs; a norm alone changes nothing.
    #[test]
    fn layers_are_priced_as_one_query() {
        use crate::{
            accounting::groups::{Clipping, Group, Groups, NoiseStrategy},
            mechanism::LayerClip,
            model::Architecture,
        };
        let spent = |curve: &RdpCurve| Accountant::of_steps(curve, 100).epsilon(1e-5).unwrap();
        let one = of(&RunConfig::default(), 60_000).unwrap().unwrap().remove(0);
        for clipping in [Clipping::Separate, Clipping::Joint] {
            for strategy in [NoiseStrategy::Proportional, NoiseStrategy::DimensionAdjusted] {
                let norms = vec![0.1, 3.0, 1.0, 20.0];
                let model = Architecture::CnnTanh;
                let groups = model.lengths().into_iter().zip(&norms);
                let groups = groups.map(|(length, &norm)| Group::new("layer", length as u64, norm)).collect();
                let groups = Groups::with_multiplier(groups, 1.1, strategy, clipping).unwrap();
                let layers = LayerClip { norms, clipping, strategy };
                let config = RunConfig { model, encoder: EncoderSpec::Layers(layers.clone()), ..RunConfig::default() };
                let PricedPhase { release, curve, .. } = of(&config, 60_000).unwrap().unwrap().remove(0);
                let expected = groups.release(release.sampling);
                assert_eq!(release.sensitivity, expected.sensitivity);
                let sigma = |release: &Release| release.noise.as_ref().unwrap().scale();
                assert!((sigma(&release) - sigma(&expected)).abs() < 1e-12);
                assert_eq!(spent(&curve), spent(&one.curve));
                // The noise that the engine adds to each layer is the groups'.
                let plan = Plan::new(config.clone(), 60_000).unwrap();
                let noise = plan.task.noise.clone().unwrap().scale();
                let units = plan.task.layers().unwrap().unwrap();
                for ((_, unit, norm), group) in units.each().zip(groups.groups()) {
                    assert!((unit * noise / group.noise - 1.0).abs() < 1e-12 && norm == group.group.clip);
                }
                let [json, bytes] = [
                    serde_json::from_str(&serde_json::to_string(&config).unwrap()).unwrap(),
                    postcard::from_bytes::<RunConfig>(&postcard::to_stdvec(&config).unwrap()).unwrap(),
                ];
                assert_eq!((&json, &bytes), (&config, &config));
            }
        }
        let written = r#"{"encoder":{"layers":{"norms":[0.5]}}}"#;
        let read: RunConfig = serde_json::from_str(written).unwrap();
        assert_eq!(read.encoder, EncoderSpec::Layers(LayerClip::even(0.5)));
        // Of other noise as well: its price is that of any vector in the ball.
        let laplace = |encoder| {
            let noise = Some(NoiseSpec::Laplace { scale: 2.0 });
            let phase = of(&RunConfig { encoder, noise, ..RunConfig::default() }, 60_000).unwrap().unwrap().remove(0);
            spent(&phase.curve)
        };
        let clip = laplace(EncoderSpec::Clip { norm: 1.0 });
        assert_eq!(laplace(EncoderSpec::Layers(LayerClip::even(7.0))), clip);
    }

    #[test]
    fn norms_that_are_none_and_norms_for_other_layers_are_refused() {
        use crate::{mechanism::LayerClip, model::Architecture};
        let refused = |norms: &[f64]| {
            let layers = LayerClip { norms: norms.to_vec(), ..LayerClip::even(1.0) };
            let config =
                RunConfig { model: Architecture::Mlp, encoder: EncoderSpec::Layers(layers), ..RunConfig::default() };
            Plan::new(config, 1000).map(|_| ()).map_err(|error| (error.field(), error.to_string()))
        };
        assert_eq!(refused(&[1.0]), Ok(()));
        assert_eq!(refused(&[1.0, 2.0]), Ok(()));
        for norms in [&[0.0, 1.0][..], &[1.0, -1.0], &[f64::NAN, 1.0], &[f64::INFINITY], &[1.0, 1e-10]] {
            let (field, sentence) = refused(norms).unwrap_err();
            assert!(field == "encoder.norms" && sentence.contains("at least 1e-9"), "{sentence}");
        }
        for norms in [&[][..], &[1.0; 3], &[1.0; 9]] {
            let (field, sentence) = refused(norms).unwrap_err();
            assert!(field == "encoder.norms" && sentence.contains("or 2, one for each layer"), "{sentence}");
        }
    }

    /// What was kept, what is drawn for a price and what is drawn for training are one profile, also when others have taken its place.
    #[test]
    fn an_envelope_has_one_profile() {
        let all: Vec<RunConfig> = (0..=KEPT as u64).flat_map(|seed| [under(3, seed), under(5, seed)]).collect();
        for _ in 0..2 {
            for config in &all {
                let drawn = Drawn::of(config).unwrap();
                let own = profile_of(&drawn.draw().unwrap()).unwrap();
                let release = of(config, 1000).unwrap().unwrap().remove(0).release;
                assert_eq!(release.sensitivity, Sensitivity::Envelope { profile: own.clone() });
                assert_eq!(Plan::new(config.clone(), 1000).unwrap().priced.unwrap().0, release);
                assert_eq!(drawn.profile(None).unwrap(), own);
            }
        }
        assert!(PROFILES.lock().unwrap().len() <= KEPT);
    }

    /// A price and a plan refuse the same, for the same reason.
    #[test]
    fn what_is_no_plan_has_no_price() {
        let config = RunConfig::default();
        let refused = |config: RunConfig| {
            let (price, plan) = (of(&config, 1000).unwrap_err(), Plan::new(config, 1000).unwrap_err());
            assert_eq!(price.to_string(), plan.to_string());
            plan.field()
        };
        assert_eq!(refused(RunConfig { lot: 2000, ..config.clone() }), "lot");
        assert_eq!(refused(RunConfig { grid_bits: Some(4), noise: None, ..config.clone() }), "grid-bits");
        assert_eq!(refused(under(0, 0)), "encoder");
        let without = |config: RunConfig| {
            let price = of(&config, 1000).unwrap().unwrap_err();
            assert_eq!(Some(&price), Plan::new(config, 1000).unwrap().priced.as_ref().err());
            price.to_string()
        };
        assert!(without(RunConfig { replay: Some(1), ..config.clone() }).contains("replayed"));
        assert!(without(RunConfig { noise: None, ..config.clone() }).contains("no noise"));
        assert!(without(RunConfig { encoder: EncoderSpec::None, ..config }).contains("not bounded"));
    }
}
