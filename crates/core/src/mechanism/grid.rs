//! Sums and noise on a power-of-two grid, so that the released bits reveal no more than the noisy
//! sum. All engines with a grid run this code; for the theory see [`crate::accounting::rounding`].

use super::noise::{NONCE, chacha20_block};
use crate::accounting::{noise::Noise, rounding::GridRounding};

/// An exact, order-independent sum of encoded gradients in whole grid steps.
#[derive(Clone, Debug)]
pub struct GridSum {
    grid: GridRounding,
    steps: Vec<i64>,
}

impl GridSum {
    /// Returns the zero sum for gradients of length `p`.
    #[must_use]
    pub fn new(grid: GridRounding, p: usize) -> Self {
        Self { grid, steps: vec![0; p] }
    }

    /// Resets the sum to zero.
    pub fn clear(&mut self) {
        self.steps.fill(0);
    }

    /// Adds an encoded gradient, rounding each coordinate towards zero to stay inside the bound.
    ///
    /// # Panics
    /// When the lengths differ.
    pub fn add(&mut self, encoded: &[f32]) {
        assert_eq!(encoded.len(), self.steps.len(), "gradient and sum have the same length");
        for (coordinate, &encoded) in encoded.iter().enumerate() {
            self.add_at(coordinate, encoded);
        }
    }

    /// Adds one coordinate, like [`Self::add`]. A value off the grid's range contributes zero.
    /// Saturation does not increase the distance between neighbouring sums.
    ///
    /// # Panics
    /// When `coordinate` is out of range.
    pub fn add_at(&mut self, coordinate: usize, encoded: f32) {
        let sum = &mut self.steps[coordinate];
        *sum = sum.saturating_add(self.grid.towards_zero(encoded.into()).unwrap_or(0));
    }

    /// Returns one coordinate of [`Self::value`].
    ///
    /// # Panics
    /// When `coordinate` is out of range.
    #[must_use]
    pub fn value_at(&self, coordinate: usize) -> f32 {
        (self.steps[coordinate] as f64 * self.grid.spacing()) as f32
    }

    /// Returns the sum.
    #[must_use]
    pub fn value(&self) -> Vec<f32> {
        (0..self.steps.len()).map(|coordinate| self.value_at(coordinate)).collect()
    }

    /// Writes sum + z to `noisy`, with z from [`Noise::draw`] rounded to the nearest grid point,
    /// and converts to f32 as post-processing. Values outside the grid's range become zero, as a
    /// function of the noisy sum or of noise far beyond its cutoff.
    ///
    /// # Panics
    /// When the lengths differ.
    pub fn release(&self, key: &[u32; 8], noise: &dyn Noise, noisy: &mut [f32]) {
        assert_eq!(self.steps.len(), noisy.len(), "sum and noisy sum have the same length");
        for (counter, (sums, noisy)) in (0..).zip(self.steps.chunks(4).zip(noisy.chunks_mut(4))) {
            let block = chacha20_block(key, counter, &NONCE);
            for ((&sum, noisy), words) in sums.iter().zip(noisy).zip(block.as_chunks::<4>().0) {
                *noisy = self.grid.release(sum, noise.draw(*words)).unwrap_or(0.0) as f32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{accounting::noise::NoiseSpec, mechanism::noise::noise_at};

    #[test]
    fn releases_are_multiples_of_the_grid_step() {
        let noise = NoiseSpec::Laplace { scale: 0.3 }.build().unwrap();
        let grid = GridRounding::below(&*noise, 10).unwrap();
        let g = grid.spacing();
        let key = [8, 7, 6, 5, 4, 3, 2, 1];
        let gradients: Vec<Vec<f32>> =
            (0..9).map(|e| (0..103).map(|i| ((e * 103 + i) as f32 * 0.7).sin() * 0.1).collect()).collect();
        let mut sum = GridSum::new(grid, 103);
        gradients.iter().for_each(|gradient| sum.add(gradient));
        let mut noisy = vec![0.0; 103];
        sum.release(&key, &*noise, &mut noisy);
        for (i, (&noisy, &value)) in noisy.iter().zip(&sum.value()).enumerate() {
            let inside: f64 = gradients.iter().map(|gradient| (f64::from(gradient[i]) / g).trunc() * g).sum();
            assert_eq!(f64::from(value), inside);
            let z = (noise_at(&key, i as u32, &*noise) / g).round() * g;
            assert_eq!(f64::from(noisy), inside + z);
        }
        // Any order gives exactly the same sum.
        let mut other = GridSum::new(grid, 103);
        other.add(&[1.0; 103]);
        other.clear();
        gradients.iter().rev().for_each(|gradient| other.add(gradient));
        assert_eq!(other.steps, sum.steps);
    }

    #[test]
    fn off_grid_values_contribute_zero() {
        let noise = NoiseSpec::Gaussian { sigma: 1.0 }.build().unwrap();
        let mut sum = GridSum::new(GridRounding::new(-60).unwrap(), 3);
        sum.add(&[f32::NAN, 1.0, f32::INFINITY]);
        assert_eq!(sum.value(), [0.0; 3]);
        sum.steps = vec![i64::MAX - 1, i64::MIN, 0];
        sum.add(&[1e-3; 3]);
        assert_eq!((sum.steps[0], sum.steps[1] > i64::MIN), (i64::MAX, true));
        let mut noisy = [1.0; 3];
        sum.release(&[0; 8], &*noise, &mut noisy);
        assert_eq!(noisy[..2], [0.0; 2]);
    }
}
