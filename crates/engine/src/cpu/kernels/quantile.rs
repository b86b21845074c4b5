//! Noise from a table of its quantile function, for families that lack a closed or cheap form.
//!
//! The draws have density 1/Q̃′, Q̃ the tabulated quantile function; values right to a millionth
//! say little about it. So each cell is a cubic with Q's values *and slopes* at its ends. The drawn
//! density is continuous, and compared with the family's inside every cell; where they differ, the
//! cell is left to the family. All is in f64: the remaining difference is far below f32 rounding.

use crate::accounting::noise::{Noise, negative_log_of_unit};

/// |z| from E = −ln P(|Z| > |z|). Tabulates |z|/E, which is finite at 0 and smooth in ln(1 + E).
pub struct Quantile {
    /// Coefficients of each cell, in the position inside it; NaN where the family itself is used.
    cells: Vec<[f64; 4]>,
}

/// Largest relative error allowed for the drawn density in a cell.
const DENSITY_ERROR: f64 = 1e-8;

impl Quantile {
    const CELLS: usize = 4096;

    /// Node position per unit of ln(1 + E); the last is past the smallest tail of words, 2⁻⁶⁵.
    const SCALE: f64 = Self::CELLS as f64 / 3.83;

    #[must_use]
    pub fn new(noise: &dyn Noise) -> Self {
        // Value and slope of the ratio: (dz/dE − z/E)/E, with dz/dE = P(|Z| > z)/2z(z).
        let node = |position: usize| {
            let e = (position as f64 / Self::SCALE).exp_m1();
            let magnitude = noise.survival_quantile(0.5 * (-e).exp());
            let ratio = magnitude / e;
            (ratio, (slope(noise, e, magnitude) - ratio) / e * (1.0 + e) / Self::SCALE)
        };
        let mut table = Self { cells: vec![[f64::NAN; 4]; Self::CELLS] };
        // Cell 0 is left to the family: slopes have no digits there, and many densities a kink.
        let mut left = node(1);
        for cell in 1..Self::CELLS {
            let right = node(cell + 1);
            let ((a, slope_a), (b, slope_b)) = (left, right);
            let rise = b - a;
            table.cells[cell] = [a, slope_a, 3.0 * rise - 2.0 * slope_a - slope_b, slope_a + slope_b - 2.0 * rise];
            if !table.follows(noise, cell) {
                table.cells[cell] = [f64::NAN; 4];
            }
            left = right;
        }
        table
    }

    /// |z| and its slope in E; NaN where the family itself is used.
    fn at(&self, e: f64) -> (f64, f64) {
        let position = e.ln_1p() * Self::SCALE;
        let cell = (position as usize).min(Self::CELLS - 1);
        let (t, [a, b, c, d]) = (position - cell as f64, self.cells[cell]);
        let ratio = a + t * (b + t * (c + t * d));
        let ratio_slope = (b + t * (2.0 * c + t * 3.0 * d)) * Self::SCALE / (1.0 + e);
        (e * ratio, ratio + e * ratio_slope)
    }

    /// True if the density that a cell draws is the family's.
    fn follows(&self, noise: &dyn Noise, cell: usize) -> bool {
        [0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95].into_iter().all(|t| {
            let e = ((cell as f64 + t) / Self::SCALE).exp_m1();
            let (magnitude, drawn) = self.at(e);
            (drawn / slope(noise, e, magnitude) - 1.0).abs() <= DENSITY_ERROR
        })
    }

    /// As [`Noise::draw`] of `noise`, from which this table was made.
    #[must_use]
    pub fn draw(&self, noise: &dyn Noise, words: [u32; 4]) -> f64 {
        let (magnitude, _) = self.at(negative_log_of_unit(words[0], words[1]));
        if magnitude.is_nan() {
            return noise.draw(words);
        }
        if words[2] >> 31 == 1 { -magnitude } else { magnitude }
    }
}

/// dz/dE of the family, where P(|Z| > `magnitude`) = e^−E.
fn slope(noise: &dyn Noise, e: f64, magnitude: f64) -> f64 {
    0.5 * (-e - noise.log_density(magnitude)).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::noise::NoiseSpec;

    fn exponents() -> Vec<(f64, Box<dyn Noise>)> {
        let build = |exponent| (exponent, NoiseSpec::GeneralizedGaussian { exponent, scale: 0.7 }.build().unwrap());
        [1.0, 1.1, 1.5, 2.0, 2.5, 3.0, 6.0, 20.0, 100.0].map(build).into()
    }

    /// Draws with the words of u = 2^−64·(high·2^32 + low + ½).
    fn draw(table: &Quantile, noise: &dyn Noise, u: u64) -> f64 {
        table.draw(noise, [(u >> 32) as u32, u as u32, 0, 0])
    }

    /// Compares densities, not values, by differences of the drawn quantile function.
    #[test]
    fn drawn_density_matches_the_family() {
        for (exponent, noise) in exponents() {
            let table = Quantile::new(&*noise);
            let exact = table.cells.iter().filter(|cell| cell[0].is_nan()).count();
            let share: f64 = (0..Quantile::CELLS)
                .filter(|&cell| table.cells[cell][0].is_nan())
                .map(|cell| {
                    let e = |cell: usize| (cell as f64 / Quantile::SCALE).exp_m1();
                    (-e(cell)).exp() - (-e(cell + 1)).exp()
                })
                .sum();
            println!("exponent {exponent}: {exact} cells, {share:.2e} of all draws, by the family itself");
            assert!(share < 0.05, "{exponent}: {share}");
            let mut worst = 0.0_f64;
            for k in 1..200_000_u64 {
                // Over the whole range, and far into the tail.
                let u = if k % 2 == 0 { k * (u64::MAX / 200_000) } else { (64.0 - k as f64 / 4000.0).exp2() as u64 };
                let step = (u.min(!u) / 1000).max(1 << 12).min(u / 64);
                let (near, far) = (draw(&table, &*noise, u + step), draw(&table, &*noise, u - step));
                // The density between both is P(|Z| between them) over their distance, times 1/2.
                let density = (step as f64 / 2f64.powi(64)) / (far - near);
                // Simpson's mean of the density between them; the rest is rounding of differences.
                let mean =
                    (noise.density(near) + 4.0 * noise.density(f64::midpoint(near, far)) + noise.density(far)) / 6.0;
                worst = worst.max((density / mean - 1.0).abs());
            }
            println!("exponent {exponent}: density off by {worst:.1e}");
            assert!(worst < 1e-6, "exponent {exponent}: {worst:e}");
        }
    }

    fn drawn_density(table: &Quantile, noise: &dyn Noise, z: f64) -> f64 {
        let e = -(2.0 * noise.survival(z.abs())).ln();
        let (magnitude, slope) = table.at(e);
        if magnitude.is_nan() {
            return noise.density(z);
        }
        let e = e - (magnitude - z.abs()) / slope;
        0.5 * (-e).exp() / table.at(e).1
    }

    /// I_2 − 1 of the drawn law. Steps in its density would inflate it for small shifts.
    #[test]
    fn a_small_shift_shows_what_is_priced() {
        for (exponent, noise) in exponents().into_iter().filter(|(p, _)| [1.5, 3.0, 6.0].contains(p)) {
            let table = Quantile::new(&*noise);
            for share in [1e-4, 1e-3] {
                let (tau, points) = (share * noise.scale(), 100_000);
                let reach = noise.survival_quantile(1e-9);
                let step = 2.0 * reach / f64::from(points);
                let drawn: f64 = (0..points)
                    .map(|k| {
                        let z = step * (f64::from(k) + 0.5) - reach;
                        let here = drawn_density(&table, &*noise, z);
                        (drawn_density(&table, &*noise, z - tau) - here).powi(2) / here * step
                    })
                    .sum();
                let priced = noise.log_moment(2, tau).exp_m1();
                println!("exponent {exponent}, shift {share}: {drawn:.6e} drawn, {priced:.6e} priced");
                assert!((drawn / priced - 1.0).abs() < 1e-3, "exponent {exponent}, shift {share}: {drawn} {priced}");
            }
        }
    }
}
