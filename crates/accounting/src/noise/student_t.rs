//! Student-t noise (non-standardised): scale·T_ν. Nasr et al. use ν = 9.

use std::f64::consts::{PI, TAU};

use super::{
    Noise, NoiseError, SamplerAccuracy, Smoothness, check_scale,
    moments::{SmoothDensity, smooth_log_moments},
};
use crate::numeric::{ln_gamma_half_step, negative_log_of_unit, unit_from_words};
use hushgrad_message::word;

/// Density ∝ (1 + x²/(ν s²))^{−(ν+1)/2}.
///
/// ```
/// use hushgrad_accounting::noise::{Noise, StudentT};
///
/// let noise = StudentT::new(9.0, 1.0)?;
/// // Its variance is s²·ν/(ν − 2).
/// assert!((noise.standard_deviation() - (9.0f64 / 7.0).sqrt()).abs() < 1e-12);
/// # Ok::<(), hushgrad_accounting::noise::NoiseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StudentT {
    nu: f64,
    scale: f64,
    log_peak: f64,
}

impl StudentT {
    /// The distribution of `scale`·T_ν.
    ///
    /// # Errors
    /// Unless 2 < ν ≤ 1e9 (the paper's family needs a variance) and 1e-100 ≤ scale ≤ 1e100.
    pub fn new(nu: f64, scale: f64) -> Result<Self, NoiseError> {
        check_scale("Student-t", "scale", scale)?;
        if !(nu > 2.0 && nu <= 1e9) {
            let range = word!("above 2 and at most 1e9 (ν ≤ 2 has no finite variance)");
            return Err(NoiseError::Parameter { family: "Student-t", field: "nu", value: nu, range });
        }
        let log_peak = ln_gamma_half_step(0.5 * nu) - 0.5 * (nu * PI).ln() - scale.ln();
        Ok(Self { nu, scale, log_peak })
    }
}

/// For −(power/2)·ln(x² + a²), with second derivative ½·power·(1/(x − ia)² + 1/(x + ia)²).
pub(super) fn pole_pair(power: f64, a: f64, x: f64, radius: f64) -> Option<Smoothness> {
    let distance = x.hypot(a);
    let clear = distance - radius;
    let slope = power * (x.abs() / distance) / distance;
    (clear > 0.0).then(|| Smoothness { slope, curvature: power / clear / clear })
}

impl Noise for StudentT {
    fn log_density(&self, x: f64) -> f64 {
        let y = x / self.scale;
        self.log_peak - 0.5 * (self.nu + 1.0) * (y * y / self.nu).ln_1p()
    }

    /// ½·I_w(ν/2, ½) with w = ν/(ν + x²/s²).
    fn survival(&self, x: f64) -> f64 {
        let y = x / self.scale;
        let y2 = y * y;
        if y2.is_nan() {
            return f64::NAN;
        }
        if y2 * 1e9 < self.nu.min(1.0) * 1e-9 {
            // Too near 0 to show in the incomplete beta's argument; one Taylor term is exact.
            return 0.5 - x * self.log_peak.exp();
        }
        0.5 * statrs::function::beta::beta_reg(0.5 * self.nu, 0.5, self.nu / (self.nu + y2))
    }

    /// The polar method, exact for every ν (Bailey 1994, eq. 3).
    fn draw(&self, [w0, w1, w2, w3]: [u32; 4]) -> f64 {
        // u^{−2/ν} − 1 by expm1: no cancellation for large ν.
        let square = (2.0 / self.nu * negative_log_of_unit(w0, w1)).exp_m1();
        self.scale * (self.nu * square).sqrt() * (TAU * unit_from_words(w2, w3)).cos()
    }

    /// With u = ε/2: y = (2/ν)·ln(1/u1) ≤ 91/ν is off by 9u of itself, e^y − 1 by 9u(1 + y) + 4u,
    /// the radius by (10 + 410/ν)u, each of itself, the angle and its cosine by (6π + 4)u. A grid
    /// cell is one interval of the radius or two of the angle.
    fn sampler_accuracy(&self) -> Option<SamplerAccuracy> {
        let error = (18.0 + 210.0 / self.nu) * f64::EPSILON;
        Some(SamplerAccuracy { error, uniform_bits: 64, intervals: 3 })
    }

    /// 2√ν·Γ((ν+1)/2) / ((ν−1)·√π·Γ(ν/2)) · s.
    fn mean_absolute(&self) -> f64 {
        2.0 * self.scale * (ln_gamma_half_step(0.5 * self.nu) + 0.5 * (self.nu / PI).ln()).exp() / (self.nu - 1.0)
    }

    fn standard_deviation(&self) -> f64 {
        self.scale * (self.nu / (self.nu - 2.0)).sqrt()
    }

    fn fisher_information(&self) -> f64 {
        (self.nu + 1.0) / ((self.nu + 3.0) * self.scale * self.scale)
    }

    fn scale(&self) -> f64 {
        self.scale
    }

    fn smoothness(&self, x: f64, radius: f64) -> Option<Smoothness> {
        pole_pair(self.nu + 1.0, self.scale * self.nu.sqrt(), x, radius)
    }

    fn log_ratio(&self, x: f64, tau: f64) -> f64 {
        let (y, t) = (x / self.scale, tau / self.scale);
        -0.5 * (self.nu + 1.0) * (t * (t - 2.0 * y) / (self.nu + y * y)).ln_1p()
    }

    fn log_moments(&self, tau: f64, out: &mut [f64]) {
        smooth_log_moments(self, tau, out);
    }
}

impl SmoothDensity for StudentT {
    /// The poles are at ±i√ν; this width maps them to the strip's edge ±iπ/2.
    fn width(&self) -> f64 {
        self.scale * self.nu.sqrt().min(3.0)
    }

    /// In units of the scale, with t = τ/s: the mode of z·r^k is at most the lesser of kt and t +
    /// √ν (the sign of the derivative is that of a cubic, positive beyond either); the integrand of
    /// I_k − 1 decays as x^{−(ν+3)} once |x| is beyond k(ν+1)τ.
    fn reach(&self, k: f64, tau: f64) -> f64 {
        let t = tau / self.scale;
        let decay = self.nu + 2.0;
        let mode = (k * t).min(t + self.nu.sqrt());
        let start = 4.0 + k.sqrt() + ((self.nu + 1.0) * k * t.min(1.0) / self.nu).max(mode) + t;
        start * (40.0 / decay).exp().min(1e40)
    }
}
