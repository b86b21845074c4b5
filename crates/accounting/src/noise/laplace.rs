//! Laplace noise: ln I_k in closed form.

use super::{Noise, NoiseError, SamplerAccuracy, Smoothness, check_scale, signed};
use crate::numeric::{exp_minus_1_minus_x, negative_log_of_unit};

/// Density exp(−|x|/b)/(2b).
///
/// ```
/// use hushgrad_accounting::noise::{Laplace, Noise};
///
/// let noise = Laplace::new(2.0)?;
/// assert!((noise.density(0.0) - 0.25).abs() < 1e-15);
/// assert!((noise.mean_absolute() - 2.0).abs() < 1e-15);
/// # Ok::<(), hushgrad_accounting::noise::NoiseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Laplace {
    scale: f64,
}

impl Laplace {
    /// Noise of scale b.
    ///
    /// # Errors
    /// Unless 1e-100 ≤ b ≤ 1e100.
    pub fn new(scale: f64) -> Result<Self, NoiseError> {
        check_scale("Laplace", "scale", scale)?;
        Ok(Self { scale })
    }
}

impl Noise for Laplace {
    fn log_density(&self, x: f64) -> f64 {
        -x.abs() / self.scale - (2.0 * self.scale).ln()
    }

    fn survival(&self, x: f64) -> f64 {
        0.5 * (-x / self.scale).exp()
    }

    fn survival_quantile(&self, q: f64) -> f64 {
        -self.scale * (2.0 * q).ln()
    }

    fn draw(&self, [w0, w1, w2, _]: [u32; 4]) -> f64 {
        signed(self.scale * negative_log_of_unit(w0, w1), w2)
    }

    /// With u = ε/2: the logarithm is off by 7u of itself, the product by u.
    fn sampler_accuracy(&self) -> Option<SamplerAccuracy> {
        Some(SamplerAccuracy { error: 5.0 * f64::EPSILON, uniform_bits: 64, intervals: 1 })
    }

    fn mean_absolute(&self) -> f64 {
        self.scale
    }

    fn standard_deviation(&self) -> f64 {
        std::f64::consts::SQRT_2 * self.scale
    }

    fn fisher_information(&self) -> f64 {
        (self.scale * self.scale).recip()
    }

    fn scale(&self) -> f64 {
        self.scale
    }

    fn kinks(&self) -> &[f64] {
        &[0.0]
    }

    fn smoothness(&self, _x: f64, _radius: f64) -> Option<Smoothness> {
        Some(Smoothness { slope: self.scale.recip(), curvature: 0.0 })
    }

    fn log_ratio(&self, x: f64, tau: f64) -> f64 {
        // |x| − |x−τ| is exactly τ, −τ or 2x − τ, depending on x.
        let (y, t) = (x / self.scale, tau / self.scale);
        (2.0 * y - t).clamp(-t.abs(), t.abs()) * if t < 0.0 { -1.0 } else { 1.0 }
    }

    fn log_moments(&self, tau: f64, out: &mut [f64]) {
        for (j, value) in out.iter_mut().enumerate() {
            *value = self.log_moment(j as u32 + 2, tau);
        }
    }

    /// I_k = [k·e^{(k−1)t} + (k−1)·e^{−kt}]/(2k−1), t = |τ|/b, without terms that cancel.
    fn log_moment(&self, k: u32, tau: f64) -> f64 {
        if k < 2 {
            return 0.0;
        }
        let (t, k) = (tau.abs() / self.scale, f64::from(k));
        if (k - 1.0) * t > 600.0 {
            return (k - 1.0) * t + (k / (2.0 * k - 1.0)).ln() + ((k - 1.0) / k * (-(2.0 * k - 1.0) * t).exp()).ln_1p();
        }
        let excess = k * exp_minus_1_minus_x((k - 1.0) * t) + (k - 1.0) * exp_minus_1_minus_x(-k * t);
        (excess / (2.0 * k - 1.0)).ln_1p()
    }
}
