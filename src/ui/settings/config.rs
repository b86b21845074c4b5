//! Settings to a [`RunConfig`], and back.

use std::fmt;

use super::{
    choice::{Decay, DenoiserKind, Digits, Encoder, Family, PhaseKind, UserSource},
    numbers::Number,
    selects::Select,
    values::Settings,
};
use crate::{
    accounting::noise::NoiseSpec,
    data::sharing::Sharing,
    engine::LocalSteps,
    mechanism::{AdaptiveClip, Denoiser, EncoderSpec, LayerClip, MechanismError, PaidMetrics},
    model::pretrained,
    plot::format,
    train::{
        config::{Augmentation, Protects, RunConfig, Schedule, Start},
        phases::{NoiseSchedule, PhaseList, Phases, Rule},
    },
    ui::text::t,
};

/// Passes over the data that a budget is planned for in a run without an end.
const EPOCHS: u32 = 5;

/// A lot larger than the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LotTooLarge {
    pub lot: u32,
    /// Number of training examples.
    pub train: u32,
}

impl fmt::Display for LotTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = |n: u32| format::integer(n.into());
        f.write_str(&t!(
            "Lot size is {lot}, and the number of training images is {n}; choose at most that.",
            lot = n(self.lot),
            n = n(self.train)
        ))
    }
}

/// Steps that phases divide in a run without an end.
const STEPS: u64 = 600;

impl Settings {
    /// Checks the settings against the `train` examples.
    ///
    /// # Errors
    /// The lot is larger than the data.
    pub const fn check_data(&self, train: u32) -> Result<(), LotTooLarge> {
        // With users, `Plan::new` checks the lot.
        if !self.has_users() && self.lot > train { Err(LotTooLarge { lot: self.lot, train }) } else { Ok(()) }
    }

    /// Returns the run, steps and target ε to find a noise scale for, on `train` examples; `None`
    /// without a budget. Sets the steps if there are none.
    pub fn plan_budget(&mut self, train: u32) -> Option<(RunConfig, u64, f64)> {
        let budget = self.budget.filter(|_| self.family != Family::None && self.encoder != Encoder::None)?;
        let lot = self.lot.max(1);
        let steps = *self
            .steps
            .get_or_insert((u64::from(EPOCHS) * u64::from(self.users.unwrap_or(train)) / u64::from(lot)).max(1));
        // A replayed run has no guarantee, but its noise may be calibrated as if it had one.
        Some((RunConfig { replay: None, ..self.config() }, steps, budget))
    }

    /// True if the noise is a density that is not parsed yet; then there is no run.
    #[must_use]
    pub fn unread(&self) -> bool {
        self.family == Family::Custom && self.density.as_ref().is_none_or(|density| density.source() != self.formula)
    }

    /// Returns the noise; `None` without noise or if the density is not parsed yet.
    #[must_use]
    pub fn noise(&self) -> Option<NoiseSpec> {
        let scale = self.scale;
        Some(match self.family {
            Family::None => return None,
            Family::Gaussian => NoiseSpec::Gaussian { sigma: scale },
            Family::StudentT => NoiseSpec::StudentT { nu: self.nu, scale },
            Family::Laplace => NoiseSpec::Laplace { scale },
            Family::Cauchy => NoiseSpec::Cauchy { scale },
            Family::VarianceGamma => NoiseSpec::VarianceGamma { scale },
            Family::HyperbolicSecant => NoiseSpec::HyperbolicSecant { scale },
            Family::GeneralizedGaussian => NoiseSpec::GeneralizedGaussian { exponent: self.exponent, scale },
            Family::Custom => NoiseSpec::Custom { density: self.density.clone()?, scale },
        })
    }

    /// Returns the run that these settings describe.
    #[must_use]
    pub fn config(&self) -> RunConfig {
        RunConfig {
            model: self.model,
            encoder: match self.encoder {
                Encoder::None => EncoderSpec::None,
                Encoder::Clip => EncoderSpec::Clip { norm: self.clip_norm },
                Encoder::Layers => EncoderSpec::Layers(self.layer_clip().unwrap_or_else(|_| LayerClip::even(0.0))),
                Encoder::Envelope => EncoderSpec::Envelope {
                    shape: self.shape,
                    vectors: self.vectors,
                    pre_scale: self.pre_scale,
                    seed: self.envelope_seed,
                },
            },
            noise: self.noise(),
            // Without noise there is no scale for the grid.
            grid_bits: self.grid_bits.filter(|_| self.family != Family::None),
            denoiser: self.denoiser(),
            lot: self.lot,
            sampling: self.sampling,
            bands: if self.applies(Number::Bands) { self.bands } else { 1 },
            learning_rate: self.learning_rate,
            schedule: match self.decay {
                Decay::Constant => Schedule::Constant,
                Decay::Linear => Schedule::Linear { to: self.rate_end },
                Decay::Cosine => Schedule::Cosine { to: self.rate_end },
            },
            phases: self.phases_of_run(),
            momentum: if self.applies(Number::Momentum) { self.momentum } else { 0.0 },
            sharing: self.sharing(),
            protects: if Select::Protects.applies(self) { self.protects } else { Protects::Example },
            local: if self.has_users() {
                LocalSteps { steps: self.local_steps, rate: self.local_rate }
            } else {
                LocalSteps::MEAN
            },
            augmentation: (self.copies > 1).then_some(Augmentation { copies: self.copies, reach: self.reach }),
            adaptive_clip: self
                .clip_quantile
                .filter(|_| self.applies(Number::ClipQuantile))
                .map(|quantile| AdaptiveClip { quantile, noise: self.clip_count_noise }),
            metrics: self
                .metrics_noise
                .filter(|_| self.applies(Number::MetricsNoise))
                .map(|noise| PaidMetrics { noise }),
            canaries: self.canaries,
            minority: self.minority,
            reading: self.reading,
            averaging: self.averaging,
            steps: self.steps,
            delta: self.delta,
            // Other models have only random parameters.
            start: if pretrained::available(self.model) { self.start } else { Start::Random },
            init_seed: self.init_seed,
            replay: self.replay,
        }
    }

    /// Returns the typed groups of layers; if nothing is typed, the clip norm for all.
    ///
    /// # Errors
    /// As [`LayerClip::read`].
    pub fn layer_clip(&self) -> Result<LayerClip, MechanismError> {
        let (clipping, strategy) = (self.clipping, self.layer_noise);
        let mut clip = LayerClip { clipping, strategy, ..LayerClip::even(self.clip_norm) };
        if !self.layer_norms.is_empty() {
            clip.read(&self.layer_norms)?;
        }
        Ok(clip)
    }

    /// Returns how digits share vectors.
    #[must_use]
    pub fn sharing(&self) -> Sharing {
        match (self.user_source, self.users) {
            (UserSource::Data, users) => Sharing::UsersOfData { users: users.unwrap_or_default() },
            (UserSource::Drawn, Some(users)) => Sharing::Users { users, skew: self.user_skew, seed: self.user_seed },
            (UserSource::Drawn, None) if self.micro_batch > 1 => Sharing::MicroBatches { size: self.micro_batch },
            (UserSource::Drawn, None) => Sharing::Alone,
        }
    }

    /// True if digits belong to users.
    #[must_use]
    pub const fn has_users(&self) -> bool {
        self.users.is_some() || matches!(self.user_source, UserSource::Data)
    }

    /// Takes users away.
    pub const fn forget_users(&mut self) {
        (self.users, self.user_source) = (None, UserSource::Drawn);
    }

    /// Makes the `named` users of the files the unit. A lot that is larger becomes an eighth of them.
    pub fn take_users(&mut self, named: u32) {
        (self.users, self.user_source, self.micro_batch) = (Some(named), UserSource::Data, 1);
        if self.lot > named {
            self.lot = (named / 8).max(1);
        }
    }

    /// True if the noise changes by a rule from phase to phase.
    #[must_use]
    pub fn noise_follows_a_rule(&self) -> bool {
        self.family != Family::None && !matches!(self.phases, PhaseKind::None | PhaseKind::List)
    }

    /// Returns these settings as of step `step`, counted from 0, in its phase.
    #[must_use]
    pub fn in_step(&self, step: u64) -> Self {
        Self::of_config(&self.config().in_step(step), self.digits)
    }

    /// Sets the steps that phases need: those of the listed phases, or a default if the run has no
    /// end.
    pub fn plan_phases(&mut self) {
        let steps = |phase: &str| phase.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
        match self.phases {
            PhaseKind::None => {}
            PhaseKind::List => self.steps = Some(self.phase_list.split(';').filter_map(steps).sum::<u64>().max(1)),
            _ => {
                self.steps.get_or_insert(STEPS);
            }
        }
    }

    /// Returns the phases; none without noise.
    fn phases_of_run(&self) -> Phases {
        let rule = match self.phases {
            _ if self.family == Family::None => return Phases::None,
            PhaseKind::None => return Phases::None,
            PhaseKind::List => return Phases::List(PhaseList(self.phase_list.clone())),
            PhaseKind::Time => Rule::Time,
            PhaseKind::Exponential => Rule::Exponential,
            PhaseKind::Step => Rule::Step,
            PhaseKind::Polynomial => Rule::Polynomial,
        };
        Phases::Schedule(NoiseSchedule { rule, phases: self.phase_count, to: self.noise_end })
    }

    /// Returns the denoiser; none without noise.
    fn denoiser(&self) -> Denoiser {
        match self.denoiser {
            _ if self.family == Family::None => Denoiser::None,
            DenoiserKind::None => Denoiser::None,
            DenoiserKind::KolmogorovSmirnov => Denoiser::KolmogorovSmirnov,
            DenoiserKind::CramerVonMises => Denoiser::CramerVonMises,
            DenoiserKind::Wasserstein => Denoiser::Wasserstein,
            DenoiserKind::Smoothing => Denoiser::LaplacianSmoothing { strength: self.smoothing },
            DenoiserKind::JamesStein => Denoiser::JamesStein,
            DenoiserKind::Linear => Denoiser::Linear,
            DenoiserKind::SoftThreshold => Denoiser::SoftThreshold,
            DenoiserKind::LowPass => Denoiser::LowPass { keeps: self.memory },
            // The decimal that one would type: 0.1 for a memory of 0.9.
            DenoiserKind::Kalman => Denoiser::Kalman { gain: format::significant(1.0 - self.memory, 12) },
        }
    }

    /// Returns the settings that describe `config`.
    #[must_use]
    pub fn of_config(config: &RunConfig, digits: Digits) -> Self {
        let mut settings = Self {
            digits,
            model: config.model,
            grid_bits: config.grid_bits,
            lot: config.lot,
            sampling: config.sampling,
            bands: config.bands,
            learning_rate: config.learning_rate,
            momentum: config.momentum,
            metrics_noise: config.metrics.map(|metrics| metrics.noise),
            canaries: config.canaries,
            minority: config.minority,
            reading: config.reading,
            averaging: config.averaging,
            steps: config.steps,
            delta: config.delta,
            start: config.start,
            init_seed: config.init_seed,
            replay: config.replay,
            ..Self::default()
        };
        match &config.encoder {
            EncoderSpec::None => settings.encoder = Encoder::None,
            EncoderSpec::Clip { norm } => (settings.encoder, settings.clip_norm) = (Encoder::Clip, *norm),
            EncoderSpec::Layers(clip) => {
                settings.encoder = Encoder::Layers;
                (settings.clipping, settings.layer_noise) = (clip.clipping, clip.strategy);
                match clip.norms[..] {
                    [norm] if clip.groups.is_empty() && clip.noises.is_empty() => settings.clip_norm = norm,
                    _ => settings.layer_norms = clip.text(),
                }
            }
            &EncoderSpec::Envelope { shape, vectors, pre_scale, seed } => {
                settings.encoder = Encoder::Envelope;
                (settings.shape, settings.vectors) = (shape, vectors);
                (settings.pre_scale, settings.envelope_seed) = (pre_scale, seed);
            }
        }
        match config.sharing {
            Sharing::Alone => {}
            Sharing::MicroBatches { size } => (settings.micro_batch, settings.protects) = (size, config.protects),
            Sharing::Users { users, skew, seed } => {
                (settings.users, settings.user_skew, settings.user_seed) = (Some(users), skew, seed);
            }
            Sharing::UsersOfData { users } => {
                (settings.users, settings.user_source) = (Some(users).filter(|users| *users > 0), UserSource::Data);
            }
        }
        if config.sharing.is_of_users() {
            (settings.local_steps, settings.local_rate) = (config.local.steps, config.local.rate);
        }
        if let Some(Augmentation { copies, reach }) = config.augmentation {
            (settings.copies, settings.reach) = (copies, reach);
        }
        if let Some(AdaptiveClip { quantile, noise }) = config.adaptive_clip {
            (settings.clip_quantile, settings.clip_count_noise) = (Some(quantile), noise);
        }
        if let Some(noise) = &config.noise {
            settings.scale = noise.scale();
        }
        settings.family = match &config.noise {
            None => Family::None,
            Some(NoiseSpec::Gaussian { .. }) => Family::Gaussian,
            Some(NoiseSpec::StudentT { nu, .. }) => {
                settings.nu = *nu;
                Family::StudentT
            }
            Some(NoiseSpec::Laplace { .. }) => Family::Laplace,
            Some(NoiseSpec::Cauchy { .. }) => Family::Cauchy,
            Some(NoiseSpec::VarianceGamma { .. }) => Family::VarianceGamma,
            Some(NoiseSpec::HyperbolicSecant { .. }) => Family::HyperbolicSecant,
            Some(NoiseSpec::GeneralizedGaussian { exponent, .. }) => {
                settings.exponent = *exponent;
                Family::GeneralizedGaussian
            }
            Some(NoiseSpec::Custom { density, .. }) => {
                settings.formula = density.source().to_owned();
                settings.density = Some(density.clone());
                Family::Custom
            }
        };
        settings.denoiser = match config.denoiser {
            Denoiser::None => DenoiserKind::None,
            Denoiser::KolmogorovSmirnov => DenoiserKind::KolmogorovSmirnov,
            Denoiser::CramerVonMises => DenoiserKind::CramerVonMises,
            Denoiser::Wasserstein => DenoiserKind::Wasserstein,
            Denoiser::LaplacianSmoothing { strength } => {
                settings.smoothing = strength;
                DenoiserKind::Smoothing
            }
            Denoiser::JamesStein => DenoiserKind::JamesStein,
            Denoiser::Linear => DenoiserKind::Linear,
            Denoiser::SoftThreshold => DenoiserKind::SoftThreshold,
            Denoiser::LowPass { keeps } => {
                settings.memory = keeps;
                DenoiserKind::LowPass
            }
            Denoiser::Kalman { gain } => {
                settings.memory = 1.0 - gain;
                DenoiserKind::Kalman
            }
        };
        match &config.phases {
            Phases::None => {}
            Phases::List(PhaseList(list)) => {
                (settings.phases, settings.phase_list) = (PhaseKind::List, list.clone());
            }
            Phases::Schedule(NoiseSchedule { rule, phases, to }) => {
                (settings.phase_count, settings.noise_end) = (*phases, *to);
                settings.phases = match rule {
                    Rule::Time => PhaseKind::Time,
                    Rule::Exponential => PhaseKind::Exponential,
                    Rule::Step => PhaseKind::Step,
                    Rule::Polynomial => PhaseKind::Polynomial,
                };
            }
        }
        (settings.decay, settings.rate_end) = match config.schedule {
            Schedule::Constant => (Decay::Constant, settings.rate_end),
            Schedule::Linear { to } => (Decay::Linear, to),
            Schedule::Cosine { to } => (Decay::Cosine, to),
        };
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        accounting::{
            groups::{Clipping, NoiseStrategy},
            noise::CustomDensity,
        },
        train::{
            config::{Minority, SamplingPolicy},
            projection::{project, scale_for},
        },
        ui::settings::{choice::Choice, presets, values::FORMULA},
    };

    #[test]
    fn the_page_starts_with_the_default_run() {
        assert_eq!(Settings::default().config(), RunConfig::default());
    }

    #[test]
    fn configurations_round_trip_through_settings() {
        for preset in presets::all() {
            let config = preset.settings(&Settings::default()).config();
            assert_eq!(Settings::of_config(&config, Digits::Mnist).config(), config, "{}", preset.key);
        }
        for family in Family::ALL {
            let config = Settings { family: *family, decay: Decay::Cosine, ..Settings::default() }.config();
            assert_eq!(Settings::of_config(&config, Digits::Mnist).config(), config);
        }
        for denoiser in DenoiserKind::ALL {
            let settings = Settings { denoiser: *denoiser, smoothing: 7.0, memory: 0.75, ..Settings::default() };
            let config = settings.config();
            assert_eq!(Settings::of_config(&config, Digits::Mnist).config(), config);
            // The same name in files, in links and on the command line.
            let name = match serde_json::to_value(config.denoiser).unwrap() {
                serde_json::Value::Object(fields) => fields.keys().next().unwrap().as_str().into(),
                name => name,
            };
            assert_eq!(name, denoiser.key());
        }
        for phases in PhaseKind::ALL {
            let settings = Settings { phases: *phases, phase_count: 4, noise_end: 0.25, ..Settings::default() };
            let config = settings.config();
            assert_eq!(config.phases.is_none(), *phases == PhaseKind::None);
            assert_eq!(Settings::of_config(&config, Digits::Mnist).config(), config);
            assert_eq!(
                config.phases.to_string().split(' ').next(),
                Some(phases.key()).filter(|key| *key != "list").or(Some("200"))
            );
        }
        for (clipping, layer_noise, norms) in [
            (Clipping::Separate, NoiseStrategy::Proportional, ""),
            (Clipping::Joint, NoiseStrategy::DimensionAdjusted, "0.5 1e-3"),
            (Clipping::Separate, NoiseStrategy::Proportional, "1+2:0.5@2 3+4:0.001@1"),
        ] {
            let layer_norms = norms.to_owned();
            let settings = Settings {
                encoder: Encoder::Layers,
                clip_norm: 0.3,
                clipping,
                layer_noise,
                layer_norms,
                ..Settings::default()
            };
            let config = settings.config();
            assert_eq!(Settings::of_config(&config, Digits::Mnist).config(), config);
            let EncoderSpec::Layers(layers) = config.encoder else { panic!() };
            assert_eq!(layers.norms, if norms.is_empty() { vec![0.3] } else { vec![0.5, 1e-3] });
            assert_eq!((layers.groups.len(), layers.noises.len()), if norms.contains(':') { (4, 2) } else { (0, 0) });
            // The same names in files, in links and on the command line.
            assert_eq!(serde_json::to_value(clipping).unwrap(), clipping.key());
            assert_eq!(serde_json::to_value(layer_noise).unwrap(), layer_noise.key());
        }
        for protects in Protects::ALL {
            let config = Settings { micro_batch: 4, protects: *protects, ..Settings::default() }.config();
            assert_eq!((config.protects, config.sharing), (*protects, Sharing::MicroBatches { size: 4 }));
            assert_eq!(Settings::of_config(&config, Digits::Mnist).config(), config);
            assert_eq!(serde_json::to_value(protects).unwrap(), protects.key());
        }
        let settings =
            Settings { users: Some(600), user_skew: 0.3, user_seed: 7, local_steps: 5, ..Settings::default() };
        let config = Settings { micro_batch: 4, bands: 8, ..settings.clone() }.config();
        assert_eq!(config.sharing, Sharing::Users { users: 600, skew: 0.3, seed: 7 });
        let of_files = Settings { user_source: UserSource::Data, ..settings.clone() };
        assert_eq!(of_files.config().sharing, Sharing::UsersOfData { users: 600 });
        assert_eq!((config.local, config.bands), (LocalSteps { steps: 5, rate: 0.2 }, 1));
        assert_eq!(config, settings.config());
        assert_eq!(Settings::of_config(&config, Digits::Mnist), settings);
        for sampling in SamplingPolicy::ALL {
            let config = Settings { sampling: *sampling, ..Settings::default() }.config();
            assert_eq!(config.sampling, *sampling);
            assert_eq!(Settings::of_config(&config, Digits::Mnist).config(), config);
            // The same name in files, in links and on the command line.
            assert_eq!(serde_json::to_value(sampling).unwrap(), sampling.key());
        }
    }

    #[test]
    fn a_minority_has_the_same_key_in_files_and_links_and_costs_nothing() {
        let config = Settings { minority: Minority::Turned, ..Settings::default() }.config();
        assert_eq!(Settings::of_config(&config, Digits::Mnist).config(), config);
        for minority in Minority::ALL {
            assert_eq!(serde_json::to_value(minority).unwrap(), minority.key());
        }
        let [with, without] = [&config, &RunConfig::default()].map(|config| project(config, 60_000, 1000).unwrap().end);
        assert_eq!(with, without);
    }

    #[test]
    fn a_lot_larger_than_the_data_is_named() {
        let settings = Settings { lot: 70_000, ..Settings::default() };
        let problem = settings.check_data(60_000).unwrap_err();
        assert_eq!(problem, LotTooLarge { lot: 70_000, train: 60_000 });
        assert_eq!(
            problem.to_string(),
            "Lot size is 70,000, and the number of training images is 60,000; choose at most that."
        );
        assert!(settings.check_data(70_000).is_ok());
    }

    #[test]
    fn without_noise_nothing_is_denoised() {
        let settings =
            Settings { family: Family::None, denoiser: DenoiserKind::KolmogorovSmirnov, ..Settings::default() };
        assert_eq!(settings.config().denoiser, Denoiser::None);
        assert_eq!(settings.config().noise, None);
    }

    #[test]
    fn a_budget_plans_steps_and_sets_the_noise() {
        let mut settings = Settings { budget: Some(1.0), ..Settings::default() };
        let (config, steps, budget) = settings.plan_budget(60_000).unwrap();
        assert_eq!((settings.steps, steps, budget), (Some(1171), 1171, 1.0));
        settings.scale = scale_for(&config, 60_000, steps, budget).unwrap();
        let end = project(&settings.config(), 60_000, 1171).unwrap().end.improved.epsilon;
        assert!(end <= 1.0 && end > 0.98, "{end}");
        let mut off = Settings::default();
        assert_eq!(off.plan_budget(60_000), None);
        assert_eq!(off, Settings::default());
    }

    #[test]
    fn every_family_can_be_accounted_for() {
        for family in Family::ALL {
            let density = CustomDensity::from_formula(FORMULA).ok();
            let noise = Settings { family: *family, density, ..Settings::default() }.noise();
            assert_eq!(noise.is_none(), *family == Family::None);
            assert!(noise.is_none_or(|noise| noise.build().is_ok()), "{family:?}");
        }
    }
}
