//! Laplacian smoothing in f32; [`crate::mechanism::denoise::smooth`] is the f64 reference. A basis
//! of cosines and sines needs half the products of a Hartley transform: even and odd parts of a
//! plane are transformed separately. Rows of a plane are added as vectors.

use std::f64::consts::TAU;

use crate::mechanism::denoise::{Hartley, Planes};

/// Applies A⁻¹ to every plane.
pub struct Smoothing {
    planes: Planes,
    /// Number of cosines in the basis; the other vectors are sines.
    evens: usize,
    /// Cosines by frequency and place up to the middle, and sines; symmetric, for the inverse.
    cosines: Vec<f32>,
    sines: Vec<f32>,
    /// Gain of each coefficient over its vectors' squared norms; the same for (k, l) and (l, k).
    gains: Vec<f32>,
    /// Scratch planes.
    folded: Vec<f32>,
    turned: Vec<f32>,
}

impl Smoothing {
    #[must_use]
    pub fn new(planes: Planes, strength: f64) -> Self {
        let n = planes.side;
        let (evens, odds) = (n / 2 + 1, n - n / 2 - 1);
        let share = |k: usize| if k == 0 || 2 * k == n { 1.0 } else { 2.0 } / n as f64;
        let angle = |k: usize, j: usize| TAU * (k * j % n) as f64 / n as f64;
        let table = |of: &dyn Fn(usize, usize) -> f64, from: usize, count: usize| -> Vec<f32> {
            let row = |k: usize| (from..from + count).map(move |j| of(k, j) as f32);
            (from..from + count).flat_map(row).collect()
        };
        // The frequency of each basis vector.
        let frequencies: Vec<usize> = (0..evens).chain(1..=odds).collect();
        let hartley = Hartley::new(n);
        let gain = |k: usize, l: usize| (share(k) * share(l) * hartley.gain(strength, k, l)) as f32;
        Self {
            planes,
            evens,
            cosines: table(&|k, j| angle(k, j).cos(), 0, evens),
            sines: table(&|k, j| angle(k, j).sin(), 1, odds),
            gains: frequencies
                .iter()
                .flat_map(|&k| frequencies.iter().map(move |&l| (k, l)))
                .map(|(k, l)| gain(k, l))
                .collect(),
            folded: vec![0.0; planes.area()],
            turned: vec![0.0; planes.area()],
        }
    }

    /// Smooths the planes of a sum in place.
    pub fn smooth(&mut self, sum: &mut [f32]) {
        for plane in sum[self.planes.range()].chunks_exact_mut(self.planes.area()) {
            self.smooth_plane(plane);
        }
    }

    fn smooth_plane(&mut self, plane: &mut [f32]) {
        let Self { planes, evens, cosines, sines, gains, folded, turned } = self;
        let basis = Basis { side: planes.side, evens: *evens, cosines, sines };
        basis.forward(plane, folded);
        turn(planes.side, plane, turned);
        basis.forward(turned, folded);
        turned.iter_mut().zip(gains).for_each(|(value, gain)| *value *= *gain);
        basis.backward(turned, folded);
        turn(planes.side, turned, plane);
        basis.backward(plane, folded);
    }
}

/// to ← the transpose of `from`.
fn turn(side: usize, from: &[f32], to: &mut [f32]) {
    for (row, values) in from.chunks_exact(side).enumerate() {
        for (column, &value) in values.iter().enumerate() {
            to[column * side + row] = value;
        }
    }
}

struct Basis<'a> {
    side: usize,
    evens: usize,
    cosines: &'a [f32],
    sines: &'a [f32],
}

impl Basis<'_> {
    /// Replaces each column of `plane` by its coefficients, those of cosines first.
    fn forward(&self, plane: &mut [f32], folded: &mut [f32]) {
        let n = self.side;
        let row = |j: usize| j * n..(j + 1) * n;
        folded[row(0)].copy_from_slice(&plane[row(0)]);
        if n.is_multiple_of(2) {
            folded[row(n / 2)].copy_from_slice(&plane[row(n / 2)]);
        }
        let (even, odd) = folded.split_at_mut(self.evens * n);
        for j in 1..n - self.evens + 1 {
            let mirrored = &plane[row(n - j)];
            let sums = even[row(j)].iter_mut().zip(&mut odd[row(j - 1)]);
            for ((even, odd), (a, b)) in sums.zip(plane[row(j)].iter().zip(mirrored)) {
                (*even, *odd) = (a + b, a - b);
            }
        }
        let (to_even, to_odd) = plane.split_at_mut(self.evens * n);
        combine(n, self.cosines, even, to_even);
        combine(n, self.sines, odd, to_odd);
    }

    /// Replaces each column of coefficients by its sum of basis vectors.
    fn backward(&self, plane: &mut [f32], folded: &mut [f32]) {
        let n = self.side;
        let row = |j: usize| j * n..(j + 1) * n;
        let (even, odd) = folded.split_at_mut(self.evens * n);
        let (from_even, from_odd) = plane.split_at(self.evens * n);
        combine(n, self.cosines, from_even, even);
        combine(n, self.sines, from_odd, odd);
        plane[row(0)].copy_from_slice(&even[row(0)]);
        if n.is_multiple_of(2) {
            plane[row(n / 2)].copy_from_slice(&even[row(n / 2)]);
        }
        for j in 1..n - self.evens + 1 {
            let (near, far) = plane.split_at_mut((n - j) * n);
            let places = near[row(j)].iter_mut().zip(&mut far[..n]);
            for ((near, far), (even, odd)) in places.zip(even[row(j)].iter().zip(&odd[row(j - 1)])) {
                (*near, *far) = (even + odd, even - odd);
            }
        }
    }
}

/// to ← table · from, for rows of `width` numbers.
fn combine(width: usize, table: &[f32], from: &[f32], to: &mut [f32]) {
    // A side of one or two has no sines.
    let count = (from.len() / width).max(1);
    for (weights, to) in table.chunks_exact(count).zip(to.chunks_exact_mut(width)) {
        to.fill(0.0);
        for (weight, from) in weights.iter().zip(from.chunks_exact(width)) {
            to.iter_mut().zip(from).for_each(|(to, from)| *to += weight * from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::denoise::smooth;

    #[test]
    fn planes_match_the_reference_and_the_rest_is_unchanged() {
        for (side, count) in [(1, 1), (2, 3), (3, 2), (7, 2), (8, 16), (28, 10)] {
            for strength in [0.01, 1.0, 10.0, 1000.0] {
                let planes = Planes { offset: 5, count, side };
                let length = planes.range().end + 7;
                let before: Vec<f32> = (0..length).map(|i| ((i * 7919 + 13) % 101) as f32 - 50.0).collect();
                let mut ours = before.clone();
                Smoothing::new(planes, strength).smooth(&mut ours);
                let mut plain = before.clone();
                let hartley = Hartley::new(side);
                for plane in plain[planes.range()].chunks_exact_mut(planes.area()) {
                    smooth(&hartley, strength, plane);
                }
                assert!(ours.iter().zip(&plain).all(|(a, b)| (a - b).abs() <= 1e-4), "{side}, {strength}");
                assert_eq!((&ours[..5], &ours[length - 7..]), (&before[..5], &before[length - 7..]));
            }
        }
    }
}
