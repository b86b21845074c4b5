//! Rows of ln I_k by order, and their weighted sums.

/// Factors on Σψ²T_j(y) of one panel, by order.
pub(super) struct Row {
    /// Panel and j, as an index into a vector's sums with all below the last panel merged.
    pub place: usize,
    pub values: Vec<f64>,
}

impl AsRef<[f64]> for Row {
    fn as_ref(&self) -> &[f64] {
        &self.values
    }
}

/// Σ_r sums[r]·rows[r], four rows at a time.
pub(super) fn combine(sums: &[f64], rows: &[impl AsRef<[f64]>], orders: usize) -> Vec<f64> {
    let mut total = vec![0.0; orders];
    let ((fours, rest), (sums, last)) = (rows.as_chunks::<4>(), sums.as_chunks::<4>());
    for (rows, [s0, s1, s2, s3]) in fours.iter().zip(sums) {
        let [r0, r1, r2, r3] = rows.each_ref().map(|row| &row.as_ref()[..orders]);
        for (k, t) in total.iter_mut().enumerate() {
            *t += (s0 * r0[k] + s1 * r1[k]) + (s2 * r2[k] + s3 * r3[k]);
        }
    }
    for (row, sum) in rest.iter().zip(last) {
        for (t, value) in total.iter_mut().zip(row.as_ref()) {
            *t += sum * value;
        }
    }
    total
}
