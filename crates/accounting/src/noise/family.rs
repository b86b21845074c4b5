//! What every noise family is: [`Noise`], and the checks that families share.

use std::fmt::Debug;

use rand::rand_core::Rng;

/// A noise that cannot be used, and why.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NoiseError {
    /// A parameter outside its range. Correct the field that is named.
    #[error("{family} noise: {field} is {}; it must be {range}", crate::decimal::quoted(*.value))]
    Parameter {
        /// Which family.
        family: &'static str,
        /// Which parameter.
        field: &'static str,
        /// What it was.
        value: f64,
        /// What it must be, in words.
        range: &'static str,
    },
}

/// How far ln z is from a straight line: what bounds the error of a quadrature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Smoothness {
    /// |(ln z)′(x)|.
    pub slope: f64,
    /// At least |(ln z)″| everywhere on a complex disc around x.
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

    /// x with P(X ≤ x) = p; ∓∞ at 0 and 1, NaN outside [0, 1].
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

    /// One draw from four uniform 32-bit words (a contract: whoever draws elsewhere, in f32 say, makes the same noise of the same words).
    fn draw(&self, words: [u32; 4]) -> f64;

    /// How far [`Noise::draw`] may be off, where a bound is known.
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

    /// E[(ln z)′²]: what a small shift shows. 1/√ of it is the Gaussian σ of equal small-shift privacy.
    fn fisher_information(&self) -> f64;

    /// The length by which the family scales: z is a function of x/scale alone.
    fn scale(&self) -> f64;

    /// x ≥ 0 where the density is not smooth, in order.
    fn kinks(&self) -> &[f64] {
        &[]
    }

    /// Slope and curvature of ln z on the disc of `radius` around x, on which the formula that holds at x goes on, over kinks too. `None` where it is
    /// not analytic there.
    fn smoothness(&self, x: f64, radius: f64) -> Option<Smoothness>;

    /// ln z(x − τ) − ln z(x), without cancellation for small τ: the privacy loss of a shift by τ where x comes out
    fn log_ratio(&self, x: f64, tau: f64) -> f64;

    /// ln I_k(τ) = ln E_{x∼Z}[(z(x−τ)/z(x))^k] for k = 2, 3, …, `out.len() + 1`: `out[j]` is order j + 2.
    /// From above: closed forms, or quadrature with its error added, which for Student-t, variance gamma and generalised Gaussian noise is an estimate
    /// (see the crate's assumptions). +∞ where the moment exceeds what logarithms hold.
    ///
    /// Even and increasing in |τ| for symmetric unimodal densities, so a bound on |gradient| bounds it.
    /// Nasr, Shokri & Houmansadr 2020, eq. 5.
    fn log_moments(&self, tau: f64, out: &mut [f64]);

    /// For each k = 2, …, `orders` + 1, a proven upper bound on `norm`²·ln I_k(τ)/τ² over all 0 < τ ≤ `reach`. `None` for smooth densities, of
    /// which a few shifts τ show the supremum; a table's narrow steps may lie between any few.
    fn l2_ceiling(&self, _norm: f64, _reach: f64, _orders: usize) -> Option<Vec<f64>> {
        None
    }

    /// A bound on how far ln I_k(τ)/τ² exceeds its limit at τ → 0, relative to it, for shifts τ below `_shift` and k up to `orders` + 1. It is 0
    /// for smooth densities; a table's steps that are narrower than `_shift` do not show at larger shifts.
    fn hidden_below(&self, _shift: f64, _orders: usize) -> f64 {
        0.0
    }

    /// For each k = 2, …, `orders` + 1, a proven bound on how far `unit`²·ln I_k(τ)/τ² exceeds a given function of τ on `range`. `floor` gives, for
    /// any part of the range, a lower bound on that function for each k. Asked where [`Noise::hidden_below`] is not negligible.
    fn excess_over(
        &self,
        _range: (f64, f64),
        _unit: f64,
        orders: usize,
        _floor: &dyn Fn(f64, f64) -> Vec<f64>,
    ) -> Vec<f64> {
        vec![0.0; orders]
    }

    /// ln I_k(τ) at one k (0 and 1 give 0), as [`Noise::log_moments`].
    fn log_moment(&self, k: u32, tau: f64) -> f64 {
        if k < 2 {
            return 0.0;
        }
        let mut out = vec![0.0; k as usize - 1];
        self.log_moments(tau, &mut out);
        out[k as usize - 2]
    }

    /// `Some(σ)` if this is the normal distribution: then everything has a closed form, also at fractional orders.
    fn gaussian_sigma(&self) -> Option<f64> {
        None
    }
}

/// How far a sampler may be from its distribution: the error of its arithmetic, and the bits of its uniform numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplerAccuracy {
    /// |ẑ − z| over the noise's scale plus the largest length on the way: |z|, or the radius of which z is a cosine.
    pub error: f64,
    /// Bits of each uniform number.
    pub uniform_bits: u32,
    /// How many intervals of uniform numbers give one grid cell, at most, summed over the numbers of a draw.
    pub intervals: u32,
}

/// A length that must be positive, finite and far enough from the ends of f64 that its square is, too.
pub(crate) fn check_scale(family: &'static str, field: &'static str, value: f64) -> Result<(), NoiseError> {
    if value.is_finite() && (1e-100..=1e100).contains(&value) {
        Ok(())
    } else {
        Err(NoiseError::Parameter { family, field, value, range: "a finite number above 0 (1e-100 to 1e100)" })
    }
}

/// `magnitude`, negative where the top bit of `bits` is set.
pub(crate) fn signed(magnitude: f64, bits: u32) -> f64 {
    if bits >> 31 == 1 { -magnitude } else { magnitude }
}
