//! The table of the numbers that can be set: keys in links, paths in a run's configuration, ranges
//! and texts.
//!
//! A new number is one entry here, for a field of [`Settings`] that [`Settings::config`] reads;
//! `setup::layout` places it in the panel. Links, fields, errors, sweeps, frames and tests follow
//! from the entry.

use super::{
    choice::{Decay, DenoiserKind, Encoder, Family, UserSource},
    number::{
        Bound::{At, Beyond},
        NumberError, NumberSpec, WHOLE,
    },
    slider::{
        Spacing::{Even, Factors, Powers},
        slider,
    },
    values::Settings,
};
use crate::{
    train::config::{SamplingPolicy, Start},
    ui::text::{Text, text},
};

/// A field of [`Settings`] as a number.
trait Value {
    fn number(&self) -> Option<f64>;
    /// Sets an allowed value.
    fn put(&mut self, value: Option<f64>);
}

macro_rules! values {
    ($($kind:ty: $read:expr, $write:expr;)*) => { $(
        impl Value for $kind {
            fn number(&self) -> Option<f64> {
                Some($read(*self))
            }
            fn put(&mut self, value: Option<f64>) {
                if let Some(value) = value {
                    *self = $write(value);
                }
            }
        }
        impl Value for Option<$kind> {
            fn number(&self) -> Option<f64> {
                self.map($read)
            }
            fn put(&mut self, value: Option<f64>) {
                *self = value.map($write);
            }
        }
    )* };
}

values! {
    f64: |value: f64| value, |value: f64| value;
    u32: f64::from, |value: f64| value as u32;
    u64: |value: u64| value as f64, |value: f64| value as u64;
}

/// Each entry is `Name: field of Settings = NumberSpec { … }`, in the order of links.
macro_rules! numbers {
    ($($name:ident: $field:ident = $spec:expr;)*) => {
        /// The numbers that can be set.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Number { $($name),* }

        static TABLE: [NumberSpec; Number::ALL.len()] = [$(NumberSpec {
            get: |settings| settings.$field.number(),
            set: |settings, value| settings.$field.put(value),
            ..$spec
        }),*];

        impl Number {
            pub const ALL: [Self; [$(stringify!($name)),*].len()] = [$(Self::$name),*];
        }
    };
}

const PLAIN: NumberSpec = NumberSpec::PLAIN;

// Also of the panel of the visitor's own training.
pub const NU_HINT: Text = text!(
    "How heavy the tails of the Student-t noise are: near 2 very heavy, at 30 almost Gaussian; the paper uses 9."
);
pub const EXPONENT_HINT: Text =
    text!("The density falls like exp(−|x|^exponent): 1 is Laplace, 2 is Gaussian, more is flatter at the top.");
pub const DELTA_HINT: Text = text!(
    "The guarantee may fail with at most this probability; it should be well below one divided by the number of training examples."
);

numbers! {
    ClipNorm: clip_norm = NumberSpec {
        key: "clip",
        paths: &["encoder.norm"],
        label: text!("Clip norm"),
        hint: text!("Each example's gradient is scaled down to this length if it is longer, so that no single digit can move the sum by more."),
        named: text!("clip norm {value}"),
        least: At(1e-9),
        slider: slider(0.01, 10.0, Factors, [text!("bounds more"), text!("keeps more")]),
        applies: |s| s.encoder == Encoder::Clip || s.encoder == Encoder::Layers && s.layer_norms.is_empty(),
        ..PLAIN
    };

    ClipQuantile: clip_quantile = NumberSpec {
        key: "clip-quantile",
        paths: &["adaptive-clip.quantile", "adaptive-clip"],
        label: text!("Share within the clip"),
        hint: text!("With a number here (0.5, say) the clip norm is only a start: each step also releases, with noise, how many gradients were within it, and the norm adapts until this share is. It is paid for by a little more noise on the gradient, so ε is the same. It helps if no good clip norm is known; compared with a good one the tanh CNN loses 3.1 points at 0.5 and 1.5 at 0.8 (ε ≤ 1)."),
        named: text!("share within the clip {value}"),
        most: Beyond(1.0),
        optional: true,
        applies: |s| s.family == Family::Gaussian && s.encoder == Encoder::Clip,
        ..PLAIN
    };

    ClipCountNoise: clip_count_noise = NumberSpec {
        key: "clip-count-noise",
        paths: &["adaptive-clip.noise"],
        label: text!("Noise of that share"),
        hint: text!("The standard deviation of the noise on the share that a step releases. Less of it means more on the gradient."),
        named: text!("noise of that share {value}"),
        most: At(1000.0),
        applies: |s| s.clip_quantile.is_some() && s.family == Family::Gaussian && s.encoder == Encoder::Clip,
        ..PLAIN
    };

    MetricsNoise: metrics_noise = NumberSpec {
        key: "metrics",
        paths: &["metrics.noise", "metrics"],
        label: text!("Noise of paid accuracy"),
        hint: text!("With a number here (0.05, say) each step also releases, with noise, what share of its digits the model read right, and how many there were of each. So your own digits have an honest accuracy, covered by ε and paid for by a little more noise on the gradient. The number is the noise's standard deviation."),
        named: text!("noise of paid accuracy {value}"),
        most: At(1000.0),
        optional: true,
        applies: |s| s.family == Family::Gaussian && s.encoder.clips() && !s.has_users() && s.micro_batch == 1,
        ..PLAIN
    };

    Vectors: vectors = NumberSpec {
        key: "vectors",
        paths: &["encoder.vectors"],
        label: text!("Envelope vectors"),
        hint: text!("How many public vectors the envelope offers; each gradient takes the one that looks most like it. The choice costs no extra privacy."),
        named: text!("envelope vectors {value}"),
        least: At(1.0),
        most: At(4096.0),
        whole: true,
        slider: slider(1.0, 4096.0, Powers, [text!("one for all"), text!("fits each better")]),
        applies: |s| s.encoder == Encoder::Envelope,
        ..PLAIN
    };

    PreScale: pre_scale = NumberSpec {
        key: "pre-scale",
        paths: &["encoder.pre-scale"],
        label: text!("Pre-scale"),
        hint: text!("Gradients are multiplied by this before they are fitted under the envelope, whose vectors have length 1; about 1 works best. At 1e9 each number becomes plus or minus the envelope’s value at its rank, and its own size is lost."),
        named: text!("pre-scale {value}"),
        least: At(1e-9),
        slider: slider(0.01, 100.0, Factors, [text!("clamps less"), text!("clamps more")]),
        applies: |s| s.encoder == Encoder::Envelope,
        ..PLAIN
    };

    EnvelopeSeed: envelope_seed = NumberSpec {
        key: "envelope-seed",
        paths: &["encoder.seed"],
        label: text!("Envelope seed"),
        hint: text!("The envelope is public: it is drawn from this number, never from the training data."),
        named: text!("envelope seed {value}"),
        least: At(0.0),
        most: At(WHOLE),
        whole: true,
        applies: |s| s.encoder == Encoder::Envelope,
        ..PLAIN
    };

    Budget: budget = NumberSpec {
        key: "epsilon",
        paths: &[],
        label: text!("Budget ε"),
        hint: text!("The most the whole run may cost; the noise scale follows from it. Setting the noise scale yourself turns the budget off."),
        named: text!("budget ε {value}"),
        most: At(1000.0),
        optional: true,
        slider: slider(0.1, 20.0, Factors, [text!("more private"), text!("more accurate")]),
        applies: |s| s.family != Family::None,
        hook: Some("target-epsilon"),
        ..PLAIN
    };

    Scale: scale = NumberSpec {
        key: "sigma",
        paths: &["noise", "noise.sigma", "noise.scale"],
        label: text!("Noise scale"),
        hint: text!("Width of the noise added to every coordinate of the sum, as a multiple of the most that one example can contribute."),
        named: text!("noise scale {value}"),
        least: At(1e-6),
        most: At(1e4),
        slider: slider(0.01, 20.0, Factors, [text!("more accurate"), text!("more private")]),
        applies: |s| s.family != Family::None,
        hook: Some("noise-scale"),
        ..PLAIN
    };

    Nu: nu = NumberSpec {
        key: "nu",
        paths: &["noise.nu"],
        label: text!("Degrees of freedom ν"),
        hint: NU_HINT,
        named: text!("degrees of freedom ν {value}"),
        least: Beyond(2.0),
        slider: slider(2.1, 100.0, Factors, [text!("heavier tails"), text!("nearly Gaussian")]),
        applies: |s| s.family == Family::StudentT,
        ..PLAIN
    };

    Exponent: exponent = NumberSpec {
        key: "exponent",
        paths: &["noise.exponent"],
        label: text!("Exponent"),
        hint: EXPONENT_HINT,
        named: text!("exponent {value}"),
        least: At(1.0),
        most: At(100.0),
        slider: slider(1.0, 8.0, Factors, [text!("Laplace"), text!("nearly uniform")]),
        applies: |s| s.family == Family::GeneralizedGaussian,
        ..PLAIN
    };

    Smoothing: smoothing = NumberSpec {
        key: "smoothing",
        paths: &["denoiser.strength"],
        label: text!("Smoothing"),
        hint: text!("How strongly each unit's weights are blended with those of nearby pixels, whose gradients are similar but whose noise is not."),
        named: text!("smoothing {value}"),
        most: At(1000.0),
        slider: slider(0.1, 100.0, Factors, [text!("keeps detail"), text!("removes more noise")]),
        applies: |s| s.denoiser == DenoiserKind::Smoothing && s.family != Family::None,
        ..PLAIN
    };

    Memory: memory = NumberSpec {
        key: "memory",
        paths: &["denoiser.keeps", "denoiser.gain"],
        label: text!("Memory"),
        hint: text!("The share of earlier steps in what moves the model now. More of it averages out more noise, but reacts later."),
        named: text!("memory {value}"),
        least: At(0.0),
        most: Beyond(1.0),
        slider: slider(0.0, 0.99, Even, [text!("reacts at once"), text!("removes more noise")]),
        applies: |s| s.denoiser.filters() && s.family != Family::None,
        ..PLAIN
    };

    Lot: lot = NumberSpec {
        key: "lot",
        paths: &["lot"],
        label: text!("Lot size"),
        hint: text!("Expected examples per step. Larger lots drown out the noise, but mostly cost more privacy."),
        named: text!("lot size {value}"),
        least: At(1.0),
        most: At(1e9),
        whole: true,
        slider: slider(16.0, 8192.0, Powers, [text!("more private"), text!("more accurate")]),
        hook: Some("lot"),
        ..PLAIN
    };

    MicroBatch: micro_batch = NumberSpec {
        key: "micro-batch",
        paths: &["sharing.size"],
        label: text!("Micro-batch"),
        hint: text!("Averages this many digits and bounds their mean: less is cut off, but fewer vectors are added under the same noise. Removing one digit may reverse that mean, so it costs about twice the bound; 1 takes each digit separately. At ε ≤ 1 the CNN loses 5.0 points with 8."),
        named: text!("micro-batch {value}"),
        least: At(1.0),
        most: At(64.0),
        whole: true,
        applies: |s| !s.has_users(),
        ..PLAIN
    };

    Users: users = NumberSpec {
        key: "users",
        paths: &["sharing.users"],
        label: text!("Users"),
        hint: text!("This many users hold the digits. A step then draws users, the lot counts them, and ε covers one user with all their digits; leave it empty for ε of single digits. The fewer users, the more it costs."),
        named: text!("users {value}"),
        least: At(1.0),
        most: At(1e9),
        whole: true,
        optional: true,
        slider: slider(100.0, 60_000.0, Factors, [text!("few, with many digits"), text!("many, with few digits")]),
        ..PLAIN
    };

    UserSkew: user_skew = NumberSpec {
        key: "user-skew",
        paths: &["sharing.skew"],
        label: text!("Mix of digits"),
        hint: text!("How alike users are (α of a Dirichlet distribution): at 100 each writes all ten digits, at 0.05 almost only one. It costs no privacy."),
        named: text!("mix of digits {value}"),
        least: At(0.01),
        most: At(1000.0),
        slider: slider(0.05, 100.0, Factors, [text!("one digit each"), text!("all digits each")]),
        applies: |s| s.users.is_some() && s.user_source == UserSource::Drawn,
        ..PLAIN
    };

    UserSeed: user_seed = NumberSpec {
        key: "user-seed",
        paths: &["sharing.seed"],
        label: text!("Users' seed"),
        hint: text!("Which digit belongs to which user is drawn from this number; it is public and costs no privacy."),
        named: text!("users' seed {value}"),
        least: At(0.0),
        most: At(WHOLE),
        whole: true,
        applies: |s| s.users.is_some() && s.user_source == UserSource::Drawn,
        ..PLAIN
    };

    LocalSteps: local_steps = NumberSpec {
        key: "local-steps",
        paths: &["local.steps"],
        label: text!("Local steps"),
        hint: text!("Steps that a drawn user takes alone, on their own digits, before the change is bounded and added (federated averaging); 1 is federated SGD. More of them cost time, but no privacy."),
        named: text!("local steps {value}"),
        least: At(1.0),
        most: At(100.0),
        whole: true,
        applies: Settings::has_users,
        ..PLAIN
    };

    LocalRate: local_rate = NumberSpec {
        key: "local-rate",
        paths: &["local.rate"],
        label: text!("Local rate"),
        hint: text!("How far a user's own steps go. The learning rate then says how far the model follows the users' mean: 1 is all the way."),
        named: text!("local rate {value}"),
        least: At(1e-6),
        most: At(1e3),
        slider: slider(0.01, 10.0, Factors, [text!("slower"), text!("faster")]),
        applies: Settings::has_users,
        ..PLAIN
    };

    Bands: bands = NumberSpec {
        key: "bands",
        paths: &["bands"],
        label: text!("Bands"),
        hint: text!("Noise is correlated over this many steps: each takes back part of the noise before it, so less adds up in the model. A digit can then join only one in this many steps, and is drawn that much more often. It pays off if ε is large and epochs are few: with 8 the tanh CNN gains 0.7 points at ε ≤ 3, and at ε ≤ 1 no more than chance; 1 is plain DP-SGD."),
        named: text!("bands {value}"),
        least: At(1.0),
        most: At(512.0),
        whole: true,
        // Correlated noise is proven for these cases only.
        applies: |s| {
            let alone = !s.has_users() && s.micro_batch == 1;
            s.family == Family::Gaussian && s.encoder.clips() && s.sampling == SamplingPolicy::Poisson && alone
        },
        ..PLAIN
    };

    LearningRate: learning_rate = NumberSpec {
        key: "rate",
        paths: &["learning-rate"],
        label: text!("Learning rate"),
        hint: text!("How far a step goes along the noisy average gradient; it costs no privacy. The Kolmogorov–Smirnov denoiser shrinks steps a hundredfold or more, so it needs much larger rates."),
        named: text!("learning rate {value}"),
        least: At(1e-9),
        slider: slider(0.01, 100.0, Factors, [text!("slower"), text!("faster")]),
        hook: Some("learning-rate"),
        ..PLAIN
    };

    RateEnd: rate_end = NumberSpec {
        key: "rate-end",
        paths: &["schedule"],
        label: text!("Falls to"),
        hint: text!("The share of the learning rate that is left at the last step."),
        named: text!("falls to {value}"),
        least: At(0.0),
        most: At(1.0),
        slider: slider(0.0, 1.0, Even, [text!("falls to zero"), text!("stays")]),
        applies: |s| s.decay != Decay::Constant,
        ..PLAIN
    };

    PhaseCount: phase_count = NumberSpec {
        key: "phase-count",
        paths: &["phases.phases"],
        label: text!("Phases"),
        hint: text!("How many phases of equal length the planned steps are split into, each with its own noise."),
        named: text!("phases {value}"),
        least: At(2.0),
        most: At(64.0),
        whole: true,
        applies: Settings::noise_follows_a_rule,
        ..PLAIN
    };

    NoiseEnd: noise_end = NumberSpec {
        key: "noise-end",
        paths: &["phases.to"],
        label: text!("Last phase's noise"),
        hint: text!("As a multiple of the first phase's. At the same ε, less noise at the end means more at the start."),
        named: text!("last phase's noise {value}"),
        least: At(1e-3),
        most: At(1e3),
        slider: slider(0.2, 5.0, Factors, [text!("noise falls"), text!("noise grows")]),
        applies: Settings::noise_follows_a_rule,
        ..PLAIN
    };

    Momentum: momentum = NumberSpec {
        key: "momentum",
        paths: &["momentum"],
        label: text!("Momentum"),
        hint: text!("The share of the last step that is carried into the next; it costs no privacy. With 0.9 the tanh CNN does as well as without at ε ≤ 1, each at its best rate."),
        named: text!("momentum {value}"),
        least: At(0.0),
        most: At(0.9999),
        slider: slider(0.0, 0.99, Even, [text!("forgets at once"), text!("carries on")]),
        // A filter over the steps already acts as momentum.
        applies: |s| !s.denoiser.filters() || s.family == Family::None,
        ..PLAIN
    };

    Copies: copies = NumberSpec {
        key: "copies",
        paths: &["augmentation.copies"],
        label: text!("Copies"),
        hint: text!("An example's gradient is the mean over this many copies of it, each moved a little; it is bounded after that, so copies cost no privacy."),
        named: text!("copies {value}"),
        most: At(16.0),
        whole: true,
        ..PLAIN
    };

    Reach: reach = NumberSpec {
        key: "reach",
        paths: &["augmentation.reach"],
        label: text!("Moved by"),
        hint: text!("The most pixels a copy is moved by."),
        named: text!("moved by {value}"),
        most: At(4.0),
        whole: true,
        applies: |s| s.copies > 1,
        ..PLAIN
    };

    Steps: steps = NumberSpec {
        key: "steps",
        paths: &["steps"],
        label: text!("Stop after"),
        hint: text!("Steps after which the run is complete; leave it empty to train until you pause."),
        named: text!("stop after {value}"),
        least: At(1.0),
        most: At(1e9),
        whole: true,
        optional: true,
        slider: slider(10.0, 100_000.0, Factors, [text!("more private"), text!("more accurate")]),
        ..PLAIN
    };

    Delta: delta = NumberSpec {
        key: "delta",
        paths: &["delta"],
        label: text!("δ"),
        hint: DELTA_HINT,
        named: text!("δ {value}"),
        most: Beyond(1.0),
        slider: slider(1e-9, 1e-3, Factors, [text!("fails less often"), text!("allows a lower ε")]),
        hook: Some("delta"),
        ..PLAIN
    };

    Canaries: canaries = NumberSpec {
        key: "canaries",
        paths: &["canaries"],
        label: text!("Canaries"),
        hint: text!("Public records that an attacker puts among the digits, each in or out by a coin toss. More canaries reveal more. They are drawn into lots, so ε changes a little; 0 is no attack."),
        named: text!("canaries {value}"),
        least: At(0.0),
        most: At(20_000.0),
        whole: true,
        applies: |s| s.encoder != Encoder::None || s.family == Family::None,
        ..PLAIN
    };

    InitSeed: init_seed = NumberSpec {
        key: "seed",
        paths: &["init-seed"],
        label: text!("Model seed"),
        hint: text!("The model starts from weights drawn from this number; it is public and costs no privacy."),
        named: text!("model seed {value}"),
        least: At(0.0),
        most: At(WHOLE),
        whole: true,
        applies: |s| s.config().start == Start::Random,
        ..PLAIN
    };

    Replay: replay = NumberSpec {
        key: "replay",
        paths: &["replay"],
        label: text!("Replay seed"),
        hint: text!("With a number here, sampling and noise repeat exactly, for lessons and comparisons; whoever knows the number can subtract the noise, so there is no guarantee."),
        named: text!("replay seed {value}"),
        least: At(0.0),
        most: At(WHOLE),
        whole: true,
        optional: true,
        ..PLAIN
    };

    GridBits: grid_bits = NumberSpec {
        key: "grid-bits",
        paths: &["grid-bits"],
        label: text!("Grid bits"),
        hint: text!("Rounds sums and noise this many bits below the noise scale; ε covers what low bits reveal. CPU only; 10, say."),
        named: text!("grid bits {value}"),
        least: At(1.0),
        most: At(24.0),
        whole: true,
        optional: true,
        applies: |s| s.family != Family::None,
        ..PLAIN
    };
}

impl Number {
    /// Returns its entry in the table.
    #[must_use]
    pub fn spec(self) -> &'static NumberSpec {
        &TABLE[self as usize]
    }

    /// Returns the number whose key in links is `key`.
    #[must_use]
    pub fn by_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|number| number.spec().key == key)
    }

    /// Returns the number at `path` in a configuration (`noise.sigma`, `learning-rate`).
    #[must_use]
    pub fn by_config_path(path: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|number| number.spec().paths.contains(&path))
    }

    /// True if the number has a slider to sweep along; seeds have none.
    #[must_use]
    pub fn can_be_swept(self) -> bool {
        self.spec().slider.is_some()
    }

    /// Parses typed text; `None` for an empty optional field.
    ///
    /// # Errors
    /// The field, its range and the text.
    pub fn parse(self, text: &str) -> Result<Option<f64>, NumberError> {
        self.spec().parse(text)
    }
}

impl Settings {
    /// Returns the value of a number; `None` if empty.
    #[must_use]
    pub fn number(&self, number: Number) -> Option<f64> {
        (number.spec().get)(self)
    }

    /// Sets a number to a value allowed by [`Number::parse`].
    pub fn set_number(&mut self, number: Number, value: Option<f64>) {
        (number.spec().set)(self, value);
    }

    /// True if a number affects the run that these settings describe.
    #[must_use]
    pub fn applies(&self, number: Number) -> bool {
        (number.spec().applies)(self)
    }
}

#[cfg(test)]
#[path = "numbers_tests.rs"]
mod tests;
