//! Distances of the noisy sum's values to the noise's distribution; the drawn noise is never used.

/// A norm of F̂ − F, with F̂ the empirical distribution function of values and F the noise's.
///
/// Each is 0 if the values are exactly the noise's quantiles, and about 1/√P for P draws of noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// sup |F̂ − F|, from 0 to 1 (Nasr, Shokri & Houmansadr 2020, Algorithm 1).
    KolmogorovSmirnov,
    /// (∫ (F̂ − F)² dF)^½, from 0 to 1/√3.
    CramerVonMises,
    /// ∫ |F̂ − F| dF, from 0 to ½: the Wasserstein-1 distance of the values' F(y) from the uniform
    /// distribution. So it needs no moment of the noise.
    Wasserstein,
}

impl Distance {
    /// The distance of `values` to the continuous distribution of this `cdf`. 0 for no values; NaN
    /// counts as +∞.
    #[must_use]
    pub fn of(self, values: &[f32], cdf: impl Fn(f64) -> f64) -> f64 {
        let mut sorted: Vec<f32> = values.iter().map(|&v| if v.is_nan() { f32::INFINITY } else { v }).collect();
        sorted.sort_unstable_by(f32::total_cmp);
        self.of_uniforms(sorted.into_iter().map(|value| cdf(f64::from(value))))
    }

    /// The distance, given F(y) of the values in ascending order.
    pub fn of_uniforms(self, uniforms: impl ExactSizeIterator<Item = f64>) -> f64 {
        let n = uniforms.len() as f64;
        if n == 0.0 {
            return 0.0;
        }
        // F̂ is constant between two values.
        let (mut total, mut before) = (0.0, 0.0);
        for (level, u) in uniforms.chain([1.0]).enumerate() {
            let level = level as f64 / n;
            let (low, high) = (before - level, u - level);
            match self {
                Self::KolmogorovSmirnov => total = f64::max(total, low.abs().max(high.abs())),
                Self::CramerVonMises => total += (high.powi(3) - low.powi(3)) / 3.0,
                Self::Wasserstein if low < 0.0 && high > 0.0 => total += 0.5 * (low * low + high * high),
                Self::Wasserstein => total += 0.5 * (high + low).abs() * (high - low),
            }
            before = u;
        }
        if self == Self::CramerVonMises { total.max(0.0).sqrt() } else { total }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uniform(x: f64) -> f64 {
        x.clamp(0.0, 1.0)
    }

    #[test]
    fn distances_known_by_hand() {
        let close = |values: &[f32], [supremum, square, mean]: [f64; 3]| {
            for (distance, expected) in [
                (Distance::KolmogorovSmirnov, supremum),
                (Distance::CramerVonMises, square.sqrt()),
                (Distance::Wasserstein, mean),
            ] {
                let found = distance.of(values, uniform);
                assert!((found - expected).abs() < 1e-7, "{values:?}, {distance:?}: {found}, not {expected}");
            }
        };
        close(&[], [0.0; 3]);
        close(&[0.5], [0.5, 1.0 / 12.0, 0.25]);
        close(&[0.125, 0.375, 0.625, 0.875], [0.125, 1.0 / 192.0, 0.0625]);
        close(&[0.75, 0.25, 0.25, 0.25], [0.5, 1.0 / 24.0 + 1.0 / 96.0, 0.1875]);
        close(&[2.0, 3.0], [1.0, 1.0 / 3.0, 0.5]);
        close(&[f32::NEG_INFINITY, f32::INFINITY], [0.5, 1.0 / 12.0, 0.25]);
        close(&[f32::NAN, 0.5], [0.5, 1.0 / 12.0, 0.25]);
    }

    /// Against sums over a fine grid.
    #[test]
    fn distances_are_the_integrals() {
        const CELLS: usize = 200_000;
        let values: Vec<f32> =
            (0..37u32).map(|k| (k.wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 24) as f32).map(|u| u * u).collect();
        let (mut square, mut mean) = (0.0, 0.0);
        for cell in 0..CELLS {
            let u = (cell as f64 + 0.5) / CELLS as f64;
            let below = values.iter().filter(|value| f64::from(**value) <= u).count() as f64 / values.len() as f64;
            square += (below - u).powi(2) / CELLS as f64;
            mean += (below - u).abs() / CELLS as f64;
        }
        assert!((Distance::CramerVonMises.of(&values, uniform) - square.sqrt()).abs() < 1e-4);
        assert!((Distance::Wasserstein.of(&values, uniform) - mean).abs() < 1e-4);
    }
}
