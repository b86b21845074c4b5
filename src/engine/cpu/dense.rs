//! Fully connected layers and the loss, over [`Simd::LANES`] examples at a time.

use super::{
    math,
    pool::{activate, drop_negligible},
    simd::{MOST_LANES, Simd},
};
use crate::model::{Activation, CLASSES};

/// out = f(W·input + b). `weights`: `[out][in]`, then biases; `C` divides the number of outputs.
#[inline(always)]
pub fn dense_forward<S: Simd, const C: usize>(
    s: S,
    (activation, weights, input, out): (Option<Activation>, &[f32], &[S::F], &mut [S::F]),
) {
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

/// ∂ℓ/∂input = Wᵀδ. Eight inputs at a time: their number is a multiple of 8.
#[inline(always)]
pub fn dense_backward<S: Simd>(s: S, (weights, delta, out): (&[f32], &[S::F], &mut [S::F])) {
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

/// sum += δᵀ·rows over the block's examples: the weight gradient of a dense layer, summed, without one for each example.
/// `delta`: one vector an output, lanes are examples; `rows`: `[example][input]`; `sum`: `[output][input]`, then biases.
/// `I` vectors divide a row, `C` divides the outputs.
#[inline(always)]
pub fn dense_product<S: Simd, const C: usize, const I: usize>(s: S, (delta, rows, sum): (&[S::F], &[f32], &mut [f32])) {
    let inputs = rows.len() / S::LANES;
    let delta = S::flat(delta);
    let outputs = delta.len() / S::LANES;
    let (weights, biases) = sum.split_at_mut(inputs * outputs);
    for o in (0..outputs).step_by(C) {
        for i in (0..inputs).step_by(I * S::LANES) {
            let mut sums: [[S::F; I]; C] = std::array::from_fn(|c| {
                let row = &weights[(o + c) * inputs + i..][..I * S::LANES];
                std::array::from_fn(|k| s.load(&row[k * S::LANES..]))
            });
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
            for (c, sums) in sums.iter().enumerate() {
                let row = &mut weights[(o + c) * inputs + i..][..I * S::LANES];
                for (k, &v) in sums.iter().enumerate() {
                    s.store(v, &mut row[k * S::LANES..]);
                }
            }
        }
    }
    for (bias, delta) in biases.iter_mut().zip(delta.chunks_exact(S::LANES)) {
        *bias += delta.iter().sum::<f32>();
    }
}

/// ‖input‖²·‖δ‖² + ‖δ‖²: the squared norm of a dense layer's gradient, without the gradient (Goodfellow 2015).
#[inline(always)]
pub fn dense_norm<S: Simd>(s: S, (input, delta): (&[S::F], &[S::F])) -> S::F {
    let input = s.add(norm(s, input), s.splat(1.0));
    s.mul(input, norm(s, delta))
}

/// Σv², in runs of 32: the rounding error stays far below the margin of the clip.
#[inline(always)]
fn norm<S: Simd>(s: S, values: &[S::F]) -> S::F {
    values
        .chunks(32)
        .fold(s.splat(0.0), |sum, run| s.add(sum, run.iter().fold(s.splat(0.0), |sum, &v| s.mul_add(v, v, sum))))
}

/// Softmax, in place.
#[inline(always)]
pub fn softmax<S: Simd>(s: S, logits: &mut [S::F; CLASSES]) {
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

/// ∂ℓ/∂logits of the cross-entropy: softmax − one-hot. `labels`: one a lane, as f32.
#[inline(always)]
pub fn loss_delta<S: Simd>(s: S, (labels, logits): (S::F, &mut [S::F; CLASSES])) {
    softmax(s, logits);
    for (class, v) in logits.iter_mut().enumerate() {
        let hit = s.equal(labels, s.splat(class as f32));
        *v = drop_negligible(s, s.select(hit, s.sub(*v, s.splat(1.0)), *v));
    }
}

/// `rows[lane][k] = lanes[k]` of that lane. The length of `lanes` is a multiple of [`Simd::LANES`].
#[inline(always)]
pub fn to_rows<S: Simd>(s: S, (lanes, rows): (&[S::F], &mut [f32])) {
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

/// sum[k] += Σ over lanes of scale·values[k]; lanes of scale 0 count as zero whatever they hold. The length is a multiple
/// of [`Simd::LANES`].
#[inline(always)]
pub fn add_scaled<S: Simd>(s: S, (scale, values, sum): (S::F, &[S::F], &mut [f32])) {
    let zero = s.splat(0.0);
    let live = s.greater(scale, zero);
    for (from, to) in values.chunks_exact(S::LANES).zip(sum.chunks_exact_mut(S::LANES)) {
        let mut tile = [zero; MOST_LANES];
        for k in 0..S::LANES {
            tile[k] = s.mul(s.select(live, from[k], zero), scale);
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
