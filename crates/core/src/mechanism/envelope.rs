//! The envelope Ψ: public vectors whose entries bound an encoded gradient by rank (Nasr, Shokri &
//! Houmansadr 2020, Algorithm 2), drawn by a public seed, never from private gradients.

use rand::rand_core::Rng;

use super::{EnvelopeShape, error::MechanismError, gradients::QUANTILES, quantile::UpperQuantile};
use crate::rng::NotPrivateReplay;

pub use super::error::{MAX_ENTRIES, MAX_VECTORS};

/// Number of rank blocks over which vectors are compared with a gradient.
pub const BLOCKS: usize = 64;
/// Smaller entries are set to zero (Algorithm 2).
pub const SMALLEST_ENTRY: f64 = 1e-5;

/// Ψ, n vectors of length P: descending entries, each 0 or at least 1e-5; exact L2 norm at most 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope {
    vectors: usize,
    dimension: usize,
    /// n × P, row by row.
    values: Vec<f32>,
    /// n × [`BLOCKS`].
    block_sums: Vec<f32>,
}

impl Envelope {
    /// Draws Ψ: each vector holds `p` i.i.d. entries of the shape's distribution, sorted and scaled
    /// to norm 1. The result is bitwise equal on every machine.
    ///
    /// # Errors
    /// When Ψ would be empty or too large, or memory runs out.
    pub fn draw(shape: EnvelopeShape, vectors: u32, p: usize, seed: u64) -> Result<Self, MechanismError> {
        if vectors == 0 || vectors > MAX_VECTORS {
            return Err(MechanismError::EnvelopeVectors(vectors));
        }
        if p == 0 {
            return Err(MechanismError::EnvelopeDimension);
        }
        let n = vectors as usize;
        let entries = n
            .checked_mul(p)
            .filter(|&entries| entries <= MAX_ENTRIES)
            .ok_or(MechanismError::EnvelopeSize { vectors, dimension: p })?;
        let mut values = Vec::new();
        let bytes = entries * size_of::<f32>();
        values.try_reserve_exact(entries).map_err(|_| MechanismError::EnvelopeMemory { bytes })?;
        values.resize(entries, 0.0);

        // A separate stream for each vector, so that they can be drawn in any order.
        let mut seeds = NotPrivateReplay::new(seed);
        let streams: Vec<u64> = (0..n).map(|_| seeds.next_u64()).collect();
        let tables = Tables::new(p);
        let draw = |index: usize, row: &mut [f32]| draw_row(shape.of_vector(index), streams[index], &tables, row);
        #[cfg(not(target_arch = "wasm32"))]
        {
            use rayon::prelude::*;
            values.par_chunks_mut(p).enumerate().for_each(|(index, row)| draw(index, row));
        }
        #[cfg(target_arch = "wasm32")]
        for (index, row) in values.chunks_mut(p).enumerate() {
            draw(index, row);
        }

        let block_sums = values.chunks(p).flat_map(block_sums).collect();
        Ok(Self { vectors: n, dimension: p, values, block_sums })
    }

    /// Rebuilds an envelope from its [`values`](Self::values), `n × dimension`, in another thread.
    ///
    /// # Errors
    /// When `values` is empty or not a whole number of vectors.
    pub fn of_values(values: &[f32], dimension: usize) -> Result<Self, MechanismError> {
        if values.is_empty() || dimension == 0 || !values.len().is_multiple_of(dimension) {
            return Err(MechanismError::EnvelopeDimension);
        }
        let block_sums = values.chunks(dimension).flat_map(block_sums).collect();
        Ok(Self { vectors: values.len() / dimension, dimension, values: values.to_vec(), block_sums })
    }

    /// n, the number of vectors.
    #[must_use]
    pub fn vectors(&self) -> usize {
        self.vectors
    }

    /// P, the length of each vector.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// All vectors, `n × P`, row by row.
    #[must_use]
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Returns each vector's sums over the rank blocks, `n × 64`: see [`block_edge`].
    #[must_use]
    pub fn block_sums(&self) -> &[f32] {
        &self.block_sums
    }

    /// Returns ψ number `index`, in descending order.
    ///
    /// # Panics
    /// When `index` is not below n.
    #[must_use]
    pub fn vector(&self, index: usize) -> &[f32] {
        &self.values[index * self.dimension..][..self.dimension]
    }

    /// Returns the first `vectors` vectors, or all: what the same seed draws for that number.
    #[must_use]
    pub fn leading(&self, vectors: usize) -> Self {
        let vectors = vectors.min(self.vectors);
        let values = self.values[..vectors * self.dimension].to_vec();
        let block_sums = self.block_sums[..vectors * BLOCKS].to_vec();
        Self { vectors, dimension: self.dimension, values, block_sums }
    }

    /// The largest entry of all vectors.
    #[must_use]
    pub fn largest(&self) -> f32 {
        self.values.chunks(self.dimension).map(|psi| psi[0]).fold(0.0, f32::max)
    }

    /// Block sums of ψ number `index`.
    ///
    /// # Panics
    /// When `index` is not below n.
    #[must_use]
    pub fn vector_block_sums(&self, index: usize) -> &[f32] {
        &self.block_sums[index * BLOCKS..][..BLOCKS]
    }
}

/// Returns the first rank of block `j` ≤ 64, ⌊P·j³/64³⌋: narrow where entries are large.
#[must_use]
pub fn block_edge(p: usize, j: usize) -> usize {
    const CUBE: u64 = (BLOCKS * BLOCKS * BLOCKS) as u64;
    (p as u64 * (j * j * j) as u64 / CUBE) as usize
}

/// Sums ψ over each rank block in f64, rounding once.
fn block_sums(psi: &[f32]) -> [f32; BLOCKS] {
    core::array::from_fn(|j| {
        let block = &psi[block_edge(psi.len(), j)..block_edge(psi.len(), j + 1)];
        block.iter().map(|&v| f64::from(v)).sum::<f64>() as f32
    })
}

impl EnvelopeShape {
    /// Returns the shape of vector `index`; [`EnvelopeShape::Mixed`] cycles through the others.
    #[must_use]
    pub const fn of_vector(self, index: usize) -> Self {
        match self {
            Self::Mixed => match index % 3 {
                0 => Self::Gaussian,
                1 => Self::HeavyTailed,
                _ => Self::Sparse,
            },
            shape => shape,
        }
    }

    /// Returns how many of `p` entries may be non-zero.
    #[must_use]
    pub const fn support(self, p: usize) -> usize {
        match self {
            Self::Sparse => p.div_ceil(10),
            _ => p,
        }
    }
}

struct Tables {
    exponential: UpperQuantile,
    normal: UpperQuantile,
    student_t3: UpperQuantile,
    drawn: UpperQuantile,
}

impl Tables {
    /// Tables for vectors of `p` entries.
    fn new(p: usize) -> Self {
        let [(_, all), models @ ..] = &QUANTILES;
        let own = models.iter().find(|(parameters, _)| *parameters == p).map_or(all, |(_, own)| own);
        Self {
            drawn: UpperQuantile::of_values(own),
            exponential: UpperQuantile::exponential(),
            normal: UpperQuantile::half_normal(),
            student_t3: UpperQuantile::half_student_t3(),
        }
    }
}

/// Fills `row` with the descending order statistics of an i.i.d. sample, scaled to norm 1, without
/// sorting: with E_i ~ Exp(1) i.i.d. and S_k = E_1 + … + E_k, the ratios S_1/S_{m+1} < … <
/// S_m/S_{m+1} are distributed as m sorted uniforms (Rényi 1953; Devroye 1986, Non-Uniform Random
/// Variate Generation, V.3.1). The upper quantile function maps them to descending magnitudes.
fn draw_row(shape: EnvelopeShape, stream: u64, tables: &Tables, row: &mut [f32]) {
    let (support, rest) = row.split_at_mut(shape.support(row.len()));
    rest.fill(0.0);
    let quantile = match shape {
        EnvelopeShape::HeavyTailed => &tables.student_t3,
        EnvelopeShape::Drawn => &tables.drawn,
        _ => &tables.normal,
    };
    let mut rng = NotPrivateReplay::new(stream);
    let mut exponential = || tables.exponential.at((f64::from(rng.next_u32()) + 0.5) / 4_294_967_296.0);
    let mut total = 0.0;
    let partial_sums: Vec<f64> = (0..support.len())
        .map(|_| {
            total += exponential();
            total
        })
        .collect();
    total += exponential();

    let magnitudes: Vec<f64> = partial_sums.into_iter().map(|s| quantile.at(s / total)).collect();
    let norm = magnitudes.iter().map(|x| x * x).sum::<f64>().sqrt();
    // Two f32 units below 1, so that rounding to f32 cannot lift the norm above 1.
    let scale = (1.0 - f64::from(f32::EPSILON)) / norm;
    let mut previous = f32::INFINITY;
    for (slot, x) in support.iter_mut().zip(magnitudes) {
        let entry = x * scale;
        // Interpolation may break the order by a rounding error; then keep the smaller neighbour.
        previous = if entry < SMALLEST_ENTRY { 0.0 } else { (entry as f32).min(previous) };
        *slot = previous;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

    const SHAPES: [EnvelopeShape; 5] = [
        EnvelopeShape::Gaussian,
        EnvelopeShape::HeavyTailed,
        EnvelopeShape::Sparse,
        EnvelopeShape::Mixed,
        EnvelopeShape::Drawn,
    ];

    /// Computes Σψ² exactly, in units of 2^−80: entries of at least 1e-5 are multiples of 2^−40.
    fn exact_square(psi: &[f32]) -> u128 {
        let unit = (1u64 << 40) as f64;
        psi.iter()
            .map(|&v| {
                let multiple = f64::from(v) * unit;
                assert_eq!(multiple.fract(), 0.0);
                (multiple as u128).pow(2)
            })
            .sum()
    }

    #[test]
    fn rows_are_sorted_and_of_norm_one_exactly() {
        for shape in SHAPES {
            for p in [1, 2, 9, 10, 11, 64, 1000, 7850, 26_010] {
                let envelope = Envelope::draw(shape, 7, p, 42).unwrap();
                assert_eq!((envelope.vectors(), envelope.dimension()), (7, p));
                for i in 0..7 {
                    let psi = envelope.vector(i);
                    assert!(psi.is_sorted_by(|a, b| a >= b));
                    assert!(psi.iter().all(|&v| v == 0.0 || f64::from(v) >= SMALLEST_ENTRY));
                    let square = exact_square(psi);
                    assert!(square <= 1 << 80, "{shape:?} {p}");
                    assert!(square as f64 > 0.999_99 * 2f64.powi(80), "{shape:?} {p}: {square:e}");
                    let support = psi.iter().filter(|&&v| v > 0.0).count();
                    assert!(support <= shape.of_vector(i).support(p));
                }
            }
        }
    }

    #[test]
    fn vectors_depend_on_the_seed_and_differ() {
        let draw = |seed| Envelope::draw(EnvelopeShape::Mixed, 5, 300, seed).unwrap();
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        let envelope = draw(1);
        assert_ne!(envelope.vector(0), envelope.vector(3));
        // The first vectors do not depend on how many follow.
        let shorter = Envelope::draw(EnvelopeShape::Mixed, 2, 300, 1).unwrap();
        assert_eq!(shorter.values(), &envelope.values()[..600]);
        assert_eq!(envelope.leading(2), shorter);
        assert_eq!(envelope.leading(9), envelope);
    }

    /// These bits must never change: old runs identify Ψ by its seed alone.
    #[test]
    fn vectors_of_a_seed_never_change() {
        let envelope = Envelope::draw(EnvelopeShape::Mixed, 3, 1000, 7).unwrap();
        let digest = envelope
            .values()
            .iter()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, v| (hash ^ u64::from(v.to_bits())).wrapping_mul(0x0100_0000_01b3));
        assert_eq!(digest, 15_142_241_369_812_265_214);
    }

    /// Sorted entries have the measured quantiles, up to a common factor.
    #[test]
    fn a_drawn_shape_has_the_quantiles_of_gradients() {
        for (p, quantiles) in &QUANTILES[1..] {
            let envelope = Envelope::draw(EnvelopeShape::Drawn, 1, *p, 4).unwrap();
            let square = |values: &[f32]| values.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>() / *p as f64;
            let unit = square(envelope.vector(0)).sqrt();
            for k in [2, 4, 8, 12] {
                let rank = (*p as f64 * 0.5f64.powf(f64::from(k) / 2.0)) as usize;
                let entry = f64::from(envelope.vector(0)[rank - 1]) / unit;
                let expected = quantiles[k as usize];
                assert!((entry - expected).abs() < 0.15 * expected + 0.02, "{p}, {k}: {entry}, {expected}");
            }
        }
    }

    /// One-sample KS test of the entries, at a false-alarm rate of 1e-6 for each vector.
    #[test]
    fn entries_follow_their_distribution() {
        let p = 50_000;
        let normal = Normal::new(0.0, 1.0).unwrap();
        let t3 = StudentsT::new(0.0, 1.0, 3.0).unwrap();
        let envelope = Envelope::draw(EnvelopeShape::Mixed, 6, p, 3).unwrap();
        for i in 0..6 {
            let shape = EnvelopeShape::Mixed.of_vector(i);
            let support = shape.support(p);
            let psi = &envelope.vector(i)[..support];
            // Scale back by the median (|N| 0.674490, |T_3| 0.764892), which only adds distance.
            let median =
                if shape == EnvelopeShape::HeavyTailed { 0.764_892_328_404_345_4 } else { 0.674_489_750_196_081_7 };
            let scale = median / f64::from(psi[support / 2]);
            let distance = psi
                .iter()
                .enumerate()
                .filter(|&(_, &v)| v > 0.0)
                .map(|(rank, &v)| {
                    let x = f64::from(v) * scale;
                    let survival = 2.0 * if shape == EnvelopeShape::HeavyTailed { t3.sf(x) } else { normal.sf(x) };
                    (survival - rank as f64 / support as f64).abs()
                })
                .fold(0.0, f64::max);
            // √(ln(2/1e-6)/2) = 2.694 (Dvoretzky–Kiefer–Wolfowitz–Massart), doubled for the
            // estimated scale.
            assert!(distance < 2.0 * 2.694 / (support as f64).sqrt(), "{shape:?}: {distance}");
        }
    }

    #[test]
    fn blocks_cover_all_ranks() {
        for p in [1, 7, 64, 7850, 26_010, 101_770] {
            assert_eq!((block_edge(p, 0), block_edge(p, BLOCKS)), (0, p));
            let envelope = Envelope::draw(EnvelopeShape::HeavyTailed, 1, p, 1).unwrap();
            let total: f64 = envelope.values().iter().map(|&v| f64::from(v)).sum();
            let by_blocks: f64 = envelope.block_sums().iter().map(|&v| f64::from(v)).sum();
            assert!((total - by_blocks).abs() < 1e-6 * total);
        }
    }

    #[test]
    fn limits_are_errors() {
        let draw = |n, p| Envelope::draw(EnvelopeShape::Gaussian, n, p, 0).unwrap_err();
        assert_eq!(draw(0, 10), MechanismError::EnvelopeVectors(0));
        assert_eq!(draw(MAX_VECTORS + 1, 10), MechanismError::EnvelopeVectors(MAX_VECTORS + 1));
        assert_eq!(draw(1, 0), MechanismError::EnvelopeDimension);
        assert_eq!(draw(2, MAX_ENTRIES), MechanismError::EnvelopeSize { vectors: 2, dimension: MAX_ENTRIES });
        assert_eq!(draw(2, usize::MAX), MechanismError::EnvelopeSize { vectors: 2, dimension: usize::MAX });
    }

    /// Prints how long drawing the paper's Ψ takes.
    #[test]
    fn drawing_a_thousand_vectors_is_timed() {
        let start = std::time::Instant::now();
        let envelope = Envelope::draw(EnvelopeShape::Mixed, 1000, 26_010, 0).unwrap();
        println!("1000 × 26,010: {:?}", start.elapsed());
        assert_eq!(envelope.values().len(), 26_010_000);
    }
}
