//! Conversion of ε(α) to (ε, δ): classic and improved.

use serde::{Deserialize, Serialize};

use crate::numeric::max_or_infinite;

/// An upper bound on ε and the order α that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// ε in nats, rounded up; +∞ if no order gives a finite bound.
    pub epsilon: f64,
    /// α > 1.
    pub order: f64,
}

/// ε at a given δ by both conversions, each an upper bound.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Epsilon {
    /// Mironov 2017, Proposition 3 (the paper's Lemma 2).
    pub classic: Bound,
    /// Canonne, Kamath & Steinke 2020, Proposition 12; also Balle et al. 2020, Theorem 21.
    pub improved: Bound,
}

/// ε = `rdp` + ln(1/δ)/(α−1) at order α > 1, rounded up, at least 0, for `rdp` ≥ 0 and δ in (0, 1).
/// Mironov 2017, Proposition 3.
#[must_use]
pub fn classic(rdp: f64, order: f64, delta: f64) -> f64 {
    let slack = delta.ln() / (order - 1.0);
    max_or_infinite(rdp - slack + ROUNDING * (rdp + slack.abs()), 0.0)
}

/// Rounding of a few sums and logarithms, relative to their terms.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// ε = `rdp` + ln(1−1/α) − ln(δα)/(α−1) at order α > 1, for `rdp` ≥ 0 and δ in (0, 1); at least 0,
/// rounded up. Canonne, Kamath & Steinke 2020, Proposition 12.
#[must_use]
pub fn improved(rdp: f64, order: f64, delta: f64) -> f64 {
    // ln δ + ln α, since δα may leave the range of f64.
    let gain = (-1.0 / order).ln_1p();
    let rounding = rdp - gain + (order.ln() - delta.ln()) / (order - 1.0);
    max_or_infinite(rdp + gain - (delta.ln() + order.ln()) / (order - 1.0) + ROUNDING * rounding, 0.0)
}
