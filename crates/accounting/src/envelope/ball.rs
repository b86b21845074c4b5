//! All vectors within an L2 norm, instead of an envelope's vectors.

use super::series::{Panel, Series};
use crate::{noise::Noise, numeric::max_or_infinite};

/// Least and most octaves of |τ| below the reach on which ln I_k(τ)/τ² is maximised.
const OCTAVES: (usize, usize) = (6, 64);

/// max Σ_i ln I_k(v_i) over all v with ‖v‖₂ ≤ norm and |v_i| ≤ reach, in any dimension. With G(τ) =
/// ln I_k(τ)/τ², Σ v_i²·G(v_i) ≤ norm²·sup G, attained in the limit of many coordinates where G is
/// largest at 0 (k(k−1)/2 times the Fisher information). Proven for tables, else estimated.
pub(crate) fn l2_log_moments(noise: &dyn Noise, norm: f64, reach: f64, orders: usize) -> Vec<f64> {
    if let Some(ceiling) = noise.l2_ceiling(norm, reach, orders) {
        return ceiling;
    }
    let information = noise.fisher_information();
    let mut supremum: Vec<f64> =
        (0..orders).map(|j| 0.5 * (j + 1) as f64 * (j + 2) as f64 * information * (1.0 + 1e-12)).collect();
    // G changes where kτ√J is about 1; the lowest panel begins not far above.
    let narrowest = 4.0 / ((orders + 1) as f64 * information.sqrt());
    let octaves = ((reach / narrowest).log2().ceil().max(0.0) as usize).clamp(OCTAVES.0, OCTAVES.1);
    // ln I_k grows with |τ|, so that G(τ) ≤ ln I_k(reach)/low² above `low`: far beyond the noise's
    // scale no panel can hold the maximum.
    let mut farthest = vec![0.0; orders];
    noise.log_moments(reach, &mut farthest);
    for panel in Panel::ladder(reach, octaves).into_iter().rev() {
        let below = |(far, most): (&f64, &f64)| far * (1.0 + 1e-6) / (panel.low * panel.low) <= *most;
        if farthest.iter().zip(&supremum).all(below) {
            break;
        }
        let series = Series::new(&panel, noise, 1.0, orders);
        for (order, value) in supremum.iter_mut().enumerate() {
            *value = max_or_infinite(*value, series.supremum(order));
        }
    }
    for value in &mut supremum {
        *value *= norm * norm;
    }
    supremum
}
