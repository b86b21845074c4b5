//! Ψ as an accountant sees it: for each vector, enough to sum any smooth even function over its coordinates.
//!
//! Lemma 5 needs Σ_i F(|ψ_i|) with F = ln I_k, for every vector, order and family. F(τ) = τ²·G(τ) with G smooth in |τ| (a density with
//! a kink has odd powers of |τ|, so the variable is |τ|, not τ²). On octaves of |τ| below the largest entry, G is a Chebyshev
//! series to about 12 terms, and Σ_i ψ_i²·T_j(y_i), taken once, are the power sums of ψ in that basis: no digits are lost, as they
//! are with bare powers. What the series leaves out is estimated from its last terms and added. Where the noise is wide against ψ, G is
//! as smooth on all of [0, largest], or on a few octaves less; the sums there follow from those by octave. Few distinct entries are kept as they are.

mod bins;
mod cover;
mod series;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub(crate) use self::series::{Panel, Series};
use self::{
    bins::{Bins, Tally},
    cover::Cover,
    series::{Merge, ROUNDING, Sums, TERMS},
};
use super::{error::PrivacyError, noise::Noise, parallel};

/// Up to this many distinct magnitudes in all vectors together are kept exactly.
const EXACT_LIMIT: usize = 96;
/// Octaves end where what is below them holds less than this part of any vector's square sum.
const BOTTOM_SHARE: f64 = 1e-3;
/// Vectors that one thread takes at a time.
const CHUNK: usize = 16;
/// Largest (k·√J·τ) at which a series on all of [0, τ] is tried: beyond, it would not settle.
const WIDEST: f64 = 12.0;

/// What of Ψ the accountant needs: compact, serialisable, safe to publish (Ψ is public).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct EnvelopeProfile {
    /// Coordinates of each vector, zeros included.
    dimension: u64,
    /// Largest L2 norm of a vector, squared.
    squared_norm: f64,
    /// Largest |entry| of all vectors.
    largest: f64,
    form: Form,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Form {
    /// For each vector its distinct magnitudes with their counts.
    Exact { vectors: Vec<Cover> },
    /// For each vector, panel by panel, Σψ²T_j(y), j = 0.. : `octaves` octaves from above, then what is below. And few vectors of which one
    /// exceeds each of them rank by rank.
    Moments { octaves: usize, vectors: Vec<Vec<f64>>, covers: Vec<Cover> },
}

impl EnvelopeProfile {
    /// From Ψ's vectors, each of P finite entries in any order. Signs do not matter.
    ///
    /// # Errors
    /// No vector, no coordinate, vectors of different lengths, an entry that is not finite, or nothing but zeros.
    pub fn from_vectors<'a>(vectors: impl IntoIterator<Item = &'a [f32]>) -> Result<Self, PrivacyError> {
        Self::build(&vectors.into_iter().collect::<Vec<_>>())
    }

    /// As [`EnvelopeProfile::from_vectors`], in double precision.
    ///
    /// # Errors
    /// The same.
    pub fn from_vectors_f64<'a>(vectors: impl IntoIterator<Item = &'a [f64]>) -> Result<Self, PrivacyError> {
        Self::build(&vectors.into_iter().collect::<Vec<_>>())
    }

    fn build<T: Copy + Into<f64> + Sync>(vectors: &[&[T]]) -> Result<Self, PrivacyError> {
        let fail = |problem: String| Err(PrivacyError::Envelope(problem));
        let Some(dimension) = vectors.first().map(|v| v.len()) else {
            return fail("there is no vector".into());
        };
        if dimension == 0 {
            return fail("its vectors have no coordinates".into());
        }
        if let Some(v) = vectors.iter().position(|vector| vector.len() != dimension) {
            return fail(format!("vector {v} has {} coordinates, vector 0 has {dimension}", vectors[v].len()));
        }
        let mut largest = 0.0f64;
        for (v, top) in parallel::map(vectors, |vector| top(vector)).into_iter().enumerate() {
            match top {
                Ok(top) => largest = largest.max(top),
                Err(bad) => return fail(format!("entry {bad} of vector {v} is not a finite number below 1e100")),
            }
        }
        if largest < 1e-100 {
            return fail("every entry is zero (or below 1e-100): nothing would ever be learned".into());
        }
        if let Some(vectors) = exact(vectors) {
            let squared_norm = vectors.iter().map(cover::squares).fold(0.0, f64::max);
            return Ok(Self { dimension: dimension as u64, squared_norm, largest, form: Form::Exact { vectors } });
        }
        let chunks: Vec<&[&[T]]> = vectors.chunks(CHUNK).collect();
        let tallies: Vec<Tally> = parallel::map(&chunks, |chunk| {
            let mut bins = Bins::new();
            chunk.iter().map(|vector| bins.tally(vector, largest)).collect::<Vec<_>>()
        })
        .into_iter()
        .flatten()
        .collect();
        let octaves = tallies.iter().map(|tally| octaves_of(&tally.octaves)).max().unwrap_or(0);
        let merge = Merge::new();
        let moments: Vec<Vec<f64>> = tallies
            .iter()
            .map(|tally| {
                let octave = |p: usize| tally.octaves.get(p).copied().unwrap_or([0.0; TERMS]);
                let lowest =
                    (octaves..tally.octaves.len()).rev().fold([0.0; TERMS], |low, p| merge.sums(&octave(p), &low));
                (0..octaves).flat_map(octave).chain(lowest).collect()
            })
            .collect();
        let squared_norm = moments.iter().map(|r| r.iter().step_by(TERMS).sum::<f64>()).fold(0.0, f64::max);
        let covers = cover::covers(vectors, tallies.into_iter().map(|tally| tally.counts).collect(), largest);
        Ok(Self {
            dimension: dimension as u64,
            squared_norm,
            largest,
            form: Form::Moments { octaves, vectors: moments, covers },
        })
    }

    /// Coordinates P.
    #[must_use]
    pub fn dimension(&self) -> u64 {
        self.dimension
    }

    /// Number of vectors n.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.form {
            Form::Exact { vectors } => vectors.len(),
            Form::Moments { vectors, .. } => vectors.len(),
        }
    }

    /// Never: a profile has at least one vector.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The largest L2 norm of a vector, rounded up.
    #[must_use]
    pub fn norm(&self) -> f64 {
        (self.squared_norm * (1.0 + ROUNDING)).sqrt()
    }

    /// The largest |entry|.
    #[must_use]
    pub fn largest(&self) -> f64 {
        self.largest
    }

    /// At most eight vectors of few distinct entries, (entry, how many), of which one exceeds each vector of Ψ rank by rank.
    #[must_use]
    pub fn covers(&self) -> Cow<'_, [Cover]> {
        match &self.form {
            Form::Exact { vectors } => Cow::Owned(cover::reduced(vectors.clone())),
            Form::Moments { covers, .. } => Cow::Borrowed(covers),
        }
    }

    /// For each vector, Σ_i ln I_k(factor·ψ_i) for k = 2, …, orders + 1: upper bounds (Lemma 5).
    #[must_use]
    pub fn log_moment_sums(&self, noise: &dyn Noise, factor: f64, orders: usize) -> Vec<Vec<f64>> {
        match &self.form {
            Form::Exact { vectors } => {
                let mut cache = std::collections::HashMap::<u64, Vec<f64>>::new();
                let sum = |vector: &Cover| {
                    let mut total = vec![0.0; orders];
                    for &(tau, count) in vector {
                        let moments = cache.entry(tau.to_bits()).or_insert_with(|| {
                            let mut moments = vec![0.0; orders];
                            noise.log_moments(factor * tau, &mut moments);
                            moments
                        });
                        for (t, m) in total.iter_mut().zip(moments) {
                            *t += *m * count as f64;
                        }
                    }
                    total
                };
                vectors.iter().map(sum).collect()
            }
            Form::Moments { octaves, vectors, .. } => {
                let steepest = (orders + 1) as f64 * factor * noise.fisher_information().sqrt();
                let mut rows = Vec::new();
                let mut panels = 0;
                loop {
                    let below = Panel::below(self.largest, panels);
                    let last = panels == *octaves;
                    if last || steepest * below.high < WIDEST {
                        let series = Series::new(&below, noise, factor, orders);
                        if last || series.is_settled() {
                            rows.append(&mut series.into_upper());
                            break;
                        }
                    }
                    rows.append(
                        &mut Series::new(&Panel::octave(self.largest, panels), noise, factor, orders).into_upper(),
                    );
                    panels += 1;
                }
                let merge = Merge::new();
                parallel::map(vectors, |sums| combine(&merged(&merge, sums, panels), &rows, orders))
            }
        }
    }

    /// Checks a profile that was read from outside.
    ///
    /// # Errors
    /// What no set of vectors can have.
    pub fn validate(&self) -> Result<(), PrivacyError> {
        let fail = |problem: String| Err(PrivacyError::Envelope(problem));
        if self.dimension == 0 || self.is_empty() {
            return fail("it has no vector or no coordinate".into());
        }
        if !(1e-100..1e100).contains(&self.largest) {
            return fail(format!("its largest entry is {}; it must be finite and above 0", self.largest));
        }
        let mut squared_norm = 0.0f64;
        match &self.form {
            Form::Exact { vectors } => {
                for (v, vector) in vectors.iter().enumerate() {
                    let mut used = 0u64;
                    for &(magnitude, count) in vector {
                        if !(magnitude > 0.0 && magnitude <= self.largest) {
                            return fail(format!("vector {v} has an entry {magnitude}, outside 0 to {}", self.largest));
                        }
                        used = used.saturating_add(count);
                    }
                    if used > self.dimension {
                        return fail(format!(
                            "vector {v} has {used} entries, more than its {} coordinates",
                            self.dimension
                        ));
                    }
                    squared_norm = squared_norm.max(vector.iter().map(|(m, c)| m * m * *c as f64).sum());
                }
            }
            Form::Moments { octaves, vectors, covers } => {
                if *octaves > bins::OCTAVES {
                    return fail(format!("it has {octaves} octaves; {} is the most", bins::OCTAVES));
                }
                let wanted = (octaves + 1) * TERMS;
                let reaches: Vec<Vec<f64>> = covers.iter().map(|cover| self.reach(cover, *octaves)).collect();
                for (v, sums) in vectors.iter().enumerate() {
                    if sums.len() != wanted {
                        return fail(format!("vector {v} has {} sums; its panels need {wanted}", sums.len()));
                    }
                    for (p, block) in sums.chunks_exact(TERMS).enumerate() {
                        let high = self.largest * 2f64.powi(-(p as i32));
                        let most = high * high * self.dimension as f64 * (1.0 + 1e-9);
                        // |T_j| ≤ 1, so no sum can exceed the panel's square sum.
                        let bound = block[0] * (1.0 + 1e-9) + 1e-300;
                        let possible = (0.0..=most).contains(&block[0]) && block.iter().all(|s| s.abs() <= bound);
                        if !possible {
                            return fail(format!("vector {v} has sums that no entries give"));
                        }
                    }
                    squared_norm = squared_norm.max(sums.iter().step_by(TERMS).sum());
                    let covered = |reach: &Vec<f64>| {
                        let mut mine = 0.0;
                        sums.iter().step_by(TERMS).zip(reach).all(|(s, reach)| {
                            mine += s;
                            mine <= *reach
                        })
                    };
                    if !reaches.iter().any(covered) {
                        return fail(format!("vector {v} has larger entries than each of its covers"));
                    }
                }
                for (c, cover) in covers.iter().enumerate() {
                    let used = cover.iter().fold(0u64, |sum, (_, count)| sum.saturating_add(*count));
                    let possible = |&(entry, count): &(f64, u64)| entry > 0.0 && entry <= self.largest && count > 0;
                    if used > self.dimension || !cover.iter().all(possible) {
                        return fail(format!("its cover {c} has entries that no vector has"));
                    }
                }
            }
        }
        let agrees = (self.squared_norm - squared_norm).abs() <= 1e-9 * squared_norm;
        if !agrees {
            return fail(format!("its squared norm is {}, its entries give {squared_norm}", self.squared_norm));
        }
        Ok(())
    }

    /// Σ of the cover's squares down to each octave's end, and in all: no vector that it covers can have more. An entry at the end of an octave
    /// may count for either.
    fn reach(&self, cover: &Cover, octaves: usize) -> Vec<f64> {
        let end = |p: usize| if p == octaves { 0.0 } else { self.largest * (1.0 - 1e-12) * 2f64.powi(-(p as i32) - 1) };
        let mut rest = cover.iter().peekable();
        let mut sum = 0.0;
        (0..=octaves)
            .map(|p| {
                while let Some((entry, count)) = rest.next_if(|(entry, _)| *entry >= end(p)) {
                    sum += entry * entry * *count as f64;
                }
                sum * (1.0 + 1e-9)
            })
            .collect()
    }
}

/// The largest |entry|, or where one is not finite (or 1e100 and more).
fn top<T: Copy + Into<f64>>(vector: &[T]) -> Result<f64, usize> {
    let (mut finite, mut top) = (true, 0.0f64);
    for &entry in vector {
        let magnitude: f64 = entry.into().abs();
        finite &= magnitude < 1e100;
        top = top.max(magnitude);
    }
    if finite {
        return Ok(top);
    }
    let bad = |&entry: &T| -> bool {
        let magnitude: f64 = entry.into().abs();
        magnitude.is_nan() || magnitude >= 1e100
    };
    Err(vector.iter().position(bad).unwrap_or(0))
}

/// How many octaves are needed so that little is left below.
fn octaves_of(sums: &[Sums]) -> usize {
    let total: f64 = sums.iter().map(|s| s[0]).sum();
    let mut below = total;
    let mut needed = 0;
    for (p, octave) in sums.iter().enumerate() {
        if below > BOTTOM_SHARE * total {
            needed = p + 1;
        }
        below -= octave[0];
    }
    needed
}

/// One vector's sums on the first `octaves` octaves, and on all that is below them together.
fn merged(merge: &Merge, sums: &[f64], octaves: usize) -> Vec<f64> {
    let block = |p: usize| -> Sums { std::array::from_fn(|j| sums[p * TERMS + j]) };
    let bottom = sums.len() / TERMS - 1;
    let below = (octaves..bottom).rev().fold(block(bottom), |low, p| merge.sums(&block(p), &low));
    sums[..octaves * TERMS].iter().copied().chain(below).collect()
}

/// Each vector's distinct magnitudes with their counts, if they are few.
fn exact<T: Copy + Into<f64>>(vectors: &[&[T]]) -> Option<Vec<Cover>> {
    let mut left = EXACT_LIMIT;
    let mut all = Vec::with_capacity(vectors.len().min(EXACT_LIMIT));
    for vector in vectors {
        let mut counts = std::collections::BTreeMap::<u64, u64>::new();
        for &entry in *vector {
            let magnitude: f64 = Into::<f64>::into(entry).abs();
            // Smaller ones are rounded up, which is safe, so that their squares are normal numbers.
            if magnitude > 0.0 {
                *counts.entry(magnitude.max(1e-100).to_bits()).or_default() += 1;
                if counts.len() > left {
                    return None;
                }
            }
        }
        left = left.checked_sub(counts.len().max(1))?;
        all.push(counts.into_iter().rev().map(|(bits, count)| (f64::from_bits(bits), count)).collect());
    }
    Some(all)
}

/// Σ_r sums[r]·rows[r], four rows at a time.
fn combine(sums: &[f64], rows: &[Vec<f64>], orders: usize) -> Vec<f64> {
    let mut total = vec![0.0; orders];
    let mut pairs = sums.chunks_exact(4).zip(rows.chunks_exact(4));
    for (s, r) in pairs.by_ref() {
        let (r0, r1, r2, r3) = (&r[0][..orders], &r[1][..orders], &r[2][..orders], &r[3][..orders]);
        for (k, t) in total.iter_mut().enumerate() {
            *t += (s[0] * r0[k] + s[1] * r1[k]) + (s[2] * r2[k] + s[3] * r3[k]);
        }
    }
    let done = sums.len() / 4 * 4;
    for (s, r) in sums[done..].iter().zip(&rows[done..]) {
        for (t, value) in total.iter_mut().zip(r) {
            *t += s * value;
        }
    }
    total
}
