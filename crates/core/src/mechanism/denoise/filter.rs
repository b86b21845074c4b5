//! Denoisers over the steps: what was released before says something of what is released now. With g the noisy sum over the expected lot, θ the
//! parameters, η the rate:
//!
//! ```text
//! m ← keeps·m + takes·g;  θ ← θ − η·m
//! ```
//!
//! Momentum takes 1. A low-pass filter of first order (Zhang, Bu, Hong & Razaviyayn 2024, DOPPLER) keeps a share and takes the rest, so that m is an
//! average of sums: the same direction as momentum's, of another length. A simplified Kalman filter (Zhang et al. 2025, DiSK, Algorithm 2 with
//! γ = (1 − κ)/κ) does the same with gradients that are taken where the last step will have led, at θ + γ(θ − θ before): the filter's lag is what that
//! makes up for.
//!
//! Both averages begin at zero; [`Filter::correction`] is what makes up for it, as in Adam. The memory is the momentum, which a run that is continued
//! has again.

/// What an update keeps of earlier sums.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Filter {
    /// What is kept of m, in [0, 1).
    pub keeps: f32,
    /// What is taken of the new sum, in (0, 1].
    pub takes: f32,
    /// γ: gradients are taken at so many last steps ahead of the parameters; 0: at the parameters.
    pub ahead: f32,
    /// Whether m is an average, which begins at zero.
    average: bool,
}

impl Filter {
    /// Momentum μ: m ← μm + g.
    #[must_use]
    pub const fn momentum(momentum: f32) -> Self {
        Self { keeps: momentum, takes: 1.0, ahead: 0.0, average: false }
    }

    /// A low-pass filter of first order that keeps `keeps` of itself, in [0, 1).
    #[must_use]
    pub fn low_pass(keeps: f64) -> Self {
        Self { keeps: keeps as f32, takes: (1.0 - keeps) as f32, ahead: 0.0, average: true }
    }

    /// A simplified Kalman filter of gain κ in (0, 1].
    #[must_use]
    pub fn kalman(gain: f64) -> Self {
        Self { keeps: (1.0 - gain) as f32, takes: gain as f32, ahead: ((1.0 - gain) / gain) as f32, average: true }
    }

    /// Whether gradients are taken elsewhere than images are read.
    #[must_use]
    pub const fn looks_ahead(self) -> bool {
        self.ahead > 0.0
    }

    /// Whether m is an average of sums, and so a denoised one.
    #[must_use]
    pub const fn is_average(self) -> bool {
        self.average
    }

    /// What the rate of step `step` (the first is 0) is multiplied by, so that an average that began at zero weighs as much as one of all steps:
    /// 1/(1 − keeps^(step + 1)).
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
        // Steps without number, too.
        assert_eq!(Filter::low_pass(0.5).correction(u64::MAX), 1.0);
    }
}
