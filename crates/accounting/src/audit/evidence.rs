//! All lower bounds on the ε of a run, from its canaries' scores.

use std::{cell::RefCell, collections::HashMap, rc::Rc};

use serde::{Deserialize, Serialize};

use super::{AuditError, Errors, FROM_BELOW, Guesses};
use crate::{
    books::Books,
    error::PrivacyError,
    ledger::{Event, Ledger, Part, Release},
    normal::{epsilon_gaussian, quantile},
    risk::{AttackBound, PrivacyCurve, RiskError},
    sampling::Sampling,
};

/// Largest probability that a bound is wrong.
pub const SIGNIFICANCE: f64 = 0.05;
/// Largest probability that a correct claim is refuted by one kind of bound. A run is checked with
/// five kinds, hundreds of times: were it [`SIGNIFICANCE`], many correct runs would be refuted.
pub const PROOF: f64 = 1e-6;
const CANARIES_PER_GUESS: u32 = 20;
/// False positive rates that thresholds aim at.
const ALARMS: [f64; 5] = [0.003, 0.01, 0.03, 0.1, 0.3];
/// Fewest scores without a canary from which thresholds are taken.
const LEAST_SILENT: usize = 300;
/// Least and most noise factor searched.
const FACTORS: [f64; 2] = [0.0625, 16.0];
/// Relative tolerance, from above, of a privacy curve compared with guesses.
const TOLERANCE: f64 = 5e-3;
/// Precision of the factor's logarithm: 1 % of noise is about 2 % of ε.
const PRECISION: f64 = 0.01;
/// First step of a search from the claimed noise, in the factor's logarithm.
const STRIDE: f64 = 0.3;

/// An auditor's evidence about a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Each canary's score and whether it is in. Scores may be infinite if nothing hides a canary.
    pub scores: Vec<(f64, bool)>,
    /// Scores of places without a canary: not evidence, but thresholds may be derived from them.
    pub silent: Vec<f64>,
    /// For kinds of release of the ledger, errors about single steps whose coins are known.
    pub steps: Vec<(usize, Errors)>,
}

/// Lower bounds on ε, each wrong with probability at most [`SIGNIFICANCE`]; over all, these add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LowerBounds {
    /// Steinke, Nasr & Jagielski 2023: assumes nothing of the mechanism.
    pub guesses: f64,
    /// Mahloujifar, Melis & Chaudhuri 2024, if the run is Gaussian differentially private.
    pub gaussian: f64,
    /// The same if only the scale of the noise is not as claimed; `None` if that is not searched.
    /// This and the following are the accountant's ε for that noise: like the claim, from above
    /// where it prices a sampling so (shuffled epochs, random allocation).
    pub curve: Option<f64>,
    /// Clopper & Pearson at preset thresholds, in that family (disjoint canaries are independent).
    pub rates: Option<f64>,
    /// Nasr et al. 2023, by single steps, in that family, with sampler and composition as claimed.
    pub steps: Option<f64>,
    /// The larger of the first two bounds at [`PROOF`].
    pub proven: f64,
    /// True if the evidence of one of the other three contradicts the ledger at [`PROOF`].
    pub contradicted: bool,
}

/// A ledger's claims, to compare with evidence of any run of the same releases.
#[derive(Clone, Debug)]
pub struct Claimed {
    curve: PrivacyCurve,
    /// μ of the Gaussian run with the same ε.
    mu: f64,
    /// For one release of each kind.
    steps: Vec<PrivacyCurve>,
}

impl Claimed {
    /// The claims of `ledger` at `delta`.
    ///
    /// # Errors
    /// A ledger without a price by tight accounting; δ out of range.
    pub fn of(ledger: &Ledger, delta: f64) -> Result<Self, AuditError> {
        let family = Family::new(ledger, delta, FACTORS[0]);
        let books = family.with(1.0)?;
        let steps = (0..ledger.releases().len()).map(|place| family.step(place, 1.0));
        let steps = steps.collect::<Result<_, _>>()?;
        Ok(Self { curve: curve(&books, delta)?, mu: of_claim(books.tight(delta)?.value, delta), steps })
    }
}

impl LowerBounds {
    /// The bounds in order of declaration.
    #[must_use]
    pub fn each(self) -> [Option<f64>; 5] {
        [Some(self.guesses), Some(self.gaussian), self.curve, self.rates, self.steps]
    }

    /// True if a bound exceeds `claim`, which happens to some correct claims.
    #[must_use]
    pub fn exceed(self, claim: f64) -> bool {
        self.each().into_iter().flatten().any(|bound| bound > claim)
    }

    /// True if `claim` is refuted at [`PROOF`].
    #[must_use]
    pub fn refute(self, claim: f64) -> bool {
        self.contradicted || self.proven > claim
    }
}

impl Evidence {
    /// The number of canaries guessed to be in, r, which depends on their number only.
    #[must_use]
    pub fn made(&self) -> u32 {
        (self.scores.len() as u32).div_ceil(CANARIES_PER_GUESS)
    }

    /// Guesses "in" for the canaries with the highest scores; among ties, those that are out first.
    ///
    /// # Errors
    /// None in practice; as [`Guesses::new`].
    pub fn guesses(&self) -> Result<Guesses, AuditError> {
        let mut sorted = self.scores.clone();
        sorted.sort_by(|(a, a_in), (b, b_in)| b.total_cmp(a).then(a_in.cmp(b_in)));
        let made = self.made();
        let right = sorted[..made as usize].iter().filter(|(_, is_in)| *is_in).count() as u32;
        Guesses::new(sorted.len() as u32, made, right)
    }

    /// The two bounds that need no accountant.
    ///
    /// # Errors
    /// δ out of range.
    pub fn quick_bounds(&self, delta: f64) -> Result<LowerBounds, AuditError> {
        let guesses = self.guesses()?;
        let both = |significance: f64| -> Result<_, AuditError> {
            Ok((guesses.epsilon(significance, delta)?, of_mu(guesses.mu(significance)?, delta)))
        };
        let ((guesses, gaussian), proven) = (both(SIGNIFICANCE)?, both(PROOF)?);
        Ok(LowerBounds { guesses, gaussian, proven: proven.0.max(proven.1), ..LowerBounds::default() })
    }

    /// The bounds that are fast to compute: by guesses, and by single steps.
    ///
    /// # Errors
    /// As [`Evidence::bounds`].
    pub fn live_bounds(&self, ledger: &Ledger, delta: f64, least: f64) -> Result<LowerBounds, AuditError> {
        let quick = self.quick_bounds(delta)?;
        let family = Family::new(ledger, delta, least);
        let by_steps = || {
            let contradicted = self.refute_steps(PROOF, |place| family.step(place, 1.0))?;
            Ok(LowerBounds { steps: Some(self.bound_by_steps(&family)?), contradicted, ..quick })
        };
        or_quick(by_steps(), quick)
    }

    /// All bounds, for a run with the releases of `ledger`.
    ///
    /// # Errors
    /// As [`Evidence::bounds_above`].
    pub fn bounds(&self, ledger: &Ledger, delta: f64) -> Result<LowerBounds, AuditError> {
        self.bounds_above(ledger, delta, FACTORS[0])
    }

    /// The same, searching no noise below `least` times the claimed, as its loss distributions are
    /// long; a bound beyond stays at that noise's ε. Bounds that have no tight price are `None`.
    ///
    /// # Errors
    /// As [`Evidence::quick_bounds`]; a ledger that [`Books::of`] refuses.
    pub fn bounds_above(&self, ledger: &Ledger, delta: f64, least: f64) -> Result<LowerBounds, AuditError> {
        let quick = self.quick_bounds(delta)?;
        or_quick(self.family_bounds(quick, Family::new(ledger, delta, least)), quick)
    }

    /// Adds the bounds by other noise of the same family.
    fn family_bounds(&self, quick: LowerBounds, family: Family<'_>) -> Result<LowerBounds, AuditError> {
        let delta = family.delta;
        let claim = family.with(1.0)?.tight(delta)?.value;
        let guesses = self.guesses()?;
        let errors = self.errors(|| of_claim(claim, delta));
        let by_guesses = |significance: f64, factor: f64| {
            let curve = family.curve(factor)?;
            guesses.refutes(significance, |x| curve.least_false_negative_rate(1.0 - x))
        };
        let by_rates = |significance: f64, factor: f64| refute_rates(&errors, significance, &*family.curve(factor)?);
        Ok(LowerBounds {
            curve: Some(family.least_epsilon(|factor| by_guesses(SIGNIFICANCE, factor))?),
            rates: Some(family.least_epsilon(|factor| by_rates(SIGNIFICANCE, factor))?),
            steps: Some(self.bound_by_steps(&family)?),
            contradicted: by_guesses(PROOF, 1.0)?
                || by_rates(PROOF, 1.0)?
                || self.refute_steps(PROOF, |place| family.step(place, 1.0))?,
            ..quick
        })
    }

    /// Whether each of the bounds by curve, rates and steps exceeds the claim at this significance;
    /// faster than the bounds.
    ///
    /// # Errors
    /// Evidence of single steps of a release that is not in the ledger.
    pub fn contradicts(&self, claimed: &Claimed, significance: f64) -> Result<[bool; 3], AuditError> {
        let curve = &claimed.curve;
        Ok([
            self.guesses()?.refutes(significance, |x| curve.least_false_negative_rate(1.0 - x))?,
            refute_rates(&self.errors(|| claimed.mu), significance, curve)?,
            self.refute_steps(significance, |place| {
                Ok(claimed.steps.get(place).cloned().ok_or(RiskError::NoPoints)?)
            })?,
        ])
    }

    /// Errors at thresholds independent of the canaries' scores: from scores without a canary or,
    /// if few, from the claim μ (Gaussian scores are N(±μ²/2, μ²)).
    fn errors(&self, mu: impl Fn() -> f64) -> Vec<Errors> {
        let mut silent = self.silent.clone();
        silent.sort_by(f64::total_cmp);
        let threshold = |alarm: f64| match silent.len() {
            0..LEAST_SILENT => mu() * -quantile(alarm) - 0.5 * mu().powi(2),
            count => silent[((1.0 - alarm) * count as f64) as usize],
        };
        let at = |alarm: f64| {
            let threshold = threshold(alarm);
            let (mut wrong, mut all) = ([0_u32; 2], [0_u32; 2]);
            for &(score, is_in) in &self.scores {
                all[usize::from(is_in)] += 1;
                wrong[usize::from(is_in)] += u32::from((score > threshold) != is_in);
            }
            // None if all canaries are in, or all are out.
            Errors::new((wrong[0], all[0]), (wrong[1], all[1])).ok()
        };
        ALARMS.iter().filter_map(|&alarm| at(alarm)).collect()
    }

    fn bound_by_steps(&self, family: &Family<'_>) -> Result<f64, AuditError> {
        family.least_epsilon(|factor| self.refute_steps(SIGNIFICANCE, |place| family.step(place, factor)))
    }

    /// True if errors about single steps of some kind of release refute the curve for that kind.
    fn refute_steps(
        &self,
        significance: f64,
        curve: impl Fn(usize) -> Result<PrivacyCurve, AuditError>,
    ) -> Result<bool, AuditError> {
        let level = significance / (2 * self.steps.len().max(1)) as f64;
        for &(place, errors) in &self.steps {
            if errors.at_most(level)?.refute(curve(place)?.points()) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// `found`, or `quick` where these releases have no loss distribution, or none in reasonable time.
fn or_quick(found: Result<LowerBounds, AuditError>, quick: LowerBounds) -> Result<LowerBounds, AuditError> {
    match found {
        Err(AuditError::Privacy(
            PrivacyError::Unpriced(_) | PrivacyError::TooManyKinds { .. } | PrivacyError::TooMuchWork { .. },
        )) => Ok(quick),
        found => found,
    }
}

/// True if errors at preset thresholds are fewer than a mechanism with this curve allows.
fn refute_rates(errors: &[Errors], significance: f64, curve: &PrivacyCurve) -> Result<bool, AuditError> {
    let level = significance / (2 * ALARMS.len()) as f64;
    for errors in errors {
        if errors.at_most(level)?.refute(curve.points()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// ε of μ; 0 if nothing was shown.
fn of_mu(mu: f64, delta: f64) -> f64 {
    if mu > 0.0 { FROM_BELOW * epsilon_gaussian(mu, delta) } else { 0.0 }
}

/// The μ of a Gaussian run with this ε.
fn of_claim(epsilon: f64, delta: f64) -> f64 {
    super::largest(50.0, |mu| mu == 0.0 || epsilon_gaussian(mu, delta) <= epsilon)
}

/// Runs of the same releases with scaled noise.
struct Family<'a> {
    ledger: &'a Ledger,
    delta: f64,
    /// Least factor searched.
    least: f64,
    /// Computed curves, by the factor's bits.
    curves: RefCell<HashMap<u64, Rc<PrivacyCurve>>>,
}

impl<'a> Family<'a> {
    fn new(ledger: &'a Ledger, delta: f64, least: f64) -> Self {
        Self { ledger, delta, least: least.clamp(FACTORS[0], 1.0), curves: RefCell::default() }
    }

    /// A release of this kind with `factor` times its noise.
    fn release(&self, place: usize, factor: f64) -> Release {
        let release = self.ledger.releases()[place].clone();
        let noise = release.noise.as_ref().map(|noise| noise.with_scale(noise.scale() * factor));
        let parts = release.parts.iter().map(|part| Part { noise: part.noise * factor, ..*part }).collect();
        Release { noise, parts, ..release }
    }

    /// Books with `factor` times the noise of each release.
    fn with(&self, factor: f64) -> Result<Books, AuditError> {
        let louder = |event: &Event| (self.release(event.release as usize, factor), event.count);
        Ok(Books::of(Ledger::of(self.ledger.events().iter().map(louder))?)?)
    }

    /// The privacy curve of one release of this kind, given that the canary was drawn.
    fn step(&self, place: usize, factor: f64) -> Result<PrivacyCurve, AuditError> {
        let drawn = Release { sampling: Sampling::Poisson { rate: 1.0 }, ..self.release(place, factor) };
        let ledger = Ledger::of([(drawn, 1)])?;
        curve(&Books::of(ledger)?, self.delta)
    }

    /// The privacy curve with `factor` times the noise.
    fn curve(&self, factor: f64) -> Result<Rc<PrivacyCurve>, AuditError> {
        if let Some(known) = self.curves.borrow().get(&factor.to_bits()) {
            return Ok(Rc::clone(known));
        }
        let curve = Rc::new(curve(&self.with(factor)?, self.delta)?);
        self.curves.borrow_mut().insert(factor.to_bits(), Rc::clone(&curve));
        Ok(curve)
    }

    /// ε, from below, of the least refuted noise (larger noise is refuted too). Starts at the
    /// claimed noise, as loss distributions of little noise are long.
    fn least_epsilon(&self, refuted: impl Fn(f64) -> Result<bool, AuditError>) -> Result<f64, AuditError> {
        let [least, most] = [self.least, FACTORS[1]].map(f64::ln);
        let (mut low, mut high, mut stride) = (0.0_f64, 0.0_f64, STRIDE);
        if refuted(1.0)? {
            low = least;
            while high > least {
                let next = (high - stride).max(least);
                if !refuted(next.exp())? {
                    low = next;
                    break;
                }
                (high, stride) = (next, 2.0 * stride);
            }
        } else {
            loop {
                high = (low + stride).min(most);
                if refuted(high.exp())? {
                    break;
                }
                if high >= most {
                    return Ok(0.0);
                }
                (low, stride) = (high, 2.0 * stride);
            }
        }
        while high - low > PRECISION {
            let middle = 0.5 * (low + high);
            if refuted(middle.exp())? { high = middle } else { low = middle }
        }
        let found = self.with(high.exp())?.tight(self.delta)?.value;
        // More noise never costs more than the claim, even where the price is inexact.
        let most = if high >= 0.0 { self.with(1.0)?.tight(self.delta)?.value } else { f64::INFINITY };
        Ok(FROM_BELOW * found.min(most))
    }
}

/// The privacy curve of `books`, from above.
fn curve(books: &Books, delta: f64) -> Result<PrivacyCurve, AuditError> {
    let losses = books.losses()?.with_tolerance(TOLERANCE);
    let epsilon = losses.epsilon(delta)?.value;
    Ok(PrivacyCurve::new(losses.curve_about(epsilon, delta))?)
}
