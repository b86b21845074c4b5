//! Every control's value.

use super::choice::{Decay, DenoiserKind, Digits, Encoder, Family, PhaseKind, UserSource};
use crate::{
    accounting::{
        groups::{Clipping, NoiseStrategy},
        noise::CustomDensity,
    },
    engine::Reading,
    mechanism::{AdaptiveClip, EnvelopeShape},
    model::Architecture,
    train::{
        audit::InjectedBug,
        config::{Averaging, Minority, Protects, SamplingPolicy, Start},
    },
};

/// Initial formula of a custom density.
pub const FORMULA: &str = "exp(-abs(x)^3)";

/// Initial list of phases.
pub const PHASES: &str = "200 noise 1.4; 200; 200 noise 0.7";

/// Every control's value. Controls that do not apply keep theirs.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub digits: Digits,
    pub model: Architecture,
    pub encoder: Encoder,
    pub clip_norm: f64,
    /// Quantile of the gradient norms that the clip follows; `None`: a fixed clip.
    pub clip_quantile: Option<f64>,
    pub clip_count_noise: f64,
    /// Noise on the paid metrics; `None`: no paid metrics.
    pub metrics_noise: Option<f64>,
    /// A clipping norm per layer, as typed; if empty, `clip_norm` is divided among the layers.
    pub layer_norms: String,
    pub clipping: Clipping,
    pub layer_noise: NoiseStrategy,
    pub shape: EnvelopeShape,
    pub vectors: u32,
    pub pre_scale: f64,
    pub envelope_seed: u64,
    pub family: Family,
    /// Target ε of the planned steps, from which the noise scale follows.
    pub budget: Option<f64>,
    pub scale: f64,
    pub nu: f64,
    pub exponent: f64,
    /// The custom density as typed, and as parsed by the accountant, which answers later.
    pub formula: String,
    pub density: Option<CustomDensity>,
    pub grid_bits: Option<u32>,
    pub denoiser: DenoiserKind,
    pub smoothing: f64,
    /// Weight of earlier steps in a denoiser that filters over the steps.
    pub memory: f64,
    pub lot: u32,
    pub sampling: SamplingPolicy,
    /// Examples of a micro-batch; 1: none.
    pub micro_batch: u32,
    pub protects: Protects,
    /// Number of users who hold the digits; `None`: no users.
    pub users: Option<u32>,
    /// Whether users are made up or those of the files; then [`Settings::users`] may be `None`: as many
    /// as the files name.
    pub user_source: UserSource,
    pub user_skew: f64,
    pub user_seed: u64,
    pub local_steps: u32,
    pub local_rate: f64,
    /// Steps over which noise is correlated; 1: independent noise.
    pub bands: u32,
    pub learning_rate: f64,
    pub decay: Decay,
    pub rate_end: f64,
    pub phases: PhaseKind,
    pub phase_count: u32,
    /// The last phase's noise, as a multiple of the first one's.
    pub noise_end: f64,
    /// The list of phases, as typed.
    pub phase_list: String,
    pub momentum: f64,
    /// Augmented copies of an example; 1: no augmentation.
    pub copies: u32,
    pub reach: u32,
    /// 0: no attack.
    pub canaries: u32,
    pub broken: Option<InjectedBug>,
    pub minority: Minority,
    pub reading: Reading,
    pub averaging: Averaging,
    pub steps: Option<u64>,
    pub delta: f64,
    pub start: Start,
    pub init_seed: u64,
    pub replay: Option<u64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            digits: Digits::Mnist,
            model: Architecture::Linear,
            encoder: Encoder::Clip,
            clip_norm: 1.0,
            clip_quantile: None,
            clip_count_noise: AdaptiveClip::noise(),
            metrics_noise: None,
            layer_norms: String::new(),
            clipping: Clipping::Separate,
            layer_noise: NoiseStrategy::Proportional,
            shape: EnvelopeShape::Gaussian,
            vectors: 100,
            pre_scale: 1.0,
            envelope_seed: 0,
            family: Family::Gaussian,
            budget: None,
            scale: 1.1,
            nu: 9.0,
            exponent: 1.5,
            formula: FORMULA.to_owned(),
            density: None,
            grid_bits: None,
            denoiser: DenoiserKind::None,
            smoothing: 3.0,
            memory: 0.9,
            lot: 256,
            sampling: SamplingPolicy::Poisson,
            micro_batch: 1,
            protects: Protects::Example,
            users: None,
            user_source: UserSource::Drawn,
            user_skew: 100.0,
            user_seed: 0,
            local_steps: 1,
            local_rate: 0.2,
            bands: 1,
            learning_rate: 0.5,
            decay: Decay::Constant,
            rate_end: 0.1,
            phases: PhaseKind::None,
            phase_count: 6,
            noise_end: 0.5,
            phase_list: PHASES.to_owned(),
            momentum: 0.0,
            copies: 1,
            reach: 1,
            steps: None,
            delta: 1e-5,
            canaries: 0,
            broken: None,
            minority: Minority::None,
            reading: Reading::Once,
            averaging: Averaging::None,
            start: Start::Random,
            init_seed: 0,
            replay: None,
        }
    }
}
