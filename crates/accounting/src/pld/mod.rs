//! Tight accounting: upper bounds from privacy loss distributions, composed by FFT.
//!
//! A release has a *dominating pair* (P, Q): no test between neighbouring data sets beats the best
//! test between P and Q (Zhu, Dong & Wang 2022). The privacy loss l = ln dP/dQ under P adds up over
//! releases, and δ(ε) = E[(1 − e^{ε−l})₊].
//!
//! - *Gaussian noise*: P = N(μ, 1), Q = N(0, 1), μ = sensitivity/σ; for envelopes by their norm.
//! - *Any noise, an envelope*: P = Z + ψ, Q = Z, coordinate by coordinate (`coordinates.rs`).
//! - *Poisson sampling at rate q*: ((1−q)Q + qP, Q) if the neighbour lacks the example, and
//!   (Q, (1−q)Q + qP) if it has one more; the larger answer counts.
//! - *Poisson sampling in which one vector replaces another* (inside a micro-batch): for Gaussian
//!   noise two opposite vectors (`exchange.rs`), else as with a fixed size.
//! - *Fixed size without replacement* (replace-one): for e^ε ≥ 1 the first pair, else
//!   (P, (1−q)P + qQ) (`sampled.rs`).
//! - *A pair of one's own* ([`crate::pair`]): finitely many losses (`finite.rs`), or a mixture of
//!   shifts (`mixture.rs`).
//! - *Shuffled partition*: one unsampled release per epoch.
//! - *Cyclic Poisson sampling*: one Poisson-sampled release per cycle.
//! - *Random allocation*: an epoch's ratio is the mean of one ratio per batch (`allocation.rs`).

mod allocation;
mod cells;
mod compose;
mod coordinates;
mod direction;
mod exchange;
mod finite;
mod gap;
mod gaussian;
mod lattice;
mod line;
mod mixture;
mod profile;
mod sampled;
mod solve;
mod symmetric;
#[cfg(test)]
mod tests;
mod transform;
pub(crate) mod work;

use std::sync::{Arc, OnceLock};

pub(crate) use self::mixture::LARGEST_SHIFT;

use hushgrad_message::{Message, ToMessage, message, word};
use serde::Serialize;

use self::{
    allocation::Ratio,
    coordinates::Unsampled,
    sampled::SampledPair,
    solve::Question,
    work::{CURVE, PREPARATION, QUESTION, Work},
};
use super::{
    decimal::upper_percent,
    error::{PrivacyError, require},
    ledger::{Ledger, Release, Sensitivity},
    normal,
    rdp::{RdpAccountant, RdpCurve},
    sampling::{NeighbouringRelation, Sampling},
    sequence::{SATURATED, Sequence},
};

/// Default relative accuracy that the grid is chosen for.
pub const TOLERANCE: f64 = 5e-5;

/// Default false-positive rate down to which a privacy curve and μ are computed.
pub const CUT_OFF: f64 = 1e-10;

/// Most kinds of release: each takes tenths of a second, and no ledger should take an hour.
pub const MOST_KINDS: usize = 64;

/// How a bound was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The exact curve of the Gaussian mechanism.
    ClosedForm,
    /// Privacy loss distributions, by FFT.
    Convolution,
    /// Rényi divergences, if convolution gives no smaller bound.
    Renyi,
}

/// Whether the bound is proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rigor {
    /// Above the true value by construction; rounding and truncation are bounded and added.
    Proven,
    /// On the safe side, but one step, named here, is an approximation without a proven error.
    Numerical(&'static str),
}

hushgrad_message::display!(Rigor);

impl ToMessage for Rigor {
    fn to_message(&self) -> Message {
        match self {
            Self::Proven => "proven".into(),
            Self::Numerical(step) => message!("numerical: {step}"),
        }
    }
}

/// An upper bound on ε at some δ, or on δ at some ε.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Tight {
    /// The bound: ε in nats, or δ in [0, 1]; +∞ (or 1) if there is none.
    pub value: f64,
    /// The method.
    pub method: Method,
    /// Whether it is proven.
    pub rigor: Rigor,
    /// ε of these losses is at least this, so `value` is at most `value − least` above it (`gap.rs`);
    /// 0 if nothing is known, as for δ, and where the losses themselves are bounds.
    pub least: f64,
}

/// Largest relative gap of a bound that is called tight.
const TIGHT: f64 = 0.01;

impl Tight {
    /// The bound's name, for a table of bounds: only exact or convolved ones are called tight.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self.method {
            Method::ClosedForm => format!("tight accounting: exact ({})", self.rigor),
            Method::Convolution if self.is_tight() || self.least > 0.0 => {
                let tight = if self.is_tight() { "tight accounting: " } else { "" };
                let gap = upper_percent((self.value - self.least) / self.value.max(f64::MIN_POSITIVE), 2);
                format!("{tight}losses convolved by FFT, at most {gap} % too large ({})", self.rigor)
            }
            Method::Convolution => {
                format!("losses convolved by FFT; how far above the exact value is not known ({})", self.rigor)
            }
            Method::Renyi => format!("Chernoff's bound on privacy losses: not tight ({})", self.rigor),
        }
    }

    /// True if it is known to be at most 1 % above ε of these losses.
    #[must_use]
    pub fn is_tight(&self) -> bool {
        match self.method {
            Method::ClosedForm => true,
            Method::Convolution => self.value - self.least <= TIGHT * self.value,
            Method::Renyi => false,
        }
    }
}

/// Factor by which one question of a curve may exceed its share of work.
const UNEVEN: f64 = 4.0;

/// Covers a few roundings.
const ROUNDED_UP: f64 = 1.0 + 4.0 * f64::EPSILON;

/// A release with its dominating pair.
#[derive(Debug)]
struct PricedRelease {
    release: Release,
    unsampled: Unsampled,
    /// The ratio of one epoch of random allocation.
    epoch: Option<Arc<Ratio>>,
    rigor: Rigor,
    renyi: OnceLock<RdpCurve>,
}

impl PricedRelease {
    fn renyi(&self) -> Result<RdpCurve, PrivacyError> {
        if let Some(curve) = self.renyi.get() {
            return Ok(curve.clone());
        }
        let curve = RdpCurve::of(&self.release)?;
        Ok(self.renyi.get_or_init(|| curve).clone())
    }

    fn source(&self) -> SampledPair {
        let rate = match self.release.sampling {
            // The quotient is rounded.
            Sampling::FixedSize { .. } => (self.release.sampling.rate() * ROUNDED_UP).min(1.0),
            Sampling::Poisson { rate } | Sampling::CyclicPoisson { rate, .. } => rate,
            Sampling::Shuffled { .. } | Sampling::RandomAllocation { .. } => 1.0,
        };
        let replaced = self.release.neighbours() == NeighbouringRelation::ReplaceOne && rate < 1.0;
        if matches!(self.release.sensitivity, Sensitivity::Pair(_)) && replaced {
            return SampledPair::replace_one(&self.unsampled, rate);
        }
        if self.release.sensitivity_factor() == 1.0 {
            return SampledPair::of(&self.unsampled, rate);
        }
        match self.release.sampling {
            Sampling::FixedSize { .. } => SampledPair::replace_one(&self.unsampled, rate),
            _ => SampledPair::exchange(&self.unsampled, rate),
        }
    }
}

/// What an example pays for.
enum Losses {
    /// More releases than can be counted.
    Countless,
    /// One Gaussian release with this μ.
    Gaussian(f64),
    Pairs(Vec<(SampledPair, u64)>),
}

/// The whole privacy curve.
pub(crate) enum Profile {
    /// N(μ, 1) against N(0, 1).
    Gaussian(f64),
    /// (ε, δ(ε)), by ε.
    Curve(Vec<(f64, f64)>),
}

/// The releases of a training run, in order. Composing is cheap; ε and δ are computed on demand.
#[derive(Clone, Debug)]
pub struct Pld {
    priced: Vec<Arc<PricedRelease>>,
    /// Releases by their index in `priced`.
    releases: Sequence<usize>,
    tolerance: f64,
}

impl Pld {
    /// One step of `release`.
    ///
    /// # Errors
    /// [`PrivacyError::NoNoise`] or [`PrivacyError::NoBound`]; as [`Release::validate`];
    /// [`PrivacyError::Unpriced`] where the worst case is unknown (non-Gaussian noise with an L2
    /// bound, or with an envelope in which an example is exchanged) and for noise on a grid, where
    /// Rényi accounting has a bound; [`PrivacyError::TooMuchWork`] if the envelope and noise would
    /// take seconds.
    pub fn for_release(release: &Release) -> Result<Self, PrivacyError> {
        Self::prepare(release, &Work::new(PREPARATION))
    }

    /// As [`Pld::for_release`], within `work`.
    pub(crate) fn prepare(release: &Release, work: &Work) -> Result<Self, PrivacyError> {
        release.validate()?;
        if let Sensitivity::Pair(pair) = &release.sensitivity {
            return Ok(Self::alone(release, Unsampled::answer(pair), None, Rigor::Proven));
        }
        let noise = release.priced_noise()?.build()?;
        if release.hidden.is_some() {
            return Err(PrivacyError::Unpriced(word!(
                "privacy loss distributions of hidden steps, which have a Rényi bound alone; use Rényi accounting"
            )));
        }
        if release.grid.is_some() {
            return Err(PrivacyError::Unpriced(word!(
                "privacy loss distributions of noise on a grid; use Rényi accounting"
            )));
        }
        let sensitivity_factor = release.sensitivity_factor();
        let norm = release.sensitivity.norm().ok_or(PrivacyError::NoBound)?;
        let (unsampled, rigor) = match (noise.gaussian_sigma(), &release.sensitivity) {
            (Some(sigma), _) => (Unsampled::gaussian(norm * sensitivity_factor / sigma * ROUNDED_UP), Rigor::Proven),
            // Two vectors of the envelope may have large entries in different places: no multiple
            // of ψ bounds their difference by coordinate. (For Gaussian noise the norm suffices.)
            (None, Sensitivity::Envelope { .. }) if sensitivity_factor > 1.0 => {
                return Err(PrivacyError::Unpriced(word!(
                    "replace-one neighbours inside an envelope, with non-Gaussian noise; use Rényi accounting"
                )));
            }
            (None, Sensitivity::Envelope { profile }) => {
                (Unsampled::envelope(noise.as_ref(), profile, work)?, Rigor::Proven)
            }
            (None, _) => {
                return Err(PrivacyError::Unpriced(word!(
                    "an L2 bound with non-Gaussian noise: only an envelope bounds each coordinate"
                )));
            }
        };
        let epoch = match release.sampling.allocated() {
            Some(batches) if batches > 1 && sensitivity_factor == 1.0 && Ratio::is_known(&unsampled) => {
                Some(Arc::new(Ratio::of(&unsampled, batches, work).ok_or(PrivacyError::TooMuchWork {
                    what: word!("tight accounting of this many kinds of release with random allocation"),
                    remedy: word!("use fewer noise scales; Rényi accounting gives a bound"),
                })?))
            }
            _ => None,
        };
        Ok(Self::alone(release, unsampled, epoch, rigor))
    }

    fn alone(release: &Release, unsampled: Unsampled, epoch: Option<Arc<Ratio>>, rigor: Rigor) -> Self {
        let release = release.clone();
        let priced = Arc::new(PricedRelease { release, unsampled, epoch, rigor, renyi: OnceLock::new() });
        let mut releases = Sequence::default();
        releases.push(0, 1);
        Self { priced: vec![priced], releases, tolerance: TOLERANCE }
    }

    /// One step of the Poisson-sampled Gaussian mechanism.
    ///
    /// # Errors
    /// A multiplier or rate out of range.
    pub fn sampled_gaussian(noise_multiplier: f64, rate: f64) -> Result<Self, PrivacyError> {
        Self::for_release(&Release::new(
            Sampling::Poisson { rate },
            Sensitivity::L2 { norm: 1.0 },
            Some(super::noise::NoiseSpec::Gaussian { sigma: noise_multiplier }),
        ))
    }

    /// All releases of a ledger. An empty ledger costs nothing.
    ///
    /// # Errors
    /// As [`Pld::for_release`] (in one budget of work), [`Pld::and`] and [`Ledger::validate`].
    pub fn of(ledger: &Ledger) -> Result<Self, PrivacyError> {
        Self::of_priced(ledger, None)
    }

    /// As [`Pld::of`], reusing the distributions of `known` releases.
    pub(crate) fn of_priced(ledger: &Ledger, known: Option<&Self>) -> Result<Self, PrivacyError> {
        Self::of_within(ledger, known, &Work::new(PREPARATION))
    }

    /// As [`Pld::of_priced`], within `work`.
    pub(crate) fn of_within(ledger: &Ledger, known: Option<&Self>, work: &Work) -> Result<Self, PrivacyError> {
        ledger.validate()?;
        let mut places: Vec<Option<usize>> = vec![None; ledger.releases().len()];
        let mut whole = Self { priced: Vec::new(), releases: Sequence::default(), tolerance: TOLERANCE };
        let mut happened = vec![false; ledger.releases().len()];
        ledger.events().iter().for_each(|event| happened[event.release as usize] = true);
        check_kind_count(happened.iter().filter(|happened| **happened).count())?;
        // A ledger may have an event per step, so each event must take constant time.
        for event in ledger.events() {
            let index = event.release as usize;
            let place = match places[index] {
                Some(place) => place,
                None => {
                    let release = &ledger.releases()[index];
                    let known = known.and_then(|known| known.priced.iter().find(|priced| priced.release == *release));
                    let place = match known {
                        Some(priced) => whole.admit(priced)?,
                        None => whole.admit(&Self::prepare(release, work)?.priced[0])?,
                    };
                    places[index] = Some(place);
                    place
                }
            };
            whole.releases.push(place, event.count);
        }
        Ok(whole)
    }

    /// These releases, `times` times in a row.
    #[must_use]
    pub fn compose(&self, times: u64) -> Self {
        let priced = if times == 0 { Vec::new() } else { self.priced.clone() };
        Self { priced, releases: self.releases.clone().repeated(times), tolerance: self.tolerance }
    }

    /// These releases, followed by `next`.
    ///
    /// # Errors
    /// [`PrivacyError::MixedNeighbours`] or [`PrivacyError::MixedUnits`] if the neighbouring
    /// relations or privacy units differ; [`PrivacyError::TooManyKinds`] above [`MOST_KINDS`].
    pub fn and(&self, next: &Self) -> Result<Self, PrivacyError> {
        let mut both = self.clone();
        both.tolerance = self.tolerance.min(next.tolerance);
        let places = next.priced.iter().map(|priced| both.admit(priced)).collect::<Result<Vec<usize>, _>>()?;
        both.releases.append(&next.releases, &|theirs: usize| places[theirs]);
        Ok(both)
    }

    /// Adds a release, unless an equal one exists; returns its index.
    fn admit(&mut self, priced: &Arc<PricedRelease>) -> Result<usize, PrivacyError> {
        if let Some(first) = self.priced.first() {
            first.release.protected().same(priced.release.protected())?;
        }
        let known = self.priced.iter().position(|other| Arc::ptr_eq(other, priced) || other.release == priced.release);
        if let Some(known) = known {
            return Ok(known);
        }
        check_kind_count(self.priced.len() + 1)?;
        self.priced.push(priced.clone());
        Ok(self.priced.len() - 1)
    }

    /// Sets the relative accuracy of ε (1e-7 to 0.1); smaller is slower. It stays an upper bound.
    #[must_use]
    pub fn with_tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance.clamp(1e-7, 0.1);
        self
    }

    /// Whether every step of the bound is proven.
    #[must_use]
    pub fn rigor(&self) -> Rigor {
        self.priced.iter().map(|priced| priced.rigor).find(|rigor| *rigor != Rigor::Proven).unwrap_or(Rigor::Proven)
    }

    /// Upper bound on ε at `delta`: the least of the exact curve if known, the convolution, and
    /// Rényi accounting. Infinite if none is finite, or if the convolution would exceed its work.
    ///
    /// # Errors
    /// `delta` outside (0, 1].
    pub fn epsilon(&self, delta: f64) -> Result<Tight, PrivacyError> {
        self.epsilon_within(delta, &Work::new(QUESTION))
    }

    /// ε at `delta` of these releases repeated, for each of `times`, with one budget of work.
    ///
    /// # Errors
    /// As [`Pld::epsilon`].
    pub fn epsilons(&self, delta: f64, times: &[u64]) -> Result<Vec<Tight>, PrivacyError> {
        shared(CURVE, times, |&times, work| self.compose(times).epsilon_within(delta, work))
    }

    /// As [`Pld::epsilon`], taking from `work` at most the share of one question.
    pub(crate) fn epsilon_within(&self, delta: f64, work: &Work) -> Result<Tight, PrivacyError> {
        require(delta > 0.0 && delta <= 1.0, "delta", delta, word!("above 0 and at most 1"))?;
        if delta == 1.0 {
            return Ok(Tight { value: 0.0, method: Method::ClosedForm, rigor: Rigor::Proven, least: 0.0 });
        }
        let question = Question::Epsilon { log_delta: delta.ln() };
        let found = work.of_which(QUESTION, |work| self.ask(question, &|mu| normal::epsilon_gaussian(mu, delta), work));
        // Nothing is below 0, or below the exact curve of the releases.
        if found.value == 0.0 || found.method == Method::ClosedForm && !self.hides_epochs() {
            return Ok(found);
        }
        // Rényi's bound is smaller if convolution is out of range or dominating vectors fit badly.
        let renyi = self.renyi().and_then(|accountant| accountant.epsilon(delta)).map(|found| found.improved);
        Ok(match renyi {
            Ok(bound) if bound.epsilon < found.value => Tight {
                value: bound.epsilon,
                method: Method::Renyi,
                rigor: self.renyi_rigor(bound.order),
                least: found.least,
            },
            _ => found,
        })
    }

    /// The rigor of Rényi accounting at this order.
    fn renyi_rigor(&self, order: f64) -> Rigor {
        let all = |holds: fn(&PricedRelease) -> bool| self.priced.iter().all(|priced| holds(priced));
        if !all(|priced| !matches!(priced.unsampled, Unsampled::Atoms(_))) {
            return Rigor::Numerical(word!("the quadrature and series error in ln I_k is estimated and added"));
        }
        // Integer orders of Lemma 4 are closed-form sums. Fractional orders and negative moments of
        // random allocation are integrals.
        let integral = |priced: &PricedRelease| matches!(priced.release.sampling, Sampling::RandomAllocation { .. });
        if order.fract() == 0.0 && !self.priced.iter().any(|priced| integral(priced)) {
            return Rigor::Proven;
        }
        Rigor::Numerical(word!(
            "an integral by a trapezoidal rule, whose error is far below the added margin, but not proven"
        ))
    }

    /// Upper bound on δ at `epsilon` ≥ 0.
    ///
    /// # Errors
    /// `epsilon` negative or NaN.
    pub fn delta(&self, epsilon: f64) -> Result<Tight, PrivacyError> {
        require(epsilon >= 0.0, "epsilon", epsilon, word!("at least 0"))?;
        let work = Work::new(QUESTION);
        Ok(self.ask(Question::Delta { epsilon }, &|mu| normal::delta_gaussian(mu, epsilon), &work))
    }

    /// The privacy curve, for [`super::risk::PrivacyCurve`]: (`epsilon`, `delta`), which must hold,
    /// and (ε, δ(ε)) from ε = 0 to where the best test has a false-positive rate of [`CUT_OFF`];
    /// the last line covers lower rates.
    #[must_use]
    pub fn curve_about(&self, epsilon: f64, delta: f64) -> Vec<(f64, f64)> {
        let mut curve = vec![(epsilon, delta)];
        if epsilon.is_finite() && epsilon > 0.0 {
            curve.extend(match self.profile(CUT_OFF) {
                Profile::Curve(points) => points,
                Profile::Gaussian(mu) => profile::of_gaussian(mu, CUT_OFF),
            });
        }
        curve
    }

    fn ask(&self, question: Question, closed: &dyn Fn(f64) -> f64, work: &Work) -> Tight {
        let found = self.answer(question, closed, true, work);
        // If the loss is too large for a convolution, or δ too small for the ratios' ends, the
        // closed form of whole releases may be smaller.
        let sharp = found.method != Method::Renyi && found.value != question.no_answer();
        if sharp || !self.hides_epochs() {
            return found;
        }
        let whole = self.answer(question, closed, false, work);
        if whole.value < found.value { whole } else { found }
    }

    /// True if some epochs cost less than one whole release.
    fn hides_epochs(&self) -> bool {
        self.priced.iter().any(|priced| priced.epoch.is_some())
    }

    /// The answer, with epochs of random allocation `amplified`, or else priced as whole releases.
    fn answer(&self, question: Question, closed: &dyn Fn(f64) -> f64, amplified: bool, work: &Work) -> Tight {
        let (value, method, least) = match self.losses(amplified) {
            Losses::Countless => (question.no_answer(), Method::Convolution, 0.0),
            Losses::Gaussian(mu) => {
                let value = closed(mu);
                (value, Method::ClosedForm, value)
            }
            Losses::Pairs(pairs) => {
                let found = solve::answer(&pairs, question, self.tolerance, work);
                (found.value, if found.convolved { Method::Convolution } else { Method::Renyi }, found.least)
            }
        };
        let rigor = if method == Method::ClosedForm { Rigor::Proven } else { self.rigor() };
        Tight { value, method, rigor, least }
    }

    /// What an example pays for, with epochs of random allocation `amplified` or as whole releases.
    fn losses(&self, amplified: bool) -> Losses {
        let terms = self.releases.terms(|release| self.priced[release].release.sampling);
        let mut squared_mu = 0.0;
        let mut counts = vec![0u64; self.priced.len()];
        let mut epochs = vec![0u64; self.priced.len()];
        for (releases, count) in &terms {
            // An example meets one of these. The largest μ covers Gaussian ones; others all count.
            let gaussian = releases.iter().filter_map(|&release| Some((self.priced[release].unsampled.mu()?, release)));
            let largest = gaussian.clone().max_by(|a, b| a.0.total_cmp(&b.0));
            let stands_for_all = match (largest, releases.as_slice()) {
                (Some((_, release)), _) if gaussian.count() == releases.len() => Some(release),
                (_, [release]) => Some(*release),
                _ => None,
            };
            let allocated = releases.iter().all(|&release| self.priced[release].epoch.is_some());
            if let Some(release) = stands_for_all.filter(|_| amplified && allocated) {
                epochs[release] = epochs[release].saturating_add(*count);
                continue;
            }
            let mut mu = 0.0_f64;
            for &release in releases {
                let priced = &self.priced[release];
                match priced.unsampled.mu() {
                    // Unsampled Gaussian releases compose to one: μ² adds up.
                    Some(own) if priced.release.sampling.rate() == 1.0 => mu = mu.max(own),
                    _ => counts[release] = counts[release].saturating_add(*count),
                }
            }
            squared_mu += *count as f64 * mu * mu;
        }
        // Covers the rounding of the sum and its root.
        let mu = squared_mu.sqrt() * (1.0 + (terms.len() as f64 + 4.0) * f64::EPSILON);
        if counts.contains(&SATURATED) || terms.iter().any(|(_, count)| *count == SATURATED) {
            return Losses::Countless;
        }
        let mut sources: Vec<(SampledPair, u64)> = Vec::new();
        for ((priced, count), epochs) in self.priced.iter().zip(counts).zip(epochs) {
            if count > 0 && priced.release.sampling.rate() > 0.0 {
                sources.push((priced.source(), count));
            }
            if let Some(epoch) = priced.epoch.as_ref().filter(|_| epochs > 0) {
                sources.push((SampledPair::Allocated(epoch.clone()), epochs));
            }
        }
        if sources.is_empty() {
            return Losses::Gaussian(mu);
        }
        if mu > 0.0 {
            sources.push((SampledPair::of(&Unsampled::gaussian(mu), 1.0), 1));
        }
        Losses::Pairs(sources)
    }

    /// (ε, δ(ε)) from ε = 0 to where tests of false-positive rate `cut_off` matter: the whole curve
    /// from few compositions, for [`super::gdp::GaussianFit`]. Empty if nothing is protected or
    /// work runs out. For unsampled Gaussian releases, μ alone.
    pub(crate) fn profile(&self, cut_off: f64) -> Profile {
        let work = Work::new(QUESTION);
        let curve = |amplified| match self.losses(amplified) {
            Losses::Countless => Profile::Curve(Vec::new()),
            Losses::Gaussian(mu) => Profile::Gaussian(mu),
            Losses::Pairs(pairs) => Profile::Curve(profile::curve(&pairs, cut_off, self.tolerance, &work)),
        };
        let found = curve(true);
        let lacks = matches!(&found, Profile::Curve(points) if points.is_empty());
        if lacks && self.hides_epochs() { curve(false) } else { found }
    }

    /// Rényi accounting of the same releases.
    fn renyi(&self) -> Result<RdpAccountant, PrivacyError> {
        let curves = self.priced.iter().map(|priced| priced.renyi()).collect::<Result<Vec<_>, _>>()?;
        Ok(RdpAccountant::of_sequence(curves, &self.releases))
    }
}

/// Answers each question with up to [`UNEVEN`] times its share of the budget left by earlier ones.
fn shared<Q, A>(
    budget: f64,
    questions: &[Q],
    answer: impl Fn(&Q, &Work) -> Result<A, PrivacyError>,
) -> Result<Vec<A>, PrivacyError> {
    let all = Work::new(budget);
    let one = |(index, question): (usize, &Q)| {
        let share = UNEVEN * all.left() / (questions.len() - index) as f64;
        all.of_which(share.min(QUESTION), |work| answer(question, work))
    };
    questions.iter().enumerate().map(one).collect()
}

/// # Errors
/// [`PrivacyError::TooManyKinds`].
fn check_kind_count(kinds: usize) -> Result<(), PrivacyError> {
    if kinds <= MOST_KINDS {
        return Ok(());
    }
    Err(PrivacyError::TooManyKinds { kinds, most: MOST_KINDS, whom: word!("tight accounting") })
}
