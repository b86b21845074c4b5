//! Releases on a power-of-two grid, so that the low bits of floating-point numbers say nothing about the data.
//!
//! *The leak.* Floating-point numbers are unevenly spaced, so fl(s + z) can often be reached from one sum s and not from its neighbour:
//! the last bits of one released number can break the guarantee (Mironov 2012, "On significance of the least significant bits for differential
//! privacy"; for Gaussian samplers Jin, McMurtry, Rubinstein & Ohrimenko 2022, "Are we there yet?").
//!
//! *The remedy.* Everything that depends on data is an integer number of grid steps g = 2^e:
//! 1. Each example's encoded coordinate is brought to the grid *before* the sum. Towards zero it stays inside its clip or envelope, so the sensitivity
//!    does not grow. To the nearest (unbiased) it can move out by g/2 a coordinate, g·√P/2 in L2: [`GridRounding::scale_factor`] is by how much the
//!    noise must grow to keep the noise multiplier. Integer sums are exact in any order.
//! 2. The noise is rounded to the grid by itself. For s on the grid, round(s + Z) = s + round(Z) exactly, so the release is post-processing of
//!    s + Z: rounding costs nothing, and the analysis for continuous Z holds.
//! 3. What remains is that the computed noise ẑ is not quite Z. It does not depend on data, so only its rounded distribution p̂ against p counts.
//!    If |ẑ − Z| ≤ η, a grid cell gains or loses at most what lies within η of its two ends: p̂(k) = p(k)·(1 ± ρ), ρ ≤ (2η/g)·max z(x)/z(x + g + η)
//!    over |x| ≤ c. That is a loss of at most ln((1+ρ)/(1−ρ)) a coordinate and step, on top of ε. Beyond c, and for the uniform number's finite bits,
//!    which shift each cell's end by at most 2^−bits of probability, the total variation distance τ is counted: δ grows by (1 + e^ε)·τ.
//!
//! η/g must be around 1e-12 for a whole training, so the noise has to be made in f64; f32 noise on a GPU cannot be accounted for this way.

use super::{
    error::{PrivacyError, require},
    noise::Noise,
};

/// A grid of spacing 2^exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridRounding {
    exponent: i32,
}

/// How well a sampler computes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplerAccuracy {
    /// η over the noise's scale, for |z| up to the cutoff: rounding of logarithm, cosine, product.
    pub error: f64,
    /// Bits of the uniform number that is transformed.
    pub uniform_bits: u32,
}

impl SamplerAccuracy {
    /// The samplers of [`super::noise`]: f64, 64-bit uniform numbers, a few correctly rounded operations on values below 40 scales.
    pub const F64: Self = Self { error: 8.0 * 40.0 * f64::EPSILON, uniform_bits: 64 };
}

/// What an inexact sampler costs over a whole training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundingCost {
    /// Added to ε.
    pub loss: f64,
    /// τ: δ grows by (1 + e^ε)·τ.
    pub total_variation: f64,
}

impl RoundingCost {
    /// (ε, δ) of what really runs, from that of the exact mechanism.
    #[must_use]
    pub fn apply(&self, epsilon: f64, delta: f64) -> (f64, f64) {
        let epsilon = epsilon + self.loss;
        (epsilon, (delta + (1.0 + epsilon.exp()) * self.total_variation).min(1.0))
    }
}

impl GridRounding {
    /// The grid 2^`exponent`.
    ///
    /// # Errors
    /// An exponent outside −300 to 300.
    pub fn new(exponent: i32) -> Result<Self, PrivacyError> {
        require((-300..=300).contains(&exponent), "grid exponent", f64::from(exponent), "from -300 to 300")?;
        Ok(Self { exponent })
    }

    /// The coarsest grid of at most 2^−`bits` noise scales. Ten bits add less than 1e-7 to the noise's variance.
    ///
    /// # Errors
    /// As [`GridRounding::new`].
    pub fn below(noise: &dyn Noise, bits: u32) -> Result<Self, PrivacyError> {
        let exponent = noise.scale().log2().floor();
        Self::new((exponent - f64::from(bits)).clamp(-1e6, 1e6) as i32)
    }

    /// g.
    #[must_use]
    pub fn spacing(&self) -> f64 {
        2.0_f64.powi(self.exponent)
    }

    /// Grid steps in a coordinate, towards zero: never out of its clip or envelope. `None` if not finite or beyond 2^53 steps.
    #[must_use]
    pub fn towards_zero(&self, coordinate: f64) -> Option<i64> {
        self.steps(coordinate, f64::trunc)
    }

    /// Grid steps in a coordinate or in noise, to the nearest. `None` if not finite or beyond 2^53 steps.
    #[must_use]
    pub fn nearest(&self, value: f64) -> Option<i64> {
        self.steps(value, f64::round)
    }

    fn steps(&self, value: f64, round: impl Fn(f64) -> f64) -> Option<i64> {
        // Scaling by a power of two is exact.
        let steps = round(value / self.spacing());
        (steps.abs() <= 9_007_199_254_740_992.0).then_some(steps as i64)
    }

    /// The released number: an exact integer sum and the noise, rounded to the grid. `None` where the steps exceed 2^53, which for noise of any
    /// sensible scale means that something broke.
    #[must_use]
    pub fn release(&self, sum: i64, noise: f64) -> Option<f64> {
        let total = sum.checked_add(self.nearest(noise)?)?;
        (total.unsigned_abs() <= 1 << 53).then(|| total as f64 * self.spacing())
    }

    /// By how much the noise's scale must grow if contributions are rounded to the *nearest* grid point, so that noise multiplier stays
    /// what it was: 1 + g·√P/(2·norm). Towards zero it is 1.
    #[must_use]
    pub fn scale_factor(&self, norm: f64, coordinates: u64) -> f64 {
        1.0 + 0.5 * self.spacing() * (coordinates as f64).sqrt() / norm
    }

    /// What the sampler's inexactness costs over `steps` releases of `coordinates` numbers. `failure` is the part of τ that may lie in
    /// the noise's tails, beyond the cutoff (1e-10, say).
    ///
    /// # Errors
    /// `failure` outside (0, 1), or an error so large against the grid that no bound holds: take a coarser grid.
    pub fn cost(
        &self,
        noise: &dyn Noise,
        accuracy: SamplerAccuracy,
        coordinates: u64,
        steps: u64,
        failure: f64,
    ) -> Result<RoundingCost, PrivacyError> {
        require(failure > 0.0 && failure < 1.0, "failure", failure, "strictly between 0 and 1")?;
        let draws = coordinates as f64 * steps as f64;
        if draws == 0.0 {
            return Ok(RoundingCost { loss: 0.0, total_variation: 0.0 });
        }
        let spacing = self.spacing();
        let error = accuracy.error * noise.scale();
        let cutoff = noise.tail_quantile((0.5 * failure / draws).max(1e-300));
        // The steepest fall of ln z over a widened cell: at the cutoff, at a kink, or where a heavy tail bends. Looked for on a grid.
        let reach = spacing + error;
        let steepest = (0..=2048)
            .map(|i| cutoff * f64::from(i) / 2048.0)
            .chain((0..=512).map(|i| noise.scale() * f64::from(i) / 64.0))
            .filter(|x| *x <= cutoff)
            .map(|x| noise.log_density(x) - noise.log_density(x + reach))
            .fold(0.0, f64::max);
        let relative = 2.0 * error / spacing * (1.01 * steepest).exp();
        require(relative < 0.01, "sampler error over grid", relative, "below 0.01: take a coarser grid")?;
        let cells = 2.0 * cutoff / spacing + 2.0;
        Ok(RoundingCost {
            loss: draws * (relative.ln_1p() - (-relative).ln_1p()),
            total_variation: (failure + draws * cells * 0.5_f64.powf(f64::from(accuracy.uniform_bits))).min(1.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::privacy::noise::NoiseSpec;

    #[test]
    fn a_whole_training_costs_next_to_nothing_in_f64_and_is_refused_in_f32() {
        let noise = NoiseSpec::Gaussian { sigma: 1.1 }.build().unwrap();
        let grid = GridRounding::below(noise.as_ref(), 6).unwrap();
        let cost = grid.cost(noise.as_ref(), SamplerAccuracy::F64, 26_010, 14_062, 1e-9).unwrap();
        assert!(cost.loss < 0.01, "{cost:?}");
        assert!(cost.total_variation < 1e-7, "{cost:?}");
        let (epsilon, delta) = cost.apply(2.38, 1e-5);
        assert!(epsilon > 2.38 && epsilon < 2.39 && delta > 1e-5 && delta < 1.2e-5);
        let single = SamplerAccuracy { error: 1e-6, uniform_bits: 24 };
        let fine = GridRounding::below(noise.as_ref(), 20).unwrap();
        assert!(fine.cost(noise.as_ref(), single, 26_010, 14_062, 1e-9).is_err());
        let coarse = grid.cost(noise.as_ref(), single, 26_010, 14_062, 1e-9).unwrap();
        assert!(coarse.loss > 1e3, "f32 noise has no useful bound: {coarse:?}");
    }

    /// The heart of the argument: for sums on the grid, rounding the noise is rounding the noisy sum.
    #[test]
    fn rounding_commutes_with_sums_on_the_grid() {
        let grid = GridRounding::new(-7).unwrap();
        let g = grid.spacing();
        for sum in [-1000_i64, -1, 0, 3, 12_345] {
            for i in -500..500 {
                let z = f64::from(i) * 0.0131 + 0.000_3;
                assert_eq!(grid.release(sum, z).unwrap(), ((sum as f64 * g + z) / g).round() * g);
            }
        }
        assert_eq!(grid.release(0, f64::NAN), None);
        assert_eq!(grid.release(1 << 53, 1.0), None);
        assert_eq!(grid.release(i64::MAX, 1.0), None);
        assert!(GridRounding::new(500).is_err());
    }

    proptest! {
        #[test]
        fn contributions_keep_their_bounds(x in -10.0_f64..10.0, exponent in -20..3_i32) {
            let grid = GridRounding::new(exponent).unwrap();
            let kept = grid.towards_zero(x).unwrap() as f64 * grid.spacing();
            prop_assert!(kept.abs() <= x.abs() && (kept - x).abs() < grid.spacing());
            let near = grid.nearest(x).unwrap() as f64 * grid.spacing();
            prop_assert!((near - x).abs() <= 0.5 * grid.spacing());
        }

        /// A sampler that is off by a known shift of at most η: the rounded distribution changes by no more than is charged.
        #[test]
        fn the_charge_covers_a_shifted_sampler(shift in -1e-4_f64..1e-4) {
            let noise = NoiseSpec::StudentT { nu: 5.0, scale: 1.0 }.build().unwrap();
            let grid = GridRounding::new(-4).unwrap();
            let cost = grid.cost(noise.as_ref(), SamplerAccuracy { error: 1e-4, uniform_bits: 64 }, 1, 1, 1e-3).unwrap();
            let g = grid.spacing();
            for k in -64..=64 {
                let (low, high) = ((f64::from(k) - 0.5) * g, (f64::from(k) + 0.5) * g);
                let exact = noise.cdf(high) - noise.cdf(low);
                let shifted = noise.cdf(high - shift) - noise.cdf(low - shift);
                prop_assert!((shifted / exact).ln().abs() <= cost.loss, "{k}");
            }
        }
    }
}
