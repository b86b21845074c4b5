//! The grid of encoded coordinates, on which sums over examples are exact in any order. Otherwise a
//! sum in f32 rounds after every addition, depending on all earlier ones: one more example can move
//! a sum of 60,000 by three times its clip. So each encoded coordinate is first rounded on its own
//! to a multiple of a step g. Multiples of g have exact sums in f32 below 2^24·g and in f64 below
//! 2^53·g, and an example changes a sum by exactly its rounded gradient.
//!
//! **Step.** g is the least power of two with [`SLOT`]·B ≤ 2^22·g, where B bounds every encoded
//! coordinate: the clip norm C, or the largest entry of Ψ. So 2^−16·B ≤ g < 2^−15·B.
//!
//! **Clip.** v is scaled to at most C′ = C·(1 − [`CLIP_MARGIN`]) − √P·g/2
//! ([`SumGrid::clip_target`]) and rounded to r. Then ‖r‖ ≤ ‖v‖ + ‖r − v‖ ≤ C′·(1 + e) + √P·g/2 ≤ C,
//! where the relative error e of an engine's norm and products is below the margin. As g < 2^−15·C,
//! C′ > 0.99·C up to P = 400,000 parameters.
//!
//! **Envelope.** A magnitude is rounded to the nearest multiple of g, or down if that exceeds its
//! bound ψ, so |r| ≤ ψ. Every order within a bucket stays inside the envelope.
//!
//! **Sums in f32 start at M = 1.5·2^23·g** ([`SumGrid::base`]). The f32 numbers in [2^23·g, 2^24·g]
//! are the multiples of g. [`SLOT`] rounded coordinates move M by at most SLOT·B ≤ 2^22·g, so the
//! sum stays in that range. Adding therefore rounds the addend to a multiple of g: M + r is exact,
//! and fma(a, b, M + r) = M + r + round(a·b). (Unrounded addends stay in range too: a clip's is at
//! most C′ ≤ B − g/2; an envelope's is rounded first.) The exception is a tie, which rounds to the
//! even sum and so depends on it. Engines that add unrounded numbers avoid ties by setting the last
//! significand bit of a (or of a sum rounded to f32). The exact product's lowest bit is then at
//! most 2^−23·|a·b| ≤ 2^−23·B, far below g/2, so it is not an odd multiple of g/2.

/// Number of encoded gradients whose f32 sum is exact.
pub const SLOT: usize = 64;

pub use crate::accounting::groups::CLIP_MARGIN;

/// The grid of encoded coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SumGrid {
    step: f32,
}

impl SumGrid {
    /// Returns the grid for magnitudes of at most `bound`, which is clamped to [1e-9, 1e9].
    #[must_use]
    pub fn of(bound: f64) -> Self {
        // Exact: both factors are powers of two.
        let least = bound.clamp(1e-9, 1e9) * (SLOT as f64 / f64::from(1 << 22));
        let mut step = 2f64.powi(-64);
        while step < least {
            step *= 2.0;
        }
        Self { step: step as f32 }
    }

    /// Returns g, a power of two.
    #[must_use]
    pub fn step(self) -> f32 {
        self.step
    }

    /// Returns M = 1.5·2^23·g, at which sums in f32 start.
    #[must_use]
    pub fn base(self) -> f32 {
        12_582_912.0 * self.step
    }

    /// Rounds a coordinate within the bound to the nearest multiple of g, ties to even.
    #[must_use]
    pub fn round(self, coordinate: f32) -> f32 {
        (coordinate + self.base()) - self.base()
    }

    /// Rounds an envelope coordinate to the nearest multiple of g within ±`bound`, `bound` ≥ 0.
    #[must_use]
    pub fn clamp(self, coordinate: f32, bound: f32) -> f32 {
        let nearest = self.round(coordinate.abs().min(bound));
        let inside = if nearest > bound { nearest - self.step } else { nearest };
        inside.copysign(coordinate)
    }

    /// Returns C′, the norm to clip to so that `parameters` rounded coordinates stay within `norm`.
    #[must_use]
    pub fn clip_target(self, norm: f64, parameters: usize) -> f64 {
        clip_target(norm) - (parameters as f64).sqrt() * 0.5 * f64::from(self.step)
    }
}

/// Returns the norm to clip to for a bound of `norm` if nothing is rounded afterwards.
#[must_use]
pub fn clip_target(norm: f64) -> f64 {
    norm * (1.0 - CLIP_MARGIN)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::Architecture;

    #[test]
    fn steps_are_the_least_that_hold_a_slot() {
        for (bound, step) in
            [(1.0, 2f64.powi(-16)), (1.0 + 1e-9, 2f64.powi(-15)), (0.5, 2f64.powi(-17)), (3.0, 2f64.powi(-14))]
        {
            assert_eq!(f64::from(SumGrid::of(bound).step()), step);
        }
        for exponent in -90..=90 {
            let bound = 10f64.powf(f64::from(exponent) / 10.0);
            let step = f64::from(SumGrid::of(bound).step());
            assert!(SLOT as f64 * bound <= 2f64.powi(22) * step && step < 2f64.powi(-15) * bound, "{bound}");
        }
        for broken in [0.0, f64::INFINITY, -1.0] {
            assert!(SumGrid::of(broken).base().is_normal());
        }
    }

    #[test]
    fn a_clip_keeps_almost_all_of_its_norm() {
        for norm in [1e-9, 0.1, 0.51, 1.0, 1.01, 3.0, 1e9] {
            let grid = SumGrid::of(norm);
            for model in Architecture::ALL {
                let share = grid.clip_target(norm, model.parameters()) / norm;
                assert!((0.995..1.0).contains(&share), "{model:?} {norm}: {share}");
            }
            assert!(grid.clip_target(norm, 400_000) > 0.99 * norm);
            // No addend leaves the range of exact sums.
            assert!(grid.clip_target(norm, 1) <= norm - 0.5 * f64::from(grid.step()));
        }
    }

    proptest! {
        #[test]
        fn rounding_is_to_the_nearest_multiple(bound in 1e-9_f64..1e9, share in -1.0_f64..1.0) {
            let grid = SumGrid::of(bound);
            let (coordinate, step) = ((share * bound) as f32, f64::from(grid.step()));
            let expected = (f64::from(coordinate) / step).round_ties_even() * step;
            prop_assert_eq!(f64::from(grid.round(coordinate)), expected);
        }

        /// Equals min(round(|x|), ⌊ψ⌋) on the grid for any x.
        #[test]
        fn rounded_coordinates_stay_in_the_envelope(
            share in 0.0_f32..1.0, x in prop_oneof![-2.0_f32..2.0, -1e30_f32..1e30, -1e-6_f32..1e-6, Just(f32::INFINITY)],
        ) {
            let grid = SumGrid::of(1.0);
            let step = grid.step();
            for bound in [share, share * share * 1e-3, step, step / 2.0, 0.0, 1.0, x.abs().min(1.0)] {
                let found = grid.clamp(x, bound);
                let nearest = (f64::from(x.abs()) / f64::from(step)).round_ties_even() * f64::from(step);
                let expected = nearest.min(f64::from((bound / step).floor() * step));
                prop_assert_eq!(f64::from(found.abs()), expected, "{} {}", x, bound);
                prop_assert!(found == 0.0 || found.signum() == x.signum());
            }
        }

        /// A slot's sum equals the sum of its individually rounded addends.
        #[test]
        fn sums_from_the_base_are_sums_of_rounded_numbers(
            bound in 1e-3_f64..1e3, shares in prop::collection::vec(prop_oneof![Just(1.0), Just(-1.0), -1.0_f64..1.0, -1e-5_f64..1e-5], SLOT),
            factor in prop_oneof![-1.0_f32..1.0, Just(1.0_f32), Just(0.5)],
        ) {
            let grid = SumGrid::of(bound);
            let most = grid.clip_target(bound, 1);
            let (mut fused, mut unfused, mut exact) = (grid.base(), grid.base(), [0.0_f64; 2]);
            for share in shares {
                let a = f32::from_bits((share as f32).to_bits() | 1);
                let b = (most * f64::from(factor)) as f32;
                fused = a.mul_add(b, fused);
                let product = f32::from_bits((a * b).to_bits() | 1);
                unfused += product;
                // Exact in f64: 24 bits by 24.
                let step = f64::from(grid.step());
                exact[0] += (f64::from(a) * f64::from(b) / step).round_ties_even() * step;
                exact[1] += f64::from(grid.round(product));
            }
            prop_assert_eq!(f64::from(fused) - f64::from(grid.base()), exact[0]);
            prop_assert_eq!(f64::from(unfused) - f64::from(grid.base()), exact[1]);
        }
    }
}
