//! Calibration: from a target (ε, δ) to the least noise scale, the most steps or the largest Poisson rate that keeps it.
//!
//! Each function ends at the safe side of its search: the value that it returns was priced by itself and costs at most the target.
//! Where no value does, the error says what the best one costs and what would cost less.
//!
//! | function | finds | keeps fixed |
//! | --- | --- | --- |
//! | [`noise_scale`] | the least scale of `release.noise` | sampling, steps |
//! | [`steps`] | the most steps | the release |
//! | [`rate`] | the largest rate of Poisson sampling | noise, steps |
//! | [`least_scale`] | the least scale of anything that has a price by scale | what its closure says |

use serde::{Deserialize, Serialize};

use super::{
    decimal::{upper, upper_power},
    error::{PrivacyError, require},
    ledger::Release,
    numeric::safe_root,
    pld::{
        Pld,
        work::{CALIBRATION, Work},
    },
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
    /// ε to keep, in nats: above 0, below 1e6.
    pub epsilon: f64,
    /// The δ at which ε is kept, in (0, 1).
    pub delta: f64,
    /// The accountant that must keep it. The tight one needs least noise.
    pub method: Method,
    /// Orders of a Rényi accountant; [`Orders::All`] unless results of other software are compared.
    pub orders: Orders<'a>,
}

/// A parameter that reaches a target, and what it costs: `epsilon` is at most the target.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibrated<T> {
    /// The scale, rate or number of steps.
    pub value: T,
    /// What it costs at the target's δ, by the target's method.
    pub epsilon: f64,
}

/// How close to the boundary a calibrated real number is, relative.
const PRECISION: f64 = 1e-8;
/// The same for tight accounting, whose answers are not smooth below its own tolerance.
const TIGHT_PRECISION: f64 = 2e-5;

/// Values that are tried where the one that was found misses the target, each twice as far from the last.
const KEPT_TRIES: u32 = 8;

/// One release, priced once for one method: trials of other numbers of steps compose it and price nothing again.
enum PricedStep {
    /// ε(α), for both conversions.
    Renyi(RdpCurve),
    /// The dominating pair, for privacy loss distributions.
    Tight(Pld),
}

impl Target<'_> {
    fn validate(&self) -> Result<(), PrivacyError> {
        require(self.epsilon > 0.0 && self.epsilon < 1e6, "target ε", self.epsilon, "above 0 (and below 1e6)")?;
        require(self.delta > 0.0 && self.delta < 1.0, "delta", self.delta, "strictly between 0 and 1")
    }

    fn price(&self, release: &Release, work: &Work) -> Result<PricedStep, PrivacyError> {
        Ok(match self.method {
            Method::Tight => PricedStep::Tight(Pld::prepare(release, work)?),
            Method::Classic | Method::Improved => PricedStep::Renyi(RdpCurve::of(release)?),
        })
    }

    /// ε of `steps` releases of one kind; +∞ where there is no finite bound.
    fn epsilon_of(&self, release: &Release, steps: u64, work: &Work) -> Result<f64, PrivacyError> {
        self.epsilon_at(&self.price(release, work)?, steps, work)
    }

    fn epsilon_at(&self, priced: &PricedStep, steps: u64, work: &Work) -> Result<f64, PrivacyError> {
        let curve = match priced {
            PricedStep::Tight(_) if work.left() <= 0.0 => {
                return Err(PrivacyError::TooMuchWork {
                    what: "so many trials by tight accounting",
                    remedy: "calibrate by Rényi accounting, whose answer is on the safe side",
                });
            }
            PricedStep::Tight(pld) => return Ok(pld.compose(steps).epsilon_within(self.delta, work)?.value),
            PricedStep::Renyi(curve) => curve,
        };
        match Accountant::of_steps(curve, steps).epsilon_at(self.delta, self.orders) {
            Ok(epsilon) if self.method == Method::Classic => Ok(epsilon.classic.epsilon),
            Ok(epsilon) => Ok(epsilon.improved.epsilon),
            Err(PrivacyError::Infinite | PrivacyError::Inexact) => Ok(f64::INFINITY),
            Err(other) => Err(other),
        }
    }

    /// `value`, or the next one that keeps the target, priced by itself as whoever uses it prices it: a search compares logarithms, may share what it has
    /// computed between trials, and ε by numbers is not monotone to the last digit. `further` goes to the safe side by a share; at the end of
    /// patience `safe` is the answer, which was found before.
    fn kept<E>(
        &self,
        mut value: f64,
        safe: Calibrated<f64>,
        further: impl Fn(f64, f64) -> f64,
        mut at: impl FnMut(f64) -> Result<f64, E>,
    ) -> Result<Calibrated<f64>, E> {
        for tries in 0..KEPT_TRIES {
            let epsilon = at(value)?;
            if epsilon <= self.epsilon {
                return Ok(Calibrated { value, epsilon });
            }
            value = further(value, self.precision() * f64::from(1u32 << tries));
        }
        Ok(safe)
    }

    fn precision(&self) -> f64 {
        if self.method == Method::Tight { TIGHT_PRECISION } else { PRECISION }
    }

    /// > 0 where the target is missed; its sign is ε's, its size suits interpolation.
    fn excess(&self, epsilon: f64) -> f64 {
        (epsilon.max(1e-300) / self.epsilon).ln().min(1e3)
    }
}

/// The smallest noise scale (σ, s, b, …) at which `steps` such releases cost at most the target. `release.noise` names the family and
/// its shape; its scale is not used.
///
/// # Errors
/// [`PrivacyError::NoNoise`] and [`PrivacyError::NoBound`] where the release has no family or no bound; [`PrivacyError::Parameter`] for a
/// target out of range; [`PrivacyError::Calibration`] where no scale reaches it, with the reason; what pricing the release refuses.
///
/// ```
/// # use hushgrad_accounting::{calibrate::{Method, Target, noise_scale}, ledger::{Release, Sensitivity}, noise::NoiseSpec, rdp::Orders, sampling::Sampling};
/// let family = NoiseSpec::Gaussian { sigma: 1.0 };
/// let release = Release::new(Sampling::Poisson { rate: 0.01 }, Sensitivity::L2 { norm: 1.0 }, Some(family));
/// let target = Target { epsilon: 2.0, delta: 1e-5, method: Method::Improved, orders: Orders::All };
/// let found = noise_scale(&release, 1000, &target)?;
/// assert!(found.epsilon <= 2.0 && (found.value - 1.0223).abs() < 1e-4);
/// # Ok::<(), hushgrad_accounting::PrivacyError>(())
/// ```
pub fn noise_scale(release: &Release, steps: u64, target: &Target<'_>) -> Result<Calibrated<f64>, PrivacyError> {
    target.validate()?;
    let spec = release.noise.clone().ok_or(PrivacyError::NoNoise)?;
    let work = Work::new(CALIBRATION);
    let mut trial = release.clone();
    let mut at = |scale: f64| {
        trial.noise = Some(spec.with_scale(scale));
        target.epsilon_of(&trial, steps, &work)
    };
    let unit = release.sensitivity.norm().ok_or(PrivacyError::NoBound)?;
    let scales = Scales { first: unit, least: unit * 1e-6, most: unit * 1e9 };
    if let Some(found) = least_scale(target, scales, &mut at)? {
        return Ok(found);
    }
    let widest = scales.widest();
    let at_widest = at(widest)?;
    let delta = target.delta;
    let one = target.epsilon_of(&Release { noise: Some(spec.with_scale(widest)), ..release.clone() }, 1, &work)?;
    let why = if one <= target.epsilon {
        format!("because {steps} steps add up: fewer steps, a smaller rate or a larger δ cost less")
    } else if target.method == Method::Tight {
        format!("because a single step tells more than δ = {delta:e} forgives: a smaller rate or a larger δ costs less")
    } else {
        format!(
            "because the conversion to δ = {delta:e} alone costs that much at the largest order: a larger δ costs less, and tight \
             accounting has no such floor"
        )
    };
    Err(PrivacyError::Calibration(format!(
        "no noise scale reaches ε = {}: at {widest:.3e} it is still {}, {why}",
        target.epsilon,
        upper_power(at_widest, 3)
    )))
}

/// The range of noise scales that [`least_scale`] searches, in the unit of [`NoiseSpec`](crate::noise::NoiseSpec)'s scale. The bracket is
/// `first` times powers of four.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scales {
    /// The scale that is tried first; above 0.
    pub first: f64,
    /// The search ends here where even next to no noise is enough.
    pub least: f64,
    /// The search gives up beyond this.
    pub most: f64,
}

impl Scales {
    /// The widest that is tried.
    #[must_use]
    pub fn widest(&self) -> f64 {
        let mut widest = self.first;
        while widest * 4.0 <= self.most {
            widest *= 4.0;
        }
        widest
    }
}

/// The smallest noise scale at which ε is at most the target's, for any mechanism whose ε falls as its noise grows.
///
/// `at` prices a scale. The bracket is widened by powers of four from `scales.first`; then a root search in logarithms narrows it to a
/// relative 1e-8 ([`Method::Tight`]: 2e-5). The answer is the safe end, priced by `at` itself once more. `None`: not even
/// [`Scales::widest`] keeps the target.
///
/// # Errors
/// A target out of range, and what `at` fails with.
pub fn least_scale<E: From<PrivacyError>>(
    target: &Target<'_>,
    scales: Scales,
    mut at: impl FnMut(f64) -> Result<f64, E>,
) -> Result<Option<Calibrated<f64>>, E> {
    target.validate()?;
    let (mut high, mut low) = (scales.first, scales.first);
    let mut at_high = at(high)?;
    let mut at_low = at_high;
    while at_high > target.epsilon {
        (low, at_low) = (high, at_high);
        high *= 4.0;
        if high > scales.most {
            return Ok(None);
        }
        at_high = at(high)?;
    }
    while at_low <= target.epsilon {
        (high, at_high) = (low, at_low);
        low /= 4.0;
        if low < scales.least {
            // Next to no noise is enough (rate or steps 0, or a huge target).
            return Ok(Some(Calibrated { value: high, epsilon: at_high }));
        }
        at_low = at(low)?;
    }
    let f = |scale: f64| at(scale).map(|e| target.excess(e));
    let value = safe_root((high, target.excess(at_high)), (low, target.excess(at_low)), target.precision(), f)?;
    let safe = Calibrated { value: high, epsilon: at_high };
    target.kept(value, safe, |scale, step| scale * (1.0 + step), at).map(Some)
}

/// The largest number of such releases that cost at most the target; 2^53 at most.
///
/// # Errors
/// [`PrivacyError::Calibration`] where a single one costs more; what pricing the release refuses.
pub fn steps(release: &Release, target: &Target<'_>) -> Result<Calibrated<u64>, PrivacyError> {
    target.validate()?;
    let work = Work::new(CALIBRATION);
    let priced = target.price(release, &work)?;
    let at = |steps: u64| target.epsilon_at(&priced, steps, &work);
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
/// [`PrivacyError::Calibration`] for another sampling policy, and for a target that no rate above 1e-12 reaches; what pricing the release
/// refuses.
pub fn rate(release: &Release, steps: u64, target: &Target<'_>) -> Result<Calibrated<f64>, PrivacyError> {
    target.validate()?;
    let Sampling::Poisson { .. } = release.sampling else {
        return Err(PrivacyError::Calibration("a rate can only be sought for Poisson sampling".into()));
    };
    let sampled = |rate: f64| Release { sampling: Sampling::Poisson { rate }, ..release.clone() };
    let work = Work::new(CALIBRATION);
    let curve = if target.method == Method::Tight { None } else { Some(RdpCurve::of(&sampled(1.0))?) };
    let at = |rate: f64| match curve.as_ref().and_then(|curve| curve.at_rate(rate)) {
        Some(curve) => target.epsilon_at(&PricedStep::Renyi(curve), steps, &work),
        None => target.epsilon_of(&sampled(rate), steps, &work),
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
    let safe = Calibrated { value: low, epsilon: at_low };
    target.kept(value, safe, |rate, step| rate * (1.0 - step), |rate| target.epsilon_of(&sampled(rate), steps, &work))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        envelope::EnvelopeProfile,
        ledger::{Ledger, Sensitivity},
        noise::NoiseSpec,
        rdp::epsilon_of,
    };

    /// What was found costs at most the target by the books of a run with it: not by a last digit more.
    #[test]
    fn what_is_found_keeps_the_target_by_the_books() {
        let rate = 0.004;
        let flat: Vec<f64> = (1..=400).map(|i| 0.1 / f64::from(i).sqrt()).collect();
        let profile = EnvelopeProfile::from_vectors_f64([flat.as_slice()]).unwrap();
        let ball = Sensitivity::L2 { norm: 0.7 };
        let envelope = Sensitivity::Envelope { profile };
        let sampling = Sampling::Poisson { rate };
        let kinds = [
            Release::new(sampling, ball.clone(), Some(NoiseSpec::Gaussian { sigma: 1.0 })),
            Release::new(sampling, ball, Some(NoiseSpec::Laplace { scale: 1.0 })),
            Release::new(sampling, envelope, Some(NoiseSpec::StudentT { nu: 9.0, scale: 1.0 })),
        ];
        let books = |release: &Release, steps: u64, target: &Target<'_>| {
            let mut ledger = Ledger::new();
            let id = ledger.register(release.clone()).unwrap();
            ledger.record_many(id, steps);
            match target.method {
                Method::Classic => epsilon_of(&ledger, target.delta).unwrap().classic.epsilon,
                Method::Improved => epsilon_of(&ledger, target.delta).unwrap().improved.epsilon,
                Method::Tight => Pld::of(&ledger).unwrap().epsilon(target.delta).unwrap().value,
            }
        };
        for (i, release) in kinds.iter().enumerate() {
            for method in [Method::Classic, Method::Improved, Method::Tight] {
                // Tight accounting has no price for the second; and it takes its time.
                let tight = method == Method::Tight;
                if tight && i == 1 {
                    continue;
                }
                for step in 0..if tight { 1 } else { 8 } {
                    let epsilon = 0.3 * 1.51f64.powi(step);
                    let target = Target { epsilon, delta: 1e-5, method, orders: Orders::All };
                    let kept = |what: &str, release: &Release, steps: u64, said: f64| {
                        let spent = books(release, steps, &target);
                        assert!(spent <= epsilon, "{what} of {release:?}: {spent} of {epsilon}");
                        assert!((spent - said).abs() <= 1e-12 * said, "{what} of {release:?}: {spent}, said {said}");
                    };
                    let scale = noise_scale(release, 200, &target).unwrap();
                    let noise = release.noise.as_ref().map(|noise| noise.with_scale(scale.value));
                    let wide = Release { noise, ..release.clone() };
                    kept("scale", &wide, 200, scale.epsilon);
                    let most = steps(&wide, &target).unwrap();
                    assert!(most.value >= 200, "{most:?}");
                    kept("steps", &wide, most.value, most.epsilon);
                    let found = super::rate(&wide, 300, &target).unwrap();
                    let sampled = Release { sampling: Sampling::Poisson { rate: found.value }, ..wide };
                    kept("rate", &sampled, 300, found.epsilon);
                }
            }
        }
    }
}
