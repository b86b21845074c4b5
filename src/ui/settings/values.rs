//! What a visitor has set: every control of the page as plain data, and the run configuration that it means.

use super::field::Number;
use crate::{
    accounting::noise::{CustomDensity, NoiseSpec},
    engine::Reading,
    mechanism::{Denoiser, EncoderSpec, EnvelopeShape},
    model::{Architecture, pretrained},
    train::config::{Augmentation, Averaging, RunConfig, SamplingPolicy, Schedule, Start},
};

/// A choice in a native `<select>`.
pub trait Choice: Copy + PartialEq + 'static {
    /// In the order of the list.
    const ALL: &'static [Self];
    /// Value of the option, and of the key in links.
    fn key(self) -> &'static str;
    fn label(self) -> String;
    fn by_key(key: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|choice| choice.key() == key)
    }
}

macro_rules! choices {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $key:literal, $label:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($variant),* }
        impl Choice for $name {
            const ALL: &'static [Self] = &[$(Self::$variant),*];
            fn key(self) -> &'static str { match self { $(Self::$variant => $key),* } }
            fn label(self) -> String { match self { $(Self::$variant => $label),* }.to_owned() }
        }
    };
}

choices! {
    /// Where digits come from.
    Digits {
        Mnist = "mnist", "MNIST";
        Synthetic = "synthetic", "Synthetic digits";
        Files = "files", "Your own files";
    }
}
choices! {
    /// How one example's contribution is bounded.
    Encoder {
        None = "none", "None (no guarantee)";
        Clip = "clip", "L2 clipping (DP-SGD)";
        Envelope = "envelope", "Envelope (Algorithm 2)";
    }
}
choices! {
    /// The noise's family.
    Family {
        None = "none", "No noise (no guarantee)";
        Gaussian = "gaussian", "Gaussian";
        StudentT = "student-t", "Student-t";
        Laplace = "laplace", "Laplace";
        VarianceGamma = "variance-gamma", "Variance gamma";
        HyperbolicSecant = "hyperbolic-secant", "Hyperbolic secant";
        GeneralizedGaussian = "generalized-gaussian", "Generalised Gaussian";
        Cauchy = "cauchy", "Cauchy";
        Custom = "custom", "Your own density";
    }
}
choices! {
    /// What happens to the learning rate over the run.
    Decay {
        Constant = "constant", "stays constant";
        Linear = "linear", "falls in a line";
        Cosine = "cosine", "falls by half a cosine";
    }
}
choices! {
    /// How fast a run plays.
    Speed {
        Slow = "slow", "Slow";
        Normal = "normal", "Normal";
        Max = "max", "Max";
    }
}
choices! {
    /// Colours of the page.
    Theme {
        System = "system", "System";
        Light = "light", "Light";
        Dark = "dark", "Dark";
    }
}

impl Speed {
    /// Milliseconds to wait after a step.
    #[must_use]
    pub const fn wait(self) -> u32 {
        match self {
            Self::Slow => 2000,
            Self::Normal => 100,
            Self::Max => 0,
        }
    }
}

impl Choice for Architecture {
    const ALL: &'static [Self] = &Architecture::ALL;
    fn key(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Scattering => "scattering",
            Self::Mlp => "mlp",
            Self::CnnTanh => "cnn-tanh",
            Self::CnnRelu => "cnn-relu",
        }
    }
    fn label(self) -> String {
        let name = match self {
            Self::Linear => "Linear",
            Self::Scattering => "Linear, on scattering features",
            Self::Mlp => "Two layers (128 hidden)",
            Self::CnnTanh => "CNN, tanh",
            Self::CnnRelu => "CNN, ReLU (the paper's)",
        };
        format!("{name} · {} parameters", crate::plot::format::integer(self.parameters() as u64))
    }
}

impl Choice for EnvelopeShape {
    const ALL: &'static [Self] = &[Self::Gaussian, Self::HeavyTailed, Self::Sparse, Self::Mixed];
    fn key(self) -> &'static str {
        match self {
            Self::Gaussian => "gaussian",
            Self::HeavyTailed => "heavy-tailed",
            Self::Sparse => "sparse",
            Self::Mixed => "mixed",
        }
    }
    fn label(self) -> String {
        match self {
            Self::Gaussian => "Gaussian",
            Self::HeavyTailed => "Heavy-tailed",
            Self::Sparse => "Sparse (a tenth)",
            Self::Mixed => "Mixed",
        }
        .to_owned()
    }
}

impl Choice for Denoiser {
    const ALL: &'static [Self] = &[Self::None, Self::KolmogorovSmirnov];
    fn key(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::KolmogorovSmirnov => "kolmogorov-smirnov",
        }
    }
    fn label(self) -> String {
        match self {
            Self::None => "None",
            Self::KolmogorovSmirnov => "Kolmogorov–Smirnov",
        }
        .to_owned()
    }
}

impl Choice for SamplingPolicy {
    const ALL: &'static [Self] = &[Self::Poisson, Self::FixedSize, Self::Shuffled];
    fn key(self) -> &'static str {
        match self {
            Self::Poisson => "poisson",
            Self::FixedSize => "fixed-size",
            Self::Shuffled => "shuffled",
        }
    }
    fn label(self) -> String {
        match self {
            Self::Poisson => "Poisson sampling",
            Self::FixedSize => "Fixed-size lots",
            Self::Shuffled => "Shuffled epochs",
        }
        .to_owned()
    }
}

impl Choice for Start {
    const ALL: &'static [Self] = &[Self::Random, Self::Pretrained];
    fn key(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Pretrained => "pretrained",
        }
    }
    fn label(self) -> String {
        match self {
            Self::Random => "Random parameters",
            Self::Pretrained => "After practice on drawn digits",
        }
        .to_owned()
    }
}

impl Choice for Reading {
    const ALL: &'static [Self] = &[Self::Once, Self::SecondLook];
    fn key(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::SecondLook => "second-look",
        }
    }
    fn label(self) -> String {
        match self {
            Self::Once => "once",
            Self::SecondLook => "again where unsure",
        }
        .to_owned()
    }
}

impl Choice for Averaging {
    const ALL: &'static [Self] = &[Self::None, Self::Exponential];
    fn key(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Exponential => "exponential",
        }
    }
    fn label(self) -> String {
        match self {
            Self::None => "the last parameters",
            Self::Exponential => "a mean of the last ninth",
        }
        .to_owned()
    }
}

/// The first density of one's own.
pub const FORMULA: &str = "exp(-abs(x)^3)";
/// Passes over the data that a budget is planned for where the run has no end.
const EPOCHS: u32 = 5;

/// Every control's value. Numbers of controls that do not apply now are kept for when they do.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub digits: Digits,
    pub model: Architecture,
    pub encoder: Encoder,
    pub clip_norm: f64,
    pub shape: EnvelopeShape,
    pub vectors: u32,
    pub pre_scale: f64,
    pub envelope_seed: u64,
    pub family: Family,
    /// ε that the planned steps may cost: then the scale follows from it.
    pub budget: Option<f64>,
    pub scale: f64,
    pub nu: f64,
    pub exponent: f64,
    /// The density of one's own, as it was typed; and as it was read, which comes later.
    pub formula: String,
    pub density: Option<CustomDensity>,
    pub grid_bits: Option<u32>,
    pub denoiser: Denoiser,
    pub lot: u32,
    pub sampling: SamplingPolicy,
    pub learning_rate: f64,
    pub decay: Decay,
    pub rate_end: f64,
    pub momentum: f64,
    /// 1: each example alone.
    pub copies: u32,
    pub reach: u32,
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
            denoiser: Denoiser::None,
            lot: 256,
            sampling: SamplingPolicy::Poisson,
            learning_rate: 0.5,
            decay: Decay::Constant,
            rate_end: 0.1,
            momentum: 0.0,
            copies: 1,
            reach: 1,
            steps: None,
            delta: 1e-5,
            reading: Reading::Once,
            averaging: Averaging::None,
            start: Start::Random,
            init_seed: 0,
            replay: None,
        }
    }
}

impl Settings {
    /// The value of a number field; `None`: left empty.
    #[must_use]
    pub fn number(&self, number: Number) -> Option<f64> {
        Some(match number {
            Number::ClipNorm => self.clip_norm,
            Number::Vectors => self.vectors.into(),
            Number::PreScale => self.pre_scale,
            Number::EnvelopeSeed => self.envelope_seed as f64,
            Number::Budget => return self.budget,
            Number::Scale => self.scale,
            Number::Nu => self.nu,
            Number::Exponent => self.exponent,
            Number::Lot => self.lot.into(),
            Number::LearningRate => self.learning_rate,
            Number::RateEnd => self.rate_end,
            Number::Momentum => self.momentum,
            Number::Copies => self.copies.into(),
            Number::Reach => self.reach.into(),
            Number::Steps => return self.steps.map(|n| n as f64),
            Number::Delta => self.delta,
            Number::InitSeed => self.init_seed as f64,
            Number::Replay => return self.replay.map(|n| n as f64),
            Number::GridBits => return self.grid_bits.map(f64::from),
        })
    }

    /// Sets a number that [`Number::parse`] has allowed.
    pub fn set_number(&mut self, number: Number, value: Option<f64>) {
        let whole = value.map(|v| v as u64);
        match (number, value) {
            (Number::Steps, _) => self.steps = whole,
            (Number::Replay, _) => self.replay = whole,
            (Number::GridBits, _) => self.grid_bits = value.map(|v| v as u32),
            (Number::Budget, _) => self.budget = value,
            (_, None) => {}
            (Number::ClipNorm, Some(v)) => self.clip_norm = v,
            (Number::Vectors, Some(v)) => self.vectors = v as u32,
            (Number::PreScale, Some(v)) => self.pre_scale = v,
            (Number::EnvelopeSeed, Some(v)) => self.envelope_seed = v as u64,
            (Number::Scale, Some(v)) => self.scale = v,
            (Number::Nu, Some(v)) => self.nu = v,
            (Number::Exponent, Some(v)) => self.exponent = v,
            (Number::Lot, Some(v)) => self.lot = v as u32,
            (Number::LearningRate, Some(v)) => self.learning_rate = v,
            (Number::RateEnd, Some(v)) => self.rate_end = v,
            (Number::Momentum, Some(v)) => self.momentum = v,
            (Number::Copies, Some(v)) => self.copies = v as u32,
            (Number::Reach, Some(v)) => self.reach = v as u32,
            (Number::Delta, Some(v)) => self.delta = v,
            (Number::InitSeed, Some(v)) => self.init_seed = v as u64,
        }
    }

    /// Whether a number plays a part in the run that these settings describe.
    #[must_use]
    pub fn applies(&self, number: Number) -> bool {
        match number {
            Number::ClipNorm => self.encoder == Encoder::Clip,
            Number::Vectors | Number::PreScale | Number::EnvelopeSeed => self.encoder == Encoder::Envelope,
            Number::Scale | Number::Budget | Number::GridBits => self.family != Family::None,
            Number::Nu => self.family == Family::StudentT,
            Number::Exponent => self.family == Family::GeneralizedGaussian,
            Number::RateEnd => self.decay != Decay::Constant,
            Number::Reach => self.copies > 1,
            Number::InitSeed => self.config().start == Start::Random,
            _ => true,
        }
    }

    /// Why these settings promise nothing, where they do not.
    #[must_use]
    pub fn no_guarantee(&self) -> Option<&'static str> {
        if self.family == Family::None {
            Some("Without noise there is no privacy guarantee, whatever else is set.")
        } else if self.encoder == Encoder::None {
            Some("Unbounded gradients drown any noise: there is no privacy guarantee.")
        } else if self.replay.is_some() {
            Some("Replayed noise can be subtracted by anybody who knows the seed: there is no privacy guarantee.")
        } else {
            None
        }
    }

    /// Whether a condition holds: `encoder=clip&noise=!none`, with the names of links, `private` and `momentum` (`yes`, `no`).
    #[must_use]
    pub fn meet(&self, condition: &str) -> bool {
        let yes = |is: bool| if is { "yes" } else { "no" };
        condition.split('&').filter(|part| !part.is_empty()).all(|part| {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let now = match key {
                "encoder" => self.encoder.key(),
                "noise" => self.family.key(),
                "denoiser" => self.config().denoiser.key(),
                "sampling" => self.sampling.key(),
                "private" => yes(self.no_guarantee().is_none()),
                "momentum" => yes(self.momentum > 0.0),
                _ => return false,
            };
            value.strip_prefix('!').map_or(now == value, |other| now != other)
        })
    }

    /// Checks what depends on the data: `train` examples.
    ///
    /// # Errors
    /// The field and one sentence.
    pub fn check_data(&self, train: u32) -> Result<(), (Number, String)> {
        if self.lot > train {
            let n = |n: u32| crate::plot::format::integer(n.into());
            return Err((
                Number::Lot,
                format!(
                    "Lot size is {}, and the number of training images is {}; choose at most that.",
                    n(self.lot),
                    n(train)
                ),
            ));
        }
        Ok(())
    }

    /// The run, its steps and its ε for which a noise scale is to be found, if a budget is set: on `train` examples, and a
    /// run without an end gets one.
    pub fn plan_budget(&mut self, train: u32) -> Option<(RunConfig, u64, f64)> {
        let budget = self.budget.filter(|_| self.family != Family::None && self.encoder != Encoder::None)?;
        let lot = self.lot.max(1);
        let steps = *self.steps.get_or_insert((u64::from(EPOCHS) * u64::from(train) / u64::from(lot)).max(1));
        // A replayed run has no guarantee, yet its noise may be what a budget asks for.
        Some((RunConfig { replay: None, ..self.config() }, steps, budget))
    }

    /// Whether the noise is a density that has not been read yet: then there is no run to speak of.
    #[must_use]
    pub fn unread(&self) -> bool {
        self.family == Family::Custom && self.density.as_ref().is_none_or(|density| density.source() != self.formula)
    }

    /// The noise of these settings; of an unread density, none.
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

    /// The run that these settings describe.
    #[must_use]
    pub fn config(&self) -> RunConfig {
        RunConfig {
            model: self.model,
            encoder: match self.encoder {
                Encoder::None => EncoderSpec::None,
                Encoder::Clip => EncoderSpec::Clip { norm: self.clip_norm },
                Encoder::Envelope => EncoderSpec::Envelope {
                    shape: self.shape,
                    vectors: self.vectors,
                    pre_scale: self.pre_scale,
                    seed: self.envelope_seed,
                },
            },
            noise: self.noise(),
            // Without noise there is nothing to compare with.
            grid_bits: self.grid_bits.filter(|_| self.family != Family::None),
            denoiser: if self.family == Family::None { Denoiser::None } else { self.denoiser },
            lot: self.lot,
            sampling: self.sampling,
            learning_rate: self.learning_rate,
            schedule: match self.decay {
                Decay::Constant => Schedule::Constant,
                Decay::Linear => Schedule::Linear { to: self.rate_end },
                Decay::Cosine => Schedule::Cosine { to: self.rate_end },
            },
            momentum: self.momentum,
            augmentation: (self.copies > 1).then_some(Augmentation { copies: self.copies, reach: self.reach }),
            reading: self.reading,
            averaging: self.averaging,
            steps: self.steps,
            delta: self.delta,
            // The other models have only one.
            start: if pretrained::available(self.model) { self.start } else { Start::Random },
            init_seed: self.init_seed,
            replay: self.replay,
        }
    }

    /// The settings that mean this configuration.
    #[must_use]
    pub fn of_config(config: &RunConfig, digits: Digits) -> Self {
        let mut settings = Self {
            digits,
            model: config.model,
            grid_bits: config.grid_bits,
            denoiser: config.denoiser,
            lot: config.lot,
            sampling: config.sampling,
            learning_rate: config.learning_rate,
            momentum: config.momentum,
            reading: config.reading,
            averaging: config.averaging,
            steps: config.steps,
            delta: config.delta,
            start: config.start,
            init_seed: config.init_seed,
            replay: config.replay,
            ..Self::default()
        };
        match config.encoder {
            EncoderSpec::None => settings.encoder = Encoder::None,
            EncoderSpec::Clip { norm } => (settings.encoder, settings.clip_norm) = (Encoder::Clip, norm),
            EncoderSpec::Envelope { shape, vectors, pre_scale, seed } => {
                settings.encoder = Encoder::Envelope;
                (settings.shape, settings.vectors) = (shape, vectors);
                (settings.pre_scale, settings.envelope_seed) = (pre_scale, seed);
            }
        }
        if let Some(Augmentation { copies, reach }) = config.augmentation {
            (settings.copies, settings.reach) = (copies, reach);
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
        (settings.decay, settings.rate_end) = match config.schedule {
            Schedule::Constant => (Decay::Constant, settings.rate_end),
            Schedule::Linear { to } => (Decay::Linear, to),
            Schedule::Cosine { to } => (Decay::Cosine, to),
        };
        settings
    }

    /// What changed from one run to the next, in few words: the runs' labels.
    #[must_use]
    pub fn changes_since(&self, old: &Self) -> String {
        let mut changes = vec![];
        let mut note = |changed: bool, text: String| {
            if changed {
                changes.push(text);
            }
        };
        note(self.digits != old.digits, self.digits.label());
        note(self.model != old.model, self.model.label());
        note(self.encoder != old.encoder, format!("encoder: {}", self.encoder.label()));
        note(self.shape != old.shape && self.encoder == Encoder::Envelope, format!("{} envelope", self.shape.label()));
        note(self.family != old.family, self.family.label());
        note(self.formula != old.formula && self.family == Family::Custom, self.formula.clone());
        note(self.denoiser != old.denoiser, format!("denoiser: {}", self.denoiser.label()));
        note(self.sampling != old.sampling, self.sampling.label());
        note(self.decay != old.decay, format!("rate {}", self.decay.label()));
        note(self.reading != old.reading, format!("read {}", self.reading.label()));
        note(self.averaging != old.averaging, format!("read with {}", self.averaging.label()));
        for number in Number::ALL {
            let (now, before) = (self.number(number), old.number(number));
            if now != before && self.applies(number) {
                let value = now.map_or_else(|| "open".to_owned(), crate::plot::format::number);
                changes.push(format!("{} {value}", number.spec().label.to_ascii_lowercase()));
            }
        }
        changes.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::projection::{project, scale_for};

    fn keys_are_unique<C: Choice + std::fmt::Debug>() {
        for choice in C::ALL {
            assert_eq!(C::by_key(choice.key()), Some(*choice));
        }
        assert_eq!(C::by_key("no such thing"), None);
    }

    #[test]
    fn choices_are_found_by_their_keys() {
        keys_are_unique::<Digits>();
        keys_are_unique::<Encoder>();
        keys_are_unique::<Family>();
        keys_are_unique::<Decay>();
        keys_are_unique::<Speed>();
        keys_are_unique::<Theme>();
        keys_are_unique::<Architecture>();
        keys_are_unique::<EnvelopeShape>();
        keys_are_unique::<Denoiser>();
        keys_are_unique::<Start>();
        keys_are_unique::<Reading>();
        keys_are_unique::<Averaging>();
        keys_are_unique::<SamplingPolicy>();
        assert_eq!(<Architecture as Choice>::ALL[0], Architecture::Linear);
        assert_eq!(Architecture::CnnTanh.label(), "CNN, tanh · 26,010 parameters");
    }

    #[test]
    fn the_page_starts_with_the_default_run() {
        assert_eq!(Settings::default().config(), RunConfig::default());
    }

    #[test]
    fn configurations_become_settings_again() {
        for preset in crate::ui::settings::presets::all() {
            let config = preset.settings(&Settings::default()).config();
            assert_eq!(Settings::of_config(&config, Digits::Mnist).config(), config, "{}", preset.key);
        }
        for family in Family::ALL {
            let config = Settings { family: *family, decay: Decay::Cosine, ..Settings::default() }.config();
            assert_eq!(Settings::of_config(&config, Digits::Mnist).config(), config);
        }
        for sampling in SamplingPolicy::ALL {
            let config = Settings { sampling: *sampling, ..Settings::default() }.config();
            assert_eq!(config.sampling, *sampling);
            assert_eq!(Settings::of_config(&config, Digits::Mnist).config(), config);
            // The same name in files, in links and on the command line.
            assert_eq!(serde_json::to_value(sampling).unwrap(), sampling.key());
        }
    }

    #[test]
    fn every_number_is_kept_as_set() {
        let mut settings = Settings::default();
        for number in Number::ALL {
            settings.set_number(number, Some(3.0));
            assert_eq!(settings.number(number), Some(3.0), "{number:?}");
        }
        settings.set_number(Number::Steps, None);
        assert_eq!(settings.number(Number::Steps), None);
        settings.set_number(Number::Lot, None);
        assert_eq!(settings.number(Number::Lot), Some(3.0));
    }

    #[test]
    fn a_lot_larger_than_the_data_is_named() {
        let settings = Settings { lot: 70_000, ..Settings::default() };
        let (field, sentence) = settings.check_data(60_000).unwrap_err();
        assert_eq!(field, Number::Lot);
        assert_eq!(sentence, "Lot size is 70,000, and the number of training images is 60,000; choose at most that.");
        assert!(settings.check_data(70_000).is_ok());
    }

    #[test]
    fn without_noise_nothing_is_denoised() {
        let settings = Settings { family: Family::None, denoiser: Denoiser::KolmogorovSmirnov, ..Settings::default() };
        assert_eq!(settings.config().denoiser, Denoiser::None);
        assert_eq!(settings.config().noise, None);
    }

    #[test]
    fn conditions_are_met_or_not() {
        let settings = Settings { denoiser: Denoiser::KolmogorovSmirnov, ..Settings::default() };
        for condition in [
            "",
            "encoder=clip",
            "noise=!none&denoiser=kolmogorov-smirnov",
            "private=yes&momentum=no",
            "sampling=poisson&sampling=!shuffled",
        ] {
            assert!(settings.meet(condition), "{condition}");
        }
        for condition in ["encoder=!clip", "noise=gaussian&private=no", "lesson", "nonsense=1"] {
            assert!(!settings.meet(condition), "{condition}");
        }
        assert!(Settings { family: Family::None, ..settings }.meet("denoiser=none&private=no"));
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

    #[test]
    fn runs_are_labelled_by_what_changed() {
        let old = Settings::default();
        let new = Settings { scale: 2.0, family: Family::StudentT, ..old.clone() };
        assert_eq!(new.changes_since(&old), "Student-t, noise scale 2");
        let new = Settings { sampling: SamplingPolicy::FixedSize, ..old.clone() };
        assert_eq!(new.changes_since(&old), "Fixed-size lots");
        assert_eq!(old.changes_since(&old), "");
    }
}
