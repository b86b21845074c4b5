//! The release of one step of a configuration, and its cost. Plans, projections, budgets and
//! finished runs are priced here, over all envelope vectors, so ε before a run equals ε after.

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
        rdp::{RdpAccountant, RdpCurve},
        sampling::Sampling,
    },
    mechanism::{EncoderSpec, EnvelopeShape, envelope::Envelope, error::MechanismError},
};

/// A step's release and its price; `Err` says why there is no guarantee.
pub(super) type Priced = Result<(Release, RdpCurve), NoGuarantee>;

/// A phase's steps, the release of each, and its cost.
#[derive(Clone, Debug)]
pub(super) struct PricedPhase {
    /// `u64::MAX` in the last phase of a run without an end.
    pub steps: u64,
    pub release: Release,
    pub curve: RdpCurve,
}

/// Number of cached profiles, each of about a kilobyte per vector.
const KEPT: usize = 4;

/// Profiles of the envelopes priced last, the latest at the end. Drawing Ψ and summing over it
/// takes a hundred times as long as pricing a noise under it.
static PROFILES: Mutex<Vec<(Drawn, EnvelopeProfile)>> = Mutex::new(Vec::new());

/// What determines an envelope, to the last bit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Drawn {
    shape: EnvelopeShape,
    vectors: u32,
    dimension: usize,
    seed: u64,
}

impl Drawn {
    /// Returns the key of a configuration's envelope, if it has one.
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

    /// Returns the profile: cached, of `envelope` (equal to [`Drawn::draw`]'s), or of a new draw.
    fn profile(self, envelope: Option<&Envelope>) -> Result<EnvelopeProfile, ConfigError> {
        // Not locked while Ψ is drawn and summed: those threads may ask for a profile here.
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

/// Returns the releases of `config` on `train` examples and their cost, by phase. Checks the
/// configuration as for a plan, except for what only training needs.
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

/// The same for one step of a checked configuration without phases; `envelope` if already drawn.
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
    match RdpAccountant::of_steps(curve, steps).epsilon(delta) {
        // The report says so, as it does without a grid.
        Ok(_) | Err(PrivacyError::Infinite) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Returns a step's release, or why it carries no guarantee.
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
        // In units of the clipping norm, which may differ at each step.
        (EncoderSpec::Clip { .. }, _) if !parts.is_empty() => Sensitivity::L2 { norm: 1.0 },
        (EncoderSpec::Clip { norm }, _) => Sensitivity::L2 { norm: *norm },
        // In units of each layer's noise: mechanism::layers.
        (EncoderSpec::Layers(_), _) => Sensitivity::L2 { norm: 1.0 },
        (_, Some(drawn)) => Sensitivity::Envelope { profile: drawn.profile(envelope)? },
        (_, None) => return Ok(Err(NoGuarantee::NoBound)),
    };
    // The noise of the whole release, if it has several parts.
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

    /// Layers cost what their groups cost as one query: the same as one clipping norm.
    #[test]
    fn layers_are_priced_as_one_query() {
        use crate::{
            accounting::groups::{Clipping, Group, Groups, NoiseStrategy},
            mechanism::LayerClip,
            model::Architecture,
        };
        let spent = |curve: &RdpCurve| RdpAccountant::of_steps(curve, 100).epsilon(1e-5).unwrap();
        let one = of(&RunConfig::default(), 60_000).unwrap().unwrap().remove(0);
        for clipping in [Clipping::Separate, Clipping::Joint] {
            for strategy in [NoiseStrategy::Proportional, NoiseStrategy::DimensionAdjusted] {
                let norms = vec![0.1, 3.0, 1.0, 20.0];
                let model = Architecture::CnnTanh;
                let groups = model.lengths().into_iter().zip(&norms);
                let groups = groups.map(|(length, &norm)| Group::new("layer", length as u64, norm)).collect();
                let groups = Groups::with_multiplier(groups, 1.1, strategy, clipping).unwrap();
                let layers = LayerClip { norms, clipping, strategy, ..LayerClip::even(1.0) };
                let config = RunConfig { model, encoder: EncoderSpec::Layers(layers.clone()), ..RunConfig::default() };
                let PricedPhase { release, curve, .. } = of(&config, 60_000).unwrap().unwrap().remove(0);
                let expected = groups.release(release.sampling);
                assert_eq!(release.sensitivity, expected.sensitivity);
                let sigma = |release: &Release| release.noise.as_ref().unwrap().scale();
                assert!((sigma(&release) - sigma(&expected)).abs() < 1e-12);
                assert_eq!(spent(&curve), spent(&one.curve));
                // The engine adds the groups' noise to each layer.
                let plan = Plan::new(config.clone(), 60_000).unwrap();
                let noise = plan.task.noise.clone().unwrap().scale();
                let units = plan.task.layers().unwrap().unwrap();
                for (part, group) in units.parts().iter().zip(groups.groups()) {
                    assert!((part.unit * noise / group.noise - 1.0).abs() < 1e-12 && part.norm == group.group.clip);
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
        // Other noise, too, is priced for any vector in the ball.
        let laplace = |encoder| {
            let noise = Some(NoiseSpec::Laplace { scale: 2.0 });
            let phase = of(&RunConfig { encoder, noise, ..RunConfig::default() }, 60_000).unwrap().unwrap().remove(0);
            spent(&phase.curve)
        };
        let clip = laplace(EncoderSpec::Clip { norm: 1.0 });
        assert_eq!(laplace(EncoderSpec::Layers(LayerClip::even(7.0))), clip);
    }

    /// Groups with noise of their own cost their composition, and a ledger names them.
    #[test]
    fn groups_of_layers_are_priced_together_and_named() {
        use crate::{
            accounting::{
                books::account,
                ledger::{Held, Ledger},
                normal::epsilon_gaussian,
            },
            mechanism::LayerClip,
            model::Architecture,
        };
        let mut clip = LayerClip::even(1.0);
        clip.read("1-2:0.5@3 3-4:2@1").unwrap();
        let noise = Some(NoiseSpec::Gaussian { sigma: 5.0 });
        let config = RunConfig {
            model: Architecture::CnnTanh,
            encoder: EncoderSpec::Layers(clip),
            noise: noise.clone(),
            ..RunConfig::default()
        };
        let PricedPhase { release, .. } = of(&config, 60_000).unwrap().unwrap().remove(0);
        let sets: Vec<Vec<u8>> = release
            .parts
            .iter()
            .filter_map(|part| match part.holds {
                Held::Layers(set) => Some(set.into()),
                _ => None,
            })
            .collect();
        assert_eq!(sets, [[1, 2], [3, 4]]);
        let [conv, dense] = release.parts[..] else { panic!() };
        assert!((conv.noise / dense.noise - 3.0).abs() < 1e-12 && (conv.clip, dense.clip) == (0.5, 2.0));
        let unsampled = crate::accounting::ledger::Release { sampling: Sampling::Poisson { rate: 1.0 }, ..release };
        let ledger = Ledger::of([(unsampled, 10)]).unwrap();
        assert_eq!(Ledger::from_json(&ledger.to_json()).unwrap(), ledger);
        let mu = (10.0 * ((0.5 / conv.noise).powi(2) + (2.0 / dense.noise).powi(2))).sqrt();
        let found = account(&ledger, 1e-5).unwrap();
        assert!((found.tight.unwrap().value / epsilon_gaussian(mu, 1e-5) - 1.0).abs() < 1e-9);
        let said = found.to_string();
        assert!(said.contains("layers 1, 2 of the gradient: clipped to L2 norm 0.5, noise of σ"), "{said}");
        // With paid metrics the groups come in place of the whole gradient.
        let metrics = Some(crate::mechanism::PaidMetrics { noise: 0.05 });
        let PricedPhase { release, .. } = of(&RunConfig { metrics, ..config }, 60_000).unwrap().unwrap().remove(0);
        assert!(release.parts.len() == 3 && release.parts[2].holds == Held::AnswerAndClass && release.noise == noise);
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

    /// Profiles cached, drawn for a price or for training are equal, even after eviction.
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
    fn a_refused_plan_has_no_price() {
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
