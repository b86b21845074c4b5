//! Generalised Gaussian (exponential power) noise: exponent 1 is Laplace, 2 normal, higher flatter.

use super::{
    Noise, NoiseError, Smoothness, check_scale,
    kinked::{FAR, KinkedDensity, Nodes, kinked_log_moments},
    signed,
};
use crate::numeric::{ln_gamma, unit_from_words};
use hushgrad_message::word;

/// |x/scale|^exponent below which one Taylor term of the distribution function is exact.
const SMALLEST: f64 = 1e-290;
/// First step of the quadrature, times the exponent; half of it mostly settles small shifts.
const COARSEST: f64 = 0.26;

/// Largest y^p/p with nodes: orders that reach further have ln I_k above 1e5.
const FURTHEST: f64 = 8e5;

/// t over the distance from t at which z·r^k, relative to z(0), is 1.
fn balance(exponent: f64, k: f64) -> f64 {
    ((k - 1.0).recip().ln_1p() / exponent).exp_m1()
}

/// Distance from 0 and t within which I_k − 1 is negligible: |ln r| ≤ pt·(y+t)^{p−1} (y = 0 between
/// them) is below 1e-9·pt, so I_k − 1, about p·t²·k(k−1)/2 or more, lacks at most
/// 1e-18·(pt)²·k(k−1)/2.
fn flat(exponent: f64, t: f64) -> f64 {
    (1e-9f64.powf((exponent - 1.0).recip()) - t).max(0.0)
}

/// Density ∝ exp(−|x/scale|^p), p ≥ 1.
///
/// ```
/// use hushgrad_accounting::noise::{GeneralizedGaussian, Noise};
///
/// let noise = GeneralizedGaussian::new(2.0, 2.0f64.sqrt())?;
/// // p = 2 is Gaussian with σ = scale/√2.
/// assert!((noise.standard_deviation() - 1.0).abs() < 1e-12);
/// # Ok::<(), hushgrad_accounting::noise::NoiseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct GeneralizedGaussian {
    exponent: f64,
    scale: f64,
    log_peak: f64,
    nodes: Nodes,
}

impl GeneralizedGaussian {
    /// Noise of exponent p and the given scale.
    ///
    /// # Errors
    /// Unless 1 ≤ p ≤ 100 (below, the density has a pole in its slope and is not log-concave;
    /// above, it is a box, which reveals shifts) and 1e-100 ≤ scale ≤ 1e100.
    pub fn new(exponent: f64, scale: f64) -> Result<Self, NoiseError> {
        check_scale(word!("generalised Gaussian"), "scale", scale)?;
        if !(1.0..=100.0).contains(&exponent) {
            let (family, range) = (word!("generalised Gaussian"), word!("1 to 100"));
            return Err(NoiseError::Parameter { family, field: "exponent", value: exponent, range });
        }
        let log_peak = exponent.ln() - (2.0 * scale).ln() - ln_gamma(exponent.recip());
        let reach = (FURTHEST * exponent).powf(exponent.recip());
        // Order 2 reaches further at larger shifts.
        let largest = reach * balance(exponent, 2.0);
        let nodes = Nodes::new(flat(exponent, largest), reach, COARSEST / exponent);
        Ok(Self { exponent, scale, log_peak, nodes })
    }

    /// The |x|/scale exceeded with probability u: |x/scale|^p is Gamma(1/p, 1), whose upper tail Q
    /// is log-convex (1/p ≤ 1), so Newton's method on ln Q − ln u rises to the root from any lower
    /// bound, such as that by P(y) ≤ y^a/Γ(a+1).
    fn magnitude(&self, u: f64) -> f64 {
        let a = self.exponent.recip();
        let log_power = ln_gamma(a + 1.0) + (-u).ln_1p();
        let mut y = (log_power / a).exp();
        if y < SMALLEST {
            return log_power.exp();
        }
        for _ in 0..60 {
            let tail = statrs::function::gamma::gamma_ur(a, y);
            // Q′/Q = −y^{a−1}e^{−y}/(Γ(a)·Q).
            let hazard = ((a - 1.0) * y.ln() - y - ln_gamma(a)).exp() / tail;
            let step = (tail / u).ln() / hazard;
            if !step.is_finite() || step <= 1e-15 * y {
                break;
            }
            y += step;
        }
        y.powf(a)
    }
}

impl Noise for GeneralizedGaussian {
    fn log_density(&self, x: f64) -> f64 {
        self.log_peak - (x / self.scale).abs().powf(self.exponent)
    }

    fn survival(&self, x: f64) -> f64 {
        let y = (x / self.scale).powf(self.exponent);
        match y {
            y if y.is_nan() => f64::NAN,
            // P(a, y) = y^a/Γ(a+1) there; y itself underflows for large exponents.
            y if y < SMALLEST => 0.5 * (1.0 - x / self.scale * (-ln_gamma(self.exponent.recip() + 1.0)).exp()),
            // Γ(a, y) ≤ y^{a−1}e^{−y} for a ≤ 1, which underflows.
            y if y > 740.0 => 0.0,
            y => 0.5 * statrs::function::gamma::gamma_ur(self.exponent.recip(), y),
        }
    }

    fn survival_quantile(&self, q: f64) -> f64 {
        if q < 1e-280 {
            return crate::numeric::invert_survival(q, self.scale, |x| self.survival(x));
        }
        self.scale * self.magnitude(2.0 * q)
    }

    fn draw(&self, [w0, w1, w2, _]: [u32; 4]) -> f64 {
        signed(self.scale * self.magnitude(unit_from_words(w0, w1)), w2)
    }

    fn mean_absolute(&self) -> f64 {
        self.scale * (ln_gamma(2.0 / self.exponent) - ln_gamma(1.0 / self.exponent)).exp()
    }

    fn standard_deviation(&self) -> f64 {
        self.scale * (0.5 * (ln_gamma(3.0 / self.exponent) - ln_gamma(1.0 / self.exponent))).exp()
    }

    /// p²·Γ(2 − 1/p)/Γ(1/p)/scale².
    fn fisher_information(&self) -> f64 {
        let p = self.exponent;
        (p / self.scale).powi(2) * (ln_gamma(2.0 - 1.0 / p) - ln_gamma(1.0 / p)).exp()
    }

    fn scale(&self) -> f64 {
        self.scale
    }

    fn kinks(&self) -> &[f64] {
        &[0.0]
    }

    /// (ln z)″ = −p(p−1)|x|^{p−2}/scale^p on either side: entire for integer p, else singular at 0.
    fn smoothness(&self, x: f64, radius: f64) -> Option<Smoothness> {
        let p = self.exponent;
        let (x, r) = (x.abs() / self.scale, radius / self.scale);
        let slope = p * x.powf(p - 1.0) / self.scale;
        let extreme = if p >= 2.0 { x + r } else { x - r };
        let analytic = p.fract() == 0.0 || r < x;
        // p(p−1) = 0 at p = 1, whatever the power.
        let second = if p == 1.0 { 0.0 } else { p * (p - 1.0) * extreme.powf(p - 2.0) };
        analytic.then(|| Smoothness { slope, curvature: second / (self.scale * self.scale) })
    }

    fn log_ratio(&self, x: f64, tau: f64) -> f64 {
        self.kinked_log_ratio(x, tau)
    }

    fn log_moments(&self, tau: f64, out: &mut [f64]) {
        // Two exponents have a closed form, used at a scale that is always valid.
        let t = tau / self.scale;
        if self.exponent == 1.0 {
            super::Laplace::new(1.0).expect("1 is a scale").log_moments(t, out);
        } else if self.exponent == 2.0 {
            super::Gaussian::new(std::f64::consts::FRAC_1_SQRT_2).expect("a constant").log_moments(t, out);
        } else {
            kinked_log_moments(self, tau, out);
        }
    }
}

impl KinkedDensity for GeneralizedGaussian {
    fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    fn fall(&self, y: f64) -> f64 {
        y.powf(self.exponent)
    }

    fn fold(&self, t: f64) -> Option<f64> {
        Some(t.powf(self.exponent))
    }

    fn rise(&self, y: f64, fall: f64, t: f64, fold: Option<f64>) -> f64 {
        let p = self.exponent;
        if t < 0.5 * y {
            return fall * (p * (t / y).ln_1p()).exp_m1();
        }
        // (y + t)^p by `ln_1p` and `exp`, which is far faster; a large p would lose digits.
        let far = match fold {
            Some(fold) if p <= 10.0 => fold * (p * (y / t).ln_1p()).exp(),
            _ => (y + t).powf(p),
        };
        far - fall
    }

    fn flat(&self, t: f64) -> f64 {
        flat(self.exponent, t)
    }

    /// ln(z·r^k) = −φ·y^p at a distance y, where φ = 1 − (k−1)·((1+t/y)^p − 1) rises from 0 to 1.
    /// Where φ·y^p ≥ 120, e_k ≤ k²/2·(ln r)²·max(1, r^k) is below the last digit of I_k − 1.
    fn reach(&self, k: f64, t: f64) -> f64 {
        let p = self.exponent;
        let gone = |y: &f64| y.powf(p) * (1.0 - (k - 1.0) * (p * (t / y).ln_1p()).exp_m1()) >= 120.0;
        let first = (t / balance(p, k)).max(120f64.powf(p.recip()));
        let growth = p.recip().exp();
        (1..20).map(|steps| first * growth.powi(steps)).find(gone).unwrap_or(f64::INFINITY)
    }

    /// The peak of z·r^k beyond t: (x/(x−t))^{p−1} = k/(k−1).
    fn peak(&self, k: f64, t: f64) -> Option<(f64, f64)> {
        let p = self.exponent;
        // y ≤ (p−1)·k·t, as ln(k/(k−1)) ≥ 1/k.
        if (p - 1.0) * k * t < FAR {
            return None;
        }
        let fold = (((k - 1.0).recip()).ln_1p() / (p - 1.0)).exp_m1();
        let y = t / fold;
        if y < FAR {
            return None;
        }
        // −(ln z r^k)″ = p(p−1)(k·y^{p−2} − (k−1)·x^{p−2}).
        let curvature = p * (p - 1.0) * (k * y.powf(p - 2.0) - (k - 1.0) * (y + t).powf(p - 2.0));
        // Not a number if the curvature overflows: no step resolves such a peak.
        Some((y, curvature.sqrt().recip()))
    }
}
