//! What a choice is chosen from: values with a key, for links, and a label, for the list.

use crate::{
    engine::Reading,
    mechanism::{Denoiser, EnvelopeShape},
    model::Architecture,
    plot::format,
    train::config::{Averaging, Minority, SamplingPolicy, Start},
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
            Self::Slow => 3000,
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
        format!("{name} · {} parameters", format::integer(self.parameters() as u64))
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
            Self::Pretrained => "Pre-trained on drawn digits",
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
            Self::None => "none",
            Self::Turned => "one image in fifty, turned",
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
            Self::Once => "once",
            Self::TestTimeAugmentation => "where unsure",
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
        keys_are_unique::<Denoiser>();
        keys_are_unique::<Start>();
        keys_are_unique::<Minority>();
        keys_are_unique::<Reading>();
        keys_are_unique::<Averaging>();
        keys_are_unique::<SamplingPolicy>();
        assert_eq!(<Architecture as Choice>::ALL[0], Architecture::Linear);
        assert_eq!(Architecture::CnnTanh.label(), "CNN, tanh · 26,010 parameters");
    }
}
