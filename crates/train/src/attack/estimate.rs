//! A measured number with its standard error.

use serde::{Deserialize, Serialize};

/// A mean over random outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Estimate {
    /// What was measured.
    pub value: f64,
    /// Its standard error; infinite if too few values were measured.
    pub standard_error: f64,
}

impl Estimate {
    /// Returns the mean of independent values with the error of their spread; NaN without values.
    #[must_use]
    pub fn mean(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let value = values.iter().sum::<f64>() / n;
        if values.len() < 2 {
            return Self { value, standard_error: f64::INFINITY };
        }
        let squares: f64 = values.iter().map(|one| (one - value).powi(2)).sum();
        Self { value, standard_error: (squares / (n - 1.0) / n).sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_knows_how_far_it_may_be_off() {
        let mean = Estimate::mean(&[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(mean.value, 2.5);
        assert!((mean.standard_error - (5.0_f64 / 3.0 / 4.0).sqrt()).abs() < 1e-15);
        assert_eq!(Estimate::mean(&[7.0]), Estimate { value: 7.0, standard_error: f64::INFINITY });
        assert!(Estimate::mean(&[]).value.is_nan());
    }
}
