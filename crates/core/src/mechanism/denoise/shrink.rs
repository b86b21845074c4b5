//! Denoisers that shrink the sum y, of d values and noise standard deviation σ, towards 0: Balle &
//! Wang 2018 (Improving the Gaussian Mechanism for Differential Privacy), §4.2.

/// Σ y², NaN if a value is NaN.
fn square(values: &[f32]) -> f64 {
    values.iter().map(|&v| f64::from(v).powi(2)).sum()
}

/// 1 − `noise`/`all`, at least 0; 0 for a zero or non-finite sum, which then has no effect.
fn share(noise: f64, all: f64) -> f64 {
    if all > noise && all.is_finite() { 1.0 - noise / all } else { 0.0 }
}

/// (1 − (d − 2)σ²/‖y‖²)₊, at most 1: the positive-part James–Stein estimator (1961). For d > 2 its
/// mean square error is below that of y for every true value.
#[must_use]
pub fn james_stein(values: &[f32], sigma: f64) -> f64 {
    share((values.len() as f64 - 2.0).max(0.0) * sigma * sigma, square(values))
}

/// ŵ²/(ŵ² + σ²) with ŵ² = (‖y‖²/d − σ²)₊, equal to (1 − dσ²/‖y‖²)₊: the multiple of y with the
/// least mean square error if ŵ² is the mean square of the true values.
#[must_use]
pub fn linear(values: &[f32], sigma: f64) -> f64 {
    share(values.len() as f64 * sigma * sigma, square(values))
}

/// σ√(2 ln d), rarely exceeded by noise alone (Donoho & Johnstone 1994). In f32, as in the engines.
#[must_use]
pub fn threshold(d: usize, sigma: f64) -> f32 {
    (sigma * (2.0 * (d.max(1) as f64).ln()).sqrt()) as f32
}

/// Moves `value` towards 0 by at most `threshold`.
#[inline]
#[must_use]
pub fn soft(value: f32, threshold: f32) -> f32 {
    (value.abs() - threshold).max(0.0).copysign(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_known_by_hand() {
        // ‖y‖² = 100, d = 4.
        let values = [5.0_f32, -5.0, 5.0, 5.0];
        assert!((james_stein(&values, 3.0) - (1.0 - 18.0 / 100.0)).abs() < 1e-12);
        assert!((linear(&values, 3.0) - (1.0 - 36.0 / 100.0)).abs() < 1e-12);
        // Balle and Wang's form.
        let w = 100.0 / 4.0 - 9.0;
        assert!((linear(&values, 3.0) - w / (w + 9.0)).abs() < 1e-12);
        for shrinks in [james_stein, linear] {
            assert_eq!(shrinks(&values, 0.0), 1.0);
            assert_eq!(shrinks(&values, 100.0), 0.0);
            assert_eq!(shrinks(&[0.0; 4], 1.0), 0.0);
            assert_eq!(shrinks(&[], 1.0), 0.0);
            assert_eq!(shrinks(&[f32::NAN, 1.0, 1.0, 1.0], 0.1), 0.0);
            assert_eq!(shrinks(&[f32::INFINITY, 1.0, 1.0, 1.0], 0.1), 0.0);
        }
        assert_eq!([3.0, -3.0, 1.0, -1.0, 0.0].map(|v| soft(v, 2.0)), [1.0, -1.0, 0.0, 0.0, 0.0]);
        assert!((threshold(7850, 2.0) - 2.0 * (2.0 * 7850_f32.ln()).sqrt()).abs() < 1e-5);
        assert_eq!(threshold(1, 2.0), 0.0);
    }

    /// The estimators reduce the mean square error of noisy values, near 0 and far from it.
    #[test]
    fn shrinking_never_makes_a_long_vector_worse() {
        use crate::{accounting::noise::NoiseSpec, mechanism::noise::add_noise};
        let (d, sigma) = (5000, 1.5);
        let noise = NoiseSpec::Gaussian { sigma }.build().unwrap();
        for (trial, size) in [0.0, 0.1, 1.0, 10.0].into_iter().enumerate() {
            let truth: Vec<f64> = (0..d).map(|i| size * f64::from((i % 3) as u8) - size).collect();
            let mut noisy = vec![0.0_f32; d];
            add_noise(&[trial as u32 + 1; 8], &*noise, &truth, &mut noisy);
            let error = |factor: f64| -> f64 {
                noisy.iter().zip(&truth).map(|(&y, t)| (factor * f64::from(y) - t).powi(2)).sum()
            };
            for factor in [james_stein(&noisy, sigma), linear(&noisy, sigma)] {
                assert!(error(factor) <= error(1.0), "{size}: {factor}");
            }
        }
    }
}
