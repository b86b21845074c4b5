//! The CNN's two convolutions, over [`Simd::LANES`] examples at a time.
//!
//! Activations are `[channel][row][column]` of vectors, one example per lane; weights are floats,
//! broadcast. So each example has its weight gradient at no extra cost, and no size leaves a rest.
//! A kernel keeps a tile of sums in registers (`C` channels × positions or taps) and skips padding.

use crate::{
    cpu::simd::{Kernel, Simd},
    model::cnn::{CHANNELS1, CHANNELS2, CONV1, CONV2, POOLED1},
};

/// Side of an image, and of a row padded on both sides.
pub const IMAGE: usize = CONV1.side;
pub const PADDED: usize = CONV1.padded_side();
/// First convolution: channels, sides of kernel and output.
pub const C1: usize = CHANNELS1;
pub const K1: usize = CONV1.kernel;
const P1: usize = CONV1.padding;
pub const S1: usize = CONV1.output_side();
/// Side of its max-pooled output.
pub const Q1: usize = POOLED1;
/// Second convolution.
pub const C2: usize = CHANNELS2;
pub const K2: usize = CONV2.kernel;
pub const S2: usize = CONV2.output_side();
/// Columns (and rows) of its input that the second convolution reads: stride 2 skips the last.
const READ: usize = 2 * (S2 - 1) + K2;

/// The `N` elements from `start`.
#[inline(always)]
fn window<T, const N: usize>(from: &[T], start: usize) -> &[T; N] {
    from[start..].first_chunk().expect("windows lie inside their buffers")
}

/// Output rows whose input row 2y + ky − padding lies inside the image.
#[inline(always)]
fn rows_inside(ky: usize) -> std::ops::Range<usize> {
    P1.saturating_sub(ky).div_ceil(2)..S1.min((IMAGE + P1 - ky).div_ceil(2))
}

/// out = w ∗ image + b, before activation, `X` columns at a time. `image`: 28×34; `out`: 16×14×14.
pub struct Conv1Forward<'a, S: Simd, const C: usize, const X: usize> {
    pub image: &'a [S::F],
    pub weights: &'a [f32],
    pub out: &'a mut [S::F],
}

impl<S: Simd, const C: usize, const X: usize> Kernel<S> for Conv1Forward<'_, S, C, X> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { image, weights, out } = self;
        let (weights, biases) = weights.split_at(C1 * K1 * K1);
        let columns = s.opaque_len(K1);
        for y in 0..S1 {
            let taps = P1.saturating_sub(2 * y)..K1.min(IMAGE + P1 - 2 * y);
            // If X does not divide the row, the last tile overlaps the one before.
            for x0 in (0..S1).step_by(X).map(|x0| x0.min(S1 - X)) {
                for o in (0..C1).step_by(C) {
                    let mut sums: [[S::F; X]; C] = std::array::from_fn(|c| [s.splat(biases[o + c]); X]);
                    for ky in taps.clone() {
                        let row = &image[(2 * y + ky - 3) * PADDED + 2 * x0..][..2 * X + K1 - 2];
                        let w: [&[f32; K1]; C] = std::array::from_fn(|c| window(weights, ((o + c) * K1 + ky) * K1));
                        for kx in 0..columns {
                            let row = &row[kx..][..2 * X - 1];
                            let w: [S::F; C] = std::array::from_fn(|c| s.splat(w[c][kx]));
                            for x in 0..X {
                                for c in 0..C {
                                    sums[c][x] = s.mul_add(row[2 * x], w[c], sums[c][x]);
                                }
                            }
                        }
                    }
                    for (c, sums) in sums.iter().enumerate() {
                        out[(o + c) * S1 * S1 + y * S1 + x0..][..X].copy_from_slice(sums);
                    }
                }
            }
        }
    }
}

/// ∂ℓ/∂w = Σ δ·image per lane, and its squared norm. `delta`: 16×14×14; `gradient`: 1,040 vectors.
pub struct Conv1Gradient<'a, S: Simd, const C: usize> {
    pub image: &'a [S::F],
    pub delta: &'a [S::F],
    pub gradient: &'a mut [S::F],
}

impl<S: Simd, const C: usize> Kernel<S> for Conv1Gradient<'_, S, C> {
    type Output = S::F;

    #[inline(always)]
    fn run(self, s: S) -> S::F {
        let Self { image, delta, gradient } = self;
        let (weights, biases) = gradient.split_at_mut(C1 * K1 * K1);
        let mut norm = s.splat(0.0);
        for o in (0..C1).step_by(C) {
            for ky in 0..K1 {
                let mut sums = [[s.splat(0.0); K1]; C];
                for y in rows_inside(ky) {
                    let row: &[S::F; PADDED] = window(image, (2 * y + ky - 3) * PADDED);
                    let d: [&[S::F; S1]; C] = std::array::from_fn(|c| window(delta, (o + c) * S1 * S1 + y * S1));
                    for x in 0..S1 {
                        let d: [S::F; C] = std::array::from_fn(|c| d[c][x]);
                        for kx in 0..K1 {
                            for c in 0..C {
                                sums[c][kx] = s.mul_add(row[2 * x + kx], d[c], sums[c][kx]);
                            }
                        }
                    }
                }
                for (c, sums) in sums.iter().enumerate() {
                    weights[((o + c) * K1 + ky) * K1..][..K1].copy_from_slice(sums);
                    norm = s.add(norm, sum_of_squares(s, sums));
                }
            }
        }
        s.add(norm, channel_sums(s, delta, S1 * S1, biases))
    }
}

/// out = w ∗ input + b, before the activation. `input`: 16×13×13; `out`: 32×5×5.
pub struct Conv2Forward<'a, S: Simd, const C: usize> {
    pub input: &'a [S::F],
    pub weights: &'a [f32],
    pub out: &'a mut [S::F],
}

impl<S: Simd, const C: usize> Kernel<S> for Conv2Forward<'_, S, C> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { input, weights, out } = self;
        let (weights, biases) = weights.split_at(C2 * C1 * K2 * K2);
        for y in 0..S2 {
            for o in (0..C2).step_by(C) {
                let mut sums: [[S::F; S2]; C] = std::array::from_fn(|c| [s.splat(biases[o + c]); S2]);
                for i in 0..C1 {
                    let w: [&[f32; K2 * K2]; C] =
                        std::array::from_fn(|c| window(weights, ((o + c) * C1 + i) * K2 * K2));
                    for ky in 0..K2 {
                        let row: &[S::F; READ] = window(input, (i * Q1 + 2 * y + ky) * Q1);
                        for kx in 0..K2 {
                            let w: [S::F; C] = std::array::from_fn(|c| s.splat(w[c][ky * K2 + kx]));
                            for x in 0..S2 {
                                for c in 0..C {
                                    sums[c][x] = s.mul_add(row[2 * x + kx], w[c], sums[c][x]);
                                }
                            }
                        }
                    }
                }
                for (c, sums) in sums.iter().enumerate() {
                    out[((o + c) * S2 + y) * S2..][..S2].copy_from_slice(sums);
                }
            }
        }
    }
}

/// ∂ℓ/∂w = Σ δ·input per lane, and its squared norm. `delta`: 32×5×5; `gradient`: 8,224 vectors.
pub struct Conv2Gradient<'a, S: Simd, const C: usize> {
    pub input: &'a [S::F],
    pub delta: &'a [S::F],
    pub gradient: &'a mut [S::F],
}

impl<S: Simd, const C: usize> Kernel<S> for Conv2Gradient<'_, S, C> {
    type Output = S::F;

    #[inline(always)]
    fn run(self, s: S) -> S::F {
        let Self { input, delta, gradient } = self;
        let (weights, biases) = gradient.split_at_mut(C2 * C1 * K2 * K2);
        let columns = s.opaque_len(S2).min(S2);
        let mut norm = s.splat(0.0);
        for o in (0..C2).step_by(C) {
            let d: [&[S::F; S2 * S2]; C] = std::array::from_fn(|c| window(delta, (o + c) * S2 * S2));
            // Summed separately: 2,048 roundings in a row could exceed the clip's margin.
            let mut square = s.splat(0.0);
            for i in 0..C1 {
                for ky in 0..K2 {
                    let mut sums = [[s.splat(0.0); K2]; C];
                    for y in 0..S2 {
                        let row: &[S::F; READ] = window(input, (i * Q1 + 2 * y + ky) * Q1);
                        for x in 0..columns {
                            let d: [S::F; C] = std::array::from_fn(|c| d[c][y * S2 + x]);
                            let row: &[S::F; K2] = window(row, 2 * x);
                            for kx in 0..K2 {
                                for c in 0..C {
                                    sums[c][kx] = s.mul_add(row[kx], d[c], sums[c][kx]);
                                }
                            }
                        }
                    }
                    for (c, sums) in sums.iter().enumerate() {
                        weights[(((o + c) * C1 + i) * K2 + ky) * K2..][..K2].copy_from_slice(sums);
                        square = s.add(square, sum_of_squares(s, sums));
                    }
                }
            }
            norm = s.add(norm, square);
        }
        s.add(norm, channel_sums(s, delta, S2 * S2, biases))
    }
}

/// ∂ℓ/∂input in steps of `U` channels; last row and column 0. `delta`: 32×5×5; `out`: 16×13×13.
pub struct Conv2Backward<'a, S: Simd, const C: usize, const U: usize> {
    pub weights: &'a [f32],
    pub delta: &'a [S::F],
    pub out: &'a mut [S::F],
}

impl<S: Simd, const C: usize, const U: usize> Kernel<S> for Conv2Backward<'_, S, C, U> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { weights, delta, out } = self;
        const PAIRS: usize = READ / 2;
        for i in (0..C1).step_by(C) {
            for row in 0..READ {
                for parity in 0..2 {
                    // Column 2m + parity: tap `parity` of position m, tap `parity + 2` of m − 1.
                    let mut sums = [[s.splat(0.0); PAIRS]; C];
                    for ky in [row % 2, row % 2 + 2] {
                        if row < ky || (row - ky) / 2 >= S2 {
                            continue;
                        }
                        let y = (row - ky) / 2;
                        for first in (0..C2).step_by(U) {
                            for o in first..first + U {
                                let d: &[S::F; S2] = window(delta, (o * S2 + y) * S2);
                                let w: [&[f32; K2]; C] =
                                    std::array::from_fn(|c| window(weights, ((o * C1 + i + c) * K2 + ky) * K2));
                                for c in 0..C {
                                    let near = s.splat(w[c][parity]);
                                    let far = s.splat(w[c][parity + 2]);
                                    for x in 0..S2 {
                                        sums[c][x] = s.mul_add(d[x], near, sums[c][x]);
                                        sums[c][x + 1] = s.mul_add(d[x], far, sums[c][x + 1]);
                                    }
                                }
                            }
                        }
                    }
                    for (c, sums) in sums.iter().enumerate() {
                        let out = &mut out[((i + c) * Q1 + row) * Q1..][..Q1];
                        for (m, &sum) in sums.iter().enumerate() {
                            out[2 * m + parity] = sum;
                        }
                        out[READ] = s.splat(0.0);
                    }
                }
            }
            for c in 0..C {
                out[((i + c) * Q1 + READ) * Q1..][..Q1].fill(s.splat(0.0));
            }
        }
    }
}

#[inline(always)]
fn sum_of_squares<S: Simd>(s: S, values: &[S::F]) -> S::F {
    values.iter().fold(s.splat(0.0), |sum, &v| s.mul_add(v, v, sum))
}

/// Gradients of the biases, which are sums of each channel's deltas. Returns their squared norm.
#[inline(always)]
fn channel_sums<S: Simd>(s: S, delta: &[S::F], positions: usize, biases: &mut [S::F]) -> S::F {
    for (bias, delta) in biases.iter_mut().zip(delta.chunks_exact(positions)) {
        let mut sums = [s.splat(0.0); 4];
        for (k, &d) in delta.iter().enumerate() {
            sums[k % 4] = s.add(sums[k % 4], d);
        }
        *bias = s.add(s.add(sums[0], sums[1]), s.add(sums[2], sums[3]));
    }
    sum_of_squares(s, biases)
}
