//! Laplacian smoothing (Osher et al. 2018; Wang et al. 2019, DP-LSSGD), along the pixels that a unit of the first layer sees. Neighbouring pixels have
//! like gradients and unlike noise.
//!
//! DP-LSSGD smooths the flat vector, where neighbours may be weights of different units or layers. Here each unit's plane of weights is smoothed by
//! itself, in two dimensions, on a torus: A = I − sL, (Lx)ᵢⱼ = x of the four neighbours − 4xᵢⱼ. A is circulant and symmetric in both directions, so
//! the Hartley transform makes it a diagonal: 1 + 2s(2 − cos 2πk/n − cos 2πl/n).

use core::{f64::consts::TAU, ops::Range};

/// Which coordinates are pictures: planes of `side`², one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planes {
    /// The first coordinate.
    pub offset: usize,
    /// How many planes.
    pub count: usize,
    /// Pixels of a side, at least 1.
    pub side: usize,
}

impl Planes {
    /// Coordinates of one plane.
    #[must_use]
    pub const fn area(self) -> usize {
        self.side * self.side
    }

    /// All of their coordinates.
    #[must_use]
    pub const fn range(self) -> Range<usize> {
        self.offset..self.offset + self.count * self.area()
    }
}

/// The discrete Hartley transform of n numbers, H\[k\]\[j\] = (cos + sin)(2πkj/n)/√n: real, symmetric, and its own inverse.
#[derive(Clone, Debug)]
pub struct Hartley {
    side: usize,
    /// H, row by row.
    matrix: Vec<f64>,
    /// 2 − 2cos 2πk/n.
    curvature: Vec<f64>,
}

impl Hartley {
    /// That of `side` numbers, at least one.
    #[must_use]
    pub fn new(side: usize) -> Self {
        let mut waves = Self::waves(side);
        let curvature = waves.split_off(side);
        let norm = (side as f64).sqrt();
        let matrix = (0..side * side).map(|at| waves[(at / side) * (at % side) % side] / norm).collect();
        Self { side, matrix, curvature }
    }

    /// What H and A⁻¹ are made of, for whoever does the same elsewhere: (cos + sin)(2πj/n), then 2 − 2cos 2πk/n.
    #[must_use]
    pub fn waves(side: usize) -> Vec<f64> {
        let angle = |turns: usize| TAU * turns as f64 / side as f64;
        let waves = (0..side).map(|j| angle(j).cos() + angle(j).sin());
        waves.chain((0..side).map(|k| 2.0 - 2.0 * angle(k).cos())).collect()
    }

    /// What A⁻¹ of strength s multiplies the coefficient of row k and column l by.
    #[must_use]
    pub fn gain(&self, strength: f64, k: usize, l: usize) -> f64 {
        1.0 / (1.0 + strength * (self.curvature[k] + self.curvature[l]))
    }

    /// H·x·H of a square plane.
    fn both(&self, plane: &[f64]) -> Vec<f64> {
        let n = self.side;
        let product = |left: &[f64], right: &[f64]| -> Vec<f64> {
            let cell = |i: usize, j: usize| (0..n).map(|k| left[i * n + k] * right[k * n + j]).sum();
            (0..n * n).map(|at| cell(at / n, at % n)).collect()
        };
        product(&product(&self.matrix, plane), &self.matrix)
    }
}

/// (I − sL)⁻¹ of one plane, row by row, in place. `strength` ≥ 0; at 0 it is the plane.
///
/// # Panics
/// When `plane` is not of `hartley`'s side.
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

    /// y − s·(neighbours − 4y), as it is defined.
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
                // In f32 the strongest Laplacian magnifies rounding.
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
