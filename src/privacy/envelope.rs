//! Ψ as an accountant sees it: for each vector, enough to sum any smooth even function over its coordinates.
//!
//! Lemma 5 needs Σ_i F(|ψ_i|) with F = ln I_k, for every vector, order and family. F(τ) = τ²·G(τ) with G smooth in |τ| (a density with
//! a kink has odd powers of |τ|, so the variable is |τ|, not τ²). On octaves of |τ| below the largest entry, G is a Chebyshev
//! series to about 12 terms, and Σ_i ψ_i²·T_j(y_i), taken once, are the power sums of ψ in that basis: no digits are lost, as they
//! are with bare powers. What the series leaves out is estimated from its last terms and added. Few distinct entries are kept as they are.

use serde::{Deserialize, Serialize};

use super::{error::PrivacyError, noise::Noise};

/// Chebyshev terms a panel.
const TERMS: usize = 13;
/// Up to this many distinct magnitudes in all vectors together are kept exactly.
const EXACT_LIMIT: usize = 96;
/// Octaves end where what is below them holds less than this part of any vector's square sum.
const BOTTOM_SHARE: f64 = 1e-3;
const MOST_OCTAVES: usize = 40;
/// Rounding of the stored sums and of their evaluation, relative.
const ROUNDING: f64 = 4e-12;

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
    Exact { vectors: Vec<Vec<(f64, u64)>> },
    /// For each vector, panel by panel, Σψ²T_j(y), j = 0.. .
    Moments { panels: Vec<Panel>, vectors: Vec<Vec<f64>> },
}

/// An interval of |τ|, mapped to y in [−1, 1].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Panel {
    low: f64,
    high: f64,
}

impl Panel {
    /// The Chebyshev points of the first kind: no end point, so never τ = 0.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = f64> + use<> {
        let Self { low, high } = *self;
        (0..TERMS).map(move |m| {
            // (1 + cos θ)/2 = cos²(θ/2): no cancellation next to 0.
            let half_angle = std::f64::consts::PI * (m as f64 + 0.5) / (2 * TERMS) as f64;
            low + (high - low) * half_angle.cos().powi(2)
        })
    }

    /// Octaves below `largest` down to a bottom panel from 0 of `largest`·2^−octaves.
    pub(crate) fn ladder(largest: f64, octaves: usize) -> Vec<Self> {
        let edge = |p: usize| largest * 2f64.powi(-(p as i32));
        let mut panels: Vec<_> = (0..octaves).map(|p| Self { low: edge(p + 1), high: edge(p) }).collect();
        panels.push(Self { low: 0.0, high: edge(octaves) });
        panels
    }
}

/// cos(jπ(m+½)/N)·(2 − δ_j0)/N: values at the nodes to coefficients.
fn transform() -> [[f64; TERMS]; TERMS] {
    std::array::from_fn(|j| {
        std::array::from_fn(|m| {
            let angle = std::f64::consts::PI * j as f64 * (m as f64 + 0.5) / TERMS as f64;
            angle.cos() * if j == 0 { 1.0 } else { 2.0 } / TERMS as f64
        })
    })
}

/// Chebyshev coefficients of G = ln I_k(factor·τ)/τ² on one panel for all orders, and the error to add.
pub(crate) struct Series {
    /// `coefficients[j][order]`.
    pub coefficients: Vec<Vec<f64>>,
    /// Upper estimate of |G − series| on the panel, by order.
    pub error: Vec<f64>,
}

impl Series {
    pub(crate) fn new(panel: &Panel, noise: &dyn Noise, factor: f64, orders: usize) -> Self {
        let values: Vec<(f64, Vec<f64>)> = panel
            .nodes()
            .map(|tau| {
                let mut moments = vec![0.0; orders];
                noise.log_moments(factor * tau, &mut moments);
                (tau, moments)
            })
            .collect();
        let mut coefficients = vec![vec![0.0; orders]; TERMS];
        for (row, coefficient) in transform().iter().zip(&mut coefficients) {
            for (weight, (tau, moments)) in row.iter().zip(&values) {
                let weight = weight / (tau * tau);
                for (c, f) in coefficient.iter_mut().zip(moments) {
                    *c += weight * f;
                }
            }
        }
        // The terms fall at least by 5.8 a degree where G is analytic (its nearest singularity is at 0 or beyond), and what is left out is then
        // below a quarter of the last term; the last two in full also cover functions that are only a few times differentiable.
        let error = (0..orders)
            .map(|k| {
                let at = |j: usize| coefficients[j][k].abs();
                at(TERMS - 1) + at(TERMS - 2) + ROUNDING * (0..TERMS).map(at).sum::<f64>()
            })
            .collect();
        Self { coefficients, error }
    }

    /// An upper bound of G on the whole panel, by order.
    pub(crate) fn supremum(&self, order: usize) -> f64 {
        let sum = self.coefficients[1..].iter().map(|c| c[order].abs()).sum::<f64>();
        self.coefficients[0][order] + sum + self.error[order]
    }
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

    fn build<T: Copy + Into<f64>>(vectors: &[&[T]]) -> Result<Self, PrivacyError> {
        let fail = |problem: String| Err(PrivacyError::Envelope(problem));
        let Some(dimension) = vectors.first().map(|v| v.len()) else {
            return fail("there is no vector".into());
        };
        if dimension == 0 {
            return fail("its vectors have no coordinates".into());
        }
        let mut largest = 0.0f64;
        for (v, vector) in vectors.iter().enumerate() {
            if vector.len() != dimension {
                return fail(format!("vector {v} has {} coordinates, vector 0 has {dimension}", vector.len()));
            }
            let mut finite = true;
            let mut top = 0.0f64;
            for &entry in *vector {
                let magnitude: f64 = Into::<f64>::into(entry).abs();
                finite &= magnitude < 1e100;
                top = top.max(magnitude);
            }
            if !finite {
                let bad = vector
                    .iter()
                    .position(|&e| {
                        let e: f64 = e.into();
                        e.is_nan() || e.abs() >= 1e100
                    })
                    .unwrap_or(0);
                return fail(format!("entry {bad} of vector {v} is not a finite number below 1e100"));
            }
            largest = largest.max(top);
        }
        if largest < 1e-100 {
            return fail("every entry is zero (or below 1e-100): nothing would ever be learned".into());
        }
        if let Some(form) = exact(vectors) {
            let norm = |v: &Vec<(f64, u64)>| v.iter().map(|(m, c)| m * m * *c as f64).sum::<f64>();
            let squared_norm = match &form {
                Form::Exact { vectors } => vectors.iter().map(norm).fold(0.0, f64::max),
                Form::Moments { .. } => 0.0,
            };
            return Ok(Self { dimension: dimension as u64, squared_norm, largest, form });
        }
        let mut octaves = 0;
        let mut occupied = [false; MOST_OCTAVES];
        for vector in vectors {
            let mut mass = [0.0f64; MOST_OCTAVES + 1];
            for &entry in *vector {
                let magnitude: f64 = Into::<f64>::into(entry).abs();
                if magnitude > 0.0 {
                    mass[octave(magnitude / largest, MOST_OCTAVES)] += magnitude * magnitude;
                }
            }
            let total: f64 = mass.iter().sum();
            let mut below = total;
            for (p, share) in mass[..MOST_OCTAVES].iter().enumerate() {
                if below > BOTTOM_SHARE * total {
                    octaves = octaves.max(p + 1);
                }
                occupied[p] |= *share > 0.0;
                below -= share;
            }
        }
        let ladder = Panel::ladder(largest, octaves);
        let mut moments: Vec<Vec<f64>> = vectors.iter().map(|v| power_sums(v, largest, &ladder)).collect();
        // Empty octaves are dropped.
        let kept: Vec<usize> = (0..ladder.len()).filter(|&p| p == octaves || occupied[p]).collect();
        if kept.len() < ladder.len() {
            for row in &mut moments {
                *row = kept.iter().flat_map(|&p| row[p * TERMS..(p + 1) * TERMS].to_vec()).collect();
            }
        }
        let panels: Vec<Panel> = kept.iter().map(|&p| ladder[p]).collect();
        let squared_norm = moments.iter().map(|r| r.iter().step_by(TERMS).sum::<f64>()).fold(0.0, f64::max);
        Ok(Self {
            dimension: dimension as u64,
            squared_norm,
            largest,
            form: Form::Moments { panels, vectors: moments },
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

    /// Nodes τ > 0 and weights with Σ_i f(|ψ_i|) ≈ Σ weight·f(τ) for f even, f(0) = 0, f(τ)/τ² smooth in |τ|. Weights may be
    /// slightly negative. Exact where the profile holds few distinct entries.
    ///
    /// # Panics
    /// When there is no such vector.
    #[must_use]
    pub fn quadrature(&self, vector: usize) -> Vec<(f64, f64)> {
        match &self.form {
            Form::Exact { vectors } => vectors[vector].iter().map(|&(tau, count)| (tau, count as f64)).collect(),
            Form::Moments { panels, vectors } => {
                let matrix = transform();
                let mut nodes = Vec::with_capacity(panels.len() * TERMS);
                for (panel, sums) in panels.iter().zip(vectors[vector].chunks_exact(TERMS)) {
                    for (m, tau) in panel.nodes().enumerate() {
                        let weight: f64 = sums.iter().enumerate().map(|(j, s)| s * matrix[j][m]).sum();
                        nodes.push((tau, weight / (tau * tau)));
                    }
                }
                nodes
            }
        }
    }

    /// For each vector, Σ_i ln I_k(factor·ψ_i) for k = 2, …, orders + 1: upper bounds (Lemma 5).
    #[must_use]
    pub fn log_moment_sums(&self, noise: &dyn Noise, factor: f64, orders: usize) -> Vec<Vec<f64>> {
        match &self.form {
            Form::Exact { vectors } => {
                let mut cache = std::collections::HashMap::<u64, Vec<f64>>::new();
                let sum = |vector: &Vec<(f64, u64)>| {
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
            Form::Moments { panels, vectors } => {
                let mut rows: Vec<Vec<f64>> = Vec::with_capacity(panels.len() * TERMS);
                for panel in panels {
                    let mut series = Series::new(panel, noise, factor, orders);
                    for (c, e) in series.coefficients[0].iter_mut().zip(&series.error) {
                        *c += e;
                    }
                    rows.append(&mut series.coefficients);
                }
                vectors.iter().map(|sums| combine(sums, &rows, orders)).collect()
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
            Form::Moments { panels, vectors } => {
                let mut above = self.largest * (1.0 + 1e-12);
                for panel in panels {
                    if !(panel.low >= 0.0 && panel.low < panel.high && panel.high <= above) {
                        return fail(format!("its panel {} to {} is out of order", panel.low, panel.high));
                    }
                    above = panel.low * (1.0 + 1e-12);
                }
                if panels.is_empty() {
                    return fail("it has no panel".into());
                }
                for (v, sums) in vectors.iter().enumerate() {
                    if sums.len() != panels.len() * TERMS {
                        let wanted = panels.len() * TERMS;
                        return fail(format!("vector {v} has {} sums; its panels need {wanted}", sums.len()));
                    }
                    for (panel, block) in panels.iter().zip(sums.chunks_exact(TERMS)) {
                        let most = panel.high * panel.high * self.dimension as f64 * (1.0 + 1e-9);
                        // |T_j| ≤ 1, so no sum can exceed the panel's square sum.
                        let bound = block[0] * (1.0 + 1e-9) + 1e-300;
                        let possible = (0.0..=most).contains(&block[0]) && block.iter().all(|s| s.abs() <= bound);
                        if !possible {
                            return fail(format!("vector {v} has sums that no entries give"));
                        }
                    }
                    squared_norm = squared_norm.max(sums.iter().step_by(TERMS).sum());
                }
            }
        }
        let agrees = (self.squared_norm - squared_norm).abs() <= 1e-9 * squared_norm;
        if !agrees {
            return fail(format!("its squared norm is {}, its entries give {squared_norm}", self.squared_norm));
        }
        Ok(())
    }
}

/// Which octave below 1 a ratio in (0, 1] is in: p for (2^−(p+1), 2^−p], at most `most`.
fn octave(ratio: f64, most: usize) -> usize {
    let exponent = 1022 - ((ratio.to_bits() >> 52) as i64 & 0x7ff);
    (exponent.max(0) as usize).min(most)
}

fn exact<T: Copy + Into<f64>>(vectors: &[&[T]]) -> Option<Form> {
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
    Some(Form::Exact { vectors: all })
}

/// Σψ²·T_j(y) for each panel of the full ladder: entries are gathered by panel, eight at a time.
fn power_sums<T: Copy + Into<f64>>(vector: &[T], largest: f64, ladder: &[Panel]) -> Vec<f64> {
    const LANES: usize = 8;
    let bottom = ladder.len() - 1;
    let mut waiting = vec![([0.0f64; LANES], 0usize); ladder.len()];
    let mut sums = vec![[[0.0f64; LANES]; TERMS]; ladder.len()];
    let flush = |panel: &Panel, entries: &[f64; LANES], sums: &mut [[f64; LANES]; TERMS]| {
        let (middle, scale) = (0.5 * (panel.low + panel.high), 2.0 / (panel.high - panel.low));
        let (mut before, mut now, mut twice) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        for lane in 0..LANES {
            let y = (entries[lane] - middle) * scale;
            let square = entries[lane] * entries[lane];
            twice[lane] = 2.0 * y;
            // T_{−1} = T_1 starts the recurrence T_{j+1} = 2y·T_j − T_{j−1}.
            before[lane] = square * y;
            now[lane] = square;
        }
        for sum in sums.iter_mut() {
            for lane in 0..LANES {
                sum[lane] += now[lane];
                let next = twice[lane] * now[lane] - before[lane];
                before[lane] = now[lane];
                now[lane] = next;
            }
        }
    };
    for &entry in vector {
        let magnitude: f64 = Into::<f64>::into(entry).abs();
        if magnitude > 0.0 {
            let p = octave(magnitude / largest, bottom);
            let (entries, filled) = &mut waiting[p];
            entries[*filled] = magnitude;
            *filled += 1;
            if *filled == LANES {
                flush(&ladder[p], entries, &mut sums[p]);
                *filled = 0;
            }
        }
    }
    for (p, (entries, filled)) in waiting.iter_mut().enumerate() {
        // A zero entry has weight ψ² = 0.
        entries[*filled..].fill(0.0);
        flush(&ladder[p], entries, &mut sums[p]);
    }
    sums.iter().flat_map(|panel| panel.iter().map(|lanes| lanes.iter().sum())).collect()
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
