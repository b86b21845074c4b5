//! The noise lab's mathematics: calibrates a noise to a given ε and computes its properties.

use serde::{Deserialize, Serialize};

use crate::{
    accounting::{
        PrivacyError,
        calibrate::{Method, Target, noise_scale},
        envelope::EnvelopeProfile,
        ledger::{Release, Sensitivity},
        noise::{CustomDensity, DensityError, NoiseError, NoiseSpec},
        rdp::{Orders, RdpCurve},
        sampling::Sampling,
    },
    mechanism::{EnvelopeShape, envelope::Envelope, error::MechanismError},
    rng::NotPrivateReplay,
    train::projection::Point,
};

/// Coordinates of the envelope: the linear model's.
const DIMENSION: usize = 7850;
/// Points of a drawn density on each side of 0, and of its tail.
const POINTS: i32 = 80;
/// The largest order drawn.
const ORDERS: u32 = 64;
const SAMPLES: usize = 60;
/// How near to a whole number the power of a formula's tail is read.
const NEAR: f64 = 0.01;

/// Why a noise cannot be compared.
#[derive(Debug, hushgrad_message::Error)]
pub enum LabError {
    #[error(transparent)]
    Density(#[from] DensityError),
    #[error(transparent)]
    Envelope(#[from] MechanismError),
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    #[error(transparent)]
    Noise(#[from] NoiseError),
}

/// The envelope vector, of norm 1, that bounds one example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Psi {
    /// |N(0, 1)| on all 7850 coordinates.
    Spread,
    /// |T_3| on all 7850 coordinates.
    HeavyTailed,
    /// This many equal entries, and zeros.
    Entries(u32),
}

/// A noise, or a formula not yet parsed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Candidate {
    /// A noise family, whose scale is replaced.
    Family(NoiseSpec),
    /// A density by formula.
    Formula(String),
}

/// A noise to compare.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparisonQuery {
    pub noise: Candidate,
    pub psi: Psi,
    /// Poisson rate, steps, δ, and the ε budget of all steps.
    pub rate: f64,
    pub steps: u64,
    pub delta: f64,
    pub epsilon: f64,
}

/// A noise at the scale that spends the budget.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoiseComparison {
    pub noise: NoiseSpec,
    /// Its ε: at most the budget.
    pub epsilon: f64,
    /// E|Z|, and √E(Z²).
    pub l1: f64,
    pub l2: f64,
    /// σ of the Gaussian with the same Fisher information.
    pub effective_sigma: f64,
    /// (x, z(x)), (x, P(|Z| > x)), (α, ε(α) of one step).
    pub density: Vec<Point>,
    pub tail: Vec<Point>,
    pub orders: Vec<Point>,
    pub samples: Vec<f64>,
}

/// Calibrates one noise, and computes its properties at that scale.
///
/// # Errors
/// If the density is invalid (what is wrong, and where), or no scale keeps the budget.
pub fn compare(query: &ComparisonQuery) -> Result<NoiseComparison, LabError> {
    let (spec, power) = match &query.noise {
        Candidate::Family(spec) => (spec.clone(), f64::INFINITY),
        Candidate::Formula(formula) => {
            let density = read(formula)?;
            let power = density.tail_power();
            (NoiseSpec::Custom { density, scale: 1.0 }, power)
        }
    };
    // A table has moments that its formula has not.
    let moment = |order: f64, of_table: f64| if power > order + 1.0 + NEAR { of_table } else { f64::INFINITY };
    let profile = profile(query.psi)?;
    let sampling = Sampling::Poisson { rate: query.rate };
    let mut release = Release::new(sampling, Sensitivity::Envelope { profile }, Some(spec.with_scale(1.0)));
    let target = Target { epsilon: query.epsilon, delta: query.delta, method: Method::Improved, orders: Orders::All };
    let found = noise_scale(&release, query.steps, &target)?;
    let spec = spec.with_scale(found.value);
    let noise = spec.build()?;
    release.noise = Some(spec.clone());
    let curve = RdpCurve::of(&release)?;
    let orders = (2..=ORDERS).map(|order| (f64::from(order), curve.at(order.into())));
    let effective_sigma = noise.fisher_information().sqrt().recip();
    let step = 4.0 * effective_sigma / f64::from(POINTS);
    let mut rng = NotPrivateReplay::new(7);
    Ok(NoiseComparison {
        epsilon: found.epsilon,
        l1: moment(1.0, noise.mean_absolute()),
        l2: moment(2.0, noise.standard_deviation()),
        effective_sigma,
        density: (-POINTS..=POINTS).map(|i| f64::from(i) * step).map(|x| (x, noise.density(x))).collect(),
        tail: (0..=POINTS).map(|i| 3.0 * f64::from(i) * step).map(|x| (x, 2.0 * noise.survival(x))).collect(),
        orders: orders
            .filter_map(|(order, price)| Some((order, price.filter(|p| p.is_finite() && *p > 0.0)?)))
            .collect(),
        samples: (0..SAMPLES).map(|_| noise.sample(&mut rng)).collect(),
        noise: spec,
    })
}

/// Parses a visitor's density.
///
/// # Errors
/// What is wrong with it, and where.
pub fn read(formula: &str) -> Result<CustomDensity, DensityError> {
    CustomDensity::from_formula(formula)
}

fn profile(psi: Psi) -> Result<EnvelopeProfile, LabError> {
    let drawn = |shape| {
        let envelope = Envelope::draw(shape, 1, DIMENSION, 0)?;
        Ok(EnvelopeProfile::from_vectors([envelope.vector(0)])?)
    };
    match psi {
        Psi::Spread => drawn(EnvelopeShape::Gaussian),
        Psi::HeavyTailed => drawn(EnvelopeShape::HeavyTailed),
        Psi::Entries(count) => {
            let count = (count as usize).clamp(1, DIMENSION);
            let mut entries = vec![0.0; DIMENSION];
            entries[..count].fill((count as f64).sqrt().recip());
            Ok(EnvelopeProfile::from_vectors_f64([entries.as_slice()])?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(noise: NoiseSpec, psi: Psi) -> ComparisonQuery {
        let noise = Candidate::Family(noise);
        ComparisonQuery { noise, psi, rate: 256.0 / 60_000.0, steps: 1172, delta: 1e-5, epsilon: 1.0 }
    }

    const GAUSSIAN: NoiseSpec = NoiseSpec::Gaussian { sigma: 1.0 };
    const STUDENT: NoiseSpec = NoiseSpec::StudentT { nu: 9.0, scale: 1.0 };

    #[test]
    fn every_noise_spends_the_same_budget() {
        let others = [GAUSSIAN, STUDENT, NoiseSpec::Laplace { scale: 1.0 }, NoiseSpec::Cauchy { scale: 1.0 }];
        for noise in others {
            let compared = compare(&query(noise.clone(), Psi::Spread)).unwrap();
            assert!(compared.epsilon <= 1.0 && compared.epsilon > 0.9999, "{noise:?} {}", compared.epsilon);
            assert!(compared.orders.len() > 8 && compared.samples.len() == SAMPLES);
            let mass: f64 = compared.density.windows(2).map(|w| (w[1].0 - w[0].0) * 0.5 * (w[0].1 + w[1].1)).sum();
            assert!((0.8..1.001).contains(&mass), "{noise:?} {mass}");
            assert!(compared.tail.windows(2).all(|w| w[0].1 > w[1].1) && compared.tail[0].1 == 1.0);
        }
    }

    /// The page makes this claim.
    #[test]
    fn where_psi_is_spread_nothing_beats_the_gaussian_by_a_hundredth() {
        let gaussian = compare(&query(GAUSSIAN, Psi::Spread)).unwrap();
        let student = compare(&query(STUDENT, Psi::Spread)).unwrap();
        let laplace = compare(&query(NoiseSpec::Laplace { scale: 1.0 }, Psi::Spread)).unwrap();
        let ratio = student.effective_sigma / gaussian.effective_sigma;
        assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
        for other in [&student, &laplace] {
            assert!(other.l1 > 0.992 * gaussian.l1 && other.l2 > gaussian.l2, "{} {}", other.l1, gaussian.l1);
        }
        assert!(laplace.l1 > 1.2 * gaussian.l1);
    }

    #[test]
    fn where_psi_is_one_entry_student_t_needs_less_noise() {
        let one = |noise| compare(&query(noise, Psi::Entries(1))).unwrap();
        let (gaussian, student) = (one(GAUSSIAN), one(STUDENT));
        assert!(student.l1 < 0.99 * gaussian.l1, "{} {}", student.l1, gaussian.l1);
    }

    #[test]
    fn a_formula_is_judged_or_refused_with_the_place() {
        let of = |formula: &str| {
            compare(&ComparisonQuery { noise: Candidate::Formula(formula.into()), ..query(GAUSSIAN, Psi::Entries(26)) })
        };
        let compared = of("exp(-x^2/2)").unwrap();
        let gaussian = compare(&query(GAUSSIAN, Psi::Entries(26))).unwrap();
        assert!((compared.l2 / gaussian.l2 - 1.0).abs() < 0.02, "{} {}", compared.l2, gaussian.l2);
        assert!(matches!(compared.noise, NoiseSpec::Custom { .. }));
        // Moments of the formulas, not of the tables that stand for them.
        for (formula, l1, l2) in
            [("1/(1+x^2)", false, false), ("(1+x^2)^-1.5", true, false), ("(1+x^2)^-2", true, true)]
        {
            let compared = of(formula).unwrap();
            assert_eq!((compared.l1.is_finite(), compared.l2.is_finite()), (l1, l2), "{formula}");
        }
        let refused = of("exp(-(x-1.23456)^2)").unwrap_err().to_string();
        assert!(refused.ends_with("at x = 0.0625 it is 0.253, at −x it is 0.186"), "to three digits: {refused}");
    }
}
