//! Fully connected layers and the loss, over [`Simd::LANES`] examples at a time.

use super::{
    math,
    pool::{activate, drop_negligible},
    simd::{Kernel, MOST_LANES, Simd},
};
use crate::model::{Activation, CLASSES};

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

/// ∂ℓ/∂input = Wᵀδ. Eight inputs at a time: their number is a multiple of 8.
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
                let row: &[f32; TILE] = row[i * TILE..].first_chunk().expect("inputs are a multiple of the tile");
                for c in 0..TILE {
                    sums[c] = s.mul_add(d, s.splat(row[c]), sums[c]);
                }
            }
            out.copy_from_slice(&sums);
        }
    }
}

/// A dense layer's part in the gradients of one copy of a block's examples, which are δ ⊗ (x, 1).
pub struct Part<'a, S: Simd> {
    /// One vector an output, lanes are examples.
    pub delta: &'a [S::F],
    /// x, `[example][input]`.
    pub rows: &'a [f32],
}

/// sum += δᵀ·rows over the block's examples: the weight gradient of a dense layer, summed, without one for each example.
/// An example's gradient is the sum over `parts`, at least one. `sum`: `[output][input]`, then biases. `C` divides the outputs.
///
/// With a `base` that is not 0, `sum` stands on it, and each example's gradient is rounded to the base's grid before it is added: see
/// [`crate::mechanism::exact_sum`]. Deltas are odd then ([`ScaleDelta`] makes them so).
pub struct DenseProduct<'a, S: Simd, const C: usize, const I: usize> {
    pub parts: &'a [Part<'a, S>],
    pub base: f32,
    pub sum: &'a mut [f32],
}

impl<S: Simd, const C: usize, const I: usize> Kernel<S> for DenseProduct<'_, S, C, I> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { parts, base, sum } = self;
        let [first, others @ ..] = parts else { return };
        let inputs = first.rows.len() / S::LANES;
        let outputs = first.delta.len();
        let (weights, biases) = sum.split_at_mut(inputs * outputs);
        if base == 0.0 {
            for part in parts {
                AddProducts::<S, C, I> { part, weights }.run(s);
            }
        } else if others.is_empty() && s.fuses() {
            AddProducts::<S, C, I> { part: first, weights }.run(s);
        } else if others.is_empty() {
            AddRounded::<S, C, I> { part: first, base, weights }.run(s);
        } else {
            AddRoundedSums::<S, C, I> { first, others, base, weights }.run(s);
        }

        // In whole tiles all inputs but the last few.
        let whole = inputs - inputs % (I * S::LANES);
        let base = s.splat(base);
        for o in 0..outputs {
            let total = others.iter().fold(first.delta[o], |total, part| s.add(total, part.delta[o]));
            biases[o] += S::flat(&[s.sub(s.add(total, base), base)]).iter().sum::<f32>();
            for i in whole..inputs {
                let mut products = [0.0; MOST_LANES];
                for part in parts {
                    for (e, d) in S::flat(&part.delta[o..=o]).iter().enumerate() {
                        products[e] += d * part.rows[e * inputs + i];
                    }
                }
                let rounded = s.sub(s.add(s.load(&products), base), base);
                weights[o * inputs + i] += S::flat(&[rounded]).iter().sum::<f32>();
            }
        }
    }
}

/// weights += δᵀ·rows in whole tiles. On a base and fused, with odd deltas, that is to add rounded products.
struct AddProducts<'a, S: Simd, const C: usize, const I: usize> {
    part: &'a Part<'a, S>,
    weights: &'a mut [f32],
}

impl<S: Simd, const C: usize, const I: usize> Kernel<S> for AddProducts<'_, S, C, I> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { part: Part { delta, rows }, weights } = self;
        let inputs = rows.len() / S::LANES;
        let outputs = delta.len();
        let delta = S::flat(delta);
        // The rows' part of a tile is kept near while all outputs pass by.
        for i in (0..inputs - inputs % (I * S::LANES)).step_by(I * S::LANES) {
            for o in (0..outputs).step_by(C) {
                let mut sums = load_tile::<S, C, I>(s, &weights[o * inputs + i..], inputs);
                for e in 0..S::LANES {
                    let row = &rows[e * inputs + i..][..I * S::LANES];
                    let x: [S::F; I] = std::array::from_fn(|k| s.load(&row[k * S::LANES..]));
                    for c in 0..C {
                        let d = s.splat(delta[(o + c) * S::LANES + e]);
                        for k in 0..I {
                            sums[c][k] = s.mul_add(x[k], d, sums[c][k]);
                        }
                    }
                }
                store_tile(s, &sums, &mut weights[o * inputs + i..], inputs);
            }
        }
    }
}

/// weights += δᵀ·rows in whole tiles, each product rounded by an addition to the base, and counted in steps by its bits.
struct AddRounded<'a, S: Simd, const C: usize, const I: usize> {
    part: &'a Part<'a, S>,
    base: f32,
    weights: &'a mut [f32],
}

impl<S: Simd, const C: usize, const I: usize> Kernel<S> for AddRounded<'_, S, C, I> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { part: Part { delta, rows }, base, weights } = self;
        let inputs = rows.len() / S::LANES;
        let outputs = delta.len();
        let delta = S::flat(delta);
        let (first, base) = (excess::<S>(s, base), s.splat(base));
        for i in (0..inputs - inputs % (I * S::LANES)).step_by(I * S::LANES) {
            for o in (0..outputs).step_by(C) {
                let sums = load_tile::<S, C, I>(s, &weights[o * inputs + i..], inputs);
                let mut steps = sums.map(|sums| sums.map(|v| s.sub_u(s.bits(v), first)));
                for e in 0..S::LANES {
                    let row = &rows[e * inputs + i..][..I * S::LANES];
                    let x: [S::F; I] = std::array::from_fn(|k| s.load(&row[k * S::LANES..]));
                    for c in 0..C {
                        let d = s.splat(delta[(o + c) * S::LANES + e]);
                        for k in 0..I {
                            steps[c][k] = s.add_u(steps[c][k], s.bits(s.add(s.mul(x[k], d), base)));
                        }
                    }
                }
                let sums = steps.map(|steps| steps.map(|v| s.float(v)));
                store_tile(s, &sums, &mut weights[o * inputs + i..], inputs);
            }
        }
    }
}

/// As [`AddRounded`], where an example's gradient is a sum of several products.
struct AddRoundedSums<'a, S: Simd, const C: usize, const I: usize> {
    first: &'a Part<'a, S>,
    others: &'a [Part<'a, S>],
    base: f32,
    weights: &'a mut [f32],
}

impl<S: Simd, const C: usize, const I: usize> Kernel<S> for AddRoundedSums<'_, S, C, I> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { first, others, base, weights } = self;
        let inputs = first.rows.len() / S::LANES;
        let outputs = first.delta.len();
        let (start, base) = (excess::<S>(s, base), s.splat(base));
        for i in (0..inputs - inputs % (I * S::LANES)).step_by(I * S::LANES) {
            for o in (0..outputs).step_by(C) {
                let sums = load_tile::<S, C, I>(s, &weights[o * inputs + i..], inputs);
                let mut steps = sums.map(|sums| sums.map(|v| s.sub_u(s.bits(v), start)));
                for e in 0..S::LANES {
                    let x = |part: &Part<'_, S>, k: usize| s.load(&part.rows[e * inputs + i + k * S::LANES..]);
                    let d = |part: &Part<'_, S>, c: usize| s.splat(S::flat(&part.delta[o + c..=o + c])[e]);
                    let mut sums: [[S::F; I]; C] =
                        std::array::from_fn(|c| std::array::from_fn(|k| s.mul(x(first, k), d(first, c))));
                    for part in others {
                        let x: [S::F; I] = std::array::from_fn(|k| x(part, k));
                        for c in 0..C {
                            let d = d(part, c);
                            for k in 0..I {
                                sums[c][k] = s.mul_add(x[k], d, sums[c][k]);
                            }
                        }
                    }
                    for c in 0..C {
                        for k in 0..I {
                            steps[c][k] = s.add_u(steps[c][k], s.bits(s.add(sums[c][k], base)));
                        }
                    }
                }
                let sums = steps.map(|steps| steps.map(|v| s.float(v)));
                store_tile(s, &sums, &mut weights[o * inputs + i..], inputs);
            }
        }
    }
}

/// What a sum of bits is too large by, after one number on the base for each lane: on the base, bits count steps.
#[inline(always)]
fn excess<S: Simd>(s: S, base: f32) -> S::U {
    s.splat_u(base.to_bits().wrapping_mul(S::LANES as u32))
}

#[inline(always)]
fn load_tile<S: Simd, const C: usize, const I: usize>(s: S, from: &[f32], stride: usize) -> [[S::F; I]; C] {
    std::array::from_fn(|c| {
        let row = &from[c * stride..][..I * S::LANES];
        std::array::from_fn(|k| s.load(&row[k * S::LANES..]))
    })
}

#[inline(always)]
fn store_tile<S: Simd, const C: usize, const I: usize>(s: S, tile: &[[S::F; I]; C], to: &mut [f32], stride: usize) {
    for (c, tile) in tile.iter().enumerate() {
        let row = &mut to[c * stride..][..I * S::LANES];
        for (k, &v) in tile.iter().enumerate() {
            s.store(v, &mut row[k * S::LANES..]);
        }
    }
}

/// ⟨δ ⊗ (x, 1), δ′ ⊗ (x′, 1)⟩ = (⟨x, x′⟩ + 1)·⟨δ, δ′⟩: the inner product of two gradients of a dense layer, without the
/// gradients; with itself, the squared norm (Goodfellow 2015).
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

/// Σab, in runs of 32: the rounding error stays far below the margin of the clip.
#[inline(always)]
fn dot<S: Simd>(s: S, [a, b]: [&[S::F]; 2]) -> S::F {
    a.chunks(32).zip(b.chunks(32)).fold(s.splat(0.0), |sum, (a, b)| {
        s.add(sum, a.iter().zip(b).fold(s.splat(0.0), |sum, (&a, &b)| s.mul_add(a, b, sum)))
    })
}

/// Softmax, in place.
pub struct Softmax<'a, S: Simd> {
    pub logits: &'a mut [S::F; CLASSES],
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
            // exp takes NaN for its bound: put it back.
            *v = s.add(math::exp(s, away), s.sub(away, away));
            total = s.add(total, *v);
        }
        for v in logits.iter_mut() {
            *v = s.div(*v, total);
        }
    }
}

/// ∂ℓ/∂logits of the cross-entropy, times `share`: softmax − one-hot. `labels`: one a lane, as f32.
pub struct LossDelta<'a, S: Simd> {
    pub labels: S::F,
    pub share: f32,
    pub logits: &'a mut [S::F; CLASSES],
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
            *v = drop_negligible(s, s.mul(delta, s.splat(share)));
        }
    }
}

/// `rows[lane][k] = lanes[k]` of that lane. The length of `lanes` is a multiple of [`Simd::LANES`].
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

/// sum[k] += Σ over lanes of scale·values[k], each rounded to the grid of `base` where that is not 0; lanes of scale 0 count as zero
/// whatever they hold. The length is a multiple of [`Simd::LANES`].
pub struct AddScaled<'a, S: Simd> {
    pub scale: &'a [f32; MOST_LANES],
    pub values: &'a [S::F],
    pub base: f32,
    pub sum: &'a mut [f32],
}

impl<S: Simd> Kernel<S> for AddScaled<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { scale, values, base, sum } = self;
        let (zero, base) = (s.splat(0.0), s.splat(base));
        let scale = s.load(scale);
        let live = s.greater(scale, zero);
        for (from, to) in values.chunks_exact(S::LANES).zip(sum.chunks_exact_mut(S::LANES)) {
            let mut tile = [zero; MOST_LANES];
            for k in 0..S::LANES {
                tile[k] = s.sub(s.mul_add(s.select(live, from[k], zero), scale, base), base);
            }
            // A tree of interleaved additions: what remains holds the sum of vector k in lane k.
            let mut left = S::LANES;
            while left > 1 {
                left /= 2;
                for k in 0..left {
                    let (a, b) = s.zip(tile[k], tile[k + left]);
                    tile[k] = s.add(a, b);
                }
            }
            let total = s.add(s.load(to), tile[0]);
            s.store(total, to);
        }
    }
}

/// delta ← scale·delta, the last bit of its significand set: then no product with it lies halfway between two multiples of a grid's
/// step. Where the scale is 0, delta and the example's row become 0, so that no NaN gets past.
pub struct ScaleDelta<'a, S: Simd> {
    pub scale: &'a [f32; MOST_LANES],
    pub delta: &'a mut [S::F],
    pub rows: &'a mut [f32],
}

impl<S: Simd> Kernel<S> for ScaleDelta<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { scale, delta, rows } = self;
        let zero = s.splat(0.0);
        let scales = s.load(scale);
        let live = s.greater(scales, zero);
        for d in delta.iter_mut() {
            let scaled = s.select(live, s.mul(*d, scales), zero);
            let odd = s.float(s.or(s.bits(scaled), s.splat_u(1)));
            *d = s.select(s.equal(scaled, zero), zero, odd);
        }
        let width = rows.len() / S::LANES;
        for e in 0..S::LANES {
            if scale[e] == 0.0 {
                rows[e * width..(e + 1) * width].fill(0.0);
            }
        }
    }
}

/// One example's gradient of a dense layer, times `factor`: δ ⊗ input, then δ; with `add`, on top of what is in `out`.
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

/// sum += values; answers the squared norm of the new sum.
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
    /// Squared norms of what was summed before it was squared.
    pub squares: &'a [S::F],
    /// Squared norms of each copy's gradient, layer by layer.
    pub own: &'a [S::F],
    /// Their inner products, each pair once.
    pub pairs: &'a [S::F],
    pub copies: usize,
}

/// Copies that point different ways cancel, and what rounding left of each does not: at most this share of
/// (Σ‖gₖ‖)² ≤ K·Σ‖gₖ‖², for sums of runs of 32.
const CANCELLED: f32 = 1.0 / 65_536.0;

impl<S: Simd> Kernel<S> for NormOfSum<'_, S> {
    type Output = S::F;

    #[inline(always)]
    fn run(self, s: S) -> S::F {
        let Self { squares, own, pairs, copies } = self;
        let zero = s.splat(0.0);
        let stored = squares.iter().fold(zero, |sum, &v| s.add(sum, v));
        if copies == 1 {
            return own.iter().fold(stored, |sum, &v| s.add(sum, v));
        }
        let each = own.iter().fold(zero, |sum, &v| s.add(sum, v));
        let crossed = pairs.iter().fold(zero, |sum, &v| s.add(sum, v));
        let dense = s.mul_add(crossed, s.splat(2.0), each);
        let dense = s.mul_add(each, s.splat(CANCELLED * copies as f32), dense);
        s.add(stored, dense)
    }
}
