//! Activations without pooling, and group normalisation.

use super::{math, pooling::drop_negligible};
use crate::{
    cpu::simd::{Kernel, Simd},
    model::{
        Activation,
        layers::{MOMENT_FLOOR, MOMENT_SHARE, NORM_FLOOR},
    },
};

/// s, T and o of s/(1 + e^(−T·x)) − o.
fn logistic(activation: Activation) -> [f32; 3] {
    activation.logistic().unwrap_or([1.0, 1.0, 0.0]).map(|v| v as f32)
}

/// out = f(input).
pub struct Activate<'a, S: Simd> {
    pub activation: Activation,
    pub input: &'a [S::F],
    pub out: &'a mut [S::F],
}

impl<S: Simd> Kernel<S> for Activate<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { activation, input, out } = self;
        let (zero, one) = (s.splat(0.0), s.splat(1.0));
        let both = input.iter().zip(out);
        match activation {
            Activation::Tanh => both.for_each(|(&x, out)| *out = math::tanh(s, x)),
            // `max` returns its second argument for NaN.
            Activation::Relu => both.for_each(|(&x, out)| *out = s.max(zero, x)),
            Activation::Elu => both.for_each(|(&x, out)| {
                let below = s.sub(math::exp(s, s.min(zero, x)), one);
                // NaN selects x, whatever exp makes of it.
                *out = s.select(s.greater(zero, x), below, x);
            }),
            Activation::Sigmoid | Activation::Tempered { .. } => {
                let [scale, inverse_temperature, offset] = logistic(activation).map(|v| s.splat(v));
                both.for_each(|(&x, out)| {
                    let e = math::exp(s, s.neg(s.mul(inverse_temperature, x)));
                    let y = s.sub(s.div(scale, s.add(one, e)), offset);
                    // NaN stays NaN; an infinite x becomes NaN.
                    *out = s.add(y, s.sub(x, x));
                });
            }
        }
    }
}

/// delta ← δ·f′, from the activation's values f(x).
pub struct ThroughValues<'a, S: Simd> {
    pub activation: Activation,
    pub values: &'a [S::F],
    pub delta: &'a mut [S::F],
}

impl<S: Simd> Kernel<S> for ThroughValues<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { activation, values, delta } = self;
        let (zero, one) = (s.splat(0.0), s.splat(1.0));
        let both = values.iter().zip(delta);
        match activation {
            Activation::Tanh => both.for_each(|(&a, d)| {
                *d = drop_negligible(s, s.mul(*d, s.sub(one, s.mul(a, a))));
            }),
            Activation::Relu => both.for_each(|(&a, d)| *d = s.select(s.greater(a, zero), *d, zero)),
            Activation::Elu => both.for_each(|(&a, d)| {
                // eˣ = f(x) + 1 below 0.
                let slope = s.select(s.greater(zero, a), s.add(a, one), one);
                *d = drop_negligible(s, s.mul(*d, slope));
            }),
            Activation::Sigmoid | Activation::Tempered { .. } => {
                let [scale, inverse_temperature, offset] = logistic(activation);
                let (inverse, offset) = (s.splat(1.0 / scale), s.splat(offset));
                let steep = s.splat(inverse_temperature);
                // With y = (f + o)/s: f′ = s·T·y·(1 − y).
                both.for_each(|(&a, d)| {
                    let raised = s.add(a, offset);
                    let slope = s.mul(s.mul(steep, raised), s.sub(one, s.mul(raised, inverse)));
                    *d = drop_negligible(s, s.mul(*d, slope));
                });
            }
        }
    }
}

/// Normalises channel groups to mean 0 and variance 1, then applies factors and summands.
pub struct GroupNorm<'a, S: Simd> {
    pub groups: usize,
    /// Factors, then summands.
    pub affine: &'a [f32],
    pub input: &'a [S::F],
    /// The normalised values, before factors and summands.
    pub unit: &'a mut [S::F],
    /// 1/√(variance + floor) of each group.
    pub inverse: &'a mut [S::F],
    pub out: &'a mut [S::F],
}

impl<S: Simd> Kernel<S> for GroupNorm<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { groups, affine, input, unit, inverse, out } = self;
        let size = input.len() / groups;
        let share = s.splat(1.0 / size as f32);
        let parts = input.chunks_exact(size).zip(unit.chunks_exact_mut(size)).zip(inverse);
        for ((input, unit), inverse) in parts {
            // Equal values become exactly 0, so that a ReLU after the norm sees no rounding errors.
            let first = input[0];
            let mean = s.mul(input.iter().fold(s.splat(0.0), |sum, &x| s.add(sum, s.sub(x, first))), share);
            // A second pass removes the rounding error of the mean.
            let mut rest = s.splat(0.0);
            for (&x, unit) in input.iter().zip(&mut *unit) {
                *unit = s.sub(s.sub(x, first), mean);
                rest = s.add(rest, *unit);
            }
            let (rest, mut square) = (s.mul(rest, share), s.splat(0.0));
            for unit in &mut *unit {
                *unit = s.sub(*unit, rest);
                square = s.mul_add(*unit, *unit, square);
            }
            let variance = s.mul_add(square, share, s.splat(NORM_FLOOR as f32));
            *inverse = s.div(s.splat(1.0), s.sqrt(variance));
            unit.iter_mut().for_each(|unit| *unit = s.mul(*unit, *inverse));
        }
        let channels = affine.len() / 2;
        let area = input.len() / channels;
        let (factors, summands) = affine.split_at(channels);
        let parts = unit.chunks_exact(area).zip(out.chunks_exact_mut(area)).zip(factors).zip(summands);
        for (((unit, out), &factor), &summand) in parts {
            let (factor, summand) = (s.splat(factor), s.splat(summand));
            unit.iter().zip(out).for_each(|(&u, out)| *out = s.mul_add(u, factor, summand));
        }
    }
}

/// delta ← ∂ℓ/∂input of [`GroupNorm`]; gradient ← that of factors and summands, one per lane.
pub struct GroupNormBackward<'a, S: Simd> {
    pub groups: usize,
    pub affine: &'a [f32],
    pub unit: &'a [S::F],
    pub inverse: &'a [S::F],
    pub delta: &'a mut [S::F],
    pub gradient: &'a mut [S::F],
}

impl<S: Simd> Kernel<S> for GroupNormBackward<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { groups, affine, unit, inverse, delta, gradient } = self;
        let (zero, channels) = (s.splat(0.0), affine.len() / 2);
        let area = unit.len() / channels;
        let (of_factors, of_summands) = gradient.split_at_mut(channels);
        for (channel, (delta, unit)) in delta.chunks_exact_mut(area).zip(unit.chunks_exact(area)).enumerate() {
            let factor = s.splat(affine[channel]);
            let (mut along, mut sum) = (zero, zero);
            for (d, &u) in delta.iter_mut().zip(unit) {
                along = s.mul_add(*d, u, along);
                sum = s.add(sum, *d);
                *d = s.mul(*d, factor);
            }
            (of_factors[channel], of_summands[channel]) = (along, sum);
        }
        let size = unit.len() / groups;
        let share = s.splat(1.0 / size as f32);
        for ((delta, unit), &inverse) in delta.chunks_exact_mut(size).zip(unit.chunks_exact(size)).zip(inverse) {
            let (mut mean, mut along) = (zero, zero);
            for (&e, &u) in delta.iter().zip(unit) {
                mean = s.add(mean, e);
                along = s.mul_add(e, u, along);
            }
            let (mean, along) = (s.mul(mean, share), s.mul(along, share));
            for (e, &u) in delta.iter_mut().zip(unit) {
                let rest = s.sub(s.sub(*e, mean), s.mul(u, along));
                *e = drop_negligible(s, s.mul(rest, inverse));
            }
        }
    }
}

/// 1/√(v + floor) of a released variance v, at least 0; NaN stays.
#[inline(always)]
fn inverse_deviation<S: Simd>(s: S, variance: f32) -> S::F {
    let variance = if variance < 0.0 { 0.0 } else { variance };
    s.splat(1.0 / (variance + MOMENT_FLOOR as f32).sqrt())
}

/// Channels minus released means, over released deviations.
pub struct BatchNorm<'a, S: Simd> {
    /// Variances, then means.
    pub moments: &'a [f32],
    pub input: &'a [S::F],
    pub out: &'a mut [S::F],
}

impl<S: Simd> Kernel<S> for BatchNorm<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { moments, input, out } = self;
        let (variances, means) = moments.split_at(moments.len() / 2);
        let area = input.len() / means.len();
        let parts = input.chunks_exact(area).zip(out.chunks_exact_mut(area)).zip(variances).zip(means);
        for (((input, out), &variance), &mean) in parts {
            let (inverse, mean) = (inverse_deviation(s, variance), s.splat(mean));
            input.iter().zip(out).for_each(|(&x, out)| *out = s.mul(s.sub(x, mean), inverse));
        }
    }
}

/// delta ← ∂ℓ/∂input of [`BatchNorm`]; gradient ← that of variances and means, one per lane.
pub struct BatchNormBackward<'a, S: Simd> {
    pub moments: &'a [f32],
    /// As in [`LossDelta`](super::dense::LossDelta): each lane's share of its vector's mean.
    pub share: S::F,
    pub input: &'a [S::F],
    pub delta: &'a mut [S::F],
    pub gradient: &'a mut [S::F],
}

impl<S: Simd> Kernel<S> for BatchNormBackward<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { moments, share, input, delta, gradient } = self;
        let (variances, means) = moments.split_at(moments.len() / 2);
        let area = input.len() / means.len();
        let (of_variances, of_means) = gradient.split_at_mut(means.len());
        let share = s.mul(share, s.splat(MOMENT_SHARE as f32));
        let of_each = s.splat(1.0 / area as f32);
        for (channel, (delta, input)) in delta.chunks_exact_mut(area).zip(input.chunks_exact(area)).enumerate() {
            let mean = s.splat(means[channel]);
            let inverse = inverse_deviation(s, variances[channel]);
            let (mut sum, mut square) = (s.splat(0.0), s.splat(0.0));
            for (d, &x) in delta.iter_mut().zip(input) {
                let apart = s.sub(x, mean);
                sum = s.add(sum, apart);
                square = s.mul_add(apart, apart, square);
                *d = drop_negligible(s, s.mul(*d, inverse));
            }
            let excess = s.sub(s.splat(variances[channel]), s.mul(square, of_each));
            of_variances[channel] = s.mul(excess, share);
            of_means[channel] = s.mul(s.sub(s.splat(0.0), s.mul(sum, of_each)), share);
        }
    }
}
