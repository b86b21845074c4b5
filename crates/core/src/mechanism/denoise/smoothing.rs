//! Laplacian smoothing (Osher et al. 2018; Wang et al. 2019, DP-LSSGD) over the pixels of each
//! first-layer unit: neighbouring pixels have similar gradients but independent noise.
//!
//! DP-LSSGD smooths the flat vector, where neighbours may belong to different units or layers. Here
//! each unit's plane of weights is smoothed in two dimensions on a torus: A = I − sL, with (Lx)ᵢⱼ =
//! −4xᵢⱼ + the sum of the four neighbours. A is circulant and symmetric in both directions, so the
//! Hartley transform diagonalises it: 1 + 2s(2 − cos 2πk/n − cos 2πl/n).

use core::{f64::consts::TAU, ops::Range};

/// Coordinates that correspond to pixels: consecutive planes of `side`² each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planes {
    /// Index of the first coordinate.
    pub offset: usize,
    /// Number of planes.
    pub count: usize,
    /// Side of a plane in pixels, at least 1.
    pub side: usize,
}

impl Planes {
    /// Number of coordinates in one plane.
    #[must_use]
    pub const fn area(self) -> usize {
        self.side * self.side
    }

    /// Coordinates of all planes.
    #[must_use]
    pub const fn range(self) -> Range<usize> {
        self.offset..self.offset + self.count * self.area()
    }
}

/// The discrete Hartley transform H\[k\]\[j\] = (cos + sin)(2πkj/n)/√n, symmetric and self-inverse.
#[derive(Clone, Debug)]
pub struct Hartley {
    side: usize,
    /// H, row by row.
    matrix: Vec<f64>,
    /// 2 − 2cos 2πk/n.
    curvature: Vec<f64>,
}

impl Hartley {
    /// Builds the transform of `side` ≥ 1 numbers.
    #[must_use]
    pub fn new(side: usize) -> Self {
        let mut waves = Self::waves(side);
        let curvature = waves.split_off(side);
        let norm = (side as f64).sqrt();
        let matrix = (0..side * side).map(|at| waves[(at / side) * (at % side) % side] / norm).collect();
        Self { side, matrix, curvature }
    }

    /// Returns the tables behind H and A⁻¹: (cos + sin)(2πj/n), then 2 − 2cos 2πk/n.
    #[must_use]
    pub fn waves(side: usize) -> Vec<f64> {
        let angle = |turns: usize| TAU * turns as f64 / side as f64;
        let waves = (0..side).map(|j| angle(j).cos() + angle(j).sin());
        waves.chain((0..side).map(|k| 2.0 - 2.0 * angle(k).cos())).collect()
    }

    /// Returns A⁻¹'s factor for the coefficient of row k, column l at strength s.
    #[must_use]
    pub fn gain(&self, strength: f64, k: usize, l: usize) -> f64 {
        1.0 / (1.0 + strength * (self.curvature[k] + self.curvature[l]))
    }

    /// Computes H·x·H of a square plane.
    fn both(&self, plane: &[f64]) -> Vec<f64> {
        let n = self.side;
        let product = |left: &[f64], right: &[f64]| -> Vec<f64> {
            let cell = |i: usize, j: usize| (0..n).map(|k| left[i * n + k] * right[k * n + j]).sum();
            (0..n * n).map(|at| cell(at / n, at % n)).collect()
        };
        product(&product(&self.matrix, plane), &self.matrix)
    }
}

/// Applies (I − sL)⁻¹ to one row-major plane in place. `strength` ≥ 0; 0 is the identity.
///
/// # Panics
/// When `plane` does not have `hartley`'s side.
pub fn smooth(hartley: &Hartley, strength: f64, plane: &mut [f32]) {
    let n = hartley.side;
    assert_eq!(plane.len(), n * n, "a square plane");
    let values: Vec<f64> = plane.iter().copied().map(f64::from).collect();
    let mut coefficients = hartley.both(&values);
    for (at, coefficient) in coefficients.iter_mut().enumerate() {
        *coefficient *= hartley.gain(strength, at / n, at % n);
    }
    plane.iter_mut().zip(hartley.both(&coefficients)).for_each(|(to, value)| *to = value as f32);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// y − s·(neighbours − 4y), by definition.
    fn apply(n: usize, strength: f64, plane: &[f32]) -> Vec<f64> {
        let at = |row: usize, column: usize| f64::from(plane[(row % n) * n + column % n]);
        let value = |i: usize| {
            let (row, column) = (i / n, i % n);
            let around = at(row + 1, column) + at(row + n - 1, column) + at(row, column + 1) + at(row, column + n - 1);
            at(row, column) - strength * (around - 4.0 * at(row, column))
        };
        (0..n * n).map(value).collect()
    }

    fn plane(n: usize) -> Vec<f32> {
        (0..n * n).map(|i| ((i * 7919 + 13) % 101) as f32 / 50.0 - 1.0).collect()
    }

    #[test]
    fn smoothing_solves_the_system_that_defines_it() {
        for n in [1, 2, 3, 8, 28] {
            for strength in [0.0, 0.3, 1.0, 3.0, 10.0, 1000.0] {
                let (before, mut after) = (plane(n), plane(n));
                smooth(&Hartley::new(n), strength, &mut after);
                // In f32, the strong Laplacian magnifies rounding.
                let allowed = 1e-5 * (1.0 + 8.0 * strength / 10.0);
                for (back, before) in apply(n, strength, &after).into_iter().zip(before) {
                    assert!((back - f64::from(before)).abs() <= allowed, "{n}, {strength}: {back}, not {before}");
                }
            }
        }
    }

    #[test]
    fn a_strength_of_zero_is_the_identity_and_means_stay() {
        let mut same = plane(28);
        smooth(&Hartley::new(28), 0.0, &mut same);
        assert!(same.iter().zip(plane(28)).all(|(a, b)| (a - b).abs() < 1e-6));
        let mut flat = plane(28);
        smooth(&Hartley::new(28), 1e6, &mut flat);
        let mean = plane(28).iter().sum::<f32>() / 784.0;
        assert!(flat.iter().all(|value| (value - mean).abs() < 1e-4));
    }
}
