//! Algorithm 2 for one gradient at a time: magnitude histogram, running count from the top, clamp.
//!
//! Equals [`crate::mechanism::encode`] exactly, without a sort or another array of that length.

use crate::cpu::simd::{Kernel, MOST_LANES, Simd};
use crate::mechanism::{
    encode::{BUCKET_SHIFT, BUCKETS, first_bucket, lower_edge},
    envelope::{BLOCKS, Envelope, block_edge},
    exact_sum::SumGrid,
};

/// Counts, bounds and scores of one gradient at a time.
pub struct Ranker {
    /// Two counts per bucket, for alternating coordinates: neighbours often share a bucket and must
    /// not wait for each other. Small integers keep these randomly accessed counts near.
    counts: Box<[[u16; 2]; BUCKETS]>,
    bounds: Box<[f32; BUCKETS]>,
    scores: Vec<f32>,
}

impl Ranker {
    /// Length of the longest gradient that it can count.
    pub const MOST: usize = 2 * (u16::MAX as usize - MOST_LANES);

    pub fn new(envelope: &Envelope) -> Self {
        Self {
            counts: vec![[0; 2]; BUCKETS].try_into().expect("the length is right"),
            bounds: vec![0.0; BUCKETS].try_into().expect("the length is right"),
            scores: vec![0.0; envelope.vectors()],
        }
    }

    /// sum += the encoded gradient, on `grid` if there is one. `gradient` is scaled already. Both
    /// are padded to a multiple of the lanes, `gradient` with zeros.
    pub fn add_encoded<S: Simd>(
        &mut self,
        simd: S,
        psi: &Psi,
        grid: Option<SumGrid>,
        gradient: &[f32],
        sum: &mut [f32],
    ) {
        let p = psi.envelope.dimension();
        simd.run(Count { gradient, counts: &mut self.counts, first: psi.first });
        // Padding was counted as zeros.
        for k in p..gradient.len() {
            self.counts[0][k % 2] -= 1;
        }
        let chosen = simd.run(Choose { psi, counts: &self.counts, scores: &mut self.scores });
        simd.run(Bound { psi: psi.envelope.vector(chosen), counts: &mut self.counts, bounds: &mut self.bounds });
        let (base, step) = grid.map_or((0.0, 0.0), |grid| (grid.base(), grid.step()));
        simd.run(Clamp { gradient, bounds: &self.bounds, first: psi.first, base, step, sum });
    }
}

/// Ψ, laid out for choosing among its vectors.
pub struct Psi {
    pub envelope: std::sync::Arc<Envelope>,
    /// Block sums, `[block][vector]`.
    sums: Vec<f32>,
    /// [`first_bucket`].
    first: u32,
}

impl Psi {
    pub fn new(envelope: std::sync::Arc<Envelope>, pre_scale: f32) -> Self {
        let sums = (0..BLOCKS)
            .flat_map(|j| envelope.block_sums().iter().skip(j).step_by(BLOCKS).copied().collect::<Vec<_>>())
            .collect();
        Self { envelope, sums, first: first_bucket(pre_scale).cast_unsigned() }
    }
}

/// As [`crate::mechanism::encode::bucket`].
#[inline(always)]
fn bucket<S: Simd>(s: S, x: S::F, first: u32) -> S::U {
    let index = s.sub_u(s.shr(s.bits(s.abs(x)), BUCKET_SHIFT), s.splat_u(first));
    s.max_i(s.splat_u(0), s.min_i(s.splat_u(BUCKETS as u32 - 1), index))
}

/// Number of coordinates in a bucket.
#[inline(always)]
fn total(count: [u16; 2]) -> usize {
    usize::from(count[0]) + usize::from(count[1])
}

struct Count<'a> {
    gradient: &'a [f32],
    counts: &'a mut [[u16; 2]; BUCKETS],
    first: u32,
}

impl<S: Simd> Kernel<S> for Count<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { gradient, counts, first } = self;
        // Through memory: extracting lanes one by one is slower.
        let mut buckets = [0; 32 * MOST_LANES];
        for stretch in gradient.chunks(buckets.len()) {
            for (x, buckets) in stretch.chunks_exact(S::LANES).zip(buckets.chunks_exact_mut(S::LANES)) {
                s.store_u(bucket(s, s.load(x), first), buckets);
            }
            for [even, odd] in buckets[..stretch.len()].as_chunks().0 {
                counts[*even as usize % BUCKETS][0] += 1;
                counts[*odd as usize % BUCKETS][1] += 1;
            }
        }
    }
}

/// Chooses the vector of largest score, with operations as in [`crate::mechanism::encode::choose`].
struct Choose<'a> {
    psi: &'a Psi,
    counts: &'a [[u16; 2]; BUCKETS],
    scores: &'a mut [f32],
}

impl<S: Simd> Kernel<S> for Choose<'_> {
    type Output = usize;

    #[inline(always)]
    fn run(self, _: S) -> usize {
        let Self { psi, counts, scores } = self;
        let n = scores.len();
        if n == 1 {
            return 0;
        }
        scores.fill(0.0);
        let p = psi.envelope.dimension();
        let mut bucket = BUCKETS - 1;
        let mut ranked = total(counts[bucket]);
        for j in 0..BLOCKS {
            let (start, end) = (block_edge(p, j), block_edge(p, j + 1));
            if start == end {
                continue;
            }
            while ranked <= usize::midpoint(start, end) {
                bucket -= 1;
                ranked += total(counts[bucket]);
            }
            let middle = lower_edge(bucket);
            for (score, &sum) in scores.iter_mut().zip(&psi.sums[j * n..]) {
                *score += middle * sum;
            }
        }
        let mut best = 0;
        for (index, &score) in scores.iter().enumerate() {
            if score > scores[best] {
                best = index;
            }
        }
        best
    }
}

/// Buckets that are skipped together if all are empty.
const GROUP: usize = 8;

/// Computes the bound of every non-empty bucket, and of some empty ones; clears the counts.
struct Bound<'a> {
    psi: &'a [f32],
    counts: &'a mut [[u16; 2]; BUCKETS],
    bounds: &'a mut [f32; BUCKETS],
}

impl<S: Simd> Kernel<S> for Bound<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: S) {
        let Self { psi, counts, bounds } = self;
        let mut ranked = 0;
        let (bounds, counts) = (bounds.as_chunks_mut::<GROUP>().0, counts.as_chunks_mut::<GROUP>().0);
        for (bounds, counts) in bounds.iter_mut().zip(counts).rev() {
            if counts.as_flattened().iter().fold(0, |any, count| any | count) == 0 {
                continue;
            }
            for (bound, count) in bounds.iter_mut().zip(counts).rev() {
                ranked += total(*count);
                *count = [0; 2];
                *bound = psi[ranked.saturating_sub(1)];
            }
        }
    }
}

/// sum += clamp(gradient), as [`SumGrid::clamp`]. Without a grid base and step are 0: no rounding.
struct Clamp<'a> {
    gradient: &'a [f32],
    bounds: &'a [f32; BUCKETS],
    first: u32,
    base: f32,
    step: f32,
    sum: &'a mut [f32],
}

impl<S: Simd> Kernel<S> for Clamp<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { gradient, bounds, first, base, step, sum } = self;
        let (base, step) = (s.splat(base), s.splat(step));
        let sign = s.splat_u(1 << 31);
        for (x, sum) in gradient.chunks_exact(S::LANES).zip(sum.chunks_exact_mut(S::LANES)) {
            let x = s.load(x);
            let bound = s.gather(bounds, bucket(s, x, first));
            let nearest = s.sub(s.add(s.min(bound, s.abs(x)), base), base);
            let inside = s.select(s.greater(nearest, bound), s.sub(nearest, step), nearest);
            let encoded = s.float(s.or(s.bits(inside), s.and(s.bits(x), sign)));
            s.store(s.add(s.load(sum), encoded), sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        cpu::simd::{Dispatch, for_each, padded},
        mechanism::{Encoder, EncoderSpec, EnvelopeShape},
    };

    #[derive(Clone, Copy)]
    struct Ranks;

    impl Dispatch for Ranks {
        type Output = ();
        fn with<S: Simd>(self, simd: S) {
            for (shape, vectors, p) in [
                (EnvelopeShape::Gaussian, 1, 7850),
                (EnvelopeShape::Mixed, 50, 1003),
                (EnvelopeShape::Sparse, 3, 26_010),
            ] {
                let spec = EncoderSpec::Envelope { shape, vectors, pre_scale: 1.0, seed: 4 };
                let envelope = Arc::new(Envelope::draw(shape, vectors, p, 4).unwrap());
                let reference = Encoder::with_envelope(&spec, Arc::clone(&envelope), p).unwrap();
                let psi = Psi::new(envelope, 1.0);
                let mut ranker = Ranker::new(&psi.envelope);
                // Heavy tails, zeros, repeats, tiny and huge values; reuse must clear the counts.
                for round in 0..4_u32 {
                    let mut gradient = vec![0.0; padded(p)];
                    for (k, g) in gradient[..p].iter_mut().enumerate() {
                        let hash = (k as u32 ^ (round << 20)).wrapping_mul(2_654_435_761) >> 8;
                        let t = hash as f32 / (1 << 24) as f32 - 0.5;
                        *g = match hash % 7 {
                            0 | 1 => 0.0,
                            2 => 0.01,
                            3 => t.powi(25),
                            4 => 1e3 * t,
                            _ => 0.02 * t.powi(3),
                        };
                    }
                    for grid in [None, reference.sum_grid()] {
                        let mut expected = gradient[..p].to_vec();
                        assert!(reference.encode_on(grid, &mut expected));
                        let base = grid.map_or(0.0, SumGrid::base);
                        let mut sum = vec![base; padded(p)];
                        ranker.add_encoded(simd, &psi, grid, &gradient, &mut sum);
                        sum.iter_mut().for_each(|sum| *sum -= base);
                        assert_eq!(sum[..p], expected, "{} {shape:?} {grid:?}", S::NAME);
                        assert!(sum[p..].iter().all(|&v| v == 0.0));
                    }
                }
            }
        }
    }

    #[test]
    fn encoding_matches_the_reference() {
        for_each(Ranks);
    }
}
