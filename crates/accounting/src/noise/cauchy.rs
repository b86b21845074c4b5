//! Cauchy noise: infinite mean absolute value and variance, yet accountable.

use std::f64::consts::{FRAC_PI_2, PI};

use super::{
    Noise, NoiseError, SamplerAccuracy, Smoothness, check_scale, legendre::log_legendre, signed, student_t::pole_pair,
};
use crate::numeric::unit_from_words;

/// Density 1/(πγ(1 + x²/γ²)).
///
/// ```
/// use hushgrad_accounting::noise::{Cauchy, Noise};
///
/// let noise = Cauchy::new(1.0)?;
/// // Half of it lies within γ; it has no variance.
/// assert!((noise.cdf(1.0) - 0.75).abs() < 1e-15);
/// assert!(noise.standard_deviation().is_infinite());
/// # Ok::<(), hushgrad_accounting::noise::NoiseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cauchy {
    scale: f64,
}

impl Cauchy {
    /// Noise of scale γ.
    ///
    /// # Errors
    /// Unless 1e-100 ≤ γ ≤ 1e100.
    pub fn new(scale: f64) -> Result<Self, NoiseError> {
        check_scale("Cauchy", "scale", scale)?;
        Ok(Self { scale })
    }
}

impl Noise for Cauchy {
    fn log_density(&self, x: f64) -> f64 {
        let y = x / self.scale;
        let square = y * y;
        let log = if square.is_finite() { square.ln_1p() } else { 2.0 * y.abs().ln() };
        -(PI * self.scale).ln() - log
    }

    fn survival(&self, x: f64) -> f64 {
        // arctan(γ/x) keeps its digits in the tail and is π/2 at 0.
        (self.scale / x.abs()).atan() / PI
    }

    fn survival_quantile(&self, q: f64) -> f64 {
        self.scale / (PI * q).tan()
    }

    fn draw(&self, [w0, w1, w2, _]: [u32; 4]) -> f64 {
        signed(self.scale / (FRAC_PI_2 * unit_from_words(w0, w1)).tan(), w2)
    }

    /// With u = ε/2: the angle a has relative error 5u, which moves γ·cot a by up to γ·a/sin²a ≤
    /// (π/2)(γ + |z|) times that; tangent and quotient add 5u.
    fn sampler_accuracy(&self) -> Option<SamplerAccuracy> {
        Some(SamplerAccuracy { error: 8.0 * f64::EPSILON, uniform_bits: 64, intervals: 1 })
    }

    fn mean_absolute(&self) -> f64 {
        f64::INFINITY
    }

    fn standard_deviation(&self) -> f64 {
        f64::INFINITY
    }

    fn fisher_information(&self) -> f64 {
        0.5 / (self.scale * self.scale)
    }

    fn scale(&self) -> f64 {
        self.scale
    }

    fn smoothness(&self, x: f64, radius: f64) -> Option<Smoothness> {
        pole_pair(2.0, self.scale, x, radius)
    }

    fn log_ratio(&self, x: f64, tau: f64) -> f64 {
        let (y, t) = (x / self.scale, tau / self.scale);
        -(t * (t - 2.0 * y) / (1.0 + y * y)).ln_1p()
    }

    /// I_k = P_{k−1}(1 + τ²/(2γ²)), P a Legendre polynomial.
    fn log_moments(&self, tau: f64, out: &mut [f64]) {
        let t = tau / self.scale;
        log_legendre(0.5 * t * t, out);
    }
}
