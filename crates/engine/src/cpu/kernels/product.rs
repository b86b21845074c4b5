//! Adds scaled gradients to a sum over examples. Each coordinate of each example is rounded to a
//! grid first, so that the sum is exact ([`crate::mechanism::exact_sum`], which defines the terms).
//!
//! Every kernel takes the `base` M at which the sum starts; 0 means no grid and no rounding.

use crate::cpu::simd::{Kernel, MOST_LANES, Simd};

/// sum[k] += Σ over lanes of scale·values[k], each rounded to the grid of `base` unless that is 0.
/// Lanes of scale 0 count as zero, whatever they hold. The length is a multiple of [`Simd::LANES`].
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
            // A tree of interleaved additions leaves the sum of vector k in lane k.
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

/// delta ← scale·delta with its last significand bit set: no product with it lies halfway between
/// multiples of a grid's step. At scale 0, delta and the example's row become 0: no NaN gets past.
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

/// Factors of a dense layer's gradients, δ ⊗ (x, 1), for one copy of a block's examples.
pub struct Part<'a, S: Simd> {
    /// One vector per output, one example per lane.
    pub delta: &'a [S::F],
    /// x, `[example][input]`.
    pub rows: &'a [f32],
}

/// sum += δᵀ·rows: a dense layer's gradients, summed over the block's examples without forming
/// each. An example's gradient is the sum over `parts`, at least one. `sum`: `[output][input]`,
/// then biases. `C` divides the outputs.
///
/// If `base` is not 0, `sum` starts at it, and each example's gradient is first rounded to its grid
/// ([`crate::mechanism::exact_sum`]). Deltas must then be odd, as [`ScaleDelta`] makes them.
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
            AddRoundedSums::<S, C, I> { parts, base, weights }.run(s);
        }

        // Whole tiles cover all inputs but the last few.
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

/// weights += δᵀ·rows in whole tiles. With a base, FMA and odd deltas, this adds rounded products.
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
        // The tile's part of the rows stays in cache while all outputs use it.
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

/// weights += δᵀ·rows in whole tiles. Adding the base rounds each product; its bits count steps.
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

/// As [`AddRounded`], for an example's gradient that is a sum of several products.
struct AddRoundedSums<'a, S: Simd, const C: usize, const I: usize> {
    parts: &'a [Part<'a, S>],
    base: f32,
    weights: &'a mut [f32],
}

impl<S: Simd, const C: usize, const I: usize> Kernel<S> for AddRoundedSums<'_, S, C, I> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { parts, base, weights } = self;
        let outputs = parts[0].delta.len();
        let inputs = parts[0].rows.len() / S::LANES;
        let (first, base) = (excess::<S>(s, base), s.splat(base));
        for i in (0..inputs - inputs % (I * S::LANES)).step_by(I * S::LANES) {
            for o in (0..outputs).step_by(C) {
                let sums = load_tile::<S, C, I>(s, &weights[o * inputs + i..], inputs);
                let mut steps = sums.map(|sums| sums.map(|v| s.sub_u(s.bits(v), first)));
                for e in 0..S::LANES {
                    let mut sums = [[s.splat(0.0); I]; C];
                    for Part { delta, rows } in parts {
                        let delta = &S::flat(delta)[o * S::LANES..][..C * S::LANES];
                        let row = &rows[e * inputs + i..][..I * S::LANES];
                        let x: [S::F; I] = std::array::from_fn(|k| s.load(&row[k * S::LANES..]));
                        for c in 0..C {
                            let d = s.splat(delta[c * S::LANES + e]);
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

/// Excess of a sum of bits after adding one number on the base per lane; there, bits count steps.
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
