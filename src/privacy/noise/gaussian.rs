//! Normal noise: the only family with everything in closed form.

use std::f64::consts::{PI, TAU};

use super::{Noise, NoiseError, check_scale};
use crate::privacy::numeric::{normal_tail, unit_from_words};

/// N(0, σ²).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gaussian {
    sigma: f64,
}

impl Gaussian {
    /// Standard deviation `sigma`.
    ///
    /// # Errors
    /// Unless 0 < sigma < ∞.
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

    fn tail(&self, x: f64) -> f64 {
        normal_tail(x / self.sigma)
    }

    fn tail_quantile(&self, q: f64) -> f64 {
        self.sigma * standard_normal_tail_quantile(q)
    }

    /// Box–Muller, first coordinate.
    fn from_words(&self, [w0, w1, w2, _]: [u32; 4]) -> f64 {
        let u2 = (f64::from(w2) + 0.5) * 2f64.powi(-32);
        self.sigma * (-2.0 * unit_from_words(w0, w1).ln()).sqrt() * (TAU * u2).cos()
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

/// x with P(N(0,1) > x) = q, q in (0, ½]: a Newton step in ln q on the library's inverse keeps the far tail right.
#[must_use]
pub fn standard_normal_tail_quantile(q: f64) -> f64 {
    if q < 1e-280 {
        return crate::privacy::numeric::invert_tail(q, 1.0, normal_tail);
    }
    let mut x = std::f64::consts::SQRT_2 * statrs::function::erf::erfc_inv(2.0 * q);
    for _ in 0..2 {
        let tail = normal_tail(x);
        let density = (-0.5 * x * x).exp() / TAU.sqrt();
        if density > 0.0 && tail > 0.0 {
            x += tail * (tail / q).ln() / density;
        }
    }
    x
}
