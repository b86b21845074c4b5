//! Noise families: one a file. What a run uses is named by [`NoiseSpec`].

use serde::{Deserialize, Serialize};

/// A noise distribution, i.i.d. per coordinate, symmetric about 0 and unimodal. Scales are in the units of the
/// sum of encoded gradients (sensitivity included: with an envelope or clip of norm 1, `sigma` is the noise multiplier).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseSpec {
    /// Standard deviation `sigma`.
    Gaussian { sigma: f64 },
    /// `scale`·T_ν (not standardised): variance scale²·ν/(ν−2).
    StudentT { nu: f64, scale: f64 },
    /// Density exp(−|x|/b)/(2b).
    Laplace { scale: f64 },
    /// Density 1/(πγ(1+x²/γ²)).
    Cauchy { scale: f64 },
    /// Variance gamma with λ = 2: (1+|x|/c)·exp(−|x|/c)/(4c).
    VarianceGamma { scale: f64 },
    /// Hyperbolic secant: sech(πx/2s)/(2s).
    HyperbolicSecant { scale: f64 },
    /// Density ∝ exp(−|x/scale|^exponent), exponent ≥ 1.
    GeneralizedGaussian { exponent: f64, scale: f64 },
    // `Custom` (tabulated or a formula) joins here.
}
