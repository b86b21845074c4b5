//! Types behind `<select>` controls: values with a key in links and a label in the list.

use crate::{
    accounting::groups::{Clipping, NoiseStrategy},
    engine::Reading,
    mechanism::EnvelopeShape,
    model::{Architecture, layers::LayerList},
    plot::format,
    train::audit::InjectedBug,
    train::config::{Averaging, Minority, Protects, SamplingPolicy, Start},
    ui::text::t,
};

/// The values of a native `<select>`.
pub trait Choice: Copy + PartialEq + 'static {
    /// In the order of the list.
    const ALL: &'static [Self];
    /// Key in links, and value of the option.
    fn key(self) -> &'static str;
    fn label(self) -> String;
    fn by_key(key: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|choice| choice.key() == key)
    }
}

macro_rules! choices {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $key:literal, $label:expr;)* }) => {
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
    /// The data set.
    Digits {
        Mnist = "mnist", "MNIST";
        Synthetic = "synthetic", t!("Synthetic digits");
        Colour = "colour", t!("Colour shapes");
        Files = "files", t!("Your own files");
    }
}
choices! {
    /// Who decides whose an image is.
    UserSource {
        Drawn = "drawn", t!("made up");
        Data = "data", t!("as the files say");
    }
}
choices! {
    /// Bound on one example's contribution.
    Encoder {
        None = "none", t!("None (no guarantee)");
        Clip = "clip", t!("L2 clipping (DP-SGD)");
        Envelope = "envelope", t!("Envelope (Algorithm 2)");
        Layers = "layers", t!("L2 clipping, layer by layer");
    }
}
choices! {
    /// Noise family.
    Family {
        None = "none", t!("No noise (no guarantee)");
        Gaussian = "gaussian", t!("Gaussian");
        StudentT = "student-t", t!("Student-t");
        Laplace = "laplace", t!("Laplace");
        VarianceGamma = "variance-gamma", t!("Variance gamma");
        HyperbolicSecant = "hyperbolic-secant", t!("Hyperbolic secant");
        GeneralizedGaussian = "generalized-gaussian", t!("Generalised Gaussian");
        Cauchy = "cauchy", t!("Cauchy");
        Custom = "custom", t!("Your own density");
    }
}
choices! {
    /// Learning-rate schedule.
    Decay {
        Constant = "constant", t!("stays constant");
        Linear = "linear", t!("falls linearly");
        Cosine = "cosine", t!("falls as half a cosine");
    }
}
choices! {
    /// Noise schedule.
    PhaseKind {
        None = "none", t!("stays the same");
        Time = "time", t!("changes as 1/(1 + κk)");
        Exponential = "exponential", t!("changes exponentially");
        Step = "step", t!("switches halfway");
        Polynomial = "polynomial", t!("changes quadratically");
        List = "list", t!("phases as listed");
    }
}
choices! {
    /// Playback speed.
    Speed {
        Slow = "slow", t!("Slow");
        Normal = "normal", t!("Normal");
        Max = "max", t!("Max");
    }
}
choices! {
    /// Colour theme of the page.
    Theme {
        System = "system", t!("System");
        Light = "light", t!("Light");
        Dark = "dark", t!("Dark");
    }
}

impl Encoder {
    /// True if gradients are clipped to a norm.
    #[must_use]
    pub const fn clips(self) -> bool {
        matches!(self, Self::Clip | Self::Layers)
    }
}

impl Speed {
    /// Returns the milliseconds to wait after a step.
    #[must_use]
    pub const fn wait(self) -> u32 {
        match self {
            Self::Slow => 3000,
            Self::Normal => 100,
            Self::Max => 0,
        }
    }
}

/// The promise that a run breaks, if any.
impl Choice for Option<InjectedBug> {
    const ALL: &'static [Self] = &[
        None,
        Some(InjectedBug::HalfNoise),
        Some(InjectedBug::DoubleClip),
        Some(InjectedBug::DoubleSampling),
        Some(InjectedBug::FixedBatches),
        Some(InjectedBug::NoiseOfMean),
        Some(InjectedBug::CountUnpaid),
        Some(InjectedBug::DrawnLot),
    ];
    fn key(self) -> &'static str {
        self.map_or("nothing", InjectedBug::name)
    }
    fn label(self) -> String {
        let label = match self {
            None => t!("no bug"),
            Some(InjectedBug::HalfNoise) => t!("half the noise"),
            Some(InjectedBug::DoubleClip) => t!("twice the clip"),
            Some(InjectedBug::DoubleSampling) => t!("draw twice as often"),
            Some(InjectedBug::FixedBatches) => t!("the same batches in every epoch"),
            Some(InjectedBug::NoiseOfMean) => t!("the mean's noise on the sum"),
            Some(InjectedBug::CountUnpaid) => t!("an unpaid count of norms"),
            Some(InjectedBug::DrawnLot) => t!("divide by the actual lot size: shows in small lots, few digits"),
        };
        label.to_owned()
    }
}

impl Choice for Architecture {
    const ALL: &'static [Self] =
        &[Self::Linear, Self::Scattering, Self::Mlp, Self::CnnTanh, Self::CnnRelu, Self::Built(LayerList::FIRST)];
    fn key(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Scattering => "scattering",
            Self::Mlp => "mlp",
            Self::CnnTanh => "cnn-tanh",
            Self::CnnRelu => "cnn-relu",
            Self::Built(_) => "built",
        }
    }
    fn label(self) -> String {
        let name = match self {
            Self::Linear => t!("Linear"),
            Self::Scattering => t!("Linear, on scattering features"),
            Self::Mlp => t!("Two layers (128 hidden)"),
            Self::CnnTanh => t!("CNN, tanh"),
            Self::CnnRelu => t!("CNN, ReLU (the paper's)"),
            // Its size is the visitor's choice.
            Self::Built(_) => return t!("Your own layers").to_owned(),
        };
        t!("{model} · {n} parameters", model = name, n = format::integer(self.parameters() as u64))
    }
}

impl Choice for EnvelopeShape {
    const ALL: &'static [Self] = &[Self::Gaussian, Self::HeavyTailed, Self::Sparse, Self::Mixed, Self::Drawn];
    fn key(self) -> &'static str {
        match self {
            Self::Gaussian => "gaussian",
            Self::HeavyTailed => "heavy-tailed",
            Self::Sparse => "sparse",
            Self::Mixed => "mixed",
            Self::Drawn => "drawn",
        }
    }
    fn label(self) -> String {
        match self {
            Self::Gaussian => t!("Gaussian"),
            Self::HeavyTailed => t!("Heavy-tailed"),
            Self::Sparse => t!("Sparse (a tenth)"),
            Self::Mixed => t!("Mixed"),
            Self::Drawn => t!("Like drawn digits"),
        }
        .to_owned()
    }
}

/// A denoiser without its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DenoiserKind {
    None,
    KolmogorovSmirnov,
    CramerVonMises,
    Wasserstein,
    Smoothing,
    JamesStein,
    Linear,
    SoftThreshold,
    LowPass,
    Kalman,
}

impl DenoiserKind {
    /// True if it filters over the steps, as momentum does.
    #[must_use]
    pub const fn filters(self) -> bool {
        matches!(self, Self::LowPass | Self::Kalman)
    }

    /// Returns the effect on a single sum: `nothing`, `scale` (a multiple of it) or `change`.
    #[must_use]
    pub const fn does(self) -> &'static str {
        match self {
            Self::None | Self::LowPass | Self::Kalman => "nothing",
            Self::KolmogorovSmirnov | Self::CramerVonMises | Self::Wasserstein | Self::JamesStein | Self::Linear => {
                "scale"
            }
            Self::Smoothing | Self::SoftThreshold => "change",
        }
    }
}

impl Choice for DenoiserKind {
    const ALL: &'static [Self] = &[
        Self::None,
        Self::KolmogorovSmirnov,
        Self::CramerVonMises,
        Self::Wasserstein,
        Self::Smoothing,
        Self::JamesStein,
        Self::Linear,
        Self::SoftThreshold,
        Self::LowPass,
        Self::Kalman,
    ];
    fn key(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::KolmogorovSmirnov => "kolmogorov-smirnov",
            Self::CramerVonMises => "cramer-von-mises",
            Self::Wasserstein => "wasserstein",
            Self::Smoothing => "laplacian-smoothing",
            Self::JamesStein => "james-stein",
            Self::Linear => "linear",
            Self::SoftThreshold => "soft-threshold",
            Self::LowPass => "low-pass",
            Self::Kalman => "kalman",
        }
    }
    fn label(self) -> String {
        match self {
            Self::None => t!("None"),
            Self::KolmogorovSmirnov => t!("Kolmogorov–Smirnov"),
            Self::CramerVonMises => t!("Cramér–von Mises"),
            Self::Wasserstein => t!("Wasserstein"),
            Self::Smoothing => t!("Laplacian smoothing"),
            Self::JamesStein => t!("James–Stein"),
            Self::Linear => t!("Linear (Balle & Wang)"),
            Self::SoftThreshold => t!("Soft threshold"),
            Self::LowPass => t!("Low-pass filter"),
            Self::Kalman => t!("Kalman filter"),
        }
        .to_owned()
    }
}

impl Choice for SamplingPolicy {
    const ALL: &'static [Self] = &[Self::Poisson, Self::FixedSize, Self::RandomAllocation, Self::Shuffled];
    fn key(self) -> &'static str {
        match self {
            Self::Poisson => "poisson",
            Self::FixedSize => "fixed-size",
            Self::RandomAllocation => "random-allocation",
            Self::Shuffled => "shuffled",
        }
    }
    fn label(self) -> String {
        match self {
            Self::Poisson => t!("Poisson sampling"),
            Self::FixedSize => t!("Fixed-size lots"),
            Self::RandomAllocation => t!("Random allocation"),
            Self::Shuffled => t!("Shuffled epochs, at full price"),
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
            Self::Random => t!("Random parameters"),
            Self::Pretrained => t!("Pre-trained on drawn digits"),
        }
        .to_owned()
    }
}

impl Choice for Protects {
    const ALL: &'static [Self] = &[Self::Example, Self::MicroBatch];
    fn key(self) -> &'static str {
        match self {
            Self::Example => "example",
            Self::MicroBatch => "micro-batch",
        }
    }
    fn label(self) -> String {
        match self {
            Self::Example => t!("one digit"),
            Self::MicroBatch => t!("a whole micro-batch"),
        }
        .to_owned()
    }
}

impl Choice for Minority {
    const ALL: &'static [Self] = &[Self::None, Self::Turned];
    fn key(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Turned => "turned",
        }
    }
    fn label(self) -> String {
        match self {
            Self::None => t!("none"),
            Self::Turned => t!("one image in fifty, turned"),
        }
        .to_owned()
    }
}

impl Choice for Reading {
    const ALL: &'static [Self] = &[Self::Once, Self::TestTimeAugmentation];
    fn key(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::TestTimeAugmentation => "second-look",
        }
    }
    fn label(self) -> String {
        match self {
            Self::Once => t!("once"),
            Self::TestTimeAugmentation => t!("5× if unsure"),
        }
        .to_owned()
    }
}

impl Choice for Clipping {
    const ALL: &'static [Self] = &[Self::Separate, Self::Joint];
    fn key(self) -> &'static str {
        match self {
            Self::Separate => "separate",
            Self::Joint => "joint",
        }
    }
    fn label(self) -> String {
        match self {
            Self::Separate => t!("each by itself"),
            Self::Joint => t!("all by one factor"),
        }
        .to_owned()
    }
}

impl Choice for NoiseStrategy {
    const ALL: &'static [Self] = &[Self::Proportional, Self::DimensionAdjusted];
    fn key(self) -> &'static str {
        match self {
            Self::Proportional => "proportional",
            Self::DimensionAdjusted => "dimension-adjusted",
        }
    }
    fn label(self) -> String {
        match self {
            Self::Proportional => t!("in proportion to its norm"),
            Self::DimensionAdjusted => t!("less in larger layers"),
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
            Self::None => t!("the last parameters"),
            Self::Exponential => t!("a mean of the last ninth"),
        }
        .to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        keys_are_unique::<DenoiserKind>();
        keys_are_unique::<Start>();
        keys_are_unique::<Minority>();
        keys_are_unique::<Protects>();
        keys_are_unique::<Reading>();
        keys_are_unique::<Averaging>();
        keys_are_unique::<SamplingPolicy>();
        keys_are_unique::<Clipping>();
        keys_are_unique::<Option<InjectedBug>>();
        keys_are_unique::<NoiseStrategy>();
        assert_eq!(<Architecture as Choice>::ALL[0], Architecture::Linear);
        assert_eq!(Architecture::CnnTanh.label(), "CNN, tanh · 26,010 parameters");
    }

    #[test]
    fn every_promise_that_can_be_broken_is_a_choice() {
        let choices = <Option<InjectedBug> as Choice>::ALL;
        for mutation in InjectedBug::ALL {
            assert!(choices.contains(&Some(mutation)), "{}", mutation.name());
        }
        assert_eq!(choices.len(), InjectedBug::ALL.len() + 1);
    }
}
