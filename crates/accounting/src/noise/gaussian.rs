//! Normal noise: the only family with a closed form for everything.

use std::f64::consts::{PI, TAU};

use super::{Noise, NoiseError, SamplerAccuracy, Smoothness, check_scale};
use crate::{
    normal,
    numeric::{negative_log_of_unit, unit_from_words},
};

/// N(0, σ²).
///
/// ```
/// use hushgrad_accounting::noise::{Gaussian, Noise};
///
/// let noise = Gaussian::new(2.0)?;
/// assert_eq!(noise.standard_deviation(), 2.0);
/// // A shift by τ has ln I_k = k(k−1)τ²/(2σ²).
/// assert!((noise.log_moment(3, 1.0) - 0.75).abs() < 1e-11);
/// # Ok::<(), hushgrad_accounting::noise::NoiseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gaussian {
    sigma: f64,
}

impl Gaussian {
    /// Noise of standard deviation `sigma`.
    ///
    /// # Errors
    /// Unless 1e-100 ≤ sigma ≤ 1e100.
    pub fn new(sigma: f64) -> Result<Self, NoiseError> {
        check_scale("Gaussian", "sigma", sigma)?;
        Ok(Self { sigma })
    }
}

impl Noise for Gaussian {
    fn log_density(&self, x: f64) -> f64 {
        let y = x / self.sigma;
        -0.5 * y * y - (self.sigma * TAU.sqrt()).ln()
    }

    fn survival(&self, x: f64) -> f64 {
        normal::survival(x / self.sigma)
    }

    fn survival_quantile(&self, q: f64) -> f64 {
        self.sigma * normal::survival_quantile(q)
    }

    /// The first coordinate of Box–Muller.
    fn draw(&self, [w0, w1, w2, w3]: [u32; 4]) -> f64 {
        self.sigma * (2.0 * negative_log_of_unit(w0, w1)).sqrt() * (TAU * unit_from_words(w2, w3)).cos()
    }

    /// With u = ε/2: the logarithm is off by 7u, the radius by 6.5u of itself, the angle by 6πu
    /// (rounding of u2, 2π and the product), the cosine by 4u: 29.4u of the radius. A grid cell is
    /// one interval of the radius or two of the angle.
    fn sampler_accuracy(&self) -> Option<SamplerAccuracy> {
        Some(SamplerAccuracy { error: 16.0 * f64::EPSILON, uniform_bits: 64, intervals: 3 })
    }

    fn mean_absolute(&self) -> f64 {
        self.sigma * (2.0 / PI).sqrt()
    }

    fn standard_deviation(&self) -> f64 {
        self.sigma
    }

    fn fisher_information(&self) -> f64 {
        (self.sigma * self.sigma).recip()
    }

    fn scale(&self) -> f64 {
        self.sigma
    }

    fn smoothness(&self, x: f64, _radius: f64) -> Option<Smoothness> {
        let curvature = (self.sigma * self.sigma).recip();
        Some(Smoothness { slope: x.abs() * curvature, curvature })
    }

    fn log_ratio(&self, x: f64, tau: f64) -> f64 {
        let (y, t) = (x / self.sigma, tau / self.sigma);
        t * (y - 0.5 * t)
    }

    /// k(k−1)τ²/(2σ²), exactly.
    fn log_moments(&self, tau: f64, out: &mut [f64]) {
        let t = tau / self.sigma;
        let half_square = 0.5 * t * t;
        for (j, value) in out.iter_mut().enumerate() {
            let k = (j + 2) as f64;
            *value = k * (k - 1.0) * half_square;
        }
    }

    fn log_moment(&self, k: u32, tau: f64) -> f64 {
        let (t, k) = (tau / self.sigma, f64::from(k));
        (k * (k - 1.0) * (0.5 * t * t)).max(0.0)
    }

    fn gaussian_sigma(&self) -> Option<f64> {
        Some(self.sigma)
    }
}
