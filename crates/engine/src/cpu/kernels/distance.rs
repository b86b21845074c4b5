//! The exact distance of values to a distribution F, from u = F(value).
//!
//! Kolmogorov–Smirnov's needs no full sort: values are counted in equal buckets of [0, 1]. Both distribution
//! functions are known at the edges, which bounds the distance from below; counts bound it from
//! above inside a bucket. Only buckets that may hold the supremum are sorted: a few dozen values.

use super::math::interpolate;
use crate::{
    cpu::simd::{Kernel, Simd},
    mechanism::denoise,
};

const BUCKETS: usize = 4096;
/// Cells of the table.
const CELLS: usize = 1 << 14;

/// The noise's CDF over s = |x|/(|x| + c), c the upper quartile, which maps the line to [0, 1]. The
/// tail 1 − F(|x|) is linear between nodes, with an absolute error tested below 1.5e-7.
pub struct Cdf {
    tail: Vec<f32>,
    quartile: f32,
}

impl Cdf {
    /// Tabulates the distribution function of a symmetric continuous distribution.
    pub fn new(cdf: impl Fn(f64) -> f64) -> Self {
        let (mut low, mut high) = (0.0, 1.0);
        while cdf(-high) > 0.25 && high < 1e300 {
            high *= 2.0;
        }
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if cdf(-middle) > 0.25 { low = middle } else { high = middle }
        }
        let tail = (0..=CELLS + 1)
            .map(|k| {
                if k >= CELLS {
                    return 0.0;
                }
                let s = k as f64 / CELLS as f64;
                // The lower tail, which loses no digits.
                cdf(-high * s / (1.0 - s)) as f32
            })
            .collect();
        Self { tail, quartile: high as f32 }
    }
}

/// Buffers of [`Distance::of`].
pub struct Distance {
    kind: denoise::Distance,
    counts: Vec<u32>,
    suspect: Vec<bool>,
    candidates: Vec<f32>,
}

impl Distance {
    pub fn new(kind: denoise::Distance, p: usize) -> Self {
        Self { kind, counts: vec![0; BUCKETS], suspect: vec![false; BUCKETS], candidates: Vec::with_capacity(p) }
    }

    /// The distance for values whose F(value) are `uniforms`, in [0, 1].
    pub fn of(&mut self, uniforms: &[f32]) -> f64 {
        if self.kind == denoise::Distance::KolmogorovSmirnov {
            return self.supremum(uniforms);
        }
        self.candidates.clear();
        self.candidates.extend_from_slice(uniforms);
        self.candidates.sort_unstable_by(f32::total_cmp);
        self.kind.of_uniforms(self.candidates.iter().map(|&u| f64::from(u)))
    }

    /// sup |F̂ − F|.
    fn supremum(&mut self, uniforms: &[f32]) -> f64 {
        let n = uniforms.len() as f64;
        self.counts.fill(0);
        for &u in uniforms {
            self.counts[bucket(u)] += 1;
        }
        let edge = |b: usize| b as f64 / BUCKETS as f64;
        let mut largest: f64 = 0.0;
        let mut before = 0;
        for (b, &count) in self.counts.iter().enumerate() {
            before += count;
            largest = largest.max((f64::from(before) / n - edge(b + 1)).abs());
        }
        let mut before = 0;
        for (b, &count) in self.counts.iter().enumerate() {
            let after = before + count;
            let above = f64::from(after) / n - edge(b);
            let below = edge(b + 1) - f64::from(before) / n;
            self.suspect[b] = count > 0 && above.max(below) > largest;
            before = after;
        }
        self.candidates.clear();
        self.candidates.extend(uniforms.iter().filter(|&&u| self.suspect[bucket(u)]));
        self.candidates.sort_unstable_by(f32::total_cmp);
        let mut candidates = self.candidates.iter();
        let mut before = 0;
        for (b, &count) in self.counts.iter().enumerate() {
            if self.suspect[b] {
                for (k, &u) in (before..).zip(candidates.by_ref().take(count as usize)) {
                    let u = f64::from(u);
                    largest = largest.max(u - f64::from(k) / n).max(f64::from(k + 1) / n - u);
                }
            }
            before += count;
        }
        largest
    }
}

/// The bucket of u in [0, 1]; 1 itself falls into the last.
fn bucket(u: f32) -> usize {
    ((u * BUCKETS as f32) as usize).min(BUCKETS - 1)
}

/// out = F(values). NaN counts as +∞.
pub struct ToUniform<'a> {
    pub cdf: &'a Cdf,
    pub values: &'a [f32],
    pub out: &'a mut [f32],
}

impl<S: Simd> Kernel<S> for ToUniform<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { cdf, values, out } = self;
        let zero = s.splat(0.0);
        let one = s.splat(1.0);
        for (x, out) in values.chunks_exact(S::LANES).zip(out.chunks_exact_mut(S::LANES)) {
            let x = s.load(x);
            let magnitude = s.abs(x);
            let share = s.min(s.div(magnitude, s.add(magnitude, s.splat(cdf.quartile))), one);
            let position = s.mul(share, s.splat(CELLS as f32));
            let tail = interpolate(s, &cdf.tail, position);
            let u = s.select(s.greater(zero, x), tail, s.sub(one, tail));
            s.store(u, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        accounting::noise::{CustomDensity, NoiseSpec},
        cpu::simd::{Dispatch, for_each},
    };

    fn families() -> [NoiseSpec; 8] {
        [
            NoiseSpec::Gaussian { sigma: 1.1 },
            NoiseSpec::StudentT { nu: 9.0, scale: 1.0 },
            NoiseSpec::Laplace { scale: 0.01 },
            NoiseSpec::Cauchy { scale: 1.0 },
            NoiseSpec::VarianceGamma { scale: 0.7 },
            NoiseSpec::HyperbolicSecant { scale: 3.0 },
            NoiseSpec::GeneralizedGaussian { exponent: 4.0, scale: 1.0 },
            NoiseSpec::Custom { density: CustomDensity::from_formula("1 / (1 + x^4)").unwrap(), scale: 0.5 },
        ]
    }

    /// Magnitudes from far below the scale to far above.
    fn values() -> Vec<f32> {
        let magnitudes = (-400..400).map(|k| 10f32.powf(k as f32 / 40.0));
        magnitudes
            .flat_map(|m| [m, -m])
            .chain([0.0, -0.0, f32::MAX, f32::INFINITY, f32::NEG_INFINITY, f32::NAN])
            .collect()
    }

    #[derive(Clone, Copy)]
    struct Table;

    impl Dispatch for Table {
        type Output = ();
        fn with<S: Simd>(self, simd: S) {
            for spec in families() {
                let noise = spec.build().unwrap();
                let cdf = Cdf::new(|x| noise.cdf(x));
                let mut values = values();
                values.resize(values.len().next_multiple_of(S::LANES), 1.0);
                let mut uniforms = vec![0.0; values.len()];
                simd.run(ToUniform { cdf: &cdf, values: &values, out: &mut uniforms });
                for (&x, &u) in values.iter().zip(&uniforms) {
                    let exact = if x.is_nan() { 1.0 } else { noise.cdf(f64::from(x)) };
                    assert!((f64::from(u) - exact).abs() < 1.5e-7, "{} {spec:?} {x}: {u}, not {exact}", S::NAME);
                    assert!((0.0..=1.0).contains(&u));
                }
            }
        }
    }

    #[test]
    fn table_keeps_its_stated_error() {
        for_each(Table);
    }

    /// Equals the sorting reference, whatever the values.
    #[test]
    fn the_distance_is_exact() {
        let uniform = |x: f64| x.clamp(0.0, 1.0);
        let noise = |k: usize| ((k as u32).wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 24) as f32;
        let mut cases: Vec<Vec<f32>> =
            vec![vec![], vec![0.5], vec![0.0; 10], vec![1.0; 10], vec![0.0, 1.0], vec![0.3; 4097]];
        for n in [2, 10, 1000, 26_010] {
            cases.push((0..n).map(noise).collect());
            cases.push((0..n).map(|k| noise(k).powi(2)).collect());
            cases.push((0..n).map(|k| 0.4 + 0.01 * noise(k)).collect());
            cases.push((0..n).map(|k| (noise(k) * 8.0).floor() / 8.0).collect());
            cases.push((0..n).map(|k| if k % 3 == 0 { noise(k) } else { 0.75 }).collect());
        }
        for kind in
            [denoise::Distance::KolmogorovSmirnov, denoise::Distance::CramerVonMises, denoise::Distance::Wasserstein]
        {
            let mut distance = Distance::new(kind, 26_010);
            for values in &cases {
                let (found, expected) = (distance.of(values), kind.of(values, uniform));
                assert!((found - expected).abs() < 1e-12, "{kind:?}, {} values: {found}, not {expected}", values.len());
            }
        }
    }
}
