//! Target ε → noise scale, steps or rate: always the safe end, or why there is none.

use serde::{Deserialize, Serialize};

use super::{
    decimal::{upper, upper_power},
    error::{PrivacyError, require},
    ledger::Release,
    numeric::safe_root,
    pld::Pld,
    rdp::{Accountant, Orders, RdpCurve},
    sampling::Sampling,
};

/// Which accountant and conversion answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Rényi, classic conversion.
    Classic,
    /// Rényi, improved conversion.
    #[default]
    Improved,
    /// Privacy loss distributions ([`super::pld`]); the orders do not matter.
    Tight,
}

/// What to reach: ε ≤ `epsilon` at `delta`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target<'a> {
    pub epsilon: f64,
    pub delta: f64,
    pub method: Method,
    pub orders: Orders<'a>,
}

/// A parameter that reaches a target, and what it costs: `epsilon` is at most the target.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibrated<T> {
    pub value: T,
    pub epsilon: f64,
}

/// How close to the boundary a calibrated real number is, relative.
const PRECISION: f64 = 1e-8;
/// The same for tight accounting, whose answers are not smooth below its own tolerance.
const TIGHT_PRECISION: f64 = 2e-5;

/// One step, priced for one method.
enum Priced {
    Renyi(RdpCurve),
    Tight(Pld),
}

impl Target<'_> {
    fn validate(&self) -> Result<(), PrivacyError> {
        require(self.epsilon > 0.0 && self.epsilon < 1e6, "target ε", self.epsilon, "above 0 (and below 1e6)")?;
        require(self.delta > 0.0 && self.delta < 1.0, "delta", self.delta, "strictly between 0 and 1")
    }

    fn price(&self, release: &Release) -> Result<Priced, PrivacyError> {
        Ok(match self.method {
            Method::Tight => Priced::Tight(Pld::for_release(release)?),
            Method::Classic | Method::Improved => Priced::Renyi(RdpCurve::of(release)?),
        })
    }

    /// ε of `steps` releases of one kind; +∞ where there is no finite bound.
    fn epsilon_of(&self, release: &Release, steps: u64) -> Result<f64, PrivacyError> {
        self.epsilon_at(&self.price(release)?, steps)
    }

    fn epsilon_at(&self, priced: &Priced, steps: u64) -> Result<f64, PrivacyError> {
        let curve = match priced {
            Priced::Tight(pld) => return Ok(pld.compose(steps).epsilon(self.delta)?.value),
            Priced::Renyi(curve) => curve,
        };
        let mut accountant = Accountant::new();
        let id = accountant.add_curve(curve.clone())?;
        accountant.compose(id, steps);
        match accountant.epsilon_at(self.delta, self.orders) {
            Ok(epsilon) if self.method == Method::Classic => Ok(epsilon.classic.epsilon),
            Ok(epsilon) => Ok(epsilon.improved.epsilon),
            Err(PrivacyError::Infinite | PrivacyError::Inexact) => Ok(f64::INFINITY),
            Err(other) => Err(other),
        }
    }

    fn precision(&self) -> f64 {
        if self.method == Method::Tight { TIGHT_PRECISION } else { PRECISION }
    }

    /// > 0 where the target is missed; its sign is ε's, its size suits interpolation.
    fn excess(&self, epsilon: f64) -> f64 {
        (epsilon.max(1e-300) / self.epsilon).ln().min(1e3)
    }
}

/// The smallest noise scale (σ, s, b, …) at which `steps` such releases cost at most the target. Only the scale of
/// `release.noise` is not used.
///
/// # Errors
/// No noise family given, impossible parameters, or a target that no scale reaches.
pub fn noise_scale(release: &Release, steps: u64, target: &Target<'_>) -> Result<Calibrated<f64>, PrivacyError> {
    target.validate()?;
    let spec = release.noise.clone().ok_or(PrivacyError::NoNoise)?;
    let mut trial = release.clone();
    let mut at = |scale: f64| {
        trial.noise = Some(spec.with_scale(scale));
        target.epsilon_of(&trial, steps)
    };
    let unit = release.sensitivity.norm().ok_or(PrivacyError::NoBound)?;
    let (mut high, mut low) = (unit, unit);
    let mut at_high = at(high)?;
    let mut at_low = at_high;
    while at_high > target.epsilon {
        (low, at_low) = (high, at_high);
        high *= 4.0;
        if high > unit * 1e9 {
            let delta = target.delta;
            let one = target.epsilon_of(&Release { noise: Some(spec.with_scale(low)), ..release.clone() }, 1)?;
            let why = if one <= target.epsilon {
                format!("because {steps} steps add up: fewer steps, a smaller rate or a larger δ cost less")
            } else if target.method == Method::Tight {
                format!(
                    "because a single step tells more than δ = {delta:e} forgives: a smaller rate or a larger δ costs less"
                )
            } else {
                format!(
                    "because the conversion to δ = {delta:e} alone costs that much at the largest order: a larger δ costs less, and tight \
                     accounting has no such floor"
                )
            };
            return Err(PrivacyError::Calibration(format!(
                "no noise scale reaches ε = {}: at {low:.3e} it is still {}, {why}",
                target.epsilon,
                upper_power(at_low, 3)
            )));
        }
        at_high = at(high)?;
    }
    while at_low <= target.epsilon {
        (high, at_high) = (low, at_low);
        low /= 4.0;
        if low < unit * 1e-6 {
            // Next to no noise is enough (rate or steps 0, or a huge target).
            return Ok(Calibrated { value: high, epsilon: at_high });
        }
        at_low = at(low)?;
    }
    let f = |scale: f64| at(scale).map(|e| target.excess(e));
    let value = safe_root((high, target.excess(at_high)), (low, target.excess(at_low)), target.precision(), f)?;
    Ok(Calibrated { value, epsilon: at(value)? })
}

/// The largest number of such releases that cost at most the target (at most 2^53).
///
/// # Errors
/// When a single one costs more, or parameters are impossible.
pub fn steps(release: &Release, target: &Target<'_>) -> Result<Calibrated<u64>, PrivacyError> {
    target.validate()?;
    let priced = target.price(release)?;
    let at = |steps: u64| target.epsilon_at(&priced, steps);
    let first = at(1)?;
    if first > target.epsilon {
        return Err(PrivacyError::Calibration(format!(
            "one step alone costs ε ≤ {}, more than the target {}: more noise or a smaller rate is needed",
            upper(first, 6),
            target.epsilon
        )));
    }
    let (mut low, mut high) = (1u64, 2u64);
    while high <= 1 << 53 && at(high)? <= target.epsilon {
        low = high;
        high *= 2;
    }
    while high - low > 1 && high <= 1 << 53 {
        let middle = low + (high - low) / 2;
        if at(middle)? <= target.epsilon { low = middle } else { high = middle }
    }
    Ok(Calibrated { value: low, epsilon: at(low)? })
}

/// The largest Poisson rate at which `steps` such releases cost at most the target; 1 if even that does.
///
/// # Errors
/// Another sampling policy, impossible parameters, or a target that no rate above 1e-12 reaches.
pub fn rate(release: &Release, steps: u64, target: &Target<'_>) -> Result<Calibrated<f64>, PrivacyError> {
    target.validate()?;
    let Sampling::Poisson { .. } = release.sampling else {
        return Err(PrivacyError::Calibration("a rate can only be sought for Poisson sampling".into()));
    };
    let sampled = |rate: f64| Release { sampling: Sampling::Poisson { rate }, ..release.clone() };
    let curve = if target.method == Method::Tight { None } else { Some(RdpCurve::of(&sampled(1.0))?) };
    let at = |rate: f64| match curve.as_ref().and_then(|curve| curve.at_rate(rate)) {
        Some(curve) => target.epsilon_at(&Priced::Renyi(curve), steps),
        None => target.epsilon_of(&sampled(rate), steps),
    };
    let (mut low, mut high) = (1.0, 1.0);
    let mut at_high = at(high)?;
    let mut at_low = at_high;
    if at_high <= target.epsilon {
        return Ok(Calibrated { value: 1.0, epsilon: at_high });
    }
    while at_low > target.epsilon {
        (high, at_high) = (low, at_low);
        low /= 4.0;
        if low < 1e-12 {
            return Err(PrivacyError::Calibration(format!(
                "no sampling rate reaches ε = {}: at {high:.1e} it is still {}",
                target.epsilon,
                upper_power(at_high, 3)
            )));
        }
        at_low = at(low)?;
    }
    let f = |rate: f64| at(rate).map(|e| target.excess(e));
    let value = safe_root((low, target.excess(at_low)), (high, target.excess(at_high)), target.precision(), f)?;
    Ok(Calibrated { value, epsilon: at(value)? })
}
