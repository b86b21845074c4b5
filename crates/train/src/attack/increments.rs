//! Score increments of steps that did not draw a candidate, summed by a table of noise quantiles.
//!
//! Few of a run's thousands of steps draw a given candidate; the others depend on noise alone. The
//! table, a hundred times as fast as drawing noise, has the increment at the middle of each of
//! 65,536 equally probable slices. In the outermost, where it changes fast, noise is drawn in full.

use rand::rand_core::Rng as _;

use crate::{accounting::noise::Noise, rng::NotPrivateReplay};

/// Slices; one draw of 16 bits.
const SLICES: usize = 1 << 16;
/// Slices on either side within which noise is drawn anew.
const OUTERMOST: u16 = 16;

/// A function of noise, tabulated for sums over many steps.
pub(super) struct Increments {
    table: Vec<f64>,
}

impl Increments {
    /// Tabulates the function `of` a noise.
    pub fn new(noise: &dyn Noise, of: impl Fn(f64) -> f64) -> Self {
        // Noise is symmetric, so half of its quantiles suffice.
        let middle = |k: usize| noise.survival_quantile((k as f64 + 0.5) / SLICES as f64);
        let upper: Vec<f64> = (0..SLICES / 2).map(middle).collect();
        let lower = upper.iter().map(|&x| of(-x));
        Self { table: lower.chain(upper.iter().rev().map(|&x| of(x))).collect() }
    }

    /// Returns the sum of the same function `of` over `count` independent draws of `noise`.
    pub fn sum(&self, count: u64, noise: &dyn Noise, of: impl Fn(f64) -> f64, rng: &mut NotPrivateReplay) -> f64 {
        let mut sum = 0.0;
        let mut add = |slice: u16, rng: &mut NotPrivateReplay| {
            let inner = (OUTERMOST..u16::MAX - OUTERMOST + 1).contains(&slice);
            sum += if inner { self.table[usize::from(slice)] } else { of(within(slice, noise, rng)) };
        };
        for _ in 0..count / 2 {
            let word = rng.next_u32();
            add(word as u16, rng);
            add((word >> 16) as u16, rng);
        }
        if count % 2 == 1 {
            add(rng.next_u32() as u16, rng);
        }
        sum
    }
}

/// Draws noise within a slice.
fn within(slice: u16, noise: &dyn Noise, rng: &mut NotPrivateReplay) -> f64 {
    let share = (f64::from(rng.next_u32()) + 0.5) / 4_294_967_296.0;
    let from_end = slice.min(u16::MAX - slice);
    let x = noise.survival_quantile((f64::from(from_end) + share) / SLICES as f64);
    if slice == from_end { -x } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{accounting::noise::NoiseSpec, attack::Estimate};

    /// Sums have the mean and variance of sums of draws, even for the fast-growing ratio.
    #[test]
    fn sums_are_those_of_draws() {
        for (spec, expected) in [
            (NoiseSpec::Gaussian { sigma: 1.1 }, 1.0),
            (NoiseSpec::Gaussian { sigma: 0.6 }, 1.0),
            (NoiseSpec::Laplace { scale: 1.0 }, 1.0),
            (NoiseSpec::StudentT { nu: 5.0, scale: 1.0 }, 1.0),
        ] {
            let noise = spec.build().unwrap();
            let ratio = |x: f64| noise.log_ratio(x, 1.0).exp();
            let table = Increments::new(&*noise, ratio);
            let mut rng = NotPrivateReplay::new(9);
            let fast: Vec<f64> = (0..4000).map(|_| table.sum(101, &*noise, ratio, &mut rng) / 101.0).collect();
            let plain: Vec<f64> =
                (0..4000).map(|_| (0..101).map(|_| ratio(noise.sample(&mut rng))).sum::<f64>() / 101.0).collect();
            let (fast, plain) = (Estimate::mean(&fast), Estimate::mean(&plain));
            println!("{spec:?} {fast:?} {plain:?}");
            // E[z(x − 1)/z(x)] is 1.
            assert!((fast.value - expected).abs() < 4.0 * fast.standard_error, "{spec:?} {fast:?}");
            assert!((fast.standard_error / plain.standard_error - 1.0).abs() < 0.15, "{spec:?} {fast:?} {plain:?}");
        }
    }

    #[test]
    fn every_slice_has_its_own_place() {
        let noise = NoiseSpec::Gaussian { sigma: 1.0 }.build().unwrap();
        let table = Increments::new(&*noise, |x| x);
        assert!(table.table.windows(2).all(|pair| pair[0] < pair[1]) && table.table.len() == SLICES);
        let mut rng = NotPrivateReplay::new(1);
        for slice in [0, 1, 15, u16::MAX - 15, u16::MAX] {
            for _ in 0..100 {
                let place = noise.cdf(within(slice, &*noise, &mut rng)) * SLICES as f64;
                assert!((place - f64::from(slice) - 0.5).abs() <= 0.5 + 1e-6, "{slice} {place}");
            }
        }
    }
}
