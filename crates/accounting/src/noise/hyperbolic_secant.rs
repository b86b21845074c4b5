//! Hyperbolic secant noise.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

use super::{Noise, NoiseError, SamplerAccuracy, Smoothness, check_scale, legendre::log_legendre, signed};
use crate::numeric::unit_from_words;
use hushgrad_message::word;

const CATALAN: f64 = 0.915_965_594_177_219;

/// Density sech(πx/2s)/(2s), standard deviation s.
///
/// ```
/// use hushgrad_accounting::noise::{HyperbolicSecant, Noise};
///
/// let noise = HyperbolicSecant::new(3.0)?;
/// assert!((noise.standard_deviation() - 3.0).abs() < 1e-12);
/// assert!((noise.density(0.0) - 1.0 / 6.0).abs() < 1e-15);
/// # Ok::<(), hushgrad_accounting::noise::NoiseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HyperbolicSecant {
    scale: f64,
}

impl HyperbolicSecant {
    /// Noise of scale s.
    ///
    /// # Errors
    /// Unless 1e-100 ≤ s ≤ 1e100.
    pub fn new(scale: f64) -> Result<Self, NoiseError> {
        check_scale(word!("hyperbolic secant"), "scale", scale)?;
        Ok(Self { scale })
    }
}

/// ln(cosh a / cosh b) for a = b + difference, without cancellation.
fn log_cosh_ratio(b: f64, difference: f64) -> f64 {
    // cosh(b+d)/cosh b = cosh d + sinh d·tanh b = 1 + 2sinh²(d/2) + sinh d·tanh b.
    if difference.abs() < 1.0 {
        let half = (0.5 * difference).sinh();
        return (2.0 * half * half + difference.sinh() * b.tanh()).ln_1p();
    }
    let log_cosh = |x: f64| x.abs() + (-2.0 * x.abs()).exp().ln_1p();
    log_cosh(b + difference) - log_cosh(b)
}

impl Noise for HyperbolicSecant {
    fn log_density(&self, x: f64) -> f64 {
        let y = (FRAC_PI_2 * x / self.scale).abs();
        // sech y = 2e^{−y}/(1 + e^{−2y}).
        -y - (-2.0 * y).exp().ln_1p() - self.scale.ln()
    }

    fn survival(&self, x: f64) -> f64 {
        2.0 / PI * (-FRAC_PI_2 * x / self.scale).exp().atan()
    }

    fn survival_quantile(&self, q: f64) -> f64 {
        -self.scale / FRAC_PI_2 * (FRAC_PI_2 * q).tan().ln()
    }

    fn draw(&self, [w0, w1, w2, _]: [u32; 4]) -> f64 {
        signed(-2.0 * self.scale / PI * (FRAC_PI_4 * unit_from_words(w0, w1)).tan().ln(), w2)
    }

    /// With u = ε/2: the angle a has relative error 5u, which changes ln tan a by up to 2a/sin 2a ≤
    /// π/2 times that; the tangent adds 4u, the logarithm 4u of itself, the factors 4u.
    fn sampler_accuracy(&self) -> Option<SamplerAccuracy> {
        Some(SamplerAccuracy { error: 5.0 * f64::EPSILON, uniform_bits: 64, intervals: 1 })
    }

    fn mean_absolute(&self) -> f64 {
        8.0 * CATALAN / (PI * PI) * self.scale
    }

    fn standard_deviation(&self) -> f64 {
        self.scale
    }

    fn fisher_information(&self) -> f64 {
        PI * PI / (8.0 * self.scale * self.scale)
    }

    fn scale(&self) -> f64 {
        self.scale
    }

    /// (ln z)″ = −b²·sech²(bx), b = π/2s, and |cosh(u + iv)|² = sinh²u + cos²v.
    fn smoothness(&self, x: f64, radius: f64) -> Option<Smoothness> {
        let b = FRAC_PI_2 / self.scale;
        let (near, high) = ((x.abs() - radius).max(0.0), b * radius);
        let cosine = if high < FRAC_PI_2 { high.cos() } else { 0.0 };
        let square = (b * near).sinh().powi(2) + cosine * cosine;
        (square > 0.0).then(|| Smoothness { slope: b * (b * x.abs()).tanh(), curvature: b * b / square })
    }

    fn log_ratio(&self, x: f64, tau: f64) -> f64 {
        let (y, t) = (FRAC_PI_2 * x / self.scale, FRAC_PI_2 * tau / self.scale);
        -log_cosh_ratio(y, -t)
    }

    /// I_k = P_{k−1}(cosh(πτ/2s)), P a Legendre polynomial.
    fn log_moments(&self, tau: f64, out: &mut [f64]) {
        let quarter = 0.5 * FRAC_PI_2 * tau.abs() / self.scale;
        if quarter > 150.0 {
            // P_n(cosh y) averages (cosh y + sinh y·cos φ)^n (Laplace's integral): at most e^{ny}.
            for (j, value) in out.iter_mut().enumerate() {
                *value = (j as f64 + 1.0) * (2.0 * quarter + 1e-15);
            }
            return;
        }
        let half_sinh = quarter.sinh();
        log_legendre(2.0 * half_sinh * half_sinh, out);
    }
}
