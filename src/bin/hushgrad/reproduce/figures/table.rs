//! Data of the paper's figures: methods, noise scales, learning rates, and which a figure shows.

use hushgrad::{
    accounting::noise::NoiseSpec,
    engine::Reading,
    mechanism::{Denoiser, EncoderSpec, EnvelopeShape},
    train::config::Averaging,
};

/// A training method: the bound on gradients, the noise, and the processing of the noisy sum.
pub struct Method {
    /// Its name in files.
    pub key: &'static str,
    /// Its name in legends and tables.
    pub label: &'static str,
    bound: Encoding,
    noise: fn(f64) -> Option<NoiseSpec>,
    pub denoised: bool,
    /// Noise scales in the paper's ranges, with its end points if it names them. The second of each
    /// family costs as much as Student's t(9) at scale 1, to compare at equal ε.
    pub scales: [f64; 4],
    /// The method whose runs this one shares, read by averaging and test-time augmentation.
    pub read_anew: Option<&'static str>,
}

#[derive(Clone, Copy)]
enum Encoding {
    None,
    /// To L2 norm 1.
    Clip,
    Envelope,
}

/// Index in [`Method::scales`] at which all methods cost the same.
pub const EQUAL: usize = 1;
/// 1/√J of Student's t(9) at scale 1, with Fisher information J = 10/12: spread over many
/// coordinates, noise of any family costs as much as Gaussian noise with this standard deviation.
const GAUSSIAN: [f64; 4] = [0.8, 1.0954, 1.25, 1.4];
const STUDENT: [f64; 4] = [0.9, 1.0, 1.2, 1.5];

fn gaussian(sigma: f64) -> Option<NoiseSpec> {
    Some(NoiseSpec::Gaussian { sigma })
}
fn student(scale: f64) -> Option<NoiseSpec> {
    Some(NoiseSpec::StudentT { nu: 9.0, scale })
}
fn laplace(scale: f64) -> Option<NoiseSpec> {
    Some(NoiseSpec::Laplace { scale })
}

const fn enveloped(
    key: &'static str,
    label: &'static str,
    noise: fn(f64) -> Option<NoiseSpec>,
    denoised: bool,
    scales: [f64; 4],
) -> Method {
    Method { key, label, bound: Encoding::Envelope, noise, denoised, scales, read_anew: None }
}

/// Flat clipping and Gaussian noise.
const DP_SGD: Method = Method {
    key: BASELINE,
    label: "DP-SGD (flat clip, Gaussian)",
    bound: Encoding::Clip,
    noise: gaussian,
    denoised: false,
    scales: GAUSSIAN,
    read_anew: None,
};
const PIPELINE: Method =
    enveloped(PUBLISHED, "envelope, Student-t, KS (the published pipeline)", student, true, STUDENT);

/// All methods; the published pipeline is `student-t-ks`.
pub const METHODS: [Method; 10] = [
    DP_SGD,
    PIPELINE,
    enveloped("student-t", "envelope, Student-t", student, false, STUDENT),
    enveloped("gaussian-ks", "envelope, Gaussian, KS", gaussian, true, GAUSSIAN),
    enveloped("gaussian", "envelope, Gaussian", gaussian, false, GAUSSIAN),
    enveloped("laplace-ks", "envelope, Laplace, KS", laplace, true, GAUSSIAN),
    enveloped("laplace", "envelope, Laplace", laplace, false, GAUSSIAN),
    Method {
        key: "no-privacy",
        label: "no privacy (plain SGD)",
        bound: Encoding::None,
        noise: |_| None,
        denoised: false,
        scales: [0.0; 4],
        read_anew: None,
    },
    Method {
        key: "dp-sgd-averaged",
        label: "DP-SGD, a mean of iterates, read twice",
        read_anew: Some(BASELINE),
        ..DP_SGD
    },
    Method {
        key: "student-t-ks-averaged",
        label: "the published pipeline, a mean of iterates, read twice",
        read_anew: Some(PUBLISHED),
        ..PIPELINE
    },
];

/// The seven private methods, DP-SGD and the published pipeline first.
const PRIVATE: &[&str] = &["dp-sgd", "student-t-ks", "student-t", "gaussian-ks", "gaussian", "laplace-ks", "laplace"];
const ENVELOPED: &[&str] = &["student-t-ks", "student-t", "gaussian-ks", "gaussian", "laplace-ks", "laplace"];
const ALL: &[&str] =
    &["dp-sgd", "student-t-ks", "student-t", "gaussian-ks", "gaussian", "laplace-ks", "laplace", "no-privacy"];
const BASELINE: &str = "dp-sgd";
const PUBLISHED: &str = "student-t-ks";

impl Method {
    /// Returns the method of this name, which must be in the table.
    pub fn by_key(key: &str) -> &'static Self {
        METHODS.iter().find(|method| method.key == key).unwrap_or(&METHODS[0])
    }

    pub fn noise(&self, scale: f64) -> Option<NoiseSpec> {
        (self.noise)(scale)
    }

    pub fn encoder(&self, vectors: u32) -> EncoderSpec {
        match self.bound {
            Encoding::None => EncoderSpec::None,
            Encoding::Clip => EncoderSpec::Clip { norm: 1.0 },
            Encoding::Envelope => {
                EncoderSpec::Envelope { shape: EnvelopeShape::Gaussian, vectors, pre_scale: 1.0, seed: 0 }
            }
        }
    }

    /// How parameters are averaged and read; this changes neither the run nor its ε.
    pub const fn reading(&self) -> (Averaging, Reading) {
        match self.read_anew {
            None => (Averaging::None, Reading::Once),
            Some(_) => (Averaging::Exponential, Reading::TestTimeAugmentation),
        }
    }

    pub const fn denoiser(&self) -> Denoiser {
        if self.denoised { Denoiser::KolmogorovSmirnov } else { Denoiser::None }
    }

    /// Initial exponent of 2 of the learning rate. The denoiser multiplies by about a hundredth.
    pub const fn first_rate(&self) -> i32 {
        if self.denoised { 5 } else { -2 }
    }
}

/// The learning rate of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rate {
    /// The method's own best rate.
    Own,
    /// The best rate of this other method.
    Of(&'static str),
    /// The method's own best rate, times this power of two.
    Beside(i32),
}

impl Rate {
    /// Returns the method whose best rate this is.
    pub fn owner(self, method: &'static Method) -> &'static Method {
        match self {
            // The method whose run it shares.
            Self::Own | Self::Beside(_) => method.read_anew.map_or(method, Method::by_key),
            Self::Of(key) => Method::by_key(key),
        }
    }

    /// Returns the factor on the owner's best rate.
    pub fn factor(self) -> f64 {
        if let Self::Beside(exponent) = self { 2f64.powi(exponent) } else { 1.0 }
    }

    pub fn label(self) -> &'static str {
        match self {
            Self::Own | Self::Beside(_) => "each method at its own tuned rate",
            Self::Of(BASELINE) => "all methods at the rate tuned for DP-SGD",
            Self::Of(_) => "all methods at the rate tuned for the published pipeline",
        }
    }

    pub fn key(self) -> &'static str {
        match self {
            Self::Own | Self::Beside(_) => "own-rate",
            Self::Of(BASELINE) => "rate-of-dp-sgd",
            Self::Of(_) => "rate-of-published",
        }
    }
}

/// The content of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Distribution of the coordinates of per-example gradients, by epoch.
    Gradients,
    /// Final accuracy by final ε, one point per noise scale.
    AccuracyByEpsilon,
    /// Accuracy by ε, with noise scale and length chosen on held-out images.
    BestByEpsilon,
    AccuracyByStep,
    /// L1 distance of the noisy sum from the exact one, by D₂.
    Distances,
    /// Training loss by epoch.
    LossByEpoch,
    /// Accuracy by ε spent so far.
    AccuracyBySpent,
}

/// A figure of the paper, or its headline.
pub struct Figure {
    /// The value of `--figure`.
    pub key: &'static str,
    pub title: &'static str,
    pub view: View,
    pub methods: &'static [&'static str],
    /// Indices in [`Method::scales`].
    pub scales: &'static [usize],
    pub rates: &'static [Rate],
    /// The length, if it is part of the claim.
    pub epochs: Option<f64>,
}

const BOTH: &[Rate] = &[Rate::Own, Rate::Of(BASELINE)];
/// Rates among which the best is chosen.
const AROUND: &[Rate] = &[Rate::Own, Rate::Beside(-1), Rate::Beside(1)];

pub const FIGURES: [Figure; 8] = [
    Figure {
        key: "headline",
        title: "Headline: 60 epochs at equal ε",
        view: View::AccuracyBySpent,
        methods: &[PUBLISHED, BASELINE, "student-t-ks-averaged", "dp-sgd-averaged"],
        scales: &[EQUAL],
        rates: &[Rate::Own],
        epochs: Some(60.0),
    },
    Figure {
        key: "1",
        title: "Figure 1: gradient values by epoch",
        view: View::Gradients,
        methods: &[BASELINE],
        scales: &[EQUAL],
        rates: &[Rate::Own],
        epochs: None,
    },
    Figure {
        key: "2",
        title: "Figure 2: accuracy by ε after a fixed number of epochs",
        view: View::AccuracyByEpsilon,
        methods: PRIVATE,
        scales: &[0, 1, 2, 3],
        rates: BOTH,
        epochs: None,
    },
    Figure {
        key: "3",
        title: "Figure 3: best accuracy for each ε",
        view: View::BestByEpsilon,
        methods: PRIVATE,
        scales: &[0, 1, 2, 3],
        rates: &[Rate::Own],
        epochs: None,
    },
    Figure {
        key: "4",
        title: "Figure 4: accuracy by step",
        view: View::AccuracyByStep,
        methods: PRIVATE,
        scales: &[EQUAL],
        rates: BOTH,
        epochs: None,
    },
    Figure {
        key: "5",
        title: "Figure 5: with and without denoising",
        view: View::AccuracyByStep,
        methods: ENVELOPED,
        scales: &[EQUAL],
        rates: &[Rate::Own, Rate::Of(BASELINE), Rate::Of(PUBLISHED)],
        epochs: None,
    },
    Figure {
        key: "6",
        title: "Figure 6: L1 distance of the privatised from the true gradient",
        view: View::Distances,
        methods: &[BASELINE],
        scales: &[EQUAL],
        rates: &[Rate::Own],
        epochs: None,
    },
    Figure {
        key: "7",
        title: "Figure 7: convergence of the training loss",
        view: View::LossByEpoch,
        methods: ALL,
        scales: &[EQUAL],
        rates: &[Rate::Own],
        epochs: None,
    },
];

/// A line of a figure at one noise scale, run once per seed.
#[derive(Clone, Copy)]
pub struct Cell {
    pub method: &'static Method,
    pub scale: f64,
    pub rate: Rate,
}

impl Figure {
    pub fn by_key(key: &str) -> Option<&'static Self> {
        FIGURES.iter().find(|figure| figure.key == key)
    }

    pub fn methods(&self) -> impl Iterator<Item = &'static Method> {
        self.methods.iter().map(|key| Method::by_key(key))
    }

    /// Returns the rates of its runs; `as_published`: of Figure 3 also those beside the best, as the
    /// paper takes the best over rates.
    pub fn rates(&self, as_published: bool) -> &'static [Rate] {
        if as_published && self.view == View::BestByEpsilon { AROUND } else { self.rates }
    }

    /// All cells shown: own rates first, and the common noise scale before the others.
    pub fn cells(&self, as_published: bool) -> Vec<Cell> {
        let mut scales = self.scales.to_vec();
        scales.sort_by_key(|&scale| scale != EQUAL);
        let mut cells = vec![];
        for &rate in self.rates(as_published) {
            for &scale in &scales {
                // A method's own rate is listed already if it is the common rate.
                let other =
                    |method: &&'static Method| !matches!(rate, Rate::Of(_)) || rate.owner(method).key != method.key;
                cells.extend(self.methods().filter(other).map(|method| Cell {
                    method,
                    scale: method.scales[scale],
                    rate,
                }));
            }
        }
        cells
    }

    /// Methods whose best rates the figure needs.
    pub fn tuned(&self) -> Vec<&'static Method> {
        let mut owners: Vec<&'static Method> = vec![];
        for method in self.methods().flat_map(|method| self.rates.iter().map(move |rate| rate.owner(method))) {
            if owners.iter().all(|owner| owner.key != method.key) {
                owners.push(method);
            }
        }
        owners
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hushgrad::accounting::{
        envelope::EnvelopeProfile,
        ledger::{Release, Sensitivity},
        rdp::{RdpAccountant, RdpCurve},
        sampling::Sampling,
    };

    #[test]
    fn figures_and_methods_are_known_by_their_names() {
        for (k, figure) in FIGURES.iter().enumerate() {
            assert!(FIGURES[k + 1..].iter().all(|other| other.key != figure.key), "{}", figure.key);
            for key in figure.methods {
                assert_eq!(Method::by_key(key).key, *key);
            }
        }
        assert!((1..=7).all(|n| Figure::by_key(&n.to_string()).is_some()) && Figure::by_key("8").is_none());
        for rate in FIGURES.iter().flat_map(|figure| figure.rates) {
            if let Rate::Of(key) = rate {
                assert_eq!(Method::by_key(key).key, *key);
            }
        }
    }

    #[test]
    fn a_figure_runs_each_line_once() {
        let figure = Figure::by_key("5").unwrap();
        // Six at own rates, six at DP-SGD's, and five at the published pipeline's rate.
        assert_eq!(figure.cells(false).len(), 6 + 6 + 5);
        let tuned: Vec<_> = figure.tuned().iter().map(|method| method.key).collect();
        assert!(tuned.len() == 7 && tuned.contains(&"dp-sgd"), "{tuned:?}");
        let figure = Figure::by_key("2").unwrap();
        assert_eq!(figure.cells(false).len(), 7 * 4 + 6 * 4);
        let best = Figure::by_key("3").unwrap();
        assert_eq!((best.cells(false).len(), best.cells(true).len()), (7 * 4, 3 * 7 * 4));
        assert_eq!(figure.cells(true).len(), figure.cells(false).len());
        assert!(figure.cells(false)[..7].iter().all(|cell| cell.scale == cell.method.scales[EQUAL]));
        let figure = Figure::by_key("headline").unwrap();
        assert_eq!((figure.epochs, figure.cells(false).len()), (Some(60.0), 4));
        let tuned: Vec<_> = figure.tuned().iter().map(|method| method.key).collect();
        assert_eq!(tuned, [PUBLISHED, BASELINE], "a run that is only read anew has its rate");
    }

    #[test]
    fn methods_cost_the_same_at_the_common_scale() {
        let psi = vec![1.0 / 26_010f32.sqrt(); 26_010];
        let epsilon = |method: &Method| {
            let sensitivity = match method.encoder(1) {
                EncoderSpec::Clip { norm } => Sensitivity::L2 { norm },
                _ => Sensitivity::Envelope { profile: EnvelopeProfile::from_vectors([&psi[..]]).unwrap() },
            };
            let sampling = Sampling::Poisson { rate: 256.0 / 60_000.0 };
            let curve = RdpCurve::of(&Release::new(sampling, sensitivity, method.noise(method.scales[EQUAL]))).unwrap();
            let mut accountant = RdpAccountant::new();
            let id = accountant.add_curve(curve).unwrap();
            accountant.compose(id, 14_062);
            accountant.epsilon(1e-5).unwrap().classic.epsilon
        };
        let first = epsilon(&METHODS[0]);
        // The headline's limit.
        assert!(first < 3.2, "{first}");
        for method in METHODS.iter().filter(|method| PRIVATE.contains(&method.key)) {
            let other = epsilon(method);
            assert!((other / first - 1.0).abs() < 5e-3, "{}: {other}, not {first}", method.key);
        }
    }
}
