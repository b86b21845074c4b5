//! Noise families, one per file. [`NoiseSpec`] names one, and its `build` returns a [`Noise`].

mod cauchy;
mod custom;
mod family;
mod formula;
mod gaussian;
mod generalized_gaussian;
mod hyperbolic_secant;
mod kinked;
mod laplace;
mod legendre;
mod moments;
mod student_t;
mod variance_gamma;

#[cfg(test)]
mod tests;

use hushgrad_message::word;
use serde::{Deserialize, Serialize};

pub use super::numeric::negative_log_of_unit;
pub use cauchy::Cauchy;
pub use custom::{Custom, CustomDensity, DensityError};
pub use family::{Noise, NoiseError, SamplerAccuracy, Smoothness};
pub(crate) use family::{check_scale, signed};
pub use formula::Formula;
pub use gaussian::Gaussian;
pub use generalized_gaussian::GeneralizedGaussian;
pub use hyperbolic_secant::HyperbolicSecant;
pub use laplace::Laplace;
pub use student_t::StudentT;
pub use variance_gamma::VarianceGamma;

/// A noise distribution, i.i.d. per coordinate, symmetric about 0 and unimodal. Scales, 1e-100 to
/// 1e100, are in the units of the sum of encoded gradients, sensitivity included: with an envelope
/// or clipping norm of 1, `sigma` is the noise multiplier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum NoiseSpec {
    /// Standard deviation `sigma`.
    Gaussian {
        /// σ, the standard deviation.
        sigma: f64,
    },
    /// `scale`·T_ν (not standardised): variance scale²·ν/(ν−2).
    StudentT {
        /// ν, the degrees of freedom: above 2, at most 1e9.
        nu: f64,
        /// s.
        scale: f64,
    },
    /// Density exp(−|x|/b)/(2b).
    Laplace {
        /// b.
        scale: f64,
    },
    /// Density 1/(πγ(1+x²/γ²)).
    Cauchy {
        /// γ, the half width at half maximum.
        scale: f64,
    },
    /// Variance gamma with λ = 2: (1+|x|/c)·exp(−|x|/c)/(4c).
    VarianceGamma {
        /// c.
        scale: f64,
    },
    /// Hyperbolic secant: sech(πx/2s)/(2s).
    HyperbolicSecant {
        /// s, the standard deviation.
        scale: f64,
    },
    /// Density ∝ exp(−|x/scale|^exponent), exponent ≥ 1.
    GeneralizedGaussian {
        /// p, from 1 (Laplace) to 100; 2 is Gaussian.
        exponent: f64,
        /// The length that |x| is divided by.
        scale: f64,
    },
    /// `scale`·X, where X has a user-supplied density.
    Custom {
        /// The density of X.
        density: CustomDensity,
        /// The factor on X.
        scale: f64,
    },
}

impl NoiseSpec {
    /// Checks the parameters and builds the distribution.
    ///
    /// # Errors
    /// A scale outside 1e-100 to 1e100, ν outside (2, 1e9] or an exponent outside [1, 100].
    pub fn build(&self) -> Result<Box<dyn Noise>, NoiseError> {
        Ok(match self.clone() {
            Self::Gaussian { sigma } => Box::new(Gaussian::new(sigma)?),
            Self::StudentT { nu, scale } => Box::new(StudentT::new(nu, scale)?),
            Self::Laplace { scale } => Box::new(Laplace::new(scale)?),
            Self::Cauchy { scale } => Box::new(Cauchy::new(scale)?),
            Self::VarianceGamma { scale } => Box::new(VarianceGamma::new(scale)?),
            Self::HyperbolicSecant { scale } => Box::new(HyperbolicSecant::new(scale)?),
            Self::GeneralizedGaussian { exponent, scale } => Box::new(GeneralizedGaussian::new(exponent, scale)?),
            Self::Custom { density, scale } => Box::new(Custom::new(density, scale)?),
        })
    }

    /// The family's name in words, such as "Gaussian" or "Student-t".
    #[must_use]
    pub fn family(&self) -> &'static str {
        match self {
            Self::Gaussian { .. } => "Gaussian",
            Self::StudentT { .. } => "Student-t",
            Self::Laplace { .. } => "Laplace",
            Self::Cauchy { .. } => "Cauchy",
            Self::VarianceGamma { .. } => word!("variance gamma"),
            Self::HyperbolicSecant { .. } => word!("hyperbolic secant"),
            Self::GeneralizedGaussian { .. } => word!("generalised Gaussian"),
            Self::Custom { .. } => "custom",
        }
    }

    /// The scale parameter (σ, s, b, γ, c).
    #[must_use]
    pub fn scale(&self) -> f64 {
        match *self {
            Self::Gaussian { sigma } => sigma,
            Self::StudentT { scale, .. }
            | Self::Laplace { scale }
            | Self::Cauchy { scale }
            | Self::VarianceGamma { scale }
            | Self::HyperbolicSecant { scale }
            | Self::GeneralizedGaussian { scale, .. }
            | Self::Custom { scale, .. } => scale,
        }
    }

    /// The same family with another scale.
    #[must_use]
    pub fn with_scale(&self, scale: f64) -> Self {
        match self {
            Self::Gaussian { .. } => Self::Gaussian { sigma: scale },
            Self::StudentT { nu, .. } => Self::StudentT { nu: *nu, scale },
            Self::Laplace { .. } => Self::Laplace { scale },
            Self::Cauchy { .. } => Self::Cauchy { scale },
            Self::VarianceGamma { .. } => Self::VarianceGamma { scale },
            Self::HyperbolicSecant { .. } => Self::HyperbolicSecant { scale },
            Self::GeneralizedGaussian { exponent, .. } => Self::GeneralizedGaussian { exponent: *exponent, scale },
            Self::Custom { density, .. } => Self::Custom { density: density.clone(), scale },
        }
    }
}
