//! Fully connected layers and the loss, over [`Simd::LANES`] examples at a time.

use super::{
    math,
    pooling::{activate, drop_negligible},
};
use crate::cpu::simd::{Kernel, MOST_LANES, Simd};
use crate::model::Activation;

/// out = f(W·input + b). `weights`: `[out][in]`, then biases; `C` divides the number of outputs.
pub struct DenseForward<'a, S: Simd, const C: usize> {
    pub activation: Option<Activation>,
    pub weights: &'a [f32],
    pub input: &'a [S::F],
    pub out: &'a mut [S::F],
}

impl<S: Simd, const C: usize> Kernel<S> for DenseForward<'_, S, C> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { activation, weights, input, out } = self;
        let (weights, biases) = weights.split_at(input.len() * out.len());
        for (o, out) in out.chunks_exact_mut(C).enumerate() {
            let rows: [&[f32]; C] = std::array::from_fn(|c| &weights[(o * C + c) * input.len()..][..input.len()]);
            let mut sums: [S::F; C] = std::array::from_fn(|c| s.splat(biases[o * C + c]));
            for (i, &x) in input.iter().enumerate() {
                for c in 0..C {
                    sums[c] = s.mul_add(x, s.splat(rows[c][i]), sums[c]);
                }
            }
            for c in 0..C {
                out[c] = activation.map_or(sums[c], |f| activate(s, f, sums[c]));
            }
        }
    }
}

/// ∂ℓ/∂input = Wᵀδ, eight inputs at a time; the last few one by one.
pub struct DenseBackward<'a, S: Simd> {
    pub weights: &'a [f32],
    pub delta: &'a [S::F],
    pub out: &'a mut [S::F],
}

impl<S: Simd> Kernel<S> for DenseBackward<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { weights, delta, out } = self;
        const TILE: usize = 8;
        let inputs = out.len();
        for (i, out) in out.chunks_exact_mut(TILE).enumerate() {
            let mut sums = [s.splat(0.0); TILE];
            for (row, &d) in weights.chunks_exact(inputs).zip(delta) {
                let row: &[f32; TILE] = row[i * TILE..].first_chunk().expect("tiles lie inside a row");
                for c in 0..TILE {
                    sums[c] = s.mul_add(d, s.splat(row[c]), sums[c]);
                }
            }
            out.copy_from_slice(&sums);
        }
        for (i, out) in out.iter_mut().enumerate().skip(inputs - inputs % TILE) {
            let rows = weights.chunks_exact(inputs).zip(delta);
            *out = rows.fold(s.splat(0.0), |sum, (row, &d)| s.mul_add(d, s.splat(row[i]), sum));
        }
    }
}

/// ⟨δ ⊗ (x, 1), δ′ ⊗ (x′, 1)⟩ = (⟨x, x′⟩ + 1)·⟨δ, δ′⟩: the inner product of two gradients of a
/// dense layer, without forming them; of one with itself, its squared norm (Goodfellow 2015).
pub struct DenseDot<'a, S: Simd> {
    pub inputs: [&'a [S::F]; 2],
    pub deltas: [&'a [S::F]; 2],
}

impl<S: Simd> Kernel<S> for DenseDot<'_, S> {
    type Output = S::F;

    #[inline(always)]
    fn run(self, s: S) -> S::F {
        let Self { inputs, deltas } = self;
        let input = s.add(dot(s, inputs), s.splat(1.0));
        s.mul(input, dot(s, deltas))
    }
}

/// Σab, in runs of 32 terms, of 32 runs, and of 32 of those. With `MOST_PARAMETERS` terms each
/// passes through at most 128 roundings: a relative error of 2^−17 of a squared norm, 2^−18 of the
/// norm, a sixteenth of the clip's margin.
#[inline(always)]
fn dot<S: Simd>(s: S, [a, b]: [&[S::F]; 2]) -> S::F {
    let zero = s.splat(0.0);
    let [mut runs, mut thousands, mut sum] = [zero; 3];
    for (run, (a, b)) in a.chunks(32).zip(b.chunks(32)).enumerate() {
        runs = s.add(runs, a.iter().zip(b).fold(zero, |sum, (&a, &b)| s.mul_add(a, b, sum)));
        if run % 32 == 31 {
            (thousands, runs) = (s.add(thousands, runs), zero);
        }
        if run % 1024 == 1023 {
            (sum, thousands) = (s.add(sum, thousands), zero);
        }
    }
    s.add(sum, s.add(thousands, runs))
}

/// Softmax, in place.
pub struct Softmax<'a, S: Simd> {
    pub logits: &'a mut [S::F],
}

impl<S: Simd> Kernel<S> for Softmax<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { logits } = self;
        let largest = logits.iter().skip(1).fold(logits[0], |a, &b| s.max(a, b));
        let mut total = s.splat(0.0);
        for v in logits.iter_mut() {
            let away = s.sub(*v, largest);
            // Logits that are not finite become NaN.
            *v = s.add(math::exp(s, away), s.sub(away, away));
            total = s.add(total, *v);
        }
        for v in logits.iter_mut() {
            *v = s.div(*v, total);
        }
    }
}

/// ∂ℓ/∂logits of the cross-entropy, softmax − one-hot, times `share`. `labels`: f32, one per lane.
pub struct LossDelta<'a, S: Simd> {
    pub labels: S::F,
    /// Weight of each lane's gradient.
    pub share: S::F,
    pub logits: &'a mut [S::F],
}

impl<S: Simd> Kernel<S> for LossDelta<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { labels, share, logits } = self;
        Softmax { logits: &mut *logits }.run(s);
        for (class, v) in logits.iter_mut().enumerate() {
            let hit = s.equal(labels, s.splat(class as f32));
            let delta = s.select(hit, s.sub(*v, s.splat(1.0)), *v);
            *v = drop_negligible(s, s.mul(delta, share));
        }
    }
}

/// Transposes `lanes` to `rows`, `[lane][k]`, for `k` up to the last multiple of [`Simd::LANES`].
pub struct ToRows<'a, S: Simd> {
    pub lanes: &'a [S::F],
    pub rows: &'a mut [f32],
}

impl<S: Simd> Kernel<S> for ToRows<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { lanes, rows } = self;
        let n = lanes.len();
        let mut tile = [s.splat(0.0); MOST_LANES];
        for (k, from) in lanes.chunks_exact(S::LANES).enumerate() {
            tile[..S::LANES].copy_from_slice(from);
            s.transpose(&mut tile);
            for lane in 0..S::LANES {
                s.store(tile[lane], &mut rows[lane * n + k * S::LANES..]);
            }
        }
    }
}

/// One example's dense gradient, times `factor`: δ ⊗ input, then δ. With `add`, adds to `out`.
pub struct DenseRow<'a, S: Simd> {
    pub lane: usize,
    pub factor: f32,
    pub add: bool,
    pub delta: &'a [S::F],
    pub input: &'a [f32],
    pub out: &'a mut [f32],
}

impl<S: Simd> Kernel<S> for DenseRow<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: S) {
        let Self { lane, factor, add, delta, input, out } = self;
        let delta = S::flat(delta);
        let outputs = delta.len() / S::LANES;
        let (weights, biases) = out.split_at_mut(outputs * input.len());
        for (o, row) in weights.chunks_exact_mut(input.len()).enumerate() {
            let d = delta[o * S::LANES + lane] * factor;
            if add {
                for (to, &x) in row.iter_mut().zip(input) {
                    *to += d * x;
                }
                biases[o] += d;
            } else {
                for (to, &x) in row.iter_mut().zip(input) {
                    *to = d * x;
                }
                biases[o] = d;
            }
        }
    }
}

/// sum += values. Returns the squared norm of the new sum.
pub struct AddGradient<'a, S: Simd> {
    pub values: &'a [S::F],
    pub sum: &'a mut [S::F],
}

impl<S: Simd> Kernel<S> for AddGradient<'_, S> {
    type Output = S::F;

    #[inline(always)]
    fn run(self, s: S) -> S::F {
        let Self { values, sum } = self;
        for (sum, &v) in sum.iter_mut().zip(values) {
            *sum = s.add(*sum, v);
        }
        dot(s, [&*sum, &*sum])
    }
}

/// The squared norm of a sum of gradients, from its parts.
pub struct NormOfSum<'a, S: Simd> {
    /// Squared norms of parts that were summed before they were squared.
    pub squares: &'a [S::F],
    /// Squared norms of each copy's gradient, layer by layer.
    pub own: &'a [S::F],
    /// Inner products of these gradients, each pair once.
    pub pairs: &'a [S::F],
    /// Number of copies, at least one. A lane may have only `terms` of them; its others are zero.
    pub copies: usize,
    pub terms: S::F,
}

/// Copies in different directions cancel, but their rounding errors do not: at most this share of
/// (Σ‖gₖ‖)² ≤ K·Σ‖gₖ‖², for sums of runs of 32. A quarter is left for summing coordinates over
/// copies, below 2^−18·Σ‖gₖ‖ for up to 81: (‖g‖ + that)² ≤ (1 + 2^−15)·‖g‖² + 2^−20·(Σ‖gₖ‖)².
const CANCELLED: f32 = 1.0 / 65_536.0;

/// What the clip's margin covers of that error, as a share of ‖g‖²: all, unless three quarters
/// cancel. With the 2^−15 above, and other sums' roundings, less than twice the margin (of ‖g‖).
const COVERED: f32 = 1.0 / 16_384.0;

impl<S: Simd> Kernel<S> for NormOfSum<'_, S> {
    type Output = S::F;

    #[inline(always)]
    fn run(self, s: S) -> S::F {
        let Self { squares, own, pairs, copies, terms } = self;
        let zero = s.splat(0.0);
        let stored = squares.iter().fold(zero, |sum, &v| s.add(sum, v));
        if copies == 1 {
            return own.iter().fold(stored, |sum, &v| s.add(sum, v));
        }
        let each = own.iter().fold(zero, |sum, &v| s.add(sum, v));
        let crossed = pairs.iter().fold(zero, |sum, &v| s.add(sum, v));
        let dense = s.mul_add(crossed, s.splat(2.0), each);
        let doubt = s.sub(s.mul(each, s.mul(s.splat(CANCELLED), terms)), s.mul(dense, s.splat(COVERED)));
        // `max` returns its second argument for NaN.
        s.add(stored, s.add(dense, s.max(s.splat(0.0), doubt)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cpu::simd::{Dispatch, for_each},
        model::layers::MOST_PARAMETERS,
    };

    #[derive(Clone, Copy)]
    struct EqualTerms;

    impl Dispatch for EqualTerms {
        type Output = ();
        fn with<S: Simd>(self, simd: S) {
            for (length, values) in [(1, 40_u8), (33, 40), (1025, 40), (65_537, 40), (MOST_PARAMETERS, 4)] {
                for k in 0..values {
                    let value = 0.7 + f32::from(k) / 90.0;
                    let mut terms = vec![simd.splat(value); length];
                    let square = simd.run(AddGradient { values: &[], sum: &mut terms });
                    let mut lanes = [0.0; MOST_LANES];
                    simd.store(square, &mut lanes);
                    let exact = length as f64 * f64::from(value).powi(2);
                    let error = (f64::from(lanes[0]) / exact - 1.0).abs();
                    assert!(error <= 2f64.powi(-17), "{}: {length} times {value}: off by {error:e}", S::NAME);
                }
            }
        }
    }

    /// Equal terms round in one direction while the sum keeps its exponent: the worst case.
    #[test]
    fn norm_of_equal_terms_is_within_its_error_bound() {
        for_each(EqualTerms);
    }
}
