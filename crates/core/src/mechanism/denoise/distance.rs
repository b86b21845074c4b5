//! The Kolmogorov–Smirnov distance (Nasr, Shokri & Houmansadr 2020, Algorithm 1) to the noise's
//! distribution; the drawn noise is never used.

/// Computes sup_x |F̂(x) − F(x)| exactly, with F̂ the empirical distribution function of `values`
/// and F the continuous `cdf`. Returns 0 for no values; NaN counts as +∞.
#[must_use]
pub fn kolmogorov_smirnov(values: &[f32], cdf: impl Fn(f64) -> f64) -> f64 {
    let mut sorted: Vec<f32> = values.iter().map(|&v| if v.is_nan() { f32::INFINITY } else { v }).collect();
    sorted.sort_unstable_by(f32::total_cmp);
    let n = sorted.len() as f64;
    let distance_at = |(i, &value): (usize, &f32)| {
        let f = cdf(f64::from(value));
        (f - i as f64 / n).max((i + 1) as f64 / n - f)
    };
    sorted.iter().enumerate().map(distance_at).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uniform(x: f64) -> f64 {
        x.clamp(0.0, 1.0)
    }

    #[test]
    fn distances_known_by_hand() {
        let close = |values: &[f32], expected: f64| {
            let distance = kolmogorov_smirnov(values, uniform);
            assert!((distance - expected).abs() < 1e-7, "{values:?}: {distance}, not {expected}");
        };
        close(&[], 0.0);
        close(&[0.5], 0.5);
        close(&[0.125, 0.375, 0.625, 0.875], 0.125);
        close(&[0.75, 0.25, 0.25, 0.25], 0.5);
        close(&[2.0, 3.0], 1.0);
        close(&[f32::NEG_INFINITY, f32::INFINITY], 0.5);
        close(&[f32::NAN, 0.5], 0.5);
    }
}
