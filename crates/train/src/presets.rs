//! Ready-made runs, each to show one thing, for the page and `hushgrad train --preset`.
//!
//! Learning rates, lots, clipping norms and steps of the presets with a budget were chosen on
//! images held out of MNIST's training set; no test image had a part in it.

use super::config::{Augmentation, RunConfig, SamplingPolicy, Schedule, Start};
use crate::{
    accounting::noise::NoiseSpec,
    engine::Reading,
    mechanism::{Denoiser, EncoderSpec, EnvelopeShape},
    model::Architecture,
};

/// The preset that the page opens with if a link names no setting.
pub const FIRST: &str = "quick-linear";

/// One entry of the table.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Its name in links and on the command line.
    pub key: &'static str,
    pub label: &'static str,
    /// Tight ε that the planned steps keep within on 60,000 examples; `None`: nothing is promised.
    pub budget: Option<f64>,
    config: fn() -> RunConfig,
}

/// All presets, in the order of the list.
pub const ALL: [Preset; 14] = [
    Preset {
        key: "quick-linear",
        label: "A small model, in seconds",
        budget: Some(0.536),
        config: || RunConfig {
            noise: Some(NoiseSpec::Gaussian { sigma: 1.4 }),
            lot: 512,
            learning_rate: 4.0,
            steps: Some(400),
            ..RunConfig::default()
        },
    },
    Preset {
        key: "quick-cnn",
        label: "A small CNN from scratch",
        budget: Some(0.556),
        config: || RunConfig {
            model: Architecture::CnnTanh,
            encoder: EncoderSpec::Clip { norm: 0.1 },
            noise: Some(NoiseSpec::Gaussian { sigma: 1.1 }),
            lot: 512,
            learning_rate: 20.0,
            steps: Some(160),
            ..RunConfig::default()
        },
    },
    Preset {
        key: "no-privacy",
        label: "No privacy",
        budget: None,
        config: || RunConfig { encoder: EncoderSpec::None, noise: None, ..RunConfig::default() },
    },
    Preset { key: "dp-sgd", label: "DP-SGD", budget: None, config: RunConfig::default },
    Preset {
        key: "algorithm-1",
        label: "Algorithm 1, as published",
        budget: None,
        config: || RunConfig {
            model: Architecture::CnnRelu,
            encoder: EncoderSpec::Envelope { shape: EnvelopeShape::Gaussian, vectors: 1000, pre_scale: 1.0, seed: 0 },
            noise: Some(NoiseSpec::StudentT { nu: 9.0, scale: 1.0 }),
            denoiser: Denoiser::KolmogorovSmirnov,
            learning_rate: 37.0,
            steps: Some(14_063),
            ..RunConfig::default()
        },
    },
    Preset {
        key: "student-t",
        label: "Student-t noise",
        budget: None,
        config: || RunConfig {
            encoder: EncoderSpec::Envelope { shape: EnvelopeShape::Gaussian, vectors: 100, pre_scale: 1.0, seed: 0 },
            noise: Some(NoiseSpec::StudentT { nu: 9.0, scale: 1.0 }),
            ..RunConfig::default()
        },
    },
    Preset { key: "best-3", label: "Best at ε = 3", budget: Some(3.0), config: || pretrained_cnn(6.0, 600, 1.328) },
    Preset { key: "best-1", label: "Best at ε = 1", budget: Some(1.0), config: || pretrained_cnn(2.0, 600, 3.127) },
    Preset {
        key: "best-0.3", label: "Best at ε = 0.3", budget: Some(0.3), config: || pretrained_cnn(1.0, 300, 6.529)
    },
    Preset {
        key: "fast-3",
        label: "Fast at ε = 3",
        budget: Some(3.0),
        config: || RunConfig { lot: 512, bands: 8, sampling: SamplingPolicy::Poisson, ..pretrained_cnn(8.0, 117, 0.9) },
    },
    Preset { key: "features-3", label: "Scattering at ε = 3", budget: Some(3.0), config: || scattering(48.0, 1.328) },
    Preset { key: "features-1", label: "Scattering at ε = 1", budget: Some(1.0), config: || scattering(24.0, 3.127) },
    Preset {
        key: "scratch-3",
        label: "From scratch at ε = 3",
        budget: Some(3.0),
        config: || RunConfig {
            model: Architecture::CnnTanh,
            reading: Reading::TestTimeAugmentation,
            augmentation: Some(Augmentation { copies: 4, reach: 1 }),
            encoder: EncoderSpec::Clip { norm: 0.1 },
            noise: Some(NoiseSpec::Gaussian { sigma: 2.433 }),
            lot: 2048,
            learning_rate: 40.0,
            schedule: Schedule::Linear { to: 0.1 },
            steps: Some(2344),
            ..RunConfig::default()
        },
    },
    Preset {
        key: "cpu",
        label: "CPU-friendly",
        budget: None,
        config: || RunConfig {
            noise: Some(NoiseSpec::Gaussian { sigma: 1.3 }),
            lot: 64,
            learning_rate: 0.2,
            ..RunConfig::default()
        },
    },
];

/// Scattering features hardly change under a shift by a pixel: test-time augmentation adds nothing.
fn scattering(learning_rate: f64, sigma: f64) -> RunConfig {
    RunConfig { model: Architecture::Scattering, reading: Reading::Once, ..pretrained_cnn(learning_rate, 600, sigma) }
}

/// The tanh CNN from the parameters that come with the program. Steps are whole epochs of 60,000
/// examples, each in a random batch: at equal ε 3 to 5 % less noise than Poisson sampling.
fn pretrained_cnn(learning_rate: f64, steps: u64, sigma: f64) -> RunConfig {
    RunConfig {
        model: Architecture::CnnTanh,
        start: Start::Pretrained,
        reading: Reading::TestTimeAugmentation,
        sampling: SamplingPolicy::RandomAllocation,
        noise: Some(NoiseSpec::Gaussian { sigma }),
        lot: 2048,
        learning_rate,
        schedule: Schedule::Linear { to: 0.05 },
        steps: Some(steps),
        ..RunConfig::default()
    }
}

impl Preset {
    /// Returns the preset with this key.
    #[must_use]
    pub fn by_key(key: &str) -> Option<Self> {
        ALL.into_iter().find(|preset| preset.key == key)
    }

    /// Returns the preset's configuration.
    #[must_use]
    pub fn config(self) -> RunConfig {
        (self.config)()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::pld::{Rigor, Tight};
    use crate::{plan::Plan, projection::planned};

    #[test]
    fn presets_are_valid_and_distinct() {
        for (k, preset) in ALL.into_iter().enumerate() {
            assert_eq!(Preset::by_key(preset.key).map(Preset::config), Some(preset.config()));
            for other in &ALL[k + 1..] {
                assert_ne!((preset.key, preset.config()), (other.key, other.config()));
                assert_ne!(preset.config(), other.config(), "{} and {}", preset.key, other.key);
            }
            let mut config = preset.config();
            // Drawing a thousand vectors is tested elsewhere.
            if let EncoderSpec::Envelope { vectors, .. } = &mut config.encoder {
                *vectors = 3;
            }
            Plan::new(config, 60_000).unwrap_or_else(|e| panic!("{}: {e}", preset.key));
        }
        assert!(Preset::by_key("").is_none());
    }

    #[test]
    fn budgets_are_kept_and_used() {
        for preset in ALL {
            let (Some(budget), config) = (preset.budget, preset.config()) else { continue };
            let books = planned(&config, 60_000, config.steps.unwrap()).unwrap();
            let Tight { value, rigor, .. } = books.tight(config.delta).unwrap();
            assert!(value <= budget && value > 0.995 * budget, "{}: {value}", preset.key);
            assert_eq!(rigor, Rigor::Proven, "{}: a promise rests on proven bounds", preset.key);
        }
    }

    #[test]
    fn a_start_that_does_not_exist_is_refused() {
        let config = RunConfig { model: Architecture::Mlp, start: Start::Pretrained, ..RunConfig::default() };
        let error = Plan::new(config, 60_000).unwrap_err();
        assert_eq!(error.field(), "start");
        let plan = Plan::new(pretrained_cnn(1.0, 1, 1.0), 60_000).unwrap();
        let own = crate::model::pretrained::parameters(Architecture::CnnTanh);
        assert_eq!(Some(plan.initial_parameters()), own);
        assert_ne!(own, Some(crate::model::initial_parameters(Architecture::CnnTanh, 0)));
    }
}
