//! Noise search: calibrates every family to one target and ranks them by error.
//!
//! Under a spread-out envelope every family acts like the Gaussian of equal Fisher information, to
//! a few parts in a thousand; under a concentrated envelope the choice matters.

use serde::{Deserialize, Serialize};

use super::{
    calibrate::{Calibrated, Target, noise_scale},
    error::PrivacyError,
    ledger::Release,
    noise::NoiseSpec,
};

/// Ranking criterion; smaller is better.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Criterion {
    /// E|Z|: mean absolute error of a coordinate.
    MeanAbsolute,
    /// √E(Z²): root mean square error of a coordinate.
    RootMeanSquare,
    /// The quantile of |Z| at this probability.
    Quantile(f64),
}

/// A family calibrated to the target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The family at the calibrated scale.
    pub noise: NoiseSpec,
    /// ε at this scale, at most the target.
    pub epsilon: f64,
    /// Error by the criterion, in units of the noise; infinite values rank last.
    pub error: f64,
    /// E|Z|; infinite for Cauchy noise.
    pub mean_absolute: f64,
    /// √E(Z²); infinite for Cauchy noise.
    pub standard_deviation: f64,
}

/// Result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// Calibrated families, best first.
    pub found: Vec<Candidate>,
    /// Families without a scale for the target, with the reason.
    pub refused: Vec<(NoiseSpec, PrivacyError)>,
}

/// The families usually compared, each at scale 1.
#[must_use]
pub fn families() -> Vec<NoiseSpec> {
    let scale = 1.0;
    vec![
        NoiseSpec::Gaussian { sigma: scale },
        NoiseSpec::StudentT { nu: 3.0, scale },
        NoiseSpec::StudentT { nu: 9.0, scale },
        NoiseSpec::StudentT { nu: 30.0, scale },
        NoiseSpec::Laplace { scale },
        NoiseSpec::Cauchy { scale },
        NoiseSpec::VarianceGamma { scale },
        NoiseSpec::HyperbolicSecant { scale },
        NoiseSpec::GeneralizedGaussian { exponent: 1.5, scale },
    ]
}

/// Calibrates each family for `steps` releases like `release`, with its noise replaced; ranks them.
///
/// # Errors
/// A quantile outside (0, 1).
pub fn search(
    release: &Release,
    steps: u64,
    target: &Target<'_>,
    criterion: Criterion,
    families: &[NoiseSpec],
) -> Result<Ranking, PrivacyError> {
    if let Criterion::Quantile(p) = criterion {
        super::error::require(p > 0.0 && p < 1.0, "quantile", p, "strictly between 0 and 1")?;
    }
    let (mut found, mut refused) = (Vec::new(), Vec::new());
    for family in families {
        let mut trial = release.clone();
        trial.noise = Some(family.clone());
        match noise_scale(&trial, steps, target).and_then(|c| candidate(family, c, criterion)) {
            Ok(candidate) => found.push(candidate),
            Err(reason) => refused.push((family.clone(), reason)),
        }
    }
    found.sort_by(|a, b| a.error.total_cmp(&b.error));
    Ok(Ranking { found, refused })
}

fn candidate(family: &NoiseSpec, at: Calibrated<f64>, criterion: Criterion) -> Result<Candidate, PrivacyError> {
    let spec = family.with_scale(at.value);
    let noise = spec.build()?;
    let (mean_absolute, standard_deviation) = (noise.mean_absolute(), noise.standard_deviation());
    let error = match criterion {
        Criterion::MeanAbsolute => mean_absolute,
        Criterion::RootMeanSquare => standard_deviation,
        Criterion::Quantile(p) => noise.survival_quantile(0.5 * (1.0 - p)),
    };
    Ok(Candidate { noise: spec, epsilon: at.epsilon, error, mean_absolute, standard_deviation })
}
