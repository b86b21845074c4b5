//! Releases on a power-of-two grid, so that low floating-point bits reveal nothing about the data.
//!
//! *The leak.* Floating-point numbers are unevenly spaced, so fl(s + Z) is often reachable from one
//! sum s and not from its neighbour: the last bits of one release can break the guarantee (Mironov
//! 2012, "On significance of the least significant bits for differential privacy"; for Gaussian
//! samplers Jin, McMurtry, Rubinstein & Ohrimenko 2022, "Are we there yet?").
//!
//! *The remedy.* Everything that depends on data is an integer number of grid steps g = 2^e:
//! 1. Each of the P encoded coordinates is rounded to the grid *before* the sum. Rounded towards
//!    zero, it stays in its clip or envelope, so the sensitivity does not grow. (Rounded to the
//!    nearest, without bias, the vector can move out by g·√P/2 in L2, and only noise scaled by
//!    1 + g·√P/(2·norm) would keep the noise multiplier.) Integer sums are exact in any order.
//! 2. The noise Z is rounded to the grid separately. For s on the grid, round(s + Z) = s + round(Z)
//!    with probability 1, so the release post-processes s + Z, and the analysis of real-valued Z
//!    holds.
//! 3. The computed noise Ẑ differs from Z, but not by way of the data. So it suffices to compare
//!    the probabilities p̂(k) and p(k) that Ẑ and Z, of density z, fall into the grid cell k.
//!    - *Bits.* Replace a sampler's real uniform numbers, one by one, by b-bit words. With the
//!      rest fixed, a grid cell is one or two intervals of this number (in which |Z|, the radius
//!      and each half of the cosine are monotone). An interval of length l holds l·2^b words, to
//!      within one, so each interval changes the cell's probability by at most 2^−b.
//!    - *Arithmetic.* If |Ẑ − Z| ≤ η for the same words, a cell gains or loses at most the mass
//!      within η of its ends: p(k)·(1 ± ρ) with ρ = (2η/g)·max z(x)/z(x + g + 2η) ≤
//!      (2η/g)·exp(S·(g + 2η)), S the steepest slope of ln z up to the end of the cutoff's cell.
//!    - *Tails.* Draws with |Z|, or the polar method's radius, above a cutoff count as lost: their
//!      probability is part of τ.
//!
//!    So, per draw, p̂ is within some total variation distance of a p̃ with p̃(k) = p(k)·(1 ± ρ).
//!    Let A sum ln((1 + ρ)/(1 − ρ)), and τ these distances, over all draws. Then (ε, δ) becomes
//!    (ε + A, e^A·δ + (1 + e^(ε + A))·τ).
//!
//! η grows with |Z| and must stay near 1e-12·g over a whole training run. So noise is made in f64,
//! and heavy tails, whose cutoffs are far out, are refused (Cauchy: all but a few draws).
//! Logarithm, exponential, cosine and tangent are assumed accurate to two units in the last place.
//! A sampler that inverts its distribution function numerically (generalised Gaussian, custom), or
//! takes the logarithm of a 32-bit number (variance gamma), has no known η and is refused.

use hushgrad_message::word;
use serde::{Deserialize, Serialize};

use super::{
    error::{PrivacyError, require},
    noise::{Noise, NoiseSpec},
};

pub use crate::noise::SamplerAccuracy;

/// The multiples of 2^exponent: rounds values to them, and prices a sampler's errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridRounding {
    exponent: i32,
}

/// The grid of a release, as a ledger states it: contributions are rounded towards zero and summed
/// exactly; each [`Noise::draw`] is rounded to the nearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Grid {
    /// The spacing is 2^exponent; −300 to 300.
    pub exponent: i32,
    /// Coordinates of a release, each with independent noise; 1 to 2^32.
    pub coordinates: u64,
}

impl Grid {
    /// Checks both fields.
    ///
    /// # Errors
    /// An exponent outside −300 to 300; no coordinates, or more than 2^32.
    pub fn validate(&self) -> Result<(), PrivacyError> {
        GridRounding::new(self.exponent)?;
        let possible = (1..=1 << 32).contains(&self.coordinates);
        require(possible, "grid.coordinates", self.coordinates as f64, word!("1 to 2^32"))
    }
}

/// Noise on a grid, as needed to price it.
#[derive(Debug)]
pub(super) struct OnGrid {
    noise: Box<dyn Noise>,
    grid: GridRounding,
    coordinates: u64,
}

impl OnGrid {
    /// Builds `noise` on `grid`.
    ///
    /// # Errors
    /// As [`Grid::validate`] and [`NoiseSpec::build`]; [`PrivacyError::Unpriced`] if the sampler
    /// has no known error bound.
    pub fn new(grid: Grid, noise: &NoiseSpec) -> Result<Self, PrivacyError> {
        grid.validate()?;
        let (noise, rounding) = (noise.build()?, GridRounding::new(grid.exponent)?);
        rounding.cost(noise.as_ref(), 0, 0, 0.5)?;
        Ok(Self { noise, grid: rounding, coordinates: grid.coordinates })
    }
}

/// The cost of inexact noise in all `releases`, each with its count, for an ε at `delta`. `exact`
/// gives the ε of real-valued noise at a δ. Cutoffs are such that the noise's tails use about a
/// thousandth of `delta`.
///
/// # Errors
/// Errors of `exact`; [`PrivacyError::Inexact`] if the cost has no bound.
pub(super) fn cost_of_all(
    releases: &[(&OnGrid, u64)],
    delta: f64,
    exact: impl FnOnce(f64) -> Result<f64, PrivacyError>,
) -> Result<RoundingCost, PrivacyError> {
    let failure = 1e-3 * delta / (1.0 + exact(0.5 * delta)?.exp()) / releases.len() as f64;
    let mut all = RoundingCost { loss: 0.0, total_variation: 0.0 };
    for (OnGrid { noise, grid, coordinates }, steps) in releases {
        let cost = grid.cost(noise.as_ref(), *coordinates, *steps, failure.max(f64::MIN_POSITIVE));
        let RoundingCost { loss, total_variation } = cost.map_err(|_| PrivacyError::Inexact)?;
        all.loss += loss;
        all.total_variation += total_variation;
    }
    Ok(all)
}

/// The cost of an inexact sampler over a whole training run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RoundingCost {
    /// Added to ε, in nats.
    pub loss: f64,
    /// τ, a total variation distance in [0, 1]: adds (1 + e^ε)·τ to δ, with ε including `loss`.
    pub total_variation: f64,
}

impl RoundingCost {
    /// (ε, δ) with inexact noise: ε + `loss`, and e^loss·δ + (1 + e^(ε + loss))·τ, at most 1.
    #[must_use]
    pub fn apply(&self, epsilon: f64, delta: f64) -> (f64, f64) {
        let epsilon = epsilon + self.loss;
        let delta = self.loss.exp() * delta + (1.0 + epsilon.exp()) * self.total_variation;
        (epsilon, delta.min(1.0))
    }

    /// ε with inexact noise at `delta`, from that of `exact` noise. Infinite if τ uses up δ.
    ///
    /// # Errors
    /// Errors of `exact`.
    pub fn epsilon_at(
        &self,
        delta: f64,
        exact: impl Fn(f64) -> Result<f64, PrivacyError>,
    ) -> Result<f64, PrivacyError> {
        // The δ of real-valued noise that becomes `delta` if the total ε is at most `epsilon`,
        // rounded down.
        let left =
            |epsilon: f64| (1.0 - 1e-12) * (delta - (1.0 + epsilon.exp()) * self.total_variation) / self.loss.exp();
        for share in [0.5, 0.1, 0.01] {
            let first = share * delta / self.loss.exp();
            if first < f64::MIN_POSITIVE {
                break;
            }
            let bound = exact(first)? + self.loss;
            let more = left(bound);
            // Also false for NaN.
            if more >= first {
                return Ok(bound.min(exact(more)? + self.loss));
            }
        }
        Ok(f64::INFINITY)
    }
}

impl GridRounding {
    /// The grid 2^`exponent`.
    ///
    /// # Errors
    /// An exponent outside −300 to 300.
    pub fn new(exponent: i32) -> Result<Self, PrivacyError> {
        require(
            (-300..=300).contains(&exponent),
            word!("grid exponent"),
            f64::from(exponent),
            word!("from -300 to 300"),
        )?;
        Ok(Self { exponent })
    }

    /// The coarsest grid whose spacing is at most 2^−`bits` noise scales. With ten bits, rounding
    /// adds less than 1e-7 squared noise scales to the variance.
    ///
    /// # Errors
    /// As [`GridRounding::new`].
    pub fn below(noise: &dyn Noise, bits: u32) -> Result<Self, PrivacyError> {
        let exponent = noise.scale().log2().floor();
        Self::new((exponent - f64::from(bits)).clamp(-1e6, 1e6) as i32)
    }

    /// log₂ of the spacing.
    #[must_use]
    pub fn exponent(&self) -> i32 {
        self.exponent
    }

    /// The spacing, 2^exponent.
    #[must_use]
    pub fn spacing(&self) -> f64 {
        2.0_f64.powi(self.exponent)
    }

    /// A coordinate in grid steps, rounded towards zero, so that it stays in its clip or envelope.
    /// `None` if not finite or beyond 2^53 steps.
    #[must_use]
    pub fn towards_zero(&self, coordinate: f64) -> Option<i64> {
        self.steps(coordinate, f64::trunc)
    }

    /// A coordinate or noise in grid steps, to the nearest; `None` as in [`Self::towards_zero`].
    #[must_use]
    pub fn nearest(&self, value: f64) -> Option<i64> {
        self.steps(value, f64::round)
    }

    fn steps(&self, value: f64, round: impl Fn(f64) -> f64) -> Option<i64> {
        // Scaling by a power of two is exact.
        let steps = round(value / self.spacing());
        (steps.abs() <= 9_007_199_254_740_992.0).then_some(steps as i64)
    }

    /// The released number: an exact integer sum plus rounded noise. `None` beyond 2^53 steps,
    /// which noise of a sensible scale never reaches.
    #[must_use]
    pub fn release(&self, sum: i64, noise: f64) -> Option<f64> {
        let total = sum.checked_add(self.nearest(noise)?)?;
        (total.unsigned_abs() <= 1 << 53).then(|| total as f64 * self.spacing())
    }

    /// The cost of [`Noise::draw`]'s inexactness over `steps` releases of `coordinates` numbers.
    /// `failure`, in (0, 1), is the part of τ for the noise's tails, which sets the cutoffs: 1e-10,
    /// say.
    ///
    /// # Errors
    /// [`PrivacyError::Unpriced`] without a known sampler error; as [`GridRounding::cost_of`].
    pub fn cost(
        &self,
        noise: &dyn Noise,
        coordinates: u64,
        steps: u64,
        failure: f64,
    ) -> Result<RoundingCost, PrivacyError> {
        let accuracy = noise.sampler_accuracy().ok_or(PrivacyError::Unpriced(
            word!("noise on a grid from a sampler without a known error bound: Gaussian, Student-t, Laplace and hyperbolic secant noise have one"),
        ))?;
        self.cost_of(noise, accuracy, coordinates, steps, failure)
    }

    /// As [`GridRounding::cost`], for a sampler of given accuracy.
    ///
    /// # Errors
    /// `failure` outside (0, 1); ρ of 0.01 or more: use a coarser grid, or noise of lighter tails.
    pub fn cost_of(
        &self,
        noise: &dyn Noise,
        accuracy: SamplerAccuracy,
        coordinates: u64,
        steps: u64,
        failure: f64,
    ) -> Result<RoundingCost, PrivacyError> {
        require(failure > 0.0 && failure < 1.0, "failure", failure, word!("strictly between 0 and 1"))?;
        let draws = coordinates as f64 * steps as f64;
        if draws == 0.0 {
            return Ok(RoundingCost { loss: 0.0, total_variation: 0.0 });
        }
        let spacing = self.spacing();
        // Tails below 1e-300 have no quantile.
        let failure = failure.max(draws * 28.0 * 1e-300);
        // The tail beyond each cutoff takes a quarter of `failure`; half covers quantile errors.
        let cutoff = noise.survival_quantile(failure / (8.0 * draws));
        // A cosine exceeds 0.9 with probability 0.1435: P(radius > r) < 7·P(z > 0.9·r).
        let radius = noise.survival_quantile(failure / (28.0 * draws)) / 0.9;
        let error = accuracy.error * (noise.scale() + radius);
        // The cutoff's cell, and draws whose error moves them into it, reach this far beyond.
        let reach = spacing + 2.0 * error;
        let relative = 2.0 * error / spacing * (steepest(noise, cutoff + reach) * reach).exp();
        let range = word!("below 0.01: use a coarser grid, or noise with lighter tails");
        require(relative < 0.01, word!("sampler error / grid step"), relative, range)?;
        let cells = 2.0 * cutoff / spacing + 3.0;
        let bits = cells * f64::from(accuracy.intervals) * 0.5_f64.powf(f64::from(accuracy.uniform_bits));
        Ok(RoundingCost {
            loss: draws * (relative.ln_1p() - (-relative).ln_1p()),
            total_variation: (failure + draws * bits).min(1.0),
        })
    }
}

/// An upper bound on |(ln z)′| on [0, `within`]. On each piece, it is the slope in the middle plus
/// half the length times the curvature. Infinite without [`Noise::smoothness`].
fn steepest(noise: &dyn Noise, within: f64) -> f64 {
    let mut kinks = noise.kinks().iter().copied().filter(|kink| *kink < within).peekable();
    let (mut low, mut steepest) = (0.0, 0.0f64);
    while low < within {
        while kinks.next_if(|kink| *kink <= low).is_some() {}
        let next = kinks.peek().copied().unwrap_or(within);
        let high = next.min(low + (noise.scale() + low) / 16.0);
        let (middle, half) = (0.5 * (low + high), 0.5 * (high - low));
        let Some(smoothness) = noise.smoothness(middle, half) else { return f64::INFINITY };
        steepest = steepest.max(smoothness.slope + half * smoothness.curvature);
        low = high;
    }
    steepest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{noise::NoiseSpec, normal};

    #[test]
    fn a_whole_training_costs_next_to_nothing_in_f64_and_is_refused_in_f32() {
        let noise = NoiseSpec::Gaussian { sigma: 1.1 }.build().unwrap();
        let grid = GridRounding::below(noise.as_ref(), 6).unwrap();
        let cost = grid.cost(noise.as_ref(), 26_010, 14_062, 1e-9).unwrap();
        assert!(cost.loss < 0.01, "{cost:?}");
        assert!(cost.total_variation < 1e-7, "{cost:?}");
        let (epsilon, delta) = cost.apply(2.38, 1e-5);
        assert!(epsilon > 2.38 && epsilon < 2.39 && delta > 1e-5 && delta < 1.2e-5);
        let single = SamplerAccuracy { error: 1e-6, uniform_bits: 24, intervals: 3 };
        let fine = GridRounding::below(noise.as_ref(), 20).unwrap();
        assert!(fine.cost_of(noise.as_ref(), single, 26_010, 14_062, 1e-9).is_err());
        let coarse = grid.cost_of(noise.as_ref(), single, 26_010, 14_062, 1e-9).unwrap();
        assert!(coarse.loss > 1e3, "f32 noise has no useful bound: {coarse:?}");
    }

    /// Against the exact Gaussian curve: δ at the returned ε is at most the requested δ.
    #[test]
    fn epsilon_with_inexact_noise_keeps_its_delta() {
        for (mu, delta) in [(0.3, 1e-5), (1.0, 1e-6), (3.0, 1e-5)] {
            let exact = |delta| Ok(normal::epsilon_gaussian(mu, delta));
            let ideal = normal::epsilon_gaussian(mu, delta);
            for (loss, total_variation) in [(0.0, 0.0), (0.01, 1e-12), (0.3, 1e-8), (1e-6, 1e-6)] {
                let cost = RoundingCost { loss, total_variation };
                let epsilon = cost.epsilon_at(delta, exact).unwrap();
                if epsilon.is_finite() {
                    let (_, spent) = cost.apply(epsilon - loss, normal::ln_delta_gaussian(mu, epsilon - loss).exp());
                    assert!(spent <= delta && epsilon >= ideal, "{mu} {cost:?}: {epsilon} {spent}");
                    assert!(epsilon < 1.2 * ideal + loss, "{mu} {cost:?}: {epsilon}, ideally {ideal}");
                } else {
                    assert!((1.0 + (ideal + loss).exp()) * total_variation > 0.5 * delta, "{mu} {cost:?}");
                }
            }
        }
        let hopeless = RoundingCost { loss: 0.0, total_variation: 1e-3 };
        assert_eq!(hopeless.epsilon_at(1e-5, |_| Ok(1.0)), Ok(f64::INFINITY));
    }

    /// Each family has a price or a typed refusal. Errors relative to |z| rule out far cutoffs.
    #[test]
    fn a_family_without_a_bound_has_no_price() {
        let cost = |spec: &NoiseSpec, steps, failure| {
            let noise = spec.build().unwrap();
            GridRounding::below(noise.as_ref(), 6).unwrap().cost(noise.as_ref(), 26_010, steps, failure)
        };
        for spec in [
            NoiseSpec::Gaussian { sigma: 1.1 },
            NoiseSpec::StudentT { nu: 9.0, scale: 1.0 },
            NoiseSpec::Laplace { scale: 0.7 },
            NoiseSpec::HyperbolicSecant { scale: 1.2 },
        ] {
            let cost = cost(&spec, 14_062, 1e-9).unwrap();
            assert!(cost.loss < 1.0 && cost.total_variation < 1e-5, "{spec:?}: {cost:?}");
        }
        // Its cutoff is 2e17 scales, where neighbouring f64 are whole scales apart.
        let cauchy = NoiseSpec::Cauchy { scale: 1.0 };
        assert!(matches!(cost(&cauchy, 14_062, 1e-9), Err(PrivacyError::Parameter { .. })));
        assert!(cost(&cauchy, 1, 0.01).is_ok());
        let density = crate::noise::CustomDensity::from_formula("exp(-abs(x)^3)").unwrap();
        for spec in [
            NoiseSpec::VarianceGamma { scale: 0.5 },
            NoiseSpec::GeneralizedGaussian { exponent: 2.5, scale: 1.0 },
            NoiseSpec::Custom { density, scale: 1.0 },
        ] {
            assert!(matches!(cost(&spec, 1, 0.01), Err(PrivacyError::Unpriced(_))), "{spec:?}");
        }
    }

    /// `uniform_bits: 64` requires that uniform numbers above ½ are not rounded to f64's 53 bits,
    /// and that the angle uses two words.
    #[test]
    fn samplers_use_all_their_bits() {
        let laplace = NoiseSpec::Laplace { scale: 1.0 }.build().unwrap();
        let next_to_zero = laplace.draw([u32::MAX, u32::MAX - 4, 0, 0]);
        assert!((next_to_zero / (4.5 * 2f64.powi(-64)) - 1.0).abs() < 1e-14, "{next_to_zero:e}");
        for spec in [NoiseSpec::Gaussian { sigma: 1.0 }, NoiseSpec::StudentT { nu: 5.0, scale: 1.0 }] {
            let noise = spec.build().unwrap();
            let at = |w2, w3| noise.draw([0, 0, w2, w3]);
            // The first word's interval of the angle meets the next one.
            let (low, high, next) = (at(0x1234_5678, 0), at(0x1234_5678, u32::MAX), at(0x1234_5679, 0));
            assert!(low > high && (high - next).abs() < 1e-6 * (low - high), "{spec:?}: {low} {high} {next}");
        }
    }

    /// The slope bound covers the density's fall over any cell.
    #[test]
    fn no_slope_is_above_the_steepest() {
        for spec in [
            NoiseSpec::Gaussian { sigma: 1.1 },
            NoiseSpec::StudentT { nu: 3.0, scale: 0.5 },
            NoiseSpec::Cauchy { scale: 2.0 },
            NoiseSpec::HyperbolicSecant { scale: 1.2 },
            NoiseSpec::VarianceGamma { scale: 0.7 },
        ] {
            let noise = spec.build().unwrap();
            let bound = steepest(noise.as_ref(), 8.0);
            let slope = |x: f64| (noise.log_density(x) - noise.log_density(x + 1e-4)) / 1e-4;
            let most = (0..79_000).map(|i| slope(f64::from(i) * 1e-4)).fold(0.0, f64::max);
            assert!(most <= bound && bound <= 1.2 * most, "{spec:?}: {most} {bound}");
        }
    }

    /// For sums on the grid, rounding the noise is rounding the noisy sum.
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

        /// The cost covers a sampler whose draws are shifted by at most η.
        #[test]
        fn the_charge_covers_a_shifted_sampler(shift in -1e-6_f64..1e-6) {
            let noise = NoiseSpec::StudentT { nu: 5.0, scale: 1.0 }.build().unwrap();
            let grid = GridRounding::new(-4).unwrap();
            let accuracy = SamplerAccuracy { error: 1e-6, uniform_bits: 64, intervals: 1 };
            let cost = grid.cost_of(noise.as_ref(), accuracy, 1, 1, 1e-3).unwrap();
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
