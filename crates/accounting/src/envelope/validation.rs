//! Checks that some vectors have a profile that was read. Rounds its sums up in the last digits.
//!
//! *Sums.* With y = cos θ, Σψ²T_j(y) = Σψ²cos jθ. Thirteen numbers are such sums of a positive
//! measure exactly if their Toeplitz matrix S_{|i−j|} is positive semi-definite (Carathéodory 1911,
//! Toeplitz 1911; making a measure on the circle symmetric leaves cosines unchanged). A completed
//! Cholesky factorisation of S + load·S_0·1 proves it for a slightly larger S_0. Twice the smallest
//! such load, if above [`COVERED`], is added to S_0: the charged sum is then that of a positive
//! measure for any noise, and no edit makes one smaller.
//!
//! *Counts.* A measure has at least (square sum)/(mean entry)² entries (Jensen: τ^−2 is convex).
//!
//! *Dominating vectors.* A vector larger at every rank has the larger Σf for every non-decreasing
//! f. Compares the entries down to each octave's end, and Σψ²B_k, B_k = P(Binomial(12, t) ≥ k),
//! with t from 0 to 1 on an octave, 0 below and 1 above: the steepest steps that thirteen sums can
//! resolve. Sums resolve ranks no further, so this is less than a proof of domination.

use super::{
    bins,
    dominating::{self, DominatingVector},
    error::EnvelopeError,
    series::{Panel, Sums, TERMS},
};

/// Error of Σψ²B_k over S_0: coefficients of B_k are below 1.3, the sums' own errors add up to
/// 2e-5, and S_0 may have been raised by 8e-5.
const STEP_ERROR: f64 = 1.1e-4;
/// Part of S_0 that [`super::series::ROUNDING`] already covers.
const COVERED: f64 = 2e-12;
/// Loads tried. Sums by Taylor series ([`bins`]) need at most 4e-5, for octaves with few entries.
const LOADS: [f64; 7] = [1e-12, 1e-10, 1e-8, 1e-7, 1e-6, 1e-5, 4e-5];

/// True if S_{|i−j|} + load·S_0·δ_ij is positive definite, by Cholesky with S_0 = 1. It is exact
/// for a matrix within 13·14·u·13 = 3e-13 (Higham 2002, Theorem 10.3), which twice the load covers.
fn is_positive(sums: &Sums, load: f64) -> bool {
    let mut rows = [[0.0f64; TERMS]; TERMS];
    for i in 0..TERMS {
        for j in 0..=i {
            let entry = sums[i - j] / sums[0] + if i == j { load } else { 0.0 };
            let rest = (0..j).fold(entry, |rest, k| rest - rows[i][k] * rows[j][k]);
            if i > j {
                rows[i][j] = rest / rows[j][j];
            } else if rest > 0.0 {
                rows[i][i] = rest.sqrt();
            } else {
                return false;
            }
        }
    }
    true
}

/// Raises S_0 until some positive measure has the sums; `None` if by more than rounding explains.
pub(super) fn raised(sums: &Sums) -> Option<Sums> {
    if sums.iter().all(|s| *s == 0.0) {
        return Some(*sums);
    }
    if !(sums[0] > 0.0 && sums.iter().all(|s| s.is_finite())) {
        return None;
    }
    let load = 2.0 * LOADS.into_iter().find(|load| is_positive(sums, *load))?;
    let mut raised = *sums;
    if load > COVERED {
        raised[0] *= 1.0 + load;
    }
    Some(raised)
}

/// Lower bound on the number of entries with these sums on this panel.
fn entries(panel: &Panel, sums: &Sums) -> f64 {
    if sums[0] == 0.0 {
        return 0.0;
    }
    // The mean of y, raised by a rounding error, which matters near 0.
    let mean = (sums[1] / sums[0] + 1e-11).clamp(-1.0, 1.0);
    let entry = panel.low + (panel.high - panel.low) * 0.5 * (1.0 + mean);
    sums[0] / entry / entry * (1.0 - 1e-9)
}

/// Quantities that never fall as entries grow, from the largest octave down: the entries so far
/// (for a vector, a lower bound), their square sum, and twelve smoother steps within the octave.
fn growing(panels: &[Panel], mut block: impl FnMut(usize) -> [f64; TERMS + 1]) -> Vec<f64> {
    let (mut count, mut squares) = (0.0, 0.0);
    let mut all = Vec::with_capacity(panels.len() * (TERMS + 1));
    for p in 0..panels.len() {
        let [own, steps @ ..] = block(p);
        count += own;
        all.push(count);
        all.extend(steps.iter().map(|step| squares + step));
        squares += steps[0];
    }
    all
}

/// C(12, k).
const BINOMIALS: [f64; TERMS] = [1.0, 12.0, 66.0, 220.0, 495.0, 792.0, 924.0, 792.0, 495.0, 220.0, 66.0, 12.0, 1.0];

/// P(Binomial(12, t) ≥ k), k = 0..=12.
fn steps(t: f64) -> Sums {
    let mut steps = [0.0; TERMS];
    let mut sum = 0.0;
    for k in (0..TERMS).rev() {
        sum += BINOMIALS[k] * t.powi(k as i32) * (1.0 - t).powi((TERMS - 1 - k) as i32);
        steps[k] = sum;
    }
    steps
}

/// Row k expands B_k in T_j.
fn step_series() -> [Sums; TERMS] {
    let mut rows = [[0.0; TERMS]; TERMS];
    for m in 0..TERMS {
        let angle = std::f64::consts::PI * (m as f64 + 0.5) / TERMS as f64;
        let values = steps((0.5 * angle).cos().powi(2));
        for (row, value) in rows.iter_mut().zip(values) {
            for (j, coefficient) in row.iter_mut().enumerate() {
                *coefficient += value * (j as f64 * angle).cos() * if j == 0 { 1.0 } else { 2.0 } / TERMS as f64;
            }
        }
    }
    rows
}

/// True if (entry, count) pairs, from the largest, can belong to a vector.
pub(super) fn is_possible(cover: &DominatingVector, largest: f64, dimension: u64) -> bool {
    let used = cover.iter().fold(0u64, |sum, (_, count)| sum.saturating_add(*count));
    // Bin ends may repeat, or be out of order in the last digit; sums over entries are the same.
    let in_order = cover.windows(2).all(|w| w[1].0 <= w[0].0 * (1.0 + 1e-12));
    used <= dimension && in_order && cover.iter().all(|&(entry, count)| entry > 0.0 && entry <= largest && count > 0)
}

/// Checks sums and dominating vectors, and raises the sums where necessary.
///
/// # Errors
/// If no set of vectors can have them.
pub(super) fn check_moments(
    dimension: u64,
    largest: f64,
    octaves: usize,
    vectors: &mut [Vec<f64>],
    covers: &[DominatingVector],
) -> Result<(), EnvelopeError> {
    if octaves > bins::OCTAVES {
        return Err(EnvelopeError::TooManyOctaves { octaves, most: bins::OCTAVES });
    }
    if covers.len() > dominating::MOST_VECTORS {
        return Err(EnvelopeError::TooManyDominating { vectors: covers.len(), most: dominating::MOST_VECTORS });
    }
    for (vector, cover) in covers.iter().enumerate() {
        if cover.len() > dominating::MOST_ENTRIES || !is_possible(cover, largest, dimension) {
            return Err(EnvelopeError::Dominating { vector, most: dominating::MOST_ENTRIES });
        }
    }
    let panels = Panel::ladder(largest, octaves);
    let series = step_series();
    let of_dominating: Vec<Vec<f64>> = covers.iter().map(|cover| of_vector(&panels, cover)).collect();
    for (vector, sums) in vectors.iter_mut().enumerate() {
        let expected = panels.len() * TERMS;
        if sums.len() != expected {
            return Err(EnvelopeError::Sums { vector, sums: sums.len(), expected });
        }
        let (blocks, _) = sums.as_chunks_mut::<TERMS>();
        let mut count = 0.0;
        for (panel, block) in panels.iter().zip(blocks.iter_mut()) {
            *block = raised(block).ok_or(EnvelopeError::Impossible { vector })?;
            count += entries(panel, block);
        }
        if count.is_nan() || count > dimension as f64 * (1.0 + 1e-9) {
            return Err(EnvelopeError::TooLong { vector, entries: count, dimension });
        }
        let mine = growing(&panels, |p| {
            let dot = |row: &Sums| row.iter().zip(&blocks[p]).map(|(c, s)| c * s).sum::<f64>();
            std::array::from_fn(|k| {
                if k == 0 { entries(&panels[p], &blocks[p]) } else { dot(&series[k - 1]) - STEP_ERROR * blocks[p][0] }
            })
        });
        let covers_it = |other: &Vec<f64>| mine.iter().zip(other).all(|(mine, other)| *mine <= other * (1.0 + 1e-9));
        if !of_dominating.iter().any(covers_it) {
            return Err(EnvelopeError::NotDominated { vector });
        }
    }
    Ok(())
}

/// [`growing`] for a dominating vector. An entry at an octave's end belongs to the octave above.
fn of_vector(panels: &[Panel], cover: &DominatingVector) -> Vec<f64> {
    let mut rest = cover.iter().peekable();
    growing(panels, |p| {
        let Panel { low, high } = panels[p];
        let mut block = [0.0; TERMS + 1];
        while let Some(&(entry, count)) = rest.next_if(|(entry, _)| *entry >= low * (1.0 - 1e-12)) {
            block[0] += count as f64;
            let squares = entry * entry * count as f64;
            for (sum, step) in block[1..].iter_mut().zip(steps(((entry - low) / (high - low)).clamp(0.0, 1.0))) {
                *sum += squares * step;
            }
        }
        block
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Sums of weights at angles.
    fn sums(atoms: &[(f64, f64)]) -> Sums {
        std::array::from_fn(|j| atoms.iter().map(|(angle, weight)| weight * (j as f64 * angle).cos()).sum())
    }

    /// Π(y − cos θ) over at most six angles, as a series in T_i.
    fn vanishing(angles: impl Iterator<Item = f64>) -> [f64; 7] {
        let mut series = [0.0; 7];
        series[0] = 1.0;
        for angle in angles {
            let mut product = [0.0; 7];
            for (i, c) in series.into_iter().enumerate().filter(|(_, c)| *c != 0.0) {
                // y·T_i = (T_{i+1} + T_{|i−1|})/2.
                product[i + 1] += 0.5 * c;
                product[i.abs_diff(1)] += 0.5 * c;
                product[i] -= angle.cos() * c;
            }
            series = product;
        }
        series
    }

    /// ∫p² from the sums, by T_i·T_j = (T_{i+j} + T_{|i−j|})/2.
    fn integral_of_square(p: &[f64; 7], sums: &Sums) -> f64 {
        let pair = |i: usize, j: usize| 0.5 * p[i] * p[j] * (sums[i + j] + sums[i.abs_diff(j)]);
        (0..7).flat_map(|i| (0..7).map(move |j| (i, j))).map(|(i, j)| pair(i, j)).sum()
    }

    proptest! {
        /// Sums of entries are read unchanged. Others are refused, or raised until no square has a
        /// negative integral, not even one that vanishes at all entries, the most easily broken.
        #[test]
        fn sums_of_no_measure_are_refused_or_raised(
            atoms in prop::collection::vec((0.0..std::f64::consts::PI, 0.01f64..1.0), 1..7), j in 0..TERMS, log_change in -14.0f64..0.0, sign in any::<bool>(),
        ) {
            let whole = sums(&atoms);
            prop_assert_eq!(raised(&whole), Some(whole));
            let mut edited = whole;
            edited[j] += whole[0] * if sign { 1.0 } else { -1.0 } * 10f64.powf(log_change);
            let p = vanishing(atoms.iter().map(|atom| atom.0));
            let size = p.iter().map(|c| c.abs()).sum::<f64>().powi(2);
            match raised(&edited) {
                Some(read) => prop_assert!(integral_of_square(&p, &read) >= -COVERED * read[0] * size, "{:?}", read),
                None => prop_assert!(log_change > -6.0, "a change of 1e{} is rounding", log_change),
            }
        }
    }
}
