//! Variance gamma noise with λ = 2: the sum of two Laplace variables.

use super::{
    Noise, NoiseError, Smoothness, check_scale,
    kinked::{KinkedDensity, Nodes, kinked_log_moments},
    signed,
};
use crate::numeric::{ln_1p_minus, negative_log_of_unit};
use hushgrad_message::word;

/// e·E₁(1) = ∫₀^∞ e^{−y}/(1+y) dy.
const E_E1: f64 = 0.596_347_362_323_194_1;
/// z and z·r^k fall as e^{−y}, so the rest is negligible.
const REACH: f64 = 100.0;

/// Density (1+|x|/c)·exp(−|x|/c)/(4c).
///
/// ```
/// use hushgrad_accounting::noise::{Noise, VarianceGamma};
///
/// let noise = VarianceGamma::new(1.0)?;
/// // The sum of two Laplace variables: the variance is 4c².
/// assert!((noise.standard_deviation() - 2.0).abs() < 1e-12);
/// # Ok::<(), hushgrad_accounting::noise::NoiseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct VarianceGamma {
    scale: f64,
    nodes: Nodes,
}

impl VarianceGamma {
    /// Noise of scale c and variance 4c².
    ///
    /// # Errors
    /// Unless 1e-100 ≤ c ≤ 1e100.
    pub fn new(scale: f64) -> Result<Self, NoiseError> {
        check_scale(word!("variance gamma"), "scale", scale)?;
        Ok(Self { scale, nodes: Nodes::new(0.0, REACH, 0.25) })
    }
}

impl Noise for VarianceGamma {
    fn log_density(&self, x: f64) -> f64 {
        let y = x.abs() / self.scale;
        y.ln_1p() - y - (4.0 * self.scale).ln()
    }

    /// ¼(2 + y)e^{−y}.
    fn survival(&self, x: f64) -> f64 {
        let y = x / self.scale;
        if y > 800.0 { 0.0 } else { 0.25 * (2.0 + y) * (-y).exp() }
    }

    fn draw(&self, [w0, w1, w2, w3]: [u32; 4]) -> f64 {
        let u2 = (f64::from(w2) + 0.5) * 2f64.powi(-32);
        signed(self.scale * negative_log_of_unit(w0, w1), w3) + signed(-self.scale * u2.ln(), w3 << 1)
    }

    fn mean_absolute(&self) -> f64 {
        1.5 * self.scale
    }

    fn standard_deviation(&self) -> f64 {
        2.0 * self.scale
    }

    /// ½c⁻²∫ y²/(1+y)·e^{−y} dy = e·E₁(1)/(2c²).
    fn fisher_information(&self) -> f64 {
        0.5 * E_E1 / (self.scale * self.scale)
    }

    fn scale(&self) -> f64 {
        self.scale
    }

    fn kinks(&self) -> &[f64] {
        &[0.0]
    }

    /// ln z is ln(1 + |x|/c) − |x|/c on either side, with second derivative −1/(c + |x|)².
    fn smoothness(&self, x: f64, radius: f64) -> Option<Smoothness> {
        let distance = self.scale + x.abs();
        let clear = distance - radius;
        let slope = x.abs() / distance / self.scale;
        (clear > 0.0).then(|| Smoothness { slope, curvature: (clear * clear).recip() })
    }

    fn log_ratio(&self, x: f64, tau: f64) -> f64 {
        self.kinked_log_ratio(x, tau)
    }

    fn log_moments(&self, tau: f64, out: &mut [f64]) {
        kinked_log_moments(self, tau, out);
    }
}

impl KinkedDensity for VarianceGamma {
    fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    fn fall(&self, y: f64) -> f64 {
        y - y.ln_1p()
    }

    /// t − ln(1 + share), as y·share plus share − ln(1 + share), which does not cancel near 0.
    fn rise(&self, y: f64, _fall: f64, t: f64, _fold: Option<f64>) -> f64 {
        let share = t / (1.0 + y);
        y * share - ln_1p_minus(share)
    }

    fn reach(&self, _k: f64, _t: f64) -> f64 {
        REACH
    }
}
