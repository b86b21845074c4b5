//! A matrix's first right singular vector.

/// Returns the unit vector u with the largest ‖Mu‖ for M's `rows`, up to sign; `None` if M is zero
/// or not finite.
///
/// Power iteration on MMᵀ (rows × rows), squared fourteen times: 16,384 steps in fourteen products.
/// It separates singular values a thousandth apart; of closer ones a mixture is as good.
pub(super) fn first_right(rows: &[&[f64]]) -> Option<Vec<f64>> {
    const SQUARED: u32 = 14;
    let largest = rows.iter().flat_map(|row| row.iter()).fold(0.0_f64, |most, &x| max_or_nan(most, x.abs()));
    if !(largest > 0.0 && largest.is_finite()) {
        return None;
    }
    let n = rows.len();
    // Entries are at most 1, so nothing overflows.
    let entry = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| (x / largest) * (y / largest)).sum::<f64>();
    let mut power: Vec<f64> = (0..n * n).map(|k| entry(rows[k / n], rows[k % n])).collect();
    for _ in 0..SQUARED {
        // The largest entry of a positive semidefinite matrix is on the diagonal.
        let scale = (0..n).map(|k| power[k * n + k]).fold(0.0, f64::max);
        power.iter_mut().for_each(|x| *x /= scale);
        let mut square = vec![0.0; n * n];
        for (row, out) in power.chunks(n).zip(square.chunks_mut(n)) {
            for (x, other) in row.iter().zip(power.chunks(n)) {
                out.iter_mut().zip(other).for_each(|(sum, y)| *sum += x * y);
            }
        }
        power = square;
    }
    // All columns are along the first left vector now; the longest has the most digits of it.
    let best = (0..n).max_by(|&a, &b| power[a * n + a].total_cmp(&power[b * n + b]))?;
    let mut right = vec![0.0; rows[best].len()];
    for (weight, row) in power[best * n..(best + 1) * n].iter().zip(rows) {
        right.iter_mut().zip(*row).for_each(|(sum, x)| *sum += weight * (x / largest));
    }
    let norm = right.iter().map(|x| x * x).sum::<f64>().sqrt();
    (norm > 0.0 && norm.is_finite()).then(|| right.into_iter().map(|x| x / norm).collect())
}

/// `max`, but NaN if either is.
fn max_or_nan(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

#[cfg(test)]
mod tests {
    use rand::rand_core::Rng as _;

    use super::*;
    use crate::rng::NotPrivateReplay;

    fn dot(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(x, y)| x * y).sum()
    }

    #[test]
    fn a_matrix_of_rank_one_has_one_direction() {
        let u = [0.6, -0.8, 0.0];
        for scale in [1.0, 1e-200, 1e200] {
            let rows: Vec<Vec<f64>> = [3.0, -1.0].map(|s| u.map(|x| s * x * scale).to_vec()).to_vec();
            let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
            let found = first_right(&rows).unwrap();
            assert!((dot(&found, &u).abs() - 1.0).abs() < 1e-14, "{found:?}");
        }
        for none in [&[0.0, 0.0][..], &[f64::NAN, 1.0], &[f64::INFINITY, 1.0], &[]] {
            assert_eq!(first_right(&[none]), None);
        }
        assert_eq!(first_right(&[]), None);
    }

    /// No other unit vector is stretched further, and u is a fixed point of MᵀM.
    #[test]
    fn first_right_is_stretched_most() {
        let mut rng = NotPrivateReplay::new(3);
        let mut draw = |n: usize| -> Vec<f64> { (0..n).map(|_| f64::from(rng.next_u32()) / 2e9 - 1.07).collect() };
        let matrix: Vec<Vec<f64>> = (0..9).map(|_| draw(40)).collect();
        let rows: Vec<&[f64]> = matrix.iter().map(Vec::as_slice).collect();
        let stretched = |u: &[f64]| rows.iter().map(|row| dot(row, u).powi(2)).sum::<f64>().sqrt();
        let first = first_right(&rows).unwrap();
        for _ in 0..200 {
            let other = draw(40);
            assert!(stretched(&other) <= stretched(&first) * dot(&other, &other).sqrt());
        }
        let mut image = vec![0.0; 40];
        for row in &rows {
            let along = dot(row, &first);
            image.iter_mut().zip(*row).for_each(|(sum, x)| *sum += along * x);
        }
        assert!((dot(&image, &first) / dot(&image, &image).sqrt() - 1.0).abs() < 1e-12);
    }
}
