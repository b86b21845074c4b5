//! Ψ for the accountant: per vector, enough to sum any smooth even function over its coordinates.
//!
//! Lemma 5 needs Σ_i F(|ψ_i|), F = ln I_k, for every vector, order and family. F(τ) = τ²·G(τ) with
//! G smooth in |τ| (not in τ²: a kink gives odd powers of |τ|). On octaves of |τ| below the largest
//! entry, G is a Chebyshev series of about 12 terms, and Σ_i ψ_i²·T_j(y_i), taken once, are power
//! sums of ψ in that basis, which lose no digits as bare powers do. The series' remainder is
//! estimated from its last terms and added. Where the noise is wide relative to ψ, G is as smooth
//! on all of [0, largest], or below a few octaves, where sums follow from those by octave. Few
//! distinct entries are kept as such.

mod ball;
mod bins;
mod dominating;
mod error;
mod orders;
mod rows;
mod series;
mod validation;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub(crate) use self::ball::l2_log_moments;
pub use self::error::EnvelopeError;
use self::{
    bins::{Bins, Tally},
    dominating::DominatingVector,
    orders::Interpolation,
    rows::{Row, combine},
    series::{Merge, Panel, ROUNDING, Series, Sums, TERMS},
};
use super::{error::PrivacyError, noise::Noise, parallel};

/// Up to this many distinct magnitudes, over all vectors, are kept exactly.
const EXACT_LIMIT: usize = 96;
/// Most vectors.
const MOST_VECTORS: usize = 1 << 14;
/// Octaves end where less than this part of any vector's square sum is left below.
const BOTTOM_SHARE: f64 = 1e-3;
/// Vectors per thread at a time.
const CHUNK: usize = 16;
/// Largest k·√J·τ for which a series on all of [0, τ] is tried; beyond, it would not settle.
const WIDEST: f64 = 12.0;

/// The accountant's summary of Ψ: compact, serialisable, safe to publish (Ψ is public). Reading
/// refuses a profile that no vectors have (`validation.rs`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", try_from = "Raw")]
pub struct EnvelopeProfile {
    /// Coordinates of each vector, zeros included.
    dimension: u64,
    /// Largest L2 norm of a vector, squared.
    squared_norm: f64,
    /// Largest |entry| of all vectors.
    largest: f64,
    form: Form,
}

/// A serialised profile.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Raw {
    dimension: u64,
    squared_norm: f64,
    largest: f64,
    form: Form,
}

impl TryFrom<Raw> for EnvelopeProfile {
    type Error = PrivacyError;

    fn try_from(raw: Raw) -> Result<Self, PrivacyError> {
        let Raw { dimension, squared_norm, largest, form } = raw;
        let mut profile = Self { dimension, squared_norm, largest, form };
        profile.check()?;
        Ok(profile)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Form {
    /// Each vector's distinct magnitudes with their counts.
    Exact { vectors: Vec<DominatingVector> },
    /// Per vector and panel, Σψ²T_j(y), j = 0.. : `octaves` octaves from above, then the rest.
    /// `covers`: a few vectors, one of which exceeds each vector rank by rank.
    Moments { octaves: usize, vectors: Vec<Vec<f64>>, covers: Vec<DominatingVector> },
}

impl EnvelopeProfile {
    /// From Ψ's vectors, each of P finite entries in any order; signs do not matter.
    ///
    /// # Errors
    /// No vector or over 16,384, no coordinate, unequal lengths, a non-finite entry, or only zeros.
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
        let dimension = vectors.first().map(|v| v.len()).ok_or(EnvelopeError::NoVector)?;
        if dimension == 0 {
            return Err(EnvelopeError::NoCoordinates.into());
        }
        if vectors.len() > MOST_VECTORS {
            return Err(EnvelopeError::TooManyVectors { vectors: vectors.len(), most: MOST_VECTORS }.into());
        }
        if let Some(vector) = vectors.iter().position(|vector| vector.len() != dimension) {
            let coordinates = vectors[vector].len();
            return Err(EnvelopeError::Uneven { vector, coordinates, expected: dimension }.into());
        }
        let mut largest = 0.0f64;
        for (vector, top) in parallel::map(vectors, |vector| top(vector)).into_iter().enumerate() {
            largest = largest.max(top.map_err(|entry| EnvelopeError::NotFinite { vector, entry })?);
        }
        if largest < 1e-100 {
            return Err(EnvelopeError::Zero.into());
        }
        if let Some(vectors) = exact(vectors) {
            let squared_norm = vectors.iter().map(dominating::squares).fold(0.0, f64::max);
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
        let mut moments: Vec<Vec<f64>> = tallies
            .iter()
            .map(|tally| {
                let octave = |p: usize| tally.octaves.get(p).copied().unwrap_or([0.0; TERMS]);
                let lowest = (octaves..tally.octaves.len())
                    .rev()
                    .fold([0.0; TERMS], |low, p| merge.sums(&octave(p), &low, TERMS));
                (0..octaves).flat_map(octave).chain(lowest).collect()
            })
            .collect();
        // Rounding of few entries may leave sums that no entries have: rounded up, as on reading.
        for block in moments.iter_mut().flat_map(|sums| sums.as_chunks_mut::<TERMS>().0) {
            *block = validation::raised(block).unwrap_or(*block);
        }
        let squared_norm = moments.iter().map(|sums| square_sum(sums)).fold(0.0, f64::max);
        let covers = dominating::of_groups(vectors, tallies.into_iter().map(|tally| tally.counts).collect(), largest);
        Ok(Self {
            dimension: dimension as u64,
            squared_norm,
            largest,
            form: Form::Moments { octaves, vectors: moments, covers },
        })
    }

    /// Number of coordinates P.
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

    /// Always `false`: a profile has at least one vector.
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

    /// At most eight vectors of (entry, count), one of which exceeds each vector of Ψ rank by rank.
    #[must_use]
    pub fn dominating_vectors(&self) -> Cow<'_, [DominatingVector]> {
        match &self.form {
            Form::Exact { vectors } => Cow::Owned(dominating::reduced(vectors.clone())),
            Form::Moments { covers, .. } => Cow::Borrowed(covers),
        }
    }

    /// For each vector, Σ_i ln I_k(factor·ψ_i), k = 2, …, orders + 1 (Lemma 5), from above: as
    /// exact as ln I_k for few entries, else with the series' estimated error added.
    #[must_use]
    pub fn log_moment_sums(&self, noise: &dyn Noise, factor: f64, orders: usize) -> Vec<Vec<f64>> {
        match &self.form {
            Form::Exact { vectors } => exact_sums(vectors, noise, factor, orders),
            Form::Moments { octaves, vectors, .. } => {
                let ladder = self.ladder(*octaves, noise, factor, orders);
                let few = Interpolation::new(&ladder.rows, orders, self.squared_norm);
                parallel::map(vectors, |stored| {
                    let sums = ladder.sums(stored);
                    few.as_ref().map_or_else(|| combine(&sums, &ladder.rows, orders), |few| few.combine(&sums))
                })
            }
        }
    }

    /// Series on octaves of |τ| from above, until one serves for the rest.
    fn ladder(&self, octaves: usize, noise: &dyn Noise, factor: f64, orders: usize) -> Ladder {
        let steepest = (orders + 1) as f64 * factor * noise.fisher_information().sqrt();
        let mut rows = Vec::new();
        let (mut panels, mut next_try) = (0, 0);
        loop {
            let mut add = |upper: Vec<Vec<f64>>| {
                let terms = upper.len();
                rows.extend((panels * TERMS..).zip(upper).map(|(place, values)| Row { place, values }));
                terms
            };
            let below = Panel::below(self.largest, panels);
            let last = panels == octaves;
            // G has no series at 0 where ln z has none on either side.
            let analytic = noise.smoothness(0.0, factor * below.high).is_some();
            let moderate = steepest * below.high < WIDEST;
            if moderate && (last || panels >= next_try && analytic) {
                let series = Series::new(&below, noise, factor, orders);
                // The last series' terms may fall slowly if they fall: the remainder is added.
                let halvings = series.halvings();
                if halvings == 0 || last && series.is_of_use() {
                    let terms = add(series.into_upper());
                    return Ladder { rows, panels, terms, merge: Merge::new() };
                }
                next_try = panels + halvings;
            }
            if last {
                // A few shifts cannot stand for the rest: all entries pay the costliest τ.
                let terms = add(vec![l2_log_moments(noise, factor, factor * below.high, orders)]);
                return Ladder { rows, panels, terms, merge: Merge::new() };
            }
            add(Series::new(&Panel::octave(self.largest, panels), noise, factor, orders).into_upper());
            panels += 1;
        }
    }

    /// Checks a profile that was read, and rounds up its sums within their last digits.
    fn check(&mut self) -> Result<(), EnvelopeError> {
        let (dimension, largest) = (self.dimension, self.largest);
        if dimension == 0 || self.is_empty() {
            return Err(EnvelopeError::Empty);
        }
        if self.len() > MOST_VECTORS {
            return Err(EnvelopeError::TooManyVectors { vectors: self.len(), most: MOST_VECTORS });
        }
        if !(1e-100..1e100).contains(&largest) {
            return Err(EnvelopeError::Largest(largest));
        }
        let (written, squared_norm) = match &mut self.form {
            Form::Exact { vectors } => {
                let entries: usize = vectors.iter().map(|vector| vector.len().max(1)).sum();
                if entries > EXACT_LIMIT {
                    return Err(EnvelopeError::TooManyEntries { entries, most: EXACT_LIMIT });
                }
                let is_impossible = |vector: &DominatingVector| !validation::is_possible(vector, largest, dimension);
                if let Some(vector) = vectors.iter().position(is_impossible) {
                    return Err(EnvelopeError::Entries { vector, dimension, largest });
                }
                let squares = vectors.iter().map(dominating::squares).fold(0.0, f64::max);
                (squares, squares)
            }
            Form::Moments { octaves, vectors, covers } => {
                let written = vectors.iter().map(|sums| square_sum(sums)).fold(0.0, f64::max);
                validation::check_moments(dimension, largest, *octaves, vectors, covers)?;
                (written, vectors.iter().map(|sums| square_sum(sums)).fold(0.0, f64::max))
            }
        };
        let agrees = (self.squared_norm - written).abs() <= 1e-9 * written;
        if !agrees {
            return Err(EnvelopeError::SquaredNorm { stated: self.squared_norm, found: written });
        }
        self.squared_norm = squared_norm;
        Ok(())
    }
}

/// Σψ² of a vector's sums.
fn square_sum(sums: &[f64]) -> f64 {
    sums.iter().step_by(TERMS).sum()
}

/// The largest |entry|, or the index of one that is not finite or at least 1e100.
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

/// The number of octaves needed for little to be left below.
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

/// Series on some octaves, and on the rest below.
struct Ladder {
    rows: Vec<Row>,
    /// Number of octaves.
    panels: usize,
    /// Rows below the octaves.
    terms: usize,
    merge: Merge,
}

impl Ladder {
    /// For each row, the sum of a vector's stored sums.
    fn sums(&self, stored: &[f64]) -> Vec<f64> {
        let (upper, below) = stored.split_at(self.panels * TERMS);
        let (blocks, _) = below.as_chunks::<TERMS>();
        let below = blocks.split_last().map_or([0.0; TERMS], |(bottom, between)| {
            between.iter().rfold(*bottom, |low, octave| self.merge.sums(octave, &low, self.terms))
        });
        self.rows
            .iter()
            .map(|row| upper.get(row.place).unwrap_or_else(|| &below[row.place - upper.len()]))
            .copied()
            .collect()
    }
}

fn exact_sums(vectors: &[DominatingVector], noise: &dyn Noise, factor: f64, orders: usize) -> Vec<Vec<f64>> {
    let mut entries: Vec<f64> = vectors.iter().flatten().map(|(tau, _)| *tau).collect();
    entries.sort_by(f64::total_cmp);
    entries.dedup();
    let rows = parallel::map(&entries, |tau| {
        let mut moments = vec![0.0; orders];
        noise.log_moments(factor * tau, &mut moments);
        moments
    });
    let sum = |vector: &DominatingVector| {
        let mut total = vec![0.0; orders];
        for (tau, count) in vector {
            let row = &rows[entries.partition_point(|entry| entry < tau)];
            for (t, m) in total.iter_mut().zip(row) {
                *t += *m * *count as f64;
            }
        }
        total
    };
    vectors.iter().map(sum).collect()
}

/// Each vector's distinct magnitudes with counts, if there are few.
fn exact<T: Copy + Into<f64>>(vectors: &[&[T]]) -> Option<Vec<DominatingVector>> {
    let mut left = EXACT_LIMIT;
    let mut all = Vec::with_capacity(vectors.len().min(EXACT_LIMIT));
    for vector in vectors {
        let mut counts = std::collections::BTreeMap::<u64, u64>::new();
        for &entry in *vector {
            let magnitude: f64 = Into::<f64>::into(entry).abs();
            // Rounds smaller ones up, which is safe, so that their squares are normal numbers.
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

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::{noise::NoiseSpec, normal};

    /// Vectors of many kinds: spread, sparse, of few magnitudes, with light and heavy tails.
    fn vectors() -> Vec<Vec<f64>> {
        let mut all = Vec::new();
        for kind in 0..12 {
            let entry = |i: u32| {
                let q = (f64::from(i) + 0.5) / 1000.0;
                match kind % 4 {
                    0 => normal::survival_quantile(0.5 * q),
                    1 => (1.0 / q - 1.0) * 0.01,
                    2 if i < 200 => 1.0 / f64::from(i + 1),
                    3 if i < 150 => 2f64.powi(-(i as i32 / 10)) * (1.0 - 1e-6 * f64::from(i % 10)),
                    _ => 0.0,
                }
            };
            all.push((0..1000).map(|i| entry(i) * (1.0 + 0.01 * f64::from(kind))).collect());
        }
        all
    }

    fn profile(vectors: &[Vec<f64>]) -> EnvelopeProfile {
        EnvelopeProfile::from_vectors_f64(vectors.iter().map(Vec::as_slice)).unwrap()
    }

    fn read(json: &Value) -> Result<EnvelopeProfile, String> {
        serde_json::from_value(json.clone()).map_err(|e| e.to_string())
    }

    #[test]
    fn profiles_round_trip_exactly() {
        let all = vectors();
        let mut profiles = vec![profile(&all), profile(&[vec![0.6, 0.8, 0.0]])];
        profiles.extend(all.iter().map(|vector| profile(std::slice::from_ref(vector))));
        for profile in profiles {
            let json = serde_json::to_value(&profile).unwrap();
            assert_eq!(read(&json).unwrap(), profile);
        }
    }

    /// Sums by Taylor series that no entries have, as in older profiles, are read slightly larger.
    #[test]
    fn rounding_errors_in_sums_are_rounded_up() {
        let whole = profile(&vectors());
        let mut json = serde_json::to_value(&whole).unwrap();
        let sums = &mut json["form"]["moments"]["vectors"][2];
        // The largest entry's octave: one entry at its end, so that all sums are equal.
        let (first, last) = (sums[0].as_f64().unwrap(), sums[12].as_f64().unwrap());
        sums[12] = (last + 1e-5 * first).into();
        let read = read(&json).unwrap();
        assert!(read.norm() >= whole.norm());
        let noise = NoiseSpec::StudentT { nu: 4.0, scale: 1.0 }.build().unwrap();
        let sums = |profile: &EnvelopeProfile| profile.log_moment_sums(&*noise, 1.0, 30).swap_remove(2);
        for (read, whole) in sums(&read).iter().zip(sums(&whole)) {
            assert!(*read >= whole && *read <= whole * (1.0 + 1e-4), "{read} {whole}");
        }
    }

    #[test]
    fn impossible_profiles_are_refused() {
        let whole = serde_json::to_value(profile(&vectors())).unwrap();
        let refuse = |what: &str, edit: &dyn Fn(&mut Value)| {
            let mut json = whole.clone();
            edit(&mut json);
            let Err(error) = read(&json) else { panic!("accepted: {what}") };
            assert!(error.contains(what), "{what}: {error}");
        };
        let number = |value: &Value| value.as_f64().unwrap();
        for vector in [8, 9, 10, 11] {
            let block = |json: &mut Value, p: usize, edit: &dyn Fn(f64, usize, f64) -> f64| {
                let sums = &mut json["form"]["moments"]["vectors"][vector];
                let p = p + (0..).find(|p| number(&sums[p * TERMS]) > 0.0).unwrap();
                let first = number(&sums[p * TERMS]);
                for j in 0..TERMS {
                    sums[p * TERMS + j] = edit(first, j, number(&sums[p * TERMS + j])).into();
                }
            };
            // |S_j| ≤ S_0 for each j, which is not enough.
            refuse("no entries can have", &|json| block(json, 0, &|s, j, old| if j == 1 || j == 2 { -s } else { old }));
            refuse("no entries can have", &|json| block(json, 1, &|s, j, old| if j == 4 { -s } else { old }));
            refuse("no entries can have", &|json| block(json, 0, &|s, j, old| if j == 0 { 0.9 * s } else { old }));
            refuse("no entries can have", &|json| block(json, 0, &|s, j, old| if j == 0 { -s } else { old }));
            // All at an octave's upper end: some entries have these sums, but not under this cover.
            if vector < 10 {
                refuse("covers", &|json| block(json, 2, &|s, _, _| s));
            }
        }
        let form = "moments";
        refuse("covers", &|json| json["form"][form]["covers"] = Value::Array(vec![]));
        refuse("covers", &|json| {
            let cover = json["form"][form]["covers"][0].clone();
            json["form"][form]["covers"] = Value::Array(vec![cover; 9]);
        });
        // The same squares in fewer, larger entries: no lower rank is covered.
        refuse("cover", &|json| {
            for cover in json["form"][form]["covers"].as_array_mut().unwrap() {
                let squares: f64 =
                    cover.as_array().unwrap().iter().map(|e| number(&e[0]).powi(2) * number(&e[1])).sum();
                let largest = number(&cover[0][0]);
                *cover = serde_json::json!([[largest, (squares / largest / largest).ceil() as u64 + 1]]);
            }
        });
        refuse("squared norm", &|json| json["squared-norm"] = 0.5.into());
        refuse("impossible entries", &|json| json["dimension"] = 150.into());
        refuse("octaves", &|json| json["form"][form]["octaves"] = 41.into());
        refuse("sums", &|json| json["form"][form]["octaves"] = 2.into());
        refuse("unknown field", &|json| json["discount"] = 2.into());
        refuse("largest entry", &|json| json["largest"] = 0.0.into());
    }

    #[test]
    fn exact_entry_lists_are_validated() {
        let whole = serde_json::to_value(profile(&[vec![0.6, 0.8, 0.0], vec![0.7, 0.0, 0.0]])).unwrap();
        let refuse = |vectors: Value| {
            let mut json = whole.clone();
            json["form"]["exact"]["vectors"] = vectors;
            read(&json).unwrap_err()
        };
        let many: Vec<Value> = (1..2000).map(|i| serde_json::json!([[0.8 / f64::from(i), 1]])).collect();
        assert!(refuse(many.into()).contains("the limit is 96"));
        for bad in [
            serde_json::json!([[[0.6, 1], [0.8, 1]]]),
            serde_json::json!([[[0.8, 1], [0.6, 0]]]),
            serde_json::json!([[[0.8, 1], [0.6, 3]]]),
            serde_json::json!([[[0.9, 1]]]),
        ] {
            assert!(refuse(bad.clone()).contains("entries that do not fit"), "{bad}");
        }
        assert!(refuse(serde_json::json!([[[0.8, 1]]])).contains("squared norm"));
    }

    /// Interpolated orders equal summed ones, or hardly exceed them; poor polynomials are refused.
    #[test]
    fn interpolated_orders_match_direct_sums() {
        let many: Vec<Vec<f64>> = vectors().into_iter().filter(|vector| vector[900] > 0.0).collect();
        let profile = profile(&many);
        let Form::Moments { octaves, vectors, .. } = &profile.form else { panic!("{profile:?}") };
        let mut refused = 0;
        let mut compared = 0;
        for scale in [3.0, 1e4, 1e5] {
            for spec in [NoiseSpec::GeneralizedGaussian { exponent: 1.5, scale }, NoiseSpec::Laplace { scale }] {
                let ladder = profile.ladder(*octaves, &*spec.build().unwrap(), 1.0, 255);
                let Some(few) = Interpolation::new(&ladder.rows, 255, profile.squared_norm) else {
                    refused += 1;
                    continue;
                };
                for sums in vectors.iter().map(|stored| ladder.sums(stored)) {
                    let all = combine(&sums, &ladder.rows, 255);
                    for (order, (some, all)) in few.combine(&sums).iter().zip(all).enumerate() {
                        let excess = some / all - 1.0;
                        assert!((-1e-13..1e-10).contains(&excess), "{spec:?}, order {}: {excess}", order + 2);
                        compared += 1;
                    }
                }
            }
        }
        assert!(refused > 0 && compared > 255, "{refused} {compared}");
    }

    /// Steps bend ln I_k where τ is the distance of two: series are not below sums entry by entry.
    #[test]
    fn series_bound_stepped_densities_from_above() {
        let stairs: Vec<(f64, f64)> =
            (0..60).map(f64::from).flat_map(|x| [(x, (-0.3 * x).exp()), (x + 0.99, (-0.3 * x - 1e-6).exp())]).collect();
        let density = crate::noise::CustomDensity::from_points("stairs", &stairs).unwrap();
        let noise = NoiseSpec::Custom { density, scale: 1.0 }.build().unwrap();
        for largest in [0.3, 1.0, 2.5] {
            let entries: Vec<f64> = (0..120).map(|i| largest * (1.0 - 2.5e-4 * f64::from(i))).collect();
            let bounds = profile(std::slice::from_ref(&entries)).log_moment_sums(&*noise, 1.0, 60).swap_remove(0);
            for order in [2, 8, 56, 61] {
                let sum: f64 = entries.iter().map(|entry| noise.log_moment(order, *entry)).sum();
                let bound = bounds[order as usize - 2];
                assert!(bound >= sum, "order {order}, entries up to {largest}: {bound} below {sum}");
            }
        }
    }

    /// A formula's table bends at each knot, yet few series serve, hardly above single entries.
    #[test]
    fn series_of_formulas_are_tight() {
        // The second's series, with knots 0.02 apart, is off by 5e-9; 4e-8 is added for its kinks.
        for (formula, most) in [("1/cosh(x)", 2e-8), ("exp(-abs(x)^1.5)", 5e-8), ("exp(-abs(x)^3)", 1e-3)] {
            let density = crate::noise::CustomDensity::from_formula(formula).unwrap();
            let noise = NoiseSpec::Custom { density, scale: 1.0 }.build().unwrap();
            let entries: Vec<f64> = (0..200).map(|i| 0.034 * (-0.05 * f64::from(i)).exp()).collect();
            let bounds = profile(std::slice::from_ref(&entries)).log_moment_sums(&*noise, 1.0, 60).swap_remove(0);
            for order in [2, 8, 32, 61] {
                let sum: f64 = entries.iter().map(|entry| noise.log_moment(order, *entry)).sum();
                let excess = bounds[order as usize - 2] / sum - 1.0;
                assert!((0.0..most).contains(&excess), "{formula}, order {order}: {excess}");
            }
        }
    }
}
