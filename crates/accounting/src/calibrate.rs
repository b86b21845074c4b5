//! Calibration: the smallest noise scale, or most steps or largest rate, for a target (ε, δ).
//!
//! Each function returns the safe end of its search: a value that was itself priced within the
//! target. If there is none, the error gives the best value's ε and what would cost less.
//!
//! | function | finds | keeps fixed |
//! | --- | --- | --- |
//! | [`noise_scale`] | the smallest scale of `release.noise` | sampling, steps |
//! | [`noise_factor`] | the smallest factor on the noise of a ledger, or of some of its kinds of release | the rest of the ledger |
//! | [`steps`] | the most steps | the release |
//! | [`rate`] | the largest Poisson sampling rate | noise, steps |
//! | [`least_scale`] | the smallest scale of any mechanism | what its closure fixes |

use hushgrad_message::{message, word};
use serde::{Deserialize, Serialize};

use super::{
    decimal::{upper, upper_power},
    error::{PrivacyError, require},
    ledger::{Ledger, Release},
    numeric::safe_root,
    pld::{
        Pld,
        work::{CALIBRATION, PREPARATION, Work},
    },
    rdp::{Orders, RdpAccountant, RdpCurve},
    sampling::Sampling,
};

/// The accountant and conversion to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Rényi, classic conversion.
    Classic,
    /// Rényi, improved conversion.
    #[default]
    Improved,
    /// Privacy loss distributions ([`super::pld`]); `orders` is ignored.
    Tight,
}

/// The goal: ε ≤ `epsilon` at `delta`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target<'a> {
    /// Upper limit of ε, in nats: above 0, below 1e6.
    pub epsilon: f64,
    /// δ, in (0, 1).
    pub delta: f64,
    /// The accountant that must confirm it. Tight accounting needs the least noise.
    pub method: Method,
    /// Orders for Rényi accounting; use [`Orders::All`] except to compare with other software.
    pub orders: Orders<'a>,
}

/// A parameter within a target, and its ε.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibrated<T> {
    /// The scale, rate or number of steps.
    pub value: T,
    /// Its ε at the target's δ, by the target's method; at most the target.
    pub epsilon: f64,
}

/// Relative distance of a calibrated real number from the boundary.
const PRECISION: f64 = 1e-8;
/// The same for tight accounting, whose ε is not smooth below its own tolerance.
const TIGHT_PRECISION: f64 = 2e-5;

/// Values tried if the one found misses the target, each step twice the last.
const KEPT_TRIES: u32 = 8;

/// One release priced for one method; trials with other step counts reuse it.
enum PricedStep {
    /// ε(α), for both conversions.
    Renyi(RdpCurve),
    /// The dominating pair, for privacy loss distributions.
    Tight(Pld),
}

impl Target<'_> {
    fn validate(&self) -> Result<(), PrivacyError> {
        require(
            self.epsilon > 0.0 && self.epsilon < 1e6,
            word!("target ε"),
            self.epsilon,
            word!("above 0 (and below 1e6)"),
        )?;
        require(self.delta > 0.0 && self.delta < 1.0, "delta", self.delta, word!("strictly between 0 and 1"))
    }

    fn price(&self, release: &Release, work: &Work) -> Result<PricedStep, PrivacyError> {
        Ok(match self.method {
            Method::Tight => PricedStep::Tight(Pld::prepare(release, work)?),
            Method::Classic | Method::Improved => PricedStep::Renyi(RdpCurve::of(release)?),
        })
    }

    /// ε of `steps` equal releases; +∞ without a finite bound.
    fn epsilon_of(&self, release: &Release, steps: u64, work: &Work) -> Result<f64, PrivacyError> {
        self.epsilon_at(&self.price(release, work)?, steps, work)
    }

    fn epsilon_at(&self, priced: &PricedStep, steps: u64, work: &Work) -> Result<f64, PrivacyError> {
        match priced {
            PricedStep::Tight(pld) => {
                self.has_work(work)?;
                Ok(pld.compose(steps).epsilon_within(self.delta, work)?.value)
            }
            PricedStep::Renyi(curve) => self.renyi(&RdpAccountant::of_steps(curve, steps)),
        }
    }

    fn has_work(&self, work: &Work) -> Result<(), PrivacyError> {
        if work.left() > 0.0 {
            return Ok(());
        }
        Err(PrivacyError::TooMuchWork {
            what: word!("calibration by tight accounting"),
            remedy: word!("use Rényi accounting, whose answer is on the safe side"),
        })
    }

    /// ε by Rényi accounting; +∞ without a finite bound.
    fn renyi(&self, accountant: &RdpAccountant) -> Result<f64, PrivacyError> {
        match accountant.epsilon_at(self.delta, self.orders) {
            Ok(epsilon) if self.method == Method::Classic => Ok(epsilon.classic.epsilon),
            Ok(epsilon) => Ok(epsilon.improved.epsilon),
            Err(PrivacyError::Infinite | PrivacyError::Inexact) => Ok(f64::INFINITY),
            Err(other) => Err(other),
        }
    }

    /// Returns `value`, or the next value within the target, priced afresh: the search compares
    /// logarithms and may share work between trials, and ε is not monotone to the last digit.
    /// `further` takes a relative step to the safe side; after [`KEPT_TRIES`], returns `safe`.
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

    /// Above 0 if the target is missed; scaled for interpolation.
    fn excess(&self, epsilon: f64) -> f64 {
        (epsilon.max(1e-300) / self.epsilon).ln().min(1e3)
    }
}

/// The smallest noise scale (σ, s, b, …) at which `steps` releases cost at most the target.
/// `release.noise` gives the family and its shape; its scale is ignored.
///
/// # Errors
/// [`PrivacyError::NoNoise`] or [`PrivacyError::NoBound`] if the release lacks noise or a bound;
/// [`PrivacyError::Parameter`] for a target out of range; [`PrivacyError::Calibration`], with the
/// reason, if no scale suffices; errors of pricing the release.
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
        message!("because {steps} steps add up: fewer steps, a smaller rate or a larger δ cost less")
    } else if target.method == Method::Tight {
        message!(
            "because a single step reveals more than δ = {delta:e} allows: a smaller rate or a larger δ costs less"
        )
    } else {
        message!(
            "because the conversion to δ = {delta:e} alone costs that much at the largest order: a larger δ costs less, and tight \
             accounting has no such floor"
        )
    };
    Err(PrivacyError::Calibration(message!(
        "no noise scale reaches ε = {}: at {widest:.3e} it is still {}, {why}",
        target.epsilon,
        upper_power(at_widest, 3)
    )))
}

/// The smallest factor on the noise of a ledger's releases at which it costs at most the target.
/// `kinds` are the releases that it applies to, by index into [`Ledger::releases`]; empty: all.
///
/// ```
/// use hushgrad_accounting::{calibrate::{Method, Target, noise_factor}, dp_sgd, ledger::Ledger, rdp::Orders};
///
/// let ledger = Ledger::of([(dp_sgd::step(1.0, 0.01), 500), (dp_sgd::step(0.6, 0.01), 500)])?;
/// let target = Target { epsilon: 2.0, delta: 1e-5, method: Method::Tight, orders: Orders::All };
/// let found = noise_factor(&ledger, &[], &target)?;
/// assert!(found.epsilon <= 2.0 && (found.value - 1.4485).abs() < 1e-3, "{found:?}");
/// # Ok::<(), hushgrad_accounting::PrivacyError>(())
/// ```
///
/// # Errors
/// As [`Ledger::with_noise_times`]; [`PrivacyError::Calibration`] if no factor suffices or nothing
/// happened; a target out of range; errors of pricing the ledger.
pub fn noise_factor(ledger: &Ledger, kinds: &[usize], target: &Target<'_>) -> Result<Calibrated<f64>, PrivacyError> {
    target.validate()?;
    let chosen = |kind: usize| kinds.is_empty() || kinds.contains(&kind);
    if !ledger.events().iter().any(|event| chosen(event.release as usize)) {
        return Err(PrivacyError::Calibration(word!("nothing was released with the noise to be calibrated").into()));
    }
    let work = Work::new(CALIBRATION);
    let mut known: Option<Pld> = None;
    let mut at = |factor: f64| {
        let trial = ledger.with_noise_times(factor, chosen)?;
        if target.method == Method::Tight {
            target.has_work(&work)?;
            let pld = work.of_which(PREPARATION, |work| Pld::of_within(&trial, known.as_ref(), work))?;
            let epsilon = pld.epsilon_within(target.delta, &work)?.value;
            known = Some(pld);
            Ok(epsilon)
        } else {
            target.renyi(&RdpAccountant::of(&trial)?)
        }
    };
    let scales = Scales { first: 1.0, least: 1e-6, most: 1e9 };
    if let Some(found) = least_scale(target, scales, &mut at)? {
        return Ok(found);
    }
    let widest = at(scales.widest())?;
    Err(PrivacyError::Calibration(message!(
        "no factor on the noise reaches ε = {}: at {:.3e} it is still {}, because of the other releases or of δ = {:e}",
        target.epsilon,
        scales.widest(),
        upper_power(widest, 3),
        target.delta
    )))
}

/// The scales that [`least_scale`] searches, in the unit of the noise: `first` times powers of
/// four.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scales {
    /// First scale tried; above 0.
    pub first: f64,
    /// Lower end: the search stops here if even less noise suffices.
    pub least: f64,
    /// Upper end of the search.
    pub most: f64,
}

impl Scales {
    /// The largest scale tried.
    #[must_use]
    pub fn widest(&self) -> f64 {
        let mut widest = self.first;
        while widest * 4.0 <= self.most {
            widest *= 4.0;
        }
        widest
    }
}

/// The smallest noise scale with ε at most the target's; ε must fall as the noise grows.
///
/// `at` prices a scale. The bracket grows from `scales.first` by powers of four; a root search in
/// logarithms narrows it to a relative 1e-8 ([`Method::Tight`]: 2e-5). Returns the safe end, priced
/// again by `at`, or `None` if even [`Scales::widest`] misses the target.
///
/// # Errors
/// A target out of range, and errors of `at`.
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
            // Almost no noise suffices (rate or steps 0, or a huge target).
            return Ok(Some(Calibrated { value: high, epsilon: at_high }));
        }
        at_low = at(low)?;
    }
    let f = |scale: f64| at(scale).map(|e| target.excess(e));
    let value = safe_root((high, target.excess(at_high)), (low, target.excess(at_low)), target.precision(), f)?;
    let safe = Calibrated { value: high, epsilon: at_high };
    target.kept(value, safe, |scale, step| scale * (1.0 + step), at).map(Some)
}

/// The largest number of releases, up to 2^53, that costs at most the target.
///
/// # Errors
/// [`PrivacyError::Calibration`] if a single release costs more; errors of pricing the release.
pub fn steps(release: &Release, target: &Target<'_>) -> Result<Calibrated<u64>, PrivacyError> {
    target.validate()?;
    let work = Work::new(CALIBRATION);
    let priced = target.price(release, &work)?;
    let at = |steps: u64| target.epsilon_at(&priced, steps, &work);
    let first = at(1)?;
    if first > target.epsilon {
        return Err(PrivacyError::Calibration(message!(
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

/// The largest Poisson rate, up to 1, at which `steps` releases cost at most the target.
///
/// # Errors
/// [`PrivacyError::Calibration`] for other sampling, or if no rate above 1e-12 suffices; errors of
/// pricing the release.
pub fn rate(release: &Release, steps: u64, target: &Target<'_>) -> Result<Calibrated<f64>, PrivacyError> {
    target.validate()?;
    let Sampling::Poisson { .. } = release.sampling else {
        return Err(PrivacyError::Calibration(word!("a rate can only be calibrated for Poisson sampling").into()));
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
            return Err(PrivacyError::Calibration(message!(
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
    use crate::{envelope::EnvelopeProfile, ledger::Sensitivity, noise::NoiseSpec, rdp::epsilon_of};

    /// The returned value costs at most the target by the ledger's accountant, to the last digit.
    #[test]
    fn calibrated_values_keep_the_target_when_priced_afresh() {
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
            let ledger = Ledger::of([(release.clone(), steps)]).unwrap();
            match target.method {
                Method::Classic => epsilon_of(&ledger, target.delta).unwrap().classic.epsilon,
                Method::Improved => epsilon_of(&ledger, target.delta).unwrap().improved.epsilon,
                Method::Tight => Pld::of(&ledger).unwrap().epsilon(target.delta).unwrap().value,
            }
        };
        for (i, release) in kinds.iter().enumerate() {
            for method in [Method::Classic, Method::Improved, Method::Tight] {
                // Tight accounting has no price for the second release, and is slow.
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

    #[test]
    fn a_factor_keeps_the_target_and_leaves_other_kinds_alone() {
        let step = |sigma| crate::dp_sgd::step(sigma, 0.01);
        let ledger = Ledger::of([(step(1.0), 300), (step(0.6), 200), (step(1.0), 100)]).unwrap();
        for method in [Method::Classic, Method::Improved, Method::Tight] {
            let target = Target { epsilon: 2.5, delta: 1e-5, method, orders: Orders::All };
            for kinds in [&[][..], &[1]] {
                let found = noise_factor(&ledger, kinds, &target).unwrap();
                let scaled = ledger.with_noise_times(found.value, |kind| kinds.is_empty() || kind == 1).unwrap();
                let spent = match method {
                    Method::Classic => epsilon_of(&scaled, 1e-5).unwrap().classic.epsilon,
                    Method::Improved => epsilon_of(&scaled, 1e-5).unwrap().improved.epsilon,
                    Method::Tight => Pld::of(&scaled).unwrap().epsilon(1e-5).unwrap().value,
                };
                assert!(spent <= 2.5 && spent > 2.49 && (spent - found.epsilon).abs() < 1e-12, "{method:?}: {spent}");
                assert_eq!(scaled.releases()[0] == step(1.0), kinds == [1]);
                assert_eq!(scaled.events(), ledger.events());
            }
        }
        // The other kind alone costs more than the target; nothing of a third kind happened.
        let target = Target { epsilon: 0.1, delta: 1e-5, method: Method::Tight, orders: Orders::All };
        for kinds in [1, 2] {
            let error = noise_factor(&ledger, &[kinds], &target).unwrap_err();
            assert!(matches!(error, PrivacyError::Calibration(_)), "{error}");
        }
    }
}
