//! Encoders of per-example gradients: clipping to a norm, and clamping into the envelope by rank.

use std::sync::Arc;

use super::{
    EncoderSpec, MechanismError,
    envelope::{BLOCKS, Envelope, block_edge},
    exact_sum::{SumGrid, clip_target},
    layers::Layers,
};

/// Number of magnitude buckets: 512 per octave for 32 octaves. See [`first_bucket`].
pub const BUCKETS: usize = 1 << 14;
/// Right shift that leaves an f32's exponent and the leading 9 bits of its significand.
pub const BUCKET_SHIFT: u32 = 23 - 9;

/// An [`EncoderSpec`] prepared for gradients of one length, with its vectors drawn.
#[derive(Clone, Debug)]
pub enum Encoder {
    /// No bound.
    None,
    /// Clipping to a norm.
    Clip {
        /// Largest L2 norm.
        norm: f64,
    },
    /// Clamping into an envelope, by rank.
    Envelope {
        /// Ψ, with vectors as long as the gradients.
        envelope: Arc<Envelope>,
        /// Factor applied to gradients first.
        pre_scale: f32,
    },
    /// Per-layer clipping, in units of the layers' noise.
    Layers(Layers),
}

impl EncoderSpec {
    /// True if gradients are clipped to a norm, as a whole or per layer.
    #[must_use]
    pub const fn clips(&self) -> bool {
        matches!(self, Self::Clip { .. } | Self::Layers(_))
    }

    /// Checks that the parameters are in range.
    ///
    /// # Errors
    /// When a norm or pre-scale is outside [1e-9, 1e9] ([1e-9, 1e6] for a layer), or NaN.
    pub fn validate(&self) -> Result<(), MechanismError> {
        // Also false for NaN.
        let usable = |x: f64| (1e-9..=1e9).contains(&x);
        match self {
            Self::Clip { norm } if !usable(*norm) => Err(MechanismError::ClipNorm(*norm)),
            Self::Envelope { pre_scale, .. } if !usable(*pre_scale) => Err(MechanismError::PreScale(*pre_scale)),
            Self::Layers(clip) => clip.validate(),
            _ => Ok(()),
        }
    }
}

impl Encoder {
    /// Prepares `spec` for gradients of length `p`, as one layer, drawing Ψ if needed.
    ///
    /// # Errors
    /// As [`EncoderSpec::validate`] and [`Envelope::draw`].
    pub fn new(spec: &EncoderSpec, p: usize) -> Result<Self, MechanismError> {
        spec.validate()?;
        Ok(match spec {
            EncoderSpec::None => Self::None,
            EncoderSpec::Clip { norm } => Self::Clip { norm: *norm },
            EncoderSpec::Layers(clip) => Self::Layers(Layers::new(clip, &[p])?),
            &EncoderSpec::Envelope { shape, vectors, pre_scale, seed } => Self::Envelope {
                envelope: Arc::new(Envelope::draw(shape, vectors, p, seed)?),
                pre_scale: pre_scale as f32,
            },
        })
    }

    /// Like [`Encoder::new`], but uses the given Ψ if `spec` needs one.
    ///
    /// # Errors
    /// As [`EncoderSpec::validate`], and when Ψ's vectors do not have length `p`.
    pub fn with_envelope(spec: &EncoderSpec, envelope: Arc<Envelope>, p: usize) -> Result<Self, MechanismError> {
        let EncoderSpec::Envelope { pre_scale, .. } = *spec else {
            return Self::new(spec, p);
        };
        spec.validate()?;
        if envelope.dimension() != p {
            return Err(MechanismError::EnvelopeLength { expected: p, found: envelope.dimension() });
        }
        Ok(Self::Envelope { envelope, pre_scale: pre_scale as f32 })
    }

    /// Converts from units of encoded gradients back to gradient units.
    pub fn restore(&self, values: &mut [f32]) {
        if let Self::Layers(layers) = self {
            layers.restore(values);
        }
    }

    /// Returns the grid on which sums of encoded coordinates are exact; `None` without a bound.
    #[must_use]
    pub fn sum_grid(&self) -> Option<SumGrid> {
        match self {
            Self::None => None,
            Self::Clip { norm } => Some(SumGrid::of(*norm)),
            Self::Envelope { envelope, .. } => Some(SumGrid::of(envelope.largest().into())),
            Self::Layers(_) => Some(Layers::sum_grid()),
        }
    }

    /// Encodes one example's gradient in place. A non-finite gradient is set to zero, so that it
    /// can neither exceed the bound nor spoil the sum, and the result is `false`.
    ///
    /// # Panics
    /// When the gradient and the envelope have different lengths.
    pub fn encode(&self, gradient: &mut [f32]) -> bool {
        self.encode_on(None, gradient)
    }

    /// Like [`Encoder::encode`], rounded within the bound to `grid` ([`Encoder::sum_grid`]).
    ///
    /// # Panics
    /// When the gradient and the envelope have different lengths.
    pub fn encode_on(&self, grid: Option<SumGrid>, gradient: &mut [f32]) -> bool {
        let Some(norm) = finite_norm(gradient) else {
            gradient.fill(0.0);
            return false;
        };
        match self {
            Self::None => {}
            Self::Clip { norm: bound } => match grid {
                None => clip(gradient, norm, clip_target(*bound)),
                Some(grid) => {
                    clip(gradient, norm, grid.clip_target(*bound, gradient.len()));
                    gradient.iter_mut().for_each(|g| *g = grid.round(*g));
                }
            },
            Self::Layers(layers) => layers.clip(gradient, grid),
            Self::Envelope { envelope, pre_scale } => {
                for g in &mut *gradient {
                    *g *= pre_scale;
                }
                let first = first_bucket(*pre_scale);
                let counts = histogram(gradient, first);
                let psi = envelope.vector(choose(&counts, envelope));
                clamp_by_rank(gradient, &bucket_bounds(&counts, psi), first, grid);
            }
        }
        true
    }
}

/// Returns ‖g‖, or `None` if an entry is not finite or the sum of squares overflows an f32.
#[must_use]
pub fn finite_norm(gradient: &[f32]) -> Option<f64> {
    let square: f64 = gradient.iter().map(|&g| f64::from(g).powi(2)).sum();
    (square as f32).is_finite().then(|| square.sqrt())
}

/// Scales the gradient in place to g·min(1, `target`/‖g‖) (Abadi et al. 2016, Algorithm 1). The
/// target is below the bound to leave room for rounding.
pub fn clip(gradient: &mut [f32], norm: f64, target: f64) {
    let factor = (target / norm).min(1.0);
    for g in gradient {
        *g = (f64::from(*g) * factor) as f32;
    }
}

/// Returns the exponent and leading 9 significand bits of bucket 0's lower edge: 2^(e−24), where
/// 2^e ≤ `pre_scale` < 2^(e+1); `pre_scale` is in [1e-9, 1e9]. The buckets thus always cover 2^−24
/// to 2^7 of the unscaled gradient. Smaller magnitudes share the first bucket with zeros, larger
/// ones share the last. As in every bucket, all get the smallest bound of their ranks and stay in
/// the envelope.
#[must_use]
pub fn first_bucket(pre_scale: f32) -> i32 {
    const SIGNIFICAND: u32 = 23;
    ((pre_scale.to_bits() >> SIGNIFICAND).cast_signed() - 24) << (SIGNIFICAND - BUCKET_SHIFT)
}

/// Returns the bucket of a magnitude; buckets start at [`first_bucket`], 512 per octave.
#[must_use]
pub fn bucket(magnitude: f32, first: i32) -> usize {
    let index = (magnitude.to_bits() >> BUCKET_SHIFT).cast_signed() - first;
    index.clamp(0, BUCKETS as i32 - 1) as usize
}

/// Returns the lower edge of a bucket at pre-scale 1, 0 for the first. Other pre-scales multiply
/// all edges by one power of two.
#[must_use]
pub fn lower_edge(bucket: usize) -> f32 {
    if bucket == 0 { 0.0 } else { f32::from_bits((bucket as u32 + first_bucket(1.0) as u32) << BUCKET_SHIFT) }
}

/// Counts the coordinates in each bucket, starting at [`first_bucket`].
#[must_use]
pub fn histogram(gradient: &[f32], first: i32) -> Vec<u32> {
    let mut counts = vec![0; BUCKETS];
    for g in gradient {
        counts[bucket(g.abs(), first)] += 1;
    }
    counts
}

/// Returns the bound of each bucket. Buckets take consecutive ranks, largest magnitudes first. The
/// bound is ψ at the last rank, the smallest, so any order within the bucket stays in the envelope.
#[must_use]
pub fn bucket_bounds(counts: &[u32], psi: &[f32]) -> Vec<f32> {
    let mut bounds = vec![0.0; counts.len()];
    let mut ranked = 0;
    for (bound, &count) in bounds.iter_mut().zip(counts).rev() {
        ranked += count as usize;
        if count > 0 {
            *bound = psi[ranked - 1];
        }
    }
    bounds
}

/// Clamps each coordinate in place to ±ψ of its bucket (Algorithm 2), and rounds to `grid`.
pub fn clamp_by_rank(gradient: &mut [f32], bounds: &[f32], first: i32, grid: Option<SumGrid>) {
    for g in gradient {
        let bound = bounds[bucket(g.abs(), first)];
        *g = grid.map_or_else(|| g.clamp(-bound, bound), |grid| grid.clamp(*g, bound));
    }
}

/// Returns the index of the ψ with the largest cosine similarity to the sorted magnitudes, by 64
/// rank blocks; the first on ties. As all ψ have norm 1, it compares Σ_j v_j·Σ_{i in block j} ψ_i,
/// with v_j the magnitude in the middle of block j. (The paper's "argmin" is a slip.)
#[must_use]
pub fn choose(counts: &[u32], envelope: &Envelope) -> usize {
    if envelope.vectors() == 1 {
        return 0;
    }
    let middles = block_middles(counts, envelope.dimension());
    let score = |index| {
        let products = envelope.vector_block_sums(index).iter().zip(&middles).map(|(sum, v)| v * sum);
        products.fold(0.0_f32, |score, product| score + product)
    };
    let (mut best, mut best_score) = (0, score(0));
    for index in 1..envelope.vectors() {
        let score = score(index);
        if score > best_score {
            (best, best_score) = (index, score);
        }
    }
    best
}

/// Returns the [`lower_edge`] of the bucket with each rank block's middle rank, 0 for empty blocks.
#[must_use]
pub fn block_middles(counts: &[u32], p: usize) -> [f32; BLOCKS] {
    let mut middles = [0.0; BLOCKS];
    let mut bucket = BUCKETS - 1;
    // Number of ranks in `bucket` and the buckets above it.
    let mut ranked = counts[bucket] as usize;
    for (j, middle) in middles.iter_mut().enumerate() {
        let (start, end) = (block_edge(p, j), block_edge(p, j + 1));
        if start == end {
            continue;
        }
        while ranked <= usize::midpoint(start, end) {
            bucket -= 1;
            ranked += counts[bucket] as usize;
        }
        *middle = lower_edge(bucket);
    }
    middles
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::EnvelopeShape;

    #[test]
    fn buckets_divide_magnitudes() {
        let at = |magnitude| bucket(magnitude, first_bucket(1.0));
        assert_eq!(at(0.0), 0);
        assert_eq!(at(f32::from_bits(1)), 0);
        assert_eq!(at(2f32.powi(-24)), 0);
        assert_eq!(at(2f32.powi(-23)), 512);
        assert_eq!(at(1.0), 24 * 512);
        assert_eq!(at(256f32.next_down()), BUCKETS - 1);
        assert_eq!(at(256.0), BUCKETS - 1);
        assert_eq!(at(f32::INFINITY), BUCKETS - 1);
        for b in 1..BUCKETS {
            let edge = lower_edge(b);
            assert_eq!((at(edge), at(edge.next_down())), (b, b - 1));
        }
    }

    /// Usual gradients avoid the end buckets at every pre-scale; powers of two change no bucket.
    #[test]
    fn buckets_follow_the_pre_scale() {
        for pre_scale in [1e-9_f32, 0.1, 0.999_999_9, 1.0, 1.5, 2.0, 100.0, 1e9] {
            let first = first_bucket(pre_scale);
            for magnitude in [2f32.powi(-22), 1e-3, 1.0, 63.0, 127.0] {
                let found = bucket(magnitude * pre_scale, first);
                assert!(0 < found && found < BUCKETS - 1, "{magnitude} · {pre_scale}: {found}");
                assert_eq!(bucket(4.0 * pre_scale * magnitude, first_bucket(4.0 * pre_scale)), found);
            }
        }
    }

    /// Algorithm 2 as the paper writes it, by a full sort.
    #[test]
    fn a_large_pre_scale_encodes_as_a_sort_does() {
        let p = 5000;
        // Few magnitudes share a bucket; those get the smallest of its bounds.
        let gradient: Vec<f32> = (0..p).map(|i| ((i * i % 9973) as f32 / 4987.0 - 1.0).powi(5)).collect();
        for pre_scale in [1e-3, 1.0, 100.0, 1e6, 1e9] {
            let spec = EncoderSpec::Envelope { shape: EnvelopeShape::Gaussian, vectors: 1, pre_scale, seed: 8 };
            let encoder = Encoder::new(&spec, p).unwrap();
            let Encoder::Envelope { envelope, .. } = &encoder else { unreachable!() };
            let psi = envelope.vector(0);
            let scaled: Vec<f32> = gradient.iter().map(|g| g * pre_scale as f32).collect();
            let mut order: Vec<usize> = (0..p).collect();
            order.sort_by(|&a, &b| scaled[b].abs().total_cmp(&scaled[a].abs()));
            let mut sorted = vec![0.0; p];
            for (rank, i) in order.into_iter().enumerate() {
                sorted[i] = scaled[i].clamp(-psi[rank], psi[rank]);
            }
            let mut found = gradient.clone();
            assert!(encoder.encode(&mut found));
            let square = |values: &mut dyn Iterator<Item = f32>| values.map(|v| f64::from(v).powi(2)).sum::<f64>();
            let apart =
                square(&mut found.iter().zip(&sorted).map(|(a, b)| a - b)) / square(&mut sorted.iter().copied());
            assert!(apart.sqrt() < 0.01, "pre-scale {pre_scale}: {:.1e}", apart.sqrt());
            // The largest replace coordinates by ±ψ, as the paper's §3.1 has it.
            let replaced = found.iter().filter(|value| psi.contains(&value.abs())).count();
            assert_eq!(replaced > p * 99 / 100, pre_scale >= 1e6, "pre-scale {pre_scale}: {replaced}");
        }
    }

    #[test]
    fn a_shared_bucket_gets_its_smallest_bound() {
        let envelope = Envelope::draw(EnvelopeShape::Gaussian, 1, 4, 5).unwrap();
        let psi = envelope.vector(0).to_vec();
        let encoder = Encoder::Envelope { envelope: Arc::new(envelope), pre_scale: 1.0 };
        let mut gradient = [-2.0, 3.0, 2.0, -1.9];
        assert!(encoder.encode(&mut gradient));
        assert_eq!(gradient, [-psi[2], psi[0], psi[2], -psi[3]]);
    }

    #[test]
    fn the_most_similar_vector_is_chosen() {
        let envelope = Envelope::draw(EnvelopeShape::Mixed, 6, 10_000, 9).unwrap();
        for index in 0..6 {
            let counts = histogram(envelope.vector(index), first_bucket(1.0));
            let cosine = |i: usize| -> f64 {
                envelope.vector(i).iter().zip(envelope.vector(index)).map(|(a, b)| f64::from(a * b)).sum()
            };
            let chosen = choose(&counts, &envelope);
            // Blocks blur the choice, but never more than this and never to another shape.
            assert!(cosine(chosen) > 0.999, "{index}: {chosen}, cosine {}", cosine(chosen));
            assert_eq!(chosen % 3, index % 3);
        }
    }

    #[test]
    fn specs_out_of_range_are_refused() {
        for norm in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-10] {
            let refused = Encoder::new(&EncoderSpec::Clip { norm }, 3).unwrap_err();
            assert!(matches!(refused, MechanismError::ClipNorm(_)));
            let spec = EncoderSpec::Envelope { shape: EnvelopeShape::Sparse, vectors: 1, pre_scale: norm, seed: 0 };
            assert!(matches!(Encoder::new(&spec, 3).unwrap_err(), MechanismError::PreScale(_)));
        }
    }
}
