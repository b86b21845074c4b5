//! Convolutions and pools of any size, on [`Simd::LANES`] examples at a time; the CNN has its own.
//!
//! Values are `[channel][row][column]` of vectors, one example per lane; weights are floats,
//! broadcast. Convolutions read a zero-padded copy of their input, so that no place needs a test.
//! Each keeps a tile of accumulators in registers: `C` filters by `X` places, or by `X` taps.

use crate::{
    cpu::simd::{Kernel, Simd},
    model::{cnn::Geometry, layers::Pooling},
};

/// Size of a tile: filters, and places or taps.
const C: usize = 4;
const X: usize = 4;

/// to ← from, inside the zero padding, which stays.
pub struct Pad<'a, S: Simd> {
    pub geometry: Geometry,
    pub from: &'a [S::F],
    pub to: &'a mut [S::F],
}

impl<S: Simd> Kernel<S> for Pad<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: S) {
        let Self { geometry, from, to } = self;
        let (side, padded, padding) = (geometry.side, geometry.padded_side(), geometry.padding);
        for (row, from) in from.chunks_exact(side).enumerate() {
            let start = (row / side * padded + row % side + padding) * padded + padding;
            to[start..start + side].copy_from_slice(from);
        }
    }
}

/// to ← `from` without its padding.
pub struct Unpad<'a, S: Simd> {
    pub geometry: Geometry,
    pub from: &'a [S::F],
    pub to: &'a mut [S::F],
}

impl<S: Simd> Kernel<S> for Unpad<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: S) {
        let Self { geometry, from, to } = self;
        let (side, padded, padding) = (geometry.side, geometry.padded_side(), geometry.padding);
        for (row, to) in to.chunks_exact_mut(side).enumerate() {
            let start = (row / side * padded + row % side + padding) * padded + padding;
            to.copy_from_slice(&from[start..start + side]);
        }
    }
}

/// out = w ∗ padded `input` + b. `weights`: `[filter][channel][row][column]`, then biases.
pub struct ConvolutionForward<'a, S: Simd> {
    pub geometry: Geometry,
    pub weights: &'a [f32],
    pub input: &'a [S::F],
    pub out: &'a mut [S::F],
}

impl<S: Simd> Kernel<S> for ConvolutionForward<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { geometry, weights, input, out } = self;
        let places = geometry.output_side();
        let filters = out.len() / (places * places);
        let (weights, biases) = weights.split_at(weights.len() - filters);
        let of = Forward { geometry, weights, biases, input };
        let whole = filters - filters % C;
        for y in 0..places {
            for o in (0..whole).step_by(C) {
                of.row::<C>(s, o, y, out);
            }
            for o in whole..filters {
                of.row::<1>(s, o, y, out);
            }
        }
    }
}

struct Forward<'a, S: Simd> {
    geometry: Geometry,
    weights: &'a [f32],
    biases: &'a [f32],
    input: &'a [S::F],
}

impl<S: Simd> Forward<'_, S> {
    /// Computes output row `y` of the `N` filters from `o` on.
    #[inline(always)]
    fn row<const N: usize>(&self, s: S, o: usize, y: usize, out: &mut [S::F]) {
        let places = self.geometry.output_side();
        if places < X {
            for x in 0..places {
                self.tile::<N, 1>(s, o, y, x, out);
            }
        } else {
            // If X does not divide the row, the last tile overlaps the one before.
            for x in (0..places).step_by(X).map(|x| x.min(places - X)) {
                self.tile::<N, X>(s, o, y, x, out);
            }
        }
    }

    #[inline(always)]
    fn tile<const N: usize, const M: usize>(&self, s: S, o: usize, y: usize, x0: usize, out: &mut [S::F]) {
        let Geometry { kernel, stride, .. } = self.geometry;
        let (places, padded) = (self.geometry.output_side(), self.geometry.padded_side());
        let channels = self.input.len() / (padded * padded);
        let fan_in = channels * kernel * kernel;
        let rows: [&[f32]; N] = std::array::from_fn(|c| &self.weights[(o + c) * fan_in..][..fan_in]);
        let mut sums: [[S::F; M]; N] = std::array::from_fn(|c| [s.splat(self.biases[o + c]); M]);
        for channel in 0..channels {
            for ky in 0..kernel {
                let from = &self.input[(channel * padded + y * stride + ky) * padded + x0 * stride..];
                let from = &from[..(M - 1) * stride + kernel];
                let taps = (channel * kernel + ky) * kernel;
                let w: [&[f32]; N] = std::array::from_fn(|c| &rows[c][taps..][..kernel]);
                for kx in 0..kernel {
                    let w: [S::F; N] = std::array::from_fn(|c| s.splat(w[c][kx]));
                    for x in 0..M {
                        let v = from[x * stride + kx];
                        for c in 0..N {
                            sums[c][x] = s.mul_add(v, w[c], sums[c][x]);
                        }
                    }
                }
            }
        }
        for (c, sums) in sums.iter().enumerate() {
            out[((o + c) * places + y) * places + x0..][..M].copy_from_slice(sums);
        }
    }
}

/// ∂ℓ/∂w = Σ δ·input and ∂ℓ/∂b = Σ δ, one gradient per lane. `gradient`: weights, then biases.
pub struct ConvolutionGradient<'a, S: Simd> {
    pub geometry: Geometry,
    pub input: &'a [S::F],
    pub delta: &'a [S::F],
    pub gradient: &'a mut [S::F],
}

impl<S: Simd> Kernel<S> for ConvolutionGradient<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { geometry, input, delta, gradient } = self;
        let area = geometry.output_side() * geometry.output_side();
        let filters = delta.len() / area;
        let (weights, biases) = gradient.split_at_mut(gradient.len() - filters);
        let of = Gradient { geometry, input, delta };
        let whole = filters - filters % C;
        for o in (0..whole).step_by(C) {
            of.filters::<C>(s, o, weights);
        }
        for o in whole..filters {
            of.filters::<1>(s, o, weights);
        }
        for (delta, bias) in delta.chunks_exact(area).zip(biases) {
            *bias = delta.iter().fold(s.splat(0.0), |sum, &d| s.add(sum, d));
        }
    }
}

struct Gradient<'a, S: Simd> {
    geometry: Geometry,
    input: &'a [S::F],
    delta: &'a [S::F],
}

impl<S: Simd> Gradient<'_, S> {
    #[inline(always)]
    fn filters<const N: usize>(&self, s: S, o: usize, weights: &mut [S::F]) {
        let (kernel, padded) = (self.geometry.kernel, self.geometry.padded_side());
        let channels = self.input.len() / (padded * padded);
        let whole = kernel - kernel % X;
        for row in 0..channels * kernel {
            for kx in (0..whole).step_by(X) {
                self.tile::<N, X>(s, o, row, kx, weights);
            }
            for kx in whole..kernel {
                self.tile::<N, 1>(s, o, row, kx, weights);
            }
        }
    }

    /// Gradients of filters `o..o + N`, for taps `kx..kx + M` of row `row` (channel by channel).
    #[inline(always)]
    fn tile<const N: usize, const M: usize>(&self, s: S, o: usize, row: usize, kx: usize, weights: &mut [S::F]) {
        let Geometry { kernel, stride, .. } = self.geometry;
        let (places, padded) = (self.geometry.output_side(), self.geometry.padded_side());
        let (channel, ky) = (row / kernel, row % kernel);
        let mut sums = [[s.splat(0.0); M]; N];
        for y in 0..places {
            let from = &self.input[(channel * padded + y * stride + ky) * padded + kx..];
            let from = &from[..(places - 1) * stride + M];
            let delta: [&[S::F]; N] = std::array::from_fn(|c| &self.delta[((o + c) * places + y) * places..][..places]);
            for x in 0..places {
                let d: [S::F; N] = std::array::from_fn(|c| delta[c][x]);
                for k in 0..M {
                    let v = from[x * stride + k];
                    for c in 0..N {
                        sums[c][k] = s.mul_add(v, d[c], sums[c][k]);
                    }
                }
            }
        }
        let fan_in = weights_of(self.input.len(), padded, kernel);
        for (c, sums) in sums.iter().enumerate() {
            weights[(o + c) * fan_in + row * kernel + kx..][..M].copy_from_slice(sums);
        }
    }
}

const fn weights_of(values: usize, padded: usize, kernel: usize) -> usize {
    values / (padded * padded) * kernel * kernel
}

/// ∂ℓ/∂input, padded: Σ of δ·w over all places that see a value.
pub struct ConvolutionBackward<'a, S: Simd> {
    pub geometry: Geometry,
    /// Without biases.
    pub weights: &'a [f32],
    pub delta: &'a [S::F],
    pub out: &'a mut [S::F],
}

impl<S: Simd> Kernel<S> for ConvolutionBackward<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { geometry, weights, delta, out } = self;
        out.fill(s.splat(0.0));
        let of = Backward { geometry, weights, delta };
        let (kernel, padded) = (geometry.kernel, geometry.padded_side());
        let channels = out.len() / (padded * padded);
        let places = geometry.output_side();
        for row in 0..channels * kernel {
            for y in 0..places {
                if places < X {
                    for x in 0..places {
                        of.tile::<1>(s, row, y, x, out);
                    }
                } else {
                    let whole = places - places % X;
                    for x in (0..whole).step_by(X) {
                        of.tile::<X>(s, row, y, x, out);
                    }
                    // One by one: sums are added, so tiles must not overlap.
                    for x in whole..places {
                        of.tile::<1>(s, row, y, x, out);
                    }
                }
            }
        }
    }
}

struct Backward<'a, S: Simd> {
    geometry: Geometry,
    weights: &'a [f32],
    delta: &'a [S::F],
}

impl<S: Simd> Backward<'_, S> {
    #[inline(always)]
    fn tile<const M: usize>(&self, s: S, row: usize, y: usize, x0: usize, out: &mut [S::F]) {
        let Geometry { kernel, stride, .. } = self.geometry;
        let (places, padded) = (self.geometry.output_side(), self.geometry.padded_side());
        let (channel, ky) = (row / kernel, row % kernel);
        let area = places * places;
        let filters = self.delta.len() / area;
        let fan_in = self.weights.len() / filters;
        let start = (channel * padded + y * stride + ky) * padded + x0 * stride;
        let to = &mut out[start..][..(M - 1) * stride + kernel];
        let delta = &self.delta[y * places + x0..];
        for kx in 0..kernel {
            let tap = row * kernel + kx;
            let mut sums = [s.splat(0.0); M];
            for o in 0..filters {
                let w = s.splat(self.weights[o * fan_in + tap]);
                let d = &delta[o * area..][..M];
                for x in 0..M {
                    sums[x] = s.mul_add(d[x], w, sums[x]);
                }
            }
            for (x, &sum) in sums.iter().enumerate() {
                let at = x * stride + kx;
                to[at] = s.add(to[at], sum);
            }
        }
    }
}

/// Pools square windows, channel by channel. For a maximum, also records which cell won.
pub struct PoolWindows<'a, S: Simd> {
    pub kind: Pooling,
    pub geometry: Geometry,
    pub input: &'a [S::F],
    pub out: &'a mut [S::F],
    /// As long as `out`; unchanged for an average.
    pub winner: &'a mut [S::F],
}

impl<S: Simd> Kernel<S> for PoolWindows<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { kind, geometry, input, out, winner } = self;
        let Geometry { side, kernel, stride, .. } = geometry;
        let places = geometry.output_side();
        let share = s.splat(1.0 / (kernel * kernel) as f32);
        for (place, (out, winner)) in out.iter_mut().zip(winner).enumerate() {
            let (channel, y, x) = (place / (places * places), place / places % places, place % places);
            let first = (channel * side + y * stride) * side + x * stride;
            let cells = (0..kernel * kernel).map(|cell| input[first + cell / kernel * side + cell % kernel]);
            match kind {
                Pooling::Average => *out = s.mul(cells.fold(s.splat(0.0), |sum, v| s.add(sum, v)), share),
                Pooling::Max => {
                    let (mut best, mut at) = (input[first], s.splat(0.0));
                    for (cell, v) in cells.enumerate().skip(1) {
                        let more = s.greater(v, best);
                        best = s.select(more, v, best);
                        at = s.select(more, s.splat(cell as f32), at);
                    }
                    (*out, *winner) = (best, at);
                }
            }
        }
    }
}

/// ∂ℓ/∂input of [`PoolWindows`].
pub struct PoolWindowsBackward<'a, S: Simd> {
    pub kind: Pooling,
    pub geometry: Geometry,
    pub winner: &'a [S::F],
    pub delta: &'a [S::F],
    pub out: &'a mut [S::F],
}

impl<S: Simd> Kernel<S> for PoolWindowsBackward<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { kind, geometry, winner, delta, out } = self;
        let Geometry { side, kernel, stride, .. } = geometry;
        let places = geometry.output_side();
        let (zero, share) = (s.splat(0.0), s.splat(1.0 / (kernel * kernel) as f32));
        out.fill(zero);
        for (place, (&d, &winner)) in delta.iter().zip(winner).enumerate() {
            let (channel, y, x) = (place / (places * places), place / places % places, place % places);
            let first = (channel * side + y * stride) * side + x * stride;
            let each = s.mul(d, share);
            for cell in 0..kernel * kernel {
                let to = &mut out[first + cell / kernel * side + cell % kernel];
                let part = match kind {
                    Pooling::Average => each,
                    Pooling::Max => s.select(s.equal(winner, s.splat(cell as f32)), d, zero),
                };
                *to = s.add(*to, part);
            }
        }
    }
}
