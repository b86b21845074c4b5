//! Upper quantiles of distributions on [0, ∞) by table: fast, and equal on every machine.

/// Cells per octave of u.
const CELLS: u32 = 64;
/// Octaves of u below 1 in the table; smaller u are taken as 2^−64.
const OCTAVES: u32 = 64;
/// Right shift that leaves an f64's exponent and the leading 6 bits of its significand.
const SHIFT: u32 = 52 - CELLS.trailing_zeros();
/// `to_bits() >> SHIFT` of 2^−64, the start of the table.
const FIRST: u64 = ((1023 - OCTAVES as u64) << 52) >> SHIFT;

/// The map u ↦ x with Pr[X > x] = u, by cubic Hermite interpolation with 64 nodes per octave of u.
/// Its relative error is below 1e-8, less than f32 precision.
pub(super) struct UpperQuantile {
    /// Polynomial coefficients of each cell, in a local t in [0, 1).
    cells: Vec<[f64; 4]>,
}

impl UpperQuantile {
    /// Tabulates a distribution from its survival function and density, both positive and finite,
    /// by Newton's method on ln S(x) = ln u from u = 1 downwards; near each start, S is log-concave
    /// or nearly so. Uses `libm` alone, so that all targets agree to the last bit.
    fn tabulate(survival: impl Fn(f64) -> f64, density: impl Fn(f64) -> f64) -> Self {
        let nodes = (OCTAVES * CELLS) as usize;
        let mut cells = vec![[0.0; 4]; nodes];
        // x and dx/du at the cell's right end, initially u = 1.
        let (mut right, mut right_slope) = (0.0, -1.0 / density(0.0));
        for (cell, slot) in cells.iter_mut().enumerate().rev() {
            let u = f64::from_bits((FIRST + cell as u64) << SHIFT);
            let mut left = right;
            for _ in 0..60 {
                let s = survival(left);
                let next = left + s * libm::log(s / u) / density(left);
                let done = (next - left).abs() <= 1e-15 * next;
                left = next;
                if done {
                    break;
                }
            }
            let left_slope = -1.0 / density(left);
            let width = f64::from_bits((FIRST + cell as u64 + 1) << SHIFT) - u;
            let (a, b) = (left_slope * width, right_slope * width);
            let rise = right - left;
            *slot = [left, a, 3.0 * rise - 2.0 * a - b, a + b - 2.0 * rise];
            (right, right_slope) = (left, left_slope);
        }
        Self { cells }
    }

    /// Exp(1).
    pub(super) fn exponential() -> Self {
        Self::tabulate(|x| libm::exp(-x), |x| libm::exp(-x))
    }

    /// |N(0, 1)|.
    pub(super) fn half_normal() -> Self {
        const DENSITY_AT_ZERO: f64 = 2.0 * 0.398_942_280_401_432_7;
        Self::tabulate(
            |x| libm::erfc(x * core::f64::consts::FRAC_1_SQRT_2),
            |x| DENSITY_AT_ZERO * libm::exp(-0.5 * x * x),
        )
    }

    /// |T_3|: Pr[|T| > x] = (2/π)(arctan t − t/(1 + t²)) with t = √3/x.
    pub(super) fn half_student_t3() -> Self {
        const SQRT_3: f64 = 1.732_050_807_568_877_2;
        const TWO_OVER_PI: f64 = core::f64::consts::FRAC_2_PI;
        let survival = |x: f64| {
            if x < 20.0 * SQRT_3 {
                let y = x / SQRT_3;
                1.0 - TWO_OVER_PI * (libm::atan(y) + y / (1.0 + y * y))
            } else {
                // The two terms cancel here, so use their series: Σ (−1)^(k+1) 2k/(2k+1) t^(2k+1).
                let t = SQRT_3 / x;
                let t2 = t * t;
                let series = 2.0 / 3.0 - t2 * (4.0 / 5.0 - t2 * (6.0 / 7.0 - t2 * (8.0 / 9.0 - t2 * (10.0 / 11.0))));
                TWO_OVER_PI * t * t2 * series
            }
        };
        let density = |x: f64| {
            let y = 1.0 + x * x / 3.0;
            4.0 / (core::f64::consts::PI * SQRT_3 * y * y)
        };
        Self::tabulate(survival, density)
    }

    /// A distribution of which shares 1, 2^−½, 2^−1, … exceed `values`, which do not fall: between
    /// them u is a power of x. Smaller shares continue the last power; a share below the first
    /// positive value's is 0.
    pub(super) fn of_values(values: &[f64]) -> Self {
        let at = |u: f64| {
            let place = -2.0 * libm::log2(u);
            let below = (place as usize).min(values.len() - 2);
            let (low, high) = (values[below], values[below + 1]);
            if low <= 0.0 {
                // No power leads from 0.
                return high * (place - below as f64).clamp(0.0, 1.0);
            }
            low * libm::pow(high / low, place - below as f64)
        };
        let node = |cell: u64| at(f64::from_bits((FIRST + cell) << SHIFT));
        let cells = (0..u64::from(OCTAVES * CELLS)).map(|cell| {
            let left = node(cell);
            [left, node(cell + 1) - left, 0.0, 0.0]
        });
        Self { cells: cells.collect() }
    }

    /// Returns x with Pr[X > x] = u, for u in (0, 1].
    #[inline]
    pub(super) fn at(&self, u: f64) -> f64 {
        // Clamp to the table: from 2^−64 to the last number below 1.
        let bits = u.clamp(f64::from_bits(FIRST << SHIFT), 1.0 - 0.5 * f64::EPSILON).to_bits();
        let [c0, c1, c2, c3] = self.cells[((bits >> SHIFT) - FIRST) as usize];
        let t = (bits & ((1 << SHIFT) - 1)) as f64 * (1.0 / (1u64 << SHIFT) as f64);
        c0 + t * (c1 + t * (c2 + t * c3))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

    #[test]
    fn quantiles_invert_the_distributions() {
        let normal = Normal::new(0.0, 1.0).unwrap();
        let t3 = StudentsT::new(0.0, 1.0, 3.0).unwrap();
        let tables = (UpperQuantile::exponential(), UpperQuantile::half_normal(), UpperQuantile::half_student_t3());
        for i in 1..4000 {
            // From 1e-12 to just below 1, off the nodes.
            let u = 1e-12_f64.powf(1.0 - f64::from(i) / 4000.0);
            assert!((tables.0.at(u) + u.ln()).abs() < 1e-8 * u.ln().abs().max(1e-2), "exponential at {u}");
            for (x, survival, name) in [
                (tables.1.at(u), 2.0 * normal.sf(tables.1.at(u)), "normal"),
                (tables.2.at(u), 2.0 * t3.sf(tables.2.at(u)), "t3"),
            ] {
                assert!((survival / u - 1.0).abs() < 1e-7, "{name} at {u}: {x} has survival {survival}");
            }
        }
    }

    #[test]
    fn ends_stay_in_the_table() {
        for table in [UpperQuantile::exponential(), UpperQuantile::half_normal(), UpperQuantile::half_student_t3()] {
            assert!(table.at(1.0) >= 0.0 && table.at(1.0) < 1e-15);
            assert!(table.at(0.0).is_finite() && table.at(0.0) == table.at(f64::MIN_POSITIVE));
        }
    }
}
