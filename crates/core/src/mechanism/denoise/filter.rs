//! Denoisers over the steps. With noisy sum over expected lot g, parameters θ and learning rate η:
//!
//! ```text
//! m ← keeps·m + takes·g;  θ ← θ − η·m
//! ```
//!
//! Momentum takes 1. A first-order low-pass filter (Zhang, Bu, Hong & Razaviyayn 2024, DOPPLER)
//! takes 1 − keeps, so m is an average of sums: momentum's direction with another length. A
//! simplified Kalman filter (Zhang et al. 2025, DiSK, Algorithm 2 with γ = (1 − κ)/κ) does the same
//! with gradients taken at the extrapolated point θ + γ(θ − θ before), which offsets the lag.
//!
//! Both averages start at zero, which [`Filter::correction`] offsets, as in Adam. The memory is the
//! momentum, which is restored when a run continues.

/// Weights of earlier and new sums in an update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Filter {
    /// Weight of the old m, in [0, 1).
    pub keeps: f32,
    /// Weight of the new sum, in (0, 1].
    pub takes: f32,
    /// γ: how far ahead of the parameters gradients are taken, in multiples of the last step.
    pub ahead: f32,
    /// True if m is an average that starts at zero.
    average: bool,
}

impl Filter {
    /// Returns momentum μ: m ← μm + g.
    #[must_use]
    pub const fn momentum(momentum: f32) -> Self {
        Self { keeps: momentum, takes: 1.0, ahead: 0.0, average: false }
    }

    /// Returns a first-order low-pass filter with weight `keeps` in [0, 1) for the old value.
    #[must_use]
    pub fn low_pass(keeps: f64) -> Self {
        Self { keeps: keeps as f32, takes: (1.0 - keeps) as f32, ahead: 0.0, average: true }
    }

    /// Returns a simplified Kalman filter of gain κ in (0, 1].
    #[must_use]
    pub fn kalman(gain: f64) -> Self {
        Self { keeps: (1.0 - gain) as f32, takes: gain as f32, ahead: ((1.0 - gain) / gain) as f32, average: true }
    }

    /// True if gradients are not taken at the parameters used for inference.
    #[must_use]
    pub const fn looks_ahead(self) -> bool {
        self.ahead > 0.0
    }

    /// True if m is an average of sums, hence denoised.
    #[must_use]
    pub const fn is_average(self) -> bool {
        self.average
    }

    /// Returns the factor for the learning rate in step `step` (from 0) that corrects the zero
    /// start: 1/(1 − keeps^(step + 1)), or 1 for momentum.
    #[must_use]
    pub fn correction(self, step: u64) -> f64 {
        if self.average { 1.0 / (1.0 - f64::from(self.keeps).powf(step as f64 + 1.0)) } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corrected_average_of_equal_sums_is_the_sum() {
        for filter in [Filter::low_pass(0.9), Filter::kalman(0.3), Filter::low_pass(1e-9)] {
            let mut m = 0.0;
            for step in 0..50 {
                m = f64::from(filter.keeps) * m + f64::from(filter.takes) * 2.0;
                assert!((m * filter.correction(step) - 2.0).abs() < 1e-6, "{filter:?}, step {step}");
            }
        }
        assert_eq!(Filter::momentum(0.9).correction(0), 1.0);
        assert!(!Filter::momentum(0.9).looks_ahead() && !Filter::low_pass(0.9).looks_ahead());
        let kalman = Filter::kalman(0.5);
        assert!(kalman.looks_ahead() && (kalman.ahead - 1.0).abs() < 1e-6);
        // Also for arbitrarily many steps.
        assert_eq!(Filter::low_pass(0.5).correction(u64::MAX), 1.0);
    }
}
