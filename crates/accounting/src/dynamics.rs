//! Privacy of noisy gradient descent with hidden intermediate models.
//!
//! Chourasia, Ye & Shokri 2021, "Differential privacy dynamics of Langevin diffusion and noisy
//! gradient descent". Full batch, loss λ-strongly convex and β-smooth in θ, step size η ≤ 1/β, K
//! updates θ ← Π(θ − (η/n)·Σ∇ℓ + √(2ησ²)·N(0, I)), S the L2 sensitivity of the *sum* of gradients
//! (replace-one), θ₀ ~ Π(N(0, 2σ²/λ·I)). Only θ_K is released. Its Rényi divergence converges in K;
//! composition, which pays for each intermediate model, grows linearly but is smaller for small K.
//!
//! Both are ρα with one ρ for all orders, so such a training enters a ledger as one release
//! ([`NoisyGradientDescent::release`]).

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{
    ledger::{HiddenSteps, Release, Sensitivity},
    noise::NoiseSpec,
    sampling::Sampling,
};

/// z > 0 with 1 − e^{−z} = z/2: the hidden-state bound meets composition at K = 2z/(λη).
const CROSSOVER: f64 = 1.593_624_260_040_04;
/// Covers the rounding of a few operations.
const ROUNDING: f64 = 1.0 + 16.0 * f64::EPSILON;

/// A setting that the hidden-state theorem does not cover.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum DynamicsError {
    /// A quantity that is not positive and finite.
    #[error("{name} must be positive and finite, not {value}")]
    NotPositive {
        /// Name of the quantity.
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// α ≤ 1 or not finite.
    #[error("the Rényi order must be above 1 and finite, not {0}")]
    Order(f64),
    /// η > 1/β: a step may move models apart, so the theorem does not hold. Use a smaller step.
    #[error("the step size {step_size} exceeds 1/smoothness = {limit}; take a smaller step")]
    StepTooLarge {
        /// η.
        step_size: f64,
        /// 1/β.
        limit: f64,
    },
    /// λ > β, which no loss satisfies. One of the two constants is wrong.
    #[error("strong convexity {strong_convexity} cannot exceed smoothness {smoothness}")]
    Convexity {
        /// λ.
        strong_convexity: f64,
        /// β.
        smoothness: f64,
    },
    /// n = 0.
    #[error("the dataset must have at least one example")]
    NoExamples,
}

/// The quantities of the theorem, not yet [checked](Setting::checked). All are positive and finite.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Setting {
    /// η: step size, at most 1/β.
    pub step_size: f64,
    /// σ: each update adds N(0, 2ησ²) to every coordinate.
    pub noise: f64,
    /// S: L2 distance of the gradient sums if one example is replaced (2L for L-Lipschitz losses).
    pub sensitivity: f64,
    /// λ: every example's loss is λ-strongly convex in θ.
    pub strong_convexity: f64,
    /// β: every example's loss is β-smooth in θ; at least λ.
    pub smoothness: f64,
    /// n: number of training examples, at least 1.
    pub examples: u64,
}

/// A setting that the theorems cover.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoisyGradientDescent(Setting);

/// The argument that gives the smaller bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// Intermediate models are hidden: the loss converges.
    HiddenState,
    /// All intermediate models are seen (Gaussian mechanism, K times).
    Composition,
}

/// Rényi divergence of order α of K steps, in nats, by each argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RenyiBounds {
    /// If only the last model is seen: αS²/(λσ²n²)·(1 − e^{−ληK/2}).
    pub hidden_state: f64,
    /// If every model is seen: αS²ηK/(4σ²n²), the Gaussian mechanism K times.
    pub composition: f64,
    /// The smaller of the two, for reporting.
    pub upper: f64,
    /// The argument that gives `upper`.
    pub argument: Argument,
    /// The paper's lower bound: a 1-strongly convex, 1-smooth loss leaks as much, so no upper bound
    /// for that class is smaller. For λ ≠ 1 it is the same formula, unproven.
    pub lower: f64,
}

impl Setting {
    /// Checks that the theorems cover this setting.
    ///
    /// # Errors
    /// The first condition that fails: positive and finite quantities, n ≥ 1, λ ≤ β, η ≤ 1/β.
    pub fn checked(self) -> Result<NoisyGradientDescent, DynamicsError> {
        let positive = [
            ("step size", self.step_size),
            ("noise", self.noise),
            ("sensitivity", self.sensitivity),
            ("strong convexity", self.strong_convexity),
            ("smoothness", self.smoothness),
        ];
        for (name, value) in positive {
            if !(value > 0.0 && value.is_finite()) {
                return Err(DynamicsError::NotPositive { name, value });
            }
        }
        if self.examples == 0 {
            return Err(DynamicsError::NoExamples);
        }
        if self.strong_convexity > self.smoothness {
            let Self { strong_convexity, smoothness, .. } = self;
            return Err(DynamicsError::Convexity { strong_convexity, smoothness });
        }
        // Tolerates the rounding of a step of exactly 1/β.
        if self.step_size * self.smoothness > 1.0 + 4.0 * f64::EPSILON {
            return Err(DynamicsError::StepTooLarge { step_size: self.step_size, limit: 1.0 / self.smoothness });
        }
        Ok(NoisyGradientDescent(self))
    }
}

impl NoisyGradientDescent {
    /// The checked quantities.
    #[must_use]
    pub const fn setting(&self) -> &Setting {
        &self.0
    }

    /// S²/(σ²n²), the common factor of the bounds.
    fn signal(&self) -> f64 {
        let ratio = self.0.sensitivity / (self.0.noise * self.0.examples as f64);
        ratio * ratio
    }

    /// All bounds after `steps` updates at Rényi order `alpha` > 1.
    ///
    /// # Errors
    /// [`DynamicsError::Order`].
    pub fn renyi(&self, alpha: f64, steps: u64) -> Result<RenyiBounds, DynamicsError> {
        if !(alpha > 1.0 && alpha.is_finite()) {
            return Err(DynamicsError::Order(alpha));
        }
        let [hidden_state, composition] = [self.hidden_slope(steps), self.composed_slope(steps)].map(|rho| alpha * rho);
        let lower = alpha * self.signal() / 4.0 * -(-self.0.step_size * steps as f64).exp_m1();
        let argument = if hidden_state < composition { Argument::HiddenState } else { Argument::Composition };
        Ok(RenyiBounds { hidden_state, composition, upper: hidden_state.min(composition), argument, lower })
    }

    /// ρ of `steps` updates, with ε(α) = ρα at every order, if only the last model is seen: the
    /// smaller of both bounds.
    #[must_use]
    pub fn rho(&self, steps: u64) -> f64 {
        self.hidden_slope(steps).min(self.composed_slope(steps)) * ROUNDING
    }

    /// ρ of `steps` updates if every model is seen.
    #[must_use]
    pub fn composed_rho(&self, steps: u64) -> f64 {
        self.composed_slope(steps) * ROUNDING
    }

    fn hidden_slope(&self, steps: u64) -> f64 {
        // expm1: 1 − e^{−x} is accurate for few steps.
        self.limit(1.0) * -(-0.5 * self.0.strong_convexity * self.0.step_size * steps as f64).exp_m1()
    }

    fn composed_slope(&self, steps: u64) -> f64 {
        self.signal() / 4.0 * self.0.step_size * steps as f64
    }

    /// The ledger's entry of a training of `steps` updates whose last model alone is released: one
    /// Gaussian query with the same ρ, for replace-one neighbours. Rényi accounting prices it.
    #[must_use]
    pub fn release(&self, steps: u64) -> Release {
        let examples = self.0.examples;
        let sampling = Sampling::FixedSize { population: examples, size: examples };
        let sigma = hidden_noise(self.rho(steps));
        Release {
            hidden: Some(HiddenSteps { setting: self.0, steps }),
            ..Release::new(sampling, Sensitivity::L2 { norm: 1.0 }, Some(NoiseSpec::Gaussian { sigma }))
        }
    }

    /// Limit of the hidden-state bound: α·S²/(λσ²n²).
    #[must_use]
    pub fn limit(&self, alpha: f64) -> f64 {
        alpha * self.signal() / self.0.strong_convexity
    }

    /// K* = 3.187…/(λη): from here on the hidden-state bound is smaller, at every order.
    #[must_use]
    pub fn crossover(&self) -> f64 {
        2.0 * CROSSOVER / (self.0.strong_convexity * self.0.step_size)
    }

    /// Upper bound on E[L(θ_K) − L(θ*)] in `dimension` coordinates, given a bound on E‖θ₀ − θ*‖².
    ///
    /// For η ≤ 1/β a step shrinks the distance to θ* by 1 − ηλ and adds noise of 2ησ²d; projection
    /// does not increase it; smoothness turns it into risk (β/2). θ* must be in the feasible set.
    #[must_use]
    pub fn excess_risk(&self, dimension: u64, start_distance_squared: f64, steps: u64) -> f64 {
        let Setting { step_size, noise, strong_convexity, smoothness, .. } = self.0;
        let per_step = 2.0 * (-(step_size * strong_convexity).min(1.0)).ln_1p();
        let kept = (per_step * steps as f64).exp();
        let stationary =
            2.0 * noise * noise * dimension as f64 / (strong_convexity * (2.0 - step_size * strong_convexity));
        0.5 * smoothness * (kept * start_distance_squared + (1.0 - kept) * stationary)
    }
}

/// σ of the Gaussian query of sensitivity 2 (two vectors of norm 1) with this ρ, rounded down.
pub(super) fn hidden_noise(rho: f64) -> f64 {
    (2.0 / rho).sqrt() * (1.0 - 4.0 * f64::EPSILON)
}

/// Training under a Rényi budget: noise, step size, steps and risk (see the paper on utility).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OptimalTraining {
    /// Noise and step size.
    pub setting: NoisyGradientDescent,
    /// K* = (2β²/λ²)·ln(n²ε/(αd)), at least 1: the start is forgotten up to the noise.
    pub steps: u64,
    /// (α/ε)·βdL²/(λ²n²): order of the excess empirical risk, without its constant, as there.
    pub excess_risk_order: f64,
}

/// The learning problem of the utility theorem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Problem {
    /// L: bound on the gradient of one example's loss.
    pub lipschitz: f64,
    /// λ: strong convexity of the loss in θ.
    pub strong_convexity: f64,
    /// β: smoothness of the loss in θ, at least λ.
    pub smoothness: f64,
    /// n: number of training examples, at least 1.
    pub examples: u64,
    /// d: number of parameters.
    pub dimension: u64,
}

impl Problem {
    /// Spends the Rényi budget (`alpha` > 1, `epsilon` > 0 in nats): η = λ/(2β²), σ² = 4αL²/(λεn²).
    ///
    /// # Errors
    /// An order or budget out of range; as [`Setting::checked`].
    pub fn optimal(&self, alpha: f64, epsilon: f64) -> Result<OptimalTraining, DynamicsError> {
        if !(alpha > 1.0 && alpha.is_finite()) {
            return Err(DynamicsError::Order(alpha));
        }
        for (name, value) in [("Rényi budget", epsilon), ("Lipschitz constant", self.lipschitz)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(DynamicsError::NotPositive { name, value });
            }
        }
        let Self { lipschitz, strong_convexity, smoothness, examples, dimension } = *self;
        let n = examples as f64;
        let setting = Setting {
            step_size: strong_convexity / (2.0 * smoothness * smoothness),
            noise: (4.0 * alpha / (strong_convexity * epsilon)).sqrt() * lipschitz / n,
            sensitivity: 2.0 * lipschitz,
            strong_convexity,
            smoothness,
            examples,
        }
        .checked()?;
        let condition = smoothness / strong_convexity;
        let forgotten = n * n * epsilon / (alpha * (dimension as f64).max(1.0));
        let steps = (2.0 * condition * condition * forgotten.ln()).ceil().max(1.0) as u64;
        let excess_risk_order =
            alpha / epsilon * smoothness * dimension as f64 * (lipschitz / (strong_convexity * n)).powi(2);
        Ok(OptimalTraining { setting, steps, excess_risk_order })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PrivacyError, books::account, ledger::Ledger, pld::Pld, rdp::RdpCurve};

    fn setting() -> Setting {
        Setting {
            step_size: 0.02,
            noise: 0.02,
            sensitivity: 4.0,
            strong_convexity: 1.0,
            smoothness: 4.0,
            examples: 5000,
        }
    }

    #[test]
    fn bounds_match_the_paper_s_figure() {
        let descent = setting().checked().unwrap();
        let few = descent.renyi(30.0, 10).unwrap();
        assert!((few.hidden_state / 0.004_567_803_934_273_941 - 1.0).abs() < 1e-12);
        assert!((few.lower / 0.002_175_230_963_064_217_6 - 1.0).abs() < 1e-12);
        assert_eq!((few.argument, few.upper), (Argument::Composition, few.composition));
        let many = descent.renyi(30.0, 1000).unwrap();
        assert_eq!((many.argument, many.upper), (Argument::HiddenState, many.hidden_state));
        assert!((descent.crossover() - 159.362_426_004_004).abs() < 1e-9);
        assert!((descent.limit(30.0) - 0.048).abs() < 1e-15);
    }

    #[test]
    fn the_bounds_keep_their_order_and_meet_at_the_crossover() {
        let descent = setting().checked().unwrap();
        let crossover = descent.crossover();
        let mut before = 0.0;
        for steps in 1..2000 {
            let bounds = descent.renyi(8.0, steps).unwrap();
            assert!(bounds.lower <= bounds.upper && bounds.upper >= before && bounds.upper <= descent.limit(8.0));
            assert_eq!(bounds.argument == Argument::HiddenState, steps as f64 > crossover, "at {steps}");
            before = bounds.upper;
        }
        assert_eq!(descent.renyi(8.0, 0).unwrap().upper, 0.0);
        assert!(descent.renyi(8.0, u64::MAX).unwrap().upper.is_finite());
    }

    #[test]
    fn uncovered_settings_are_refused() {
        let too_large = Setting { step_size: 0.3, ..setting() };
        assert_eq!(too_large.checked(), Err(DynamicsError::StepTooLarge { step_size: 0.3, limit: 0.25 }));
        assert!(Setting { step_size: 0.25, ..setting() }.checked().is_ok());
        for broken in [
            Setting { noise: 0.0, ..setting() },
            Setting { sensitivity: f64::NAN, ..setting() },
            Setting { strong_convexity: -1.0, ..setting() },
            Setting { smoothness: f64::INFINITY, ..setting() },
        ] {
            assert!(matches!(broken.checked(), Err(DynamicsError::NotPositive { .. })));
        }
        assert_eq!(Setting { examples: 0, ..setting() }.checked(), Err(DynamicsError::NoExamples));
        assert!(matches!(
            Setting { strong_convexity: 5.0, ..setting() }.checked(),
            Err(DynamicsError::Convexity { .. })
        ));
        assert_eq!(setting().checked().unwrap().renyi(1.0, 5), Err(DynamicsError::Order(1.0)));
    }

    #[test]
    fn the_optimal_training_spends_exactly_its_budget() {
        let problem =
            Problem { lipschitz: 2.0, strong_convexity: 0.5, smoothness: 2.0, examples: 10_000, dimension: 100 };
        let plan = problem.optimal(10.0, 0.3).unwrap();
        assert!((plan.setting.limit(10.0) / 0.3 - 1.0).abs() < 1e-12);
        assert!(plan.setting.renyi(10.0, plan.steps).unwrap().upper <= 0.3);
        assert!(plan.setting.renyi(10.0, plan.steps).unwrap().argument == Argument::HiddenState);
        assert!(problem.optimal(10.0, 0.0).is_err() && problem.optimal(0.5, 1.0).is_err());
        // By K* the start is forgotten: the risk is within a small factor of the theorem's order.
        let start = (2.0 * problem.lipschitz / problem.strong_convexity).powi(2);
        let risk = plan.setting.excess_risk(problem.dimension, start, plan.steps);
        assert!(risk <= 6.0 * plan.excess_risk_order, "{risk} against {}", plan.excess_risk_order);
    }

    /// The ledger's entry costs the bound, tight accounting refuses it, and less noise than the
    /// bound allows is priced, more refused.
    #[test]
    fn a_training_is_one_release() {
        let descent = setting().checked().unwrap();
        for steps in [10, 1000] {
            let release = descent.release(steps);
            release.validate().unwrap();
            let curve = RdpCurve::of(&release).unwrap();
            for order in [2.0, 7.0, 30.0] {
                let bound = descent.renyi(order, steps).unwrap().upper;
                let price = curve.at(order).unwrap();
                assert!(price >= bound && price < bound * (1.0 + 1e-9), "{steps}, {order}: {price} {bound}");
            }
            assert!(matches!(Pld::for_release(&release), Err(PrivacyError::Unpriced(_))));
            let ledger = Ledger::of([(release.clone(), 1)]).unwrap();
            let account = account(&ledger, 1e-5).unwrap();
            let said = account.to_string();
            assert!(account.tight.is_none() && said.contains("whose models were not shown"), "{said}");
            assert_eq!(Ledger::from_json(&ledger.to_json()).unwrap(), ledger);
            let Some(NoiseSpec::Gaussian { sigma }) = release.noise else { panic!() };
            let with = |sigma| Release { noise: Some(NoiseSpec::Gaussian { sigma }), ..release.clone() };
            assert!(with(0.5 * sigma).validate().is_err() && with(1.001 * sigma).validate().is_err());
            let other = Sampling::FixedSize { population: 5001, size: 5001 };
            assert!(Release { sampling: other, ..release.clone() }.validate().is_err());
            assert!(
                Release { hidden: Some(HiddenSteps { setting: setting(), steps: 0 }), ..release }.validate().is_err()
            );
        }
    }

    /// On ℓ = λ‖θ − x‖²/2 everything is Gaussian, with known divergence and risk.
    #[test]
    fn bounds_hold_on_the_quadratic() {
        let (lambda, eta, sigma, n, shift) = (1.0_f64, 0.1_f64, 0.5_f64, 20_u64, 3.0_f64);
        // Replacing one x moves the summed gradient by λ·shift.
        let descent = Setting {
            step_size: eta,
            noise: sigma,
            sensitivity: lambda * shift,
            strong_convexity: lambda,
            smoothness: lambda,
            examples: n,
        }
        .checked()
        .unwrap();
        let (mut mean, mut variance) = (0.0, 2.0 * sigma * sigma / lambda);
        for steps in 1..300 {
            mean = mean * (1.0 - eta * lambda) + eta * lambda * shift / n as f64;
            variance = variance * (1.0 - eta * lambda).powi(2) + 2.0 * eta * sigma * sigma;
            let truth = 5.0 * mean * mean / (2.0 * variance);
            let bounds = descent.renyi(5.0, steps).unwrap();
            assert!(truth <= bounds.upper, "step {steps}: {truth} above {}", bounds.upper);
            // Around θ* = 0 of the unshifted problem.
            let risk = 0.5 * lambda * variance;
            assert!(risk <= descent.excess_risk(1, 2.0 * sigma * sigma / lambda, steps) * (1.0 + 1e-12));
        }
    }
}
