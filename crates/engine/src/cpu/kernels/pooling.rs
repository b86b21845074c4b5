//! Activation and max-pooling (2×2, stride 1) together.
//!
//! Both activations are increasing, so the largest activation is that of the largest value: it is
//! computed once per window, and the gradient needs only its value.

use super::math;
use crate::cpu::simd::{Kernel, Simd};
use crate::model::Activation;

/// Deltas below 2^-40 become zero, far below what f32 parameters see: no product of two, nor square
/// of their gradients, is denormal (30 times slower on many processors; wasm cannot flush them).
const NEGLIGIBLE: f32 = 1.0 / (1u64 << 40) as f32;

/// `delta`, or 0 if it is negligible. NaN stays.
#[inline(always)]
pub fn drop_negligible<S: Simd>(s: S, delta: S::F) -> S::F {
    s.select(s.greater(s.splat(NEGLIGIBLE), s.abs(delta)), s.splat(0.0), delta)
}

/// Activations of the named models; the others are in `pointwise`.
#[inline(always)]
pub fn activate<S: Simd>(s: S, activation: Activation, x: S::F) -> S::F {
    match activation {
        // `max` returns its second argument for NaN.
        Activation::Relu => s.max(s.splat(0.0), x),
        _ => math::tanh(s, x),
    }
}

/// δ·f′, from the activation's value `a` = f(x).
#[inline(always)]
fn through_activation<S: Simd>(s: S, activation: Activation, a: S::F, delta: S::F) -> S::F {
    let delta = match activation {
        Activation::Relu => s.select(s.greater(a, s.splat(0.0)), delta, s.splat(0.0)),
        _ => s.mul(delta, s.sub(s.splat(1.0), s.mul(a, a))),
    };
    drop_negligible(s, delta)
}

/// Pools `side`×`side` maps of `x` to (side − 1)², applies the activation, and records which of
/// four cells won (0 to 3, row-major, the first of equals).
pub struct PoolForward<'a, S: Simd> {
    pub side: usize,
    pub activation: Activation,
    pub x: &'a [S::F],
    pub pooled: &'a mut [S::F],
    pub winner: &'a mut [S::F],
}

impl<S: Simd> Kernel<S> for PoolForward<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { side, activation, x, pooled, winner } = self;
        let small = side - 1;
        let rows = pooled.chunks_exact_mut(small).zip(winner.chunks_exact_mut(small));
        for (k, (pooled, winner)) in rows.enumerate() {
            let start = (k / small) * side * side + (k % small) * side;
            let top = &x[start..start + side];
            let bottom = &x[start + side..start + 2 * side];
            for j in 0..small {
                let mut best = top[j];
                let mut cell = s.splat(0.0);
                for (number, value) in [(1.0, top[j + 1]), (2.0, bottom[j]), (3.0, bottom[j + 1])] {
                    let larger = s.greater(value, best);
                    best = s.select(larger, value, best);
                    cell = s.select(larger, s.splat(number), cell);
                }
                pooled[j] = activate(s, activation, best);
                winner[j] = cell;
            }
        }
    }
}

/// Passes each pooled gradient through the activation to the cell that won. Overwrites `delta`.
pub struct PoolBackward<'a, S: Simd> {
    pub side: usize,
    pub activation: Activation,
    pub pooled: &'a [S::F],
    pub winner: &'a [S::F],
    pub pooled_delta: &'a [S::F],
    pub delta: &'a mut [S::F],
}

impl<S: Simd> Kernel<S> for PoolBackward<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { side, activation, pooled, winner, pooled_delta, delta } = self;
        let small = side - 1;
        let maps = delta.chunks_exact_mut(side * side).zip(pooled_delta.chunks_exact(small * small));
        let kept = pooled.chunks_exact(small * small).zip(winner.chunks_exact(small * small));
        for ((delta, pooled_delta), (pooled, winner)) in maps.zip(kept) {
            delta.fill(s.splat(0.0));
            for y in 0..small {
                for x in 0..small {
                    let k = y * small + x;
                    let d = through_activation(s, activation, pooled[k], pooled_delta[k]);
                    let cell = y * side + x;
                    for (number, at) in [(0.0, cell), (1.0, cell + 1), (2.0, cell + side), (3.0, cell + side + 1)] {
                        let won = s.equal(winner[k], s.splat(number));
                        delta[at] = s.add(delta[at], s.select(won, d, s.splat(0.0)));
                    }
                }
            }
        }
    }
}
