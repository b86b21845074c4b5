//! One pass over a vector: bins of |ψ|, and from them the Chebyshev sums and the counts.
//!
//! Sixty-four bins per octave hold Σψ²·dᵐ, m = 0..=5, d the distance from the bin's middle. T_j is
//! replaced by its Taylor series there: exact to j = 5 and within 1.2e-5 at j = 12
//! (|T_j⁽⁶⁾|/6!·64⁻⁶). G's coefficients fall faster than that grows, so sums over G are off by some
//! 1e-13. Each entry costs a few additions, however many terms; equal or lone ones are exact.

use super::series::{Sums, TERMS};

/// Bins per octave, by the leading bits of the mantissa.
const AN_OCTAVE: usize = 64;
const MANTISSA_BITS: u32 = 6;
const SHIFT: u32 = 52 - MANTISSA_BITS;
/// Powers of d per bin.
const POWERS: usize = 6;
/// Octaves below the largest entry; smaller entries are rounded up to the smallest of these.
pub(super) const OCTAVES: usize = 40;
pub(super) const SMALLEST: f64 = 1.0 / (1u64 << OCTAVES) as f64;
/// Edges per octave at which entries are counted.
pub(super) const COUNTED: usize = 16;

/// Σψ²·dᵐ, then the count.
type Bin = [f64; POWERS + 2];
/// Variance below which a bin's entries count as equal: second order, so 1e-15 of T_12.
const EQUAL: f64 = 1e-19;

/// Bin 0 holds entries of 1; from bin 1 on, octaves from above.
pub(super) struct Bins {
    bins: Vec<Bin>,
    /// Bins from here on are empty.
    used: usize,
    /// `derivatives[bin][m][j]` = T_j^{(m)}(y)/m! at the bin's middle.
    derivatives: Vec<[Sums; POWERS]>,
}

/// What one pass finds of a vector; entries are relative to the largest of all vectors.
pub(super) struct Tally {
    /// Σψ²T_j(y) of each octave from above, to the last non-empty one.
    pub octaves: Vec<Sums>,
    /// The number of entries at or above each [`counting_edge`], about 2^{−(i+1)/16}, i = 0.. .
    pub counts: Vec<u32>,
}

impl Bins {
    pub fn new() -> Self {
        // In octave 0, y = 4x − 3.
        let derivatives = (0..=AN_OCTAVE).map(|bin| taylor(4.0 * middle(bin) - 3.0)).collect();
        Self { bins: vec![[0.0; POWERS + 2]; OCTAVES * AN_OCTAVE + 1], used: 0, derivatives }
    }

    /// Sorts the entries into bins and sums them.
    pub fn tally<T: Copy + Into<f64>>(&mut self, vector: &[T], largest: f64) -> Tally {
        const TOP: u64 = 1023 << MANTISSA_BITS;
        let scale = largest.recip();
        let last = self.bins.len() - 1;
        for &entry in vector {
            let entry: f64 = entry.into();
            if entry == 0.0 {
                continue;
            }
            // Rounding may put the largest entry times its inverse above 1.
            let x = (entry.abs() * scale).clamp(SMALLEST, 1.0);
            let key = x.to_bits() >> SHIFT;
            let index = ((TOP - key) as usize).min(last);
            let d = x - f64::from_bits((key << SHIFT) | (1 << (SHIFT - 1)));
            let bin = &mut self.bins[index];
            let mut term = x * x;
            for sum in &mut bin[..POWERS] {
                *sum += term;
                term *= d;
            }
            bin[POWERS] += 1.0;
            self.used = self.used.max(index + 1);
        }
        let tally = Tally { octaves: self.sums(largest), counts: self.counts() };
        self.bins[..self.used].fill([0.0; POWERS + 2]);
        self.used = 0;
        tally
    }

    fn sums(&self, largest: f64) -> Vec<Sums> {
        let octaves = self.used.saturating_sub(1).div_ceil(AN_OCTAVE).max(1);
        let mut all = vec![[0.0; TERMS]; octaves];
        for (p, sums) in all.iter_mut().enumerate() {
            let first = if p == 0 { 0 } else { p * AN_OCTAVE + 1 };
            let last = ((p + 1) * AN_OCTAVE).min(self.used.max(1) - 1);
            // dy/dx on this octave.
            let unfold = 2f64.powi(p as i32);
            let slope = 4.0 * unfold;
            for index in first..=last {
                let (bin, own) = (&self.bins[index], index - p * AN_OCTAVE);
                if bin[POWERS] == 0.0 {
                    continue;
                }
                let mean = bin[1] / bin[0] * unfold;
                if bin[2] / bin[0] * unfold * unfold - mean * mean <= EQUAL {
                    for (sum, t) in sums.iter_mut().zip(&taylor(4.0 * (middle(own) + mean) - 3.0)[0]) {
                        *sum += bin[0] * t;
                    }
                } else {
                    let mut unit = 1.0;
                    for (derivative, moment) in self.derivatives[own].iter().zip(bin) {
                        let moment = moment * unit;
                        for (sum, t) in sums.iter_mut().zip(derivative) {
                            *sum += moment * t;
                        }
                        unit *= slope;
                    }
                }
            }
            for sum in sums.iter_mut() {
                *sum *= largest * largest;
            }
        }
        all
    }

    fn counts(&self) -> Vec<u32> {
        // Bins are equal steps of x within an octave; the edges nearest to 2^{−i/16} serve.
        let mut counts = Vec::new();
        let (mut index, mut count) = (0, 0.0);
        while index < self.used {
            let edge = counting_bin(counts.len());
            while index <= edge.min(self.used - 1) {
                count += self.bins[index][POWERS];
                index += 1;
            }
            counts.push(count as u32);
        }
        counts
    }
}

/// The middle of a bin of octave 0; bins are 1/128 wide below 1, and 1/64 above.
fn middle(bin: usize) -> f64 {
    1.0 - if bin == 0 { -1.0 } else { bin as f64 - 0.5 } / (2 * AN_OCTAVE) as f64
}

/// The last bin counted at edge `i`.
fn counting_bin(i: usize) -> usize {
    let (octave, part) = (i / COUNTED, i % COUNTED + 1);
    // x falls from 1 to ½ in the octave; bin b ends at 1 − b/128.
    octave * AN_OCTAVE + (2.0 * AN_OCTAVE as f64 * (1.0 - 2f64.powf(-(part as f64) / COUNTED as f64))).round() as usize
}

/// The entry at edge `i` relative to the largest; entries counted there are at least as large.
pub(super) fn counting_edge(i: usize) -> f64 {
    let bin = counting_bin(i) - i / COUNTED * AN_OCTAVE;
    (1.0 - bin as f64 / (2 * AN_OCTAVE) as f64) * 2f64.powi(-((i / COUNTED) as i32))
}

/// T_j^{(m)}(y)/m!, by the recurrence T_{j+1} = 2y·T_j − T_{j−1} on truncated Taylor series.
fn taylor(y: f64) -> [Sums; POWERS] {
    let mut rows = [[0.0; TERMS]; POWERS];
    rows[0][0] = 1.0;
    (rows[0][1], rows[1][1]) = (y, 1.0);
    for j in 2..TERMS {
        for m in 0..POWERS {
            let lower = if m > 0 { rows[m - 1][j - 1] } else { 0.0 };
            rows[m][j] = 2.0 * (y * rows[m][j - 1] + lower) - rows[m][j - 2];
        }
    }
    rows
}
