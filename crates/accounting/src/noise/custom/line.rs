//! ln z of a table on the whole line: where it bends, and its slopes and variation around a place.

use super::table::Table;

pub struct Line {
    /// Ascending; the middle one is 0.
    pub bends: Vec<f64>,
    /// s between the bends; the i-th is left of bend i.
    pub slopes: Vec<f64>,
    /// Variation of ln z from the first bend to each.
    variation: Vec<f64>,
    /// By level, least and largest of the 2^level slopes from each on.
    extremes: Vec<Vec<(f64, f64)>>,
    /// Downward jumps of s: (place, ln |Δ|·z, ln z).
    pub jumps: Vec<(f64, f64, f64)>,
}

impl Line {
    pub fn new(table: &Table) -> Self {
        let bends: Vec<f64> = table.knots[1..].iter().rev().map(|k| -k).chain(table.knots.iter().copied()).collect();
        let slopes: Vec<f64> = table.slopes.iter().rev().map(|s| -s).chain(table.slopes.iter().copied()).collect();
        let mut variation = vec![0.0; bends.len()];
        for i in 1..bends.len() {
            variation[i] = variation[i - 1] + slopes[i].abs() * (bends[i] - bends[i - 1]);
        }
        let jumps = bends.iter().enumerate().filter(|(i, _)| slopes[i + 1] < slopes[*i]).map(|(i, &bend)| {
            let log_density = table.log_densities[i.abs_diff(table.knots.len() - 1)];
            (bend, (slopes[i] - slopes[i + 1]).ln() + log_density, log_density)
        });
        let jumps = jumps.collect();
        let mut extremes = vec![slopes.iter().map(|s| (*s, *s)).collect::<Vec<_>>()];
        while let Some(last) = extremes.last().filter(|last| last.len() > 1 << (extremes.len() - 1)) {
            let pairs = last.iter().zip(&last[1 << (extremes.len() - 1)..]);
            extremes.push(pairs.map(|(a, b)| (a.0.min(b.0), a.1.max(b.1))).collect());
        }
        Self { bends, slopes, variation, extremes, jumps }
    }

    /// Least and largest slope of the pieces that [bend `from` − left, bend `to` + right] touches,
    /// and an upper bound on the variation of ln z within it.
    pub fn window(&self, from: usize, left: f64, to: usize, right: f64) -> (f64, f64, f64) {
        let Self { bends, slopes, variation, extremes, .. } = self;
        // Pieces are indexed by the bend to their right.
        let first = bends[..from].partition_point(|bend| bends[from] - bend >= left);
        let last = to + bends[to + 1..].partition_point(|bend| bend - bends[to] < right);
        let level = (last + 2 - first).ilog2() as usize;
        let (a, b) = (extremes[level][first], extremes[level][last + 2 - (1 << level)]);
        let (least, most) = (a.0.min(b.0), a.1.max(b.1));
        let ends = slopes[first].abs() * left + slopes[last + 1].abs() * right;
        (least, most, variation[last] - variation[first] + ends)
    }
}
