//! What a per-example gradient becomes before it is summed: clipped to a norm, or clamped into the envelope by rank.

use std::sync::Arc;

use super::{
    EncoderSpec, MechanismError,
    envelope::{BLOCKS, Envelope, block_edge},
    exact_sum::{SumGrid, clip_target},
    layers::Layers,
};

/// Buckets of magnitudes, 512 to an octave, for 32 octaves: see [`first_bucket`].
pub const BUCKETS: usize = 1 << 14;
/// An f32's bits shifted right by this are its exponent and the leading 9 bits of its significand.
pub const BUCKET_SHIFT: u32 = 23 - 9;

/// An [`EncoderSpec`] with its vectors drawn: ready to encode gradients of one length.
#[derive(Clone, Debug)]
pub enum Encoder {
    /// No bound.
    None,
    /// Scaled down to a norm.
    Clip {
        /// Largest L2 norm.
        norm: f64,
    },
    /// Clamped into an envelope, by rank.
    Envelope {
        /// Ψ, with vectors as long as the gradients.
        envelope: Arc<Envelope>,
        /// Gradients are multiplied by this first.
        pre_scale: f32,
    },
    /// Clipped layer by layer, and in units of the layers' noise.
    Layers(Layers),
}

impl EncoderSpec {
    /// Whether gradients are clipped to a norm, as a whole or layer by layer.
    #[must_use]
    pub const fn clips(&self) -> bool {
        matches!(self, Self::Clip { .. } | Self::Layers(_))
    }

    /// Checks the numbers.
    ///
    /// # Errors
    /// A norm or pre-scale that is not positive, or so far from 1 that its square leaves f32's range.
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
    /// Prepares `spec` for gradients of length `p`, drawing Ψ if it needs one. To clip layer by layer, they are taken as one layer.
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

    /// As [`Encoder::new`], with a Ψ that was drawn before, if `spec` needs one.
    ///
    /// # Errors
    /// As [`EncoderSpec::validate`], and when Ψ's vectors are not of length `p`.
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

    /// From the units of encoded gradients to those of gradients, where they are others layer by layer.
    pub fn restore(&self, values: &mut [f32]) {
        if let Self::Layers(layers) = self {
            layers.restore(values);
        }
    }

    /// The grid on which encoded coordinates have exact sums; without a bound there is none.
    #[must_use]
    pub fn sum_grid(&self) -> Option<SumGrid> {
        match self {
            Self::None => None,
            Self::Clip { norm } => Some(SumGrid::of(*norm)),
            Self::Envelope { envelope, .. } => Some(SumGrid::of(envelope.largest().into())),
            Self::Layers(_) => Some(Layers::sum_grid()),
        }
    }

    /// Encodes one example's gradient in place. Answers `false` where it was not finite: it is zero then, because an example
    /// must not get past its bound, nor spoil the sum, by being broken.
    ///
    /// # Panics
    /// When the gradient's length is not the envelope's.
    pub fn encode(&self, gradient: &mut [f32]) -> bool {
        self.encode_on(None, gradient)
    }

    /// As [`Encoder::encode`], each coordinate a multiple of the step of `grid` ([`Encoder::sum_grid`]), still inside the bound.
    ///
    /// # Panics
    /// When the gradient's length is not the envelope's.
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

/// ‖g‖, unless an entry is not finite or the sum of squares is more than an f32 holds.
#[must_use]
pub fn finite_norm(gradient: &[f32]) -> Option<f64> {
    let square: f64 = gradient.iter().map(|&g| f64::from(g).powi(2)).sum();
    (square as f32).is_finite().then(|| square.sqrt())
}

/// Scales the gradient, in place, to g·min(1, `target`/‖g‖): Abadi et al. 2016, Algorithm 1; the target is below the bound, with room for what is rounded.
pub fn clip(gradient: &mut [f32], norm: f64, target: f64) {
    let factor = (target / norm).min(1.0);
    for g in gradient {
        *g = (f64::from(*g) * factor) as f32;
    }
}

/// Exponent and leading 9 bits of the significand of the lower edge of bucket 0: 2^(e−24), where 2^e ≤ `pre_scale` < 2^(e+1). Buckets
/// follow the pre-scale, because ranks do not change with it: those of an unscaled gradient reach from 2^−24 to 2^7 at least, whatever
/// it is multiplied by. Magnitudes below share the first bucket with zeros, magnitudes above share the last; both get the smallest bound
/// of their ranks, as all that share a bucket do, so that neither can leave the envelope.
///
/// `pre_scale` is positive and from 1e-9 to 1e9, as [`EncoderSpec::validate`] says.
#[must_use]
pub fn first_bucket(pre_scale: f32) -> i32 {
    const SIGNIFICAND: u32 = 23;
    ((pre_scale.to_bits() >> SIGNIFICAND).cast_signed() - 24) << (SIGNIFICAND - BUCKET_SHIFT)
}

/// The bucket of a magnitude, 512 to an octave from [`first_bucket`] on.
#[must_use]
pub fn bucket(magnitude: f32, first: i32) -> usize {
    let index = (magnitude.to_bits() >> BUCKET_SHIFT).cast_signed() - first;
    index.clamp(0, BUCKETS as i32 - 1) as usize
}

/// The smallest magnitude of a bucket at a pre-scale of 1; 0 for the first. At another they are larger by the same power of two.
#[must_use]
pub fn lower_edge(bucket: usize) -> f32 {
    if bucket == 0 { 0.0 } else { f32::from_bits((bucket as u32 + first_bucket(1.0) as u32) << BUCKET_SHIFT) }
}

/// How many coordinates lie in each bucket from [`first_bucket`] on.
#[must_use]
pub fn histogram(gradient: &[f32], first: i32) -> Vec<u32> {
    let mut counts = vec![0; BUCKETS];
    for g in gradient {
        counts[bucket(g.abs(), first)] += 1;
    }
    counts
}

/// The bound of each bucket. Buckets take consecutive ranks, the largest magnitudes first; a bucket's bound is ψ at the
/// last of its ranks, the smallest of them, so that every order within the bucket is inside the envelope.
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

/// Clamps each coordinate, in place, to ±ψ with ψ the bound of its bucket (Algorithm 2), and rounds it to `grid` where there is one.
pub fn clamp_by_rank(gradient: &mut [f32], bounds: &[f32], first: i32, grid: Option<SumGrid>) {
    for g in gradient {
        let bound = bounds[bucket(g.abs(), first)];
        *g = grid.map_or_else(|| g.clamp(-bound, bound), |grid| grid.clamp(*g, bound));
    }
}

/// The ψ with the largest cosine similarity to the sorted magnitudes, as far as 64 rank blocks tell; the first of equals. All ψ
/// have norm 1 and the gradient's norm is common to all, so the inner product decides: Σ_j v_j·Σ_{i in block j} ψ_i, where
/// v_j is the magnitude in the middle of block j. (The paper's "argmin" of the similarity is a slip.)
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

/// For each rank block the lower edge of the bucket that holds its middle rank, but for a power of two that is common to all and decides
/// nothing ([`lower_edge`]); 0 for an empty block.
#[must_use]
pub fn block_middles(counts: &[u32], p: usize) -> [f32; BLOCKS] {
    let mut middles = [0.0; BLOCKS];
    let mut bucket = BUCKETS - 1;
    // Ranks held by `bucket` and those above it.
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

    /// At every pre-scale that is allowed buckets have no end within a usual gradient, and a power of two moves them all alike.
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
        // Few magnitudes of which share a bucket: those get the smallest of its bounds.
        let gradient: Vec<f32> = (0..p).map(|i| ((i * i % 9973) as f32 / 4987.0 - 1.0).powi(5)).collect();
        for pre_scale in [1e-3, 1.0, 100.0, 1e6] {
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
            // Blocks blur; never by more than this, and never another shape.
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
