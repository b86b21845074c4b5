//! The [`Noise`] trait, and the checks that families share.

use std::fmt::Debug;

use hushgrad_message::word;
use rand::rand_core::Rng;

/// Why a noise cannot be used.
#[derive(Clone, Debug, PartialEq, hushgrad_message::Error)]
pub enum NoiseError {
    /// A parameter outside its range. Correct the named field.
    #[error("{family} noise: {field} is {}; it must be {range}", crate::decimal::quoted(*.value))]
    Parameter {
        /// The noise family.
        family: &'static str,
        /// The parameter.
        field: &'static str,
        /// Its value.
        value: f64,
        /// Its range, in words.
        range: &'static str,
    },
}

/// Derivatives of ln z, which bound the error of a quadrature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Smoothness {
    /// |(ln z)′(x)|.
    pub slope: f64,
    /// Upper bound on |(ln z)″| on a complex disc around x.
    pub curvature: f64,
}

/// A symmetric unimodal noise. Lengths are in the units of the sum of encoded gradients.
pub trait Noise: Debug + Send + Sync {
    /// ln z(x).
    fn log_density(&self, x: f64) -> f64;

    /// z(x).
    fn density(&self, x: f64) -> f64 {
        self.log_density(x).exp()
    }

    /// P(X > x) for x ≥ 0, to full relative accuracy.
    fn survival(&self, x: f64) -> f64;

    /// P(X ≤ x).
    fn cdf(&self, x: f64) -> f64 {
        if x < 0.0 { self.survival(-x) } else { 1.0 - self.survival(x) }
    }

    /// x > 0 with P(X > x) = q, for q in (0, ½].
    fn survival_quantile(&self, q: f64) -> f64 {
        crate::numeric::invert_survival(q, self.scale(), |x| self.survival(x))
    }

    /// x with P(X ≤ x) = p: ∓∞ at 0 and 1, NaN outside [0, 1].
    fn quantile(&self, p: f64) -> f64 {
        match p {
            p if !(0.0..=1.0).contains(&p) => f64::NAN,
            0.0 => f64::NEG_INFINITY,
            1.0 => f64::INFINITY,
            0.5 => 0.0,
            p if p < 0.5 => -self.survival_quantile(p),
            p => self.survival_quantile(1.0 - p),
        }
    }

    /// One draw from four uniform 32-bit words. The mapping is a contract: an implementation
    /// elsewhere (in f32, say) makes the same noise from the same words.
    fn draw(&self, words: [u32; 4]) -> f64;

    /// Error bounds of [`Noise::draw`], where known.
    fn sampler_accuracy(&self) -> Option<SamplerAccuracy> {
        None
    }

    /// One draw. Private only if `rng` is.
    fn sample(&self, rng: &mut dyn Rng) -> f64 {
        self.draw([rng.next_u32(), rng.next_u32(), rng.next_u32(), rng.next_u32()])
    }

    /// E|X|; infinite for Cauchy.
    fn mean_absolute(&self) -> f64;

    /// √Var X; infinite where the variance is.
    fn standard_deviation(&self) -> f64;

    /// Fisher information J = E[(ln z)′²]. For small shifts, Gaussian σ = 1/√J is equally private.
    fn fisher_information(&self) -> f64;

    /// The family's scale: z depends on x/scale alone.
    fn scale(&self) -> f64;

    /// The x ≥ 0 where the density is not smooth, ascending.
    fn kinks(&self) -> &[f64] {
        &[]
    }

    /// Slope and curvature of ln z on the complex disc of `radius` around x, continuing the formula
    /// valid at x past kinks. `None` if not analytic there.
    fn smoothness(&self, x: f64, radius: f64) -> Option<Smoothness>;

    /// ln z(x − τ) − ln z(x), the privacy loss of a shift by τ, without cancellation for small τ.
    fn log_ratio(&self, x: f64, tau: f64) -> f64;

    /// Fills `out[j]` with order k = j + 2 of ln I_k(τ) = ln E_{x∼Z}[(z(x−τ)/z(x))^k]. An upper
    /// bound: a closed form, or quadrature with its error added, which is an estimate for
    /// Student-t, variance gamma and generalised Gaussian noise (see the crate's assumptions). +∞
    /// where the moment exceeds what logarithms hold. Nasr, Shokri & Houmansadr 2020, eq. 5.
    ///
    /// Even and increasing in |τ|, so a bound on |gradient| bounds it.
    fn log_moments(&self, tau: f64, out: &mut [f64]);

    /// For k = 2, …, `orders` + 1, a proven upper bound on `norm`²·ln I_k(τ)/τ² over 0 < τ ≤
    /// `reach`. `None` for smooth densities: a few shifts show their supremum, but not a table's.
    fn l2_ceiling(&self, _norm: f64, _reach: f64, _orders: usize) -> Option<Vec<f64>> {
        None
    }

    /// A bound on the relative excess of ln I_k(τ)/τ² over its limit at τ → 0, for τ below `_shift`
    /// and k up to `orders` + 1: 0 for smooth densities, not for tables with narrower steps.
    fn hidden_below(&self, _shift: f64, _orders: usize) -> f64 {
        0.0
    }

    /// For k = 2, …, `orders` + 1, a proven bound on the excess of `unit`²·ln I_k(τ)/τ² over a
    /// function of τ on `range`, of which `floor` returns lower bounds on parts of the range.
    /// Needed where [`Noise::hidden_below`] is not negligible.
    fn excess_over(
        &self,
        _range: (f64, f64),
        _unit: f64,
        orders: usize,
        _floor: &dyn Fn(f64, f64) -> Vec<f64>,
    ) -> Vec<f64> {
        vec![0.0; orders]
    }

    /// ln I_k(τ) at a single k (0 for k of 0 and 1), as [`Noise::log_moments`].
    fn log_moment(&self, k: u32, tau: f64) -> f64 {
        if k < 2 {
            return 0.0;
        }
        let mut out = vec![0.0; k as usize - 1];
        self.log_moments(tau, &mut out);
        out[k as usize - 2]
    }

    /// `Some(σ)` for the normal distribution, which has closed forms at fractional orders too.
    fn gaussian_sigma(&self) -> Option<f64> {
        None
    }
}

/// Error bounds of a sampler: of its arithmetic, and from the finite bits of its uniform numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplerAccuracy {
    /// Bound on |ẑ − z| over the scale plus |z| (or plus the radius, where z is a radius·cosine).
    pub error: f64,
    /// Bits of each uniform number.
    pub uniform_bits: u32,
    /// Most intervals of uniform numbers per grid cell, summed over the numbers of a draw.
    pub intervals: u32,
}

/// Checks that a length is positive, finite and far enough from the ends of f64 to be squared.
pub(crate) fn check_scale(family: &'static str, field: &'static str, value: f64) -> Result<(), NoiseError> {
    if value.is_finite() && (1e-100..=1e100).contains(&value) {
        Ok(())
    } else {
        Err(NoiseError::Parameter { family, field, value, range: word!("a finite number above 0 (1e-100 to 1e100)") })
    }
}

/// `magnitude`, negated if the top bit of `bits` is set.
pub(crate) fn signed(magnitude: f64, bits: u32) -> f64 {
    if bits >> 31 == 1 { -magnitude } else { magnitude }
}
