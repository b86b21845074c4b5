//! Noise by ChaCha20, one block per lane; [`crate::mechanism::noise`] has the contract.

use super::{
    math::{cos_turn, exp_m1, from_u32, ln, ln_1p, sin_cos},
    quantile::Quantile,
};
use crate::cpu::simd::{Kernel, MOST_LANES, Simd};
use crate::{
    accounting::noise::{Noise, NoiseError, NoiseSpec},
    mechanism::noise::NONCE,
};
use std::f32::consts::{FRAC_PI_2, FRAC_PI_4, PI};

/// A validated noise family.
pub struct Family {
    spec: NoiseSpec,
    pub noise: Box<dyn Noise>,
    /// A quantile table, for families whose quantiles are slow.
    quantile: Option<Quantile>,
}

impl Family {
    /// # Errors
    /// As [`NoiseSpec::build`].
    pub fn new(spec: &NoiseSpec) -> Result<Self, NoiseError> {
        let noise = spec.build()?;
        let quantile = match spec {
            NoiseSpec::GeneralizedGaussian { .. } => Some(Quantile::new(&*noise)),
            _ => None,
        };
        Ok(Self { spec: spec.clone(), noise, quantile })
    }

    /// As [`Noise::draw`].
    fn draw(&self, words: [u32; 4]) -> f64 {
        match &self.quantile {
            Some(table) => table.draw(&*self.noise, words),
            None => self.noise.draw(words),
        }
    }
}

/// noisy[i] ← sum[i] + z_{first + i}, rounded once, so that the release is a function of the exact
/// sum and its noise. `first` is a multiple of 4.
pub struct AddNoise<'a> {
    pub family: &'a Family,
    pub key: &'a [u32; 8],
    pub first: u32,
    pub sum: &'a [f64],
    pub noisy: &'a mut [f32],
}

impl<S: Simd> Kernel<S> for AddNoise<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { family, key, first, sum, noisy } = self;
        let mut lane_numbers = [0; MOST_LANES];
        for (k, number) in lane_numbers.iter_mut().enumerate() {
            *number = k as u32;
        }
        let lane_numbers = s.load_u(&lane_numbers);
        let mut counter = first / 4;
        for (noisy, sum) in noisy.chunks_mut(4 * S::LANES).zip(sum.chunks(4 * S::LANES)) {
            let words = chacha20(s, key, s.add_u(lane_numbers, s.splat_u(counter)));
            counter = counter.wrapping_add(S::LANES as u32);
            // Word 4k + j of a block is word j of the block's coordinate k.
            let mut draws = [[0.0; MOST_LANES]; 4];
            for (k, draws) in draws.iter_mut().enumerate() {
                let z = transform(s, family, [words[4 * k], words[4 * k + 1], words[4 * k + 2], words[4 * k + 3]]);
                s.store(z, draws);
            }
            for (i, (noisy, sum)) in noisy.iter_mut().zip(sum).enumerate() {
                *noisy = (sum + f64::from(draws[i % 4][i / 4])) as f32;
            }
        }
    }
}

/// The ChaCha20 block function (RFC 8439) at one counter per lane.
#[inline(always)]
fn chacha20<S: Simd>(s: S, key: &[u32; 8], counters: S::U) -> [S::U; 16] {
    let start: [S::U; 16] = std::array::from_fn(|k| match k {
        0 => s.splat_u(0x6170_7865),
        1 => s.splat_u(0x3320_646e),
        2 => s.splat_u(0x7962_2d32),
        3 => s.splat_u(0x6b20_6574),
        4..12 => s.splat_u(key[k - 4]),
        12 => counters,
        _ => s.splat_u(NONCE[k - 13]),
    });
    let mut x = start;
    for _ in 0..10 {
        quarter_round(s, &mut x, 0, 4, 8, 12);
        quarter_round(s, &mut x, 1, 5, 9, 13);
        quarter_round(s, &mut x, 2, 6, 10, 14);
        quarter_round(s, &mut x, 3, 7, 11, 15);
        quarter_round(s, &mut x, 0, 5, 10, 15);
        quarter_round(s, &mut x, 1, 6, 11, 12);
        quarter_round(s, &mut x, 2, 7, 8, 13);
        quarter_round(s, &mut x, 3, 4, 9, 14);
    }
    for (word, first) in x.iter_mut().zip(start) {
        *word = s.add_u(*word, first);
    }
    x
}

#[inline(always)]
fn quarter_round<S: Simd>(s: S, x: &mut [S::U; 16], a: usize, b: usize, c: usize, d: usize) {
    x[a] = s.add_u(x[a], x[b]);
    x[d] = s.rotl(s.xor(x[d], x[a]), 16);
    x[c] = s.add_u(x[c], x[d]);
    x[b] = s.rotl(s.xor(x[b], x[c]), 12);
    x[a] = s.add_u(x[a], x[b]);
    x[d] = s.rotl(s.xor(x[d], x[a]), 8);
    x[c] = s.add_u(x[c], x[d]);
    x[b] = s.rotl(s.xor(x[b], x[c]), 7);
}

/// A 64-bit uniform u: `below` is u if u < ½, else ½; `above` is 1 − u if u ≥ ½, else ½.
struct Uniform<S: Simd> {
    below: S::F,
    above: S::F,
    is_below: S::M,
}

/// (2^32·high + low + ½)/2^64.
#[inline(always)]
fn unit<S: Simd>(s: S, high: S::U, low: S::U) -> S::F {
    let low = s.add(s.mul(from_u32(s, low), s.splat(1.0 / 4_294_967_296.0)), s.splat(0.5 / 4_294_967_296.0));
    s.mul(s.add(from_u32(s, high), low), s.splat(1.0 / 4_294_967_296.0))
}

#[inline(always)]
fn uniform<S: Simd>(s: S, high: S::U, low: S::U) -> Uniform<S> {
    // The bits of 1 − u are the complement of u's; the smaller of the two keeps all f32 digits.
    let ones = s.splat_u(u32::MAX);
    let sign = s.float(s.or(s.and(high, s.splat_u(1 << 31)), s.bits(s.splat(1.0))));
    let is_below = s.greater(sign, s.splat(0.0));
    let half = s.splat(0.5);
    let below = s.select(is_below, unit(s, high, low), half);
    let above = s.select(is_below, half, unit(s, s.xor(high, ones), s.xor(low, ones)));
    Uniform { below, above, is_below }
}

/// −ln u.
#[inline(always)]
fn exponential<S: Simd>(s: S, high: S::U, low: S::U) -> S::F {
    let u = uniform(s, high, low);
    s.neg(s.select(u.is_below, ln(s, u.below), ln_1p(s, s.neg(u.above))))
}

/// tan x for |x| ≤ π/4.
#[inline(always)]
fn tan<S: Simd>(s: S, x: S::F) -> S::F {
    let (sin, cos) = sin_cos(s, x);
    s.div(sin, cos)
}

/// `magnitude`, negated if the top bit of `bits` is set.
#[inline(always)]
fn with_sign<S: Simd>(s: S, magnitude: S::F, bits: S::U) -> S::F {
    s.float(s.xor(s.bits(magnitude), s.and(bits, s.splat_u(1 << 31))))
}

/// As [`Noise::draw`], in f32: relative error below 2e-6.
#[inline(always)]
fn transform<S: Simd>(s: S, family: &Family, [w0, w1, w2, w3]: [S::U; 4]) -> S::F {
    match family.spec {
        NoiseSpec::Gaussian { sigma } => {
            let radius = s.sqrt(s.mul(s.splat(2.0), exponential(s, w0, w1)));
            s.mul(s.mul(s.splat(sigma as f32), radius), cos_turn(s, w2))
        }
        NoiseSpec::StudentT { nu, scale } => {
            let power = exp_m1(s, s.mul(s.splat((2.0 / nu) as f32), exponential(s, w0, w1)));
            let radius = s.sqrt(s.mul(s.splat(nu as f32), power));
            s.mul(s.mul(s.splat(scale as f32), radius), cos_turn(s, w2))
        }
        NoiseSpec::Laplace { scale } => with_sign(s, s.mul(s.splat(scale as f32), exponential(s, w0, w1)), w2),
        NoiseSpec::Cauchy { scale } => {
            // cot(πu/2): from u below ½, from 1 − u above.
            let u = uniform(s, w0, w1);
            let below = s.div(s.splat(1.0), tan(s, s.mul(u.below, s.splat(FRAC_PI_2))));
            let above = tan(s, s.mul(u.above, s.splat(FRAC_PI_2)));
            with_sign(s, s.mul(s.splat(scale as f32), s.select(u.is_below, below, above)), w2)
        }
        NoiseSpec::HyperbolicSecant { scale } => {
            // −ln tan(πu/4); with t = tan(π(1 − u)/4) that is ln((1 + t)/(1 − t)).
            let u = uniform(s, w0, w1);
            let below = s.neg(ln(s, tan(s, s.mul(u.below, s.splat(FRAC_PI_4)))));
            let t = tan(s, s.mul(u.above, s.splat(FRAC_PI_4)));
            let above = ln_1p(s, s.div(s.add(t, t), s.sub(s.splat(1.0), t)));
            let magnitude = s.select(u.is_below, below, above);
            with_sign(s, s.mul(s.splat(2.0 / PI * scale as f32), magnitude), w2)
        }
        NoiseSpec::VarianceGamma { scale } => {
            let first = with_sign(s, exponential(s, w0, w1), w3);
            // 32 bits and a half: (w + ½)/2^32.
            let second = with_sign(s, exponential(s, w2, s.splat_u(1 << 31)), s.shl(w3, 1));
            s.mul(s.splat(scale as f32), s.add(first, second))
        }
        // In f64, then rounded: no cheaper f32 table keeps the family's density.
        NoiseSpec::GeneralizedGaussian { .. } | NoiseSpec::Custom { .. } => by_lane(s, family, [w0, w1, w2, w3]),
    }
}

/// Draws lane by lane, for families whose quantile has no closed form in f32.
#[inline(always)]
fn by_lane<S: Simd>(s: S, family: &Family, words: [S::U; 4]) -> S::F {
    let words = words.map(|w| {
        let mut lanes = [0; MOST_LANES];
        s.store_u(w, &mut lanes);
        lanes
    });
    let mut draws = [0.0; MOST_LANES];
    for (k, draw) in draws[..S::LANES].iter_mut().enumerate() {
        *draw = family.draw(words.map(|w| w[k])) as f32;
    }
    s.load(&draws)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        accounting::noise::CustomDensity,
        cpu::simd::{Dispatch, for_each},
        mechanism::noise::{add_noise as reference, words_at},
    };

    fn families() -> [NoiseSpec; 12] {
        [
            NoiseSpec::Gaussian { sigma: 1.1 },
            NoiseSpec::StudentT { nu: 9.0, scale: 0.9 },
            NoiseSpec::StudentT { nu: 2.1, scale: 1.0 },
            NoiseSpec::Laplace { scale: 0.7 },
            NoiseSpec::Cauchy { scale: 0.1 },
            NoiseSpec::VarianceGamma { scale: 0.5 },
            NoiseSpec::HyperbolicSecant { scale: 2.0 },
            NoiseSpec::GeneralizedGaussian { exponent: 1.0, scale: 1.0 },
            NoiseSpec::GeneralizedGaussian { exponent: 1.5, scale: 1.0 },
            NoiseSpec::GeneralizedGaussian { exponent: 6.0, scale: 1.0 },
            NoiseSpec::Custom { density: CustomDensity::from_formula("1 / (1 + x^4)").unwrap(), scale: 0.5 },
            NoiseSpec::Custom {
                density: CustomDensity::from_points("steep", &[(0.0, 1.0), (1.0, 0.8), (1.05, 0.1), (3.0, 0.02)])
                    .unwrap(),
                scale: 1.5,
            },
        ]
    }

    #[derive(Clone, Copy)]
    struct Draws;

    impl Dispatch for Draws {
        type Output = ();
        fn with<S: Simd>(self, simd: S) {
            let key = [9, 8, 7, 6, 5, 4, 3, 0xffff_ffff];
            for spec in families() {
                let family = Family::new(&spec).unwrap();
                let p = 26_010;
                let mut expected = vec![0.0; p];
                reference(&key, &*family.noise, &vec![0.0; p], &mut expected);
                let mut found = vec![0.0; p];
                let (start, end) = found.split_at_mut(500);
                let sum = vec![0.0; p];
                simd.run(AddNoise { family: &family, key: &key, first: 0, sum: &sum[..500], noisy: start });
                simd.run(AddNoise { family: &family, key: &key, first: 500, sum: &sum[500..], noisy: end });
                for (i, (&found, &expected)) in found.iter().zip(&expected).enumerate() {
                    // Relative, but where a cosine nearly vanishes: there relative to the scale.
                    let allowed = 3e-6 * expected.abs() + 2e-6 * family.noise.scale() as f32;
                    assert!((found - expected).abs() <= allowed, "{} {spec:?} {i}: {found}, not {expected}", S::NAME);
                }
            }
        }
    }

    #[test]
    fn draws_match_the_reference() {
        for_each(Draws);
    }

    /// Words at the ends of the uniform's range, where f32 arithmetic would fail first.
    #[derive(Clone, Copy)]
    struct Extremes;

    impl Dispatch for Extremes {
        type Output = ();
        fn with<S: Simd>(self, simd: S) {
            const EDGES: [u32; 8] = [0, 1, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, 0xffff_ff00, u32::MAX - 1, u32::MAX];
            for spec in families() {
                let family = Family::new(&spec).unwrap();
                for (w0, w1) in EDGES.into_iter().flat_map(|w0| EDGES.map(|w1| (w0, w1))) {
                    for [w2, w3] in [[0, 0], [0x1234_5678, u32::MAX], [u32::MAX, 0x7fff_0000], [0x9abc_def0, 1 << 30]] {
                        let found = transform(simd, &family, [w0, w1, w2, w3].map(|w| simd.splat_u(w)));
                        let found = S::flat(&[found])[0];
                        let expected = family.noise.draw([w0, w1, w2, w3]);
                        let difference = (f64::from(found) - expected).abs();
                        // The reference reads 32 more bits of an angle, and rounds near u = 1.
                        let allowed = 3e-6 * expected.abs() + 2e-8;
                        assert!(
                            difference <= allowed,
                            "{} {spec:?} {w0:#x} {w1:#x} {w2:#x} {w3:#x}: {found}, not {expected}",
                            S::NAME
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn draws_at_extreme_words_match_the_reference() {
        for_each(Extremes);
    }

    #[test]
    fn words_match_chacha20() {
        #[derive(Clone, Copy)]
        struct Words;
        impl Dispatch for Words {
            type Output = ();
            fn with<S: Simd>(self, simd: S) {
                let key = [1, 2, 3, 4, 5, 6, 7, 8];
                let mut words = [[0; MOST_LANES]; 16];
                let counters: Vec<u32> = (1000..1000 + MOST_LANES as u32).collect();
                for (word, out) in chacha20(simd, &key, simd.load_u(&counters)).into_iter().zip(&mut words) {
                    simd.store_u(word, out);
                }
                let lanes = 0..S::LANES;
                for lane in lanes {
                    for coordinate in 0..4 {
                        let expected = words_at(&key, 4 * (1000 + lane as u32) + coordinate as u32);
                        let found: [u32; 4] = std::array::from_fn(|w| words[4 * coordinate + w][lane]);
                        assert_eq!(found, expected);
                    }
                }
            }
        }
        for_each(Words);
    }
}
