//! A ledger with the price of each kind of release, from which ε follows.
//!
//! A run records its steps in [`Books`] as it goes; [`Books::of`] prices a finished ledger. Both
//! give the same numbers, to the last bit.
//!
//! | result | method | how |
//! | --- | --- | --- |
//! | ε at δ, Rényi | [`Books::renyi`] | Nasr et al. 2020, Lemmas 4 and 5, Theorem 1; conversions |
//! | ε at δ, tight | [`Books::tight`] | privacy loss distributions |
//! | the curve ε ↦ δ(ε) | [`Books::curve_about`] | privacy loss distributions |
//! | μ of Gaussian differential privacy | [`Books::gaussian`] | a fit to that curve |
//! | ρ of concentrated differential privacy | [`Books::concentrated`] | Rényi |
//! | ε at δ, with its assumptions | [`Books::account`], [`account`] | Rényi and tight |

use std::sync::OnceLock;

use super::{
    error::PrivacyError,
    gdp::GaussianFit,
    ledger::{Event, Ledger, Release, ReleaseId},
    pld::{MOST_KINDS, Pld, Tight},
    rdp::{Bound, Concentrated, CurveId, Epsilon, RdpAccountant, RdpCurve},
    report::{Account, assumptions},
    sampling::Sampling,
};
use hushgrad_message::{Message, message};

/// A ledger with the price of each kind of release, computed once.
///
/// ```
/// use hushgrad_accounting::{
///     books::Books,
///     ledger::{Release, Sensitivity},
///     noise::NoiseSpec,
///     rdp::RdpCurve,
///     sampling::Sampling,
/// };
///
/// let sampling = Sampling::Poisson { rate: 0.01 };
/// let noise = NoiseSpec::Gaussian { sigma: 1.1 };
/// let release = Release::new(sampling, Sensitivity::L2 { norm: 1.0 }, Some(noise));
/// let curve = RdpCurve::of(&release)?;
/// let mut books = Books::default();
/// let step = books.register(release, &curve)?;
/// let mut before = 0.0;
/// for _ in 0..3 {
///     books.record(step, 100);
///     let tight = books.tight(1e-5)?.value;
///     assert!(tight > before && tight <= books.renyi(1e-5)?.improved.epsilon);
///     before = tight;
/// }
/// # Ok::<(), hushgrad_accounting::PrivacyError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Books {
    ledger: Ledger,
    /// The Rényi curve of each kind in [`Ledger::releases`]; `None` if it was neither released nor
    /// registered here, and so may have no price.
    curves: Vec<Option<(CurveId, RdpCurve)>>,
    accountant: RdpAccountant,
    /// Why a recorded release has no price.
    unpriced: Option<PrivacyError>,
    /// Privacy loss distributions of the current ledger, once computed.
    tight: OnceLock<Result<Pld, PrivacyError>>,
    /// Those of an earlier state of the ledger, to be reused.
    earlier: Option<Pld>,
}

impl Books {
    /// Makes the books of a ledger.
    ///
    /// # Errors
    /// As [`super::rdp::epsilon_of`], except for δ.
    pub fn of(ledger: Ledger) -> Result<Self, PrivacyError> {
        Self::of_priced(ledger, &[])
    }

    /// As [`Books::of`]. Curves of `known` releases are used as given.
    ///
    /// # Errors
    /// As [`Books::of`].
    pub fn of_priced(ledger: Ledger, known: &[(&Release, &RdpCurve)]) -> Result<Self, PrivacyError> {
        ledger.validate()?;
        let mut books = Self { ledger, ..Self::default() };
        books.accountant = RdpAccountant::of_priced(&books.ledger, &mut books.curves, |release| {
            known.iter().find(|(other, _)| *other == release).map(|(_, curve)| (*curve).clone())
        })?;
        Ok(books)
    }

    /// Books of the same releases with other events. Prices are reused.
    ///
    /// # Errors
    /// Invalid events ([`Ledger::validate`]); as [`Books::of`] for releases not yet priced.
    pub fn with_events(&self, events: Vec<Event>) -> Result<Self, PrivacyError> {
        let ledger = self.ledger.with_events(events)?;
        let mut curves = Vec::new();
        let accountant = RdpAccountant::of_priced(&ledger, &mut curves, |release| {
            let place = self.ledger.releases().iter().position(|other| other == release)?;
            self.curves.get(place)?.as_ref().map(|(_, curve)| curve.clone())
        })?;
        Ok(Self { ledger, curves, accountant, unpriced: None, tight: OnceLock::new(), earlier: self.distributions() })
    }

    /// Books of the first `count` releases, or of all if there are fewer.
    ///
    /// # Errors
    /// As [`Books::with_events`]; none if the events of `self` are priced.
    pub fn after(&self, count: u64) -> Result<Self, PrivacyError> {
        let mut left = count;
        let events = self.ledger.events().iter().map(|event| {
            let part = event.count.min(left);
            left -= part;
            Event { count: part, ..*event }
        });
        self.with_events(events.filter(|event| event.count > 0).collect())
    }

    /// Adds a kind of release with its Rényi `curve` ([`RdpCurve::of`], not checked), so that it
    /// can be recorded.
    ///
    /// # Errors
    /// As [`Release::validate`] and [`RdpAccountant::add_curve`].
    pub fn register(&mut self, release: Release, curve: &RdpCurve) -> Result<ReleaseId, PrivacyError> {
        let id = self.ledger.register(release)?;
        let place = id.place();
        if self.curves.len() <= place {
            self.curves.resize(place + 1, None);
        }
        if self.curves[place].is_none() {
            self.curves[place] = Some((self.accountant.add_curve(curve.clone())?, curve.clone()));
        }
        Ok(id)
    }

    /// Adds a kind of release and computes its Rényi curve.
    ///
    /// # Errors
    /// As [`RdpCurve::of`] and [`Books::register`].
    pub fn register_priced(&mut self, release: Release) -> Result<ReleaseId, PrivacyError> {
        let curve = RdpCurve::of(&release)?;
        self.register(release, &curve)
    }

    /// Records `count` releases of a kind of this ledger. If it has no price, neither has ε:
    /// [`Books::renyi`] says why.
    pub fn record(&mut self, release: ReleaseId, count: u64) {
        if count == 0 {
            return;
        }
        self.ledger.record_many(release, count);
        match self.priced(release) {
            Ok(curve) => self.accountant.compose(curve, count),
            Err(error) => self.unpriced = Some(error),
        }
        // Runs at every step of a run, so it copies nothing.
        if let Some(Ok(tight)) = self.tight.take() {
            self.earlier = Some(tight);
        }
    }

    /// Returns the curve of a release, computed if it was not registered with one.
    fn priced(&mut self, release: ReleaseId) -> Result<CurveId, PrivacyError> {
        if let Some(Some((curve, _))) = self.curves.get(release.place()) {
            return Ok(*curve);
        }
        let release = self.ledger.releases().get(release.place()).ok_or(PrivacyError::NoBound)?.clone();
        let curve = RdpCurve::of(&release)?;
        let place = self.register(release, &curve)?.place();
        self.curves[place].as_ref().map(|(curve, _)| *curve).ok_or(PrivacyError::NoBound)
    }

    /// As [`Ledger::charge_open_epoch`].
    pub fn charge_open_epoch(&mut self, sampling: Sampling) {
        if let Some((last, left)) = self.ledger.open_epoch(sampling) {
            self.record(last, left);
        }
    }

    /// The ledger.
    #[must_use]
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// ε at `delta` by Rényi accounting, with both conversions.
    ///
    /// # Errors
    /// As [`RdpAccountant::epsilon`]; as [`Books::of`] if a recorded release has no price.
    pub fn renyi(&self, delta: f64) -> Result<Epsilon, PrivacyError> {
        self.unpriced.clone().map_or_else(|| self.accountant.epsilon(delta), Err)
    }

    /// ε at `delta` by tight accounting.
    ///
    /// # Errors
    /// As [`Pld::of`]; `delta` outside (0, 1].
    pub fn tight(&self, delta: f64) -> Result<Tight, PrivacyError> {
        self.losses()?.epsilon(delta)
    }

    /// Points (ε, δ(ε)) of the privacy curve. The first is (`epsilon`, `delta`), which must hold:
    /// see [`Pld::curve_about`].
    ///
    /// # Errors
    /// As [`Books::tight`].
    pub fn curve_about(&self, epsilon: f64, delta: f64) -> Result<Vec<(f64, f64)>, PrivacyError> {
        Ok(self.losses()?.curve_about(epsilon, delta))
    }

    /// All bounds on ε at `delta`, with their assumptions. Without releases, ε is 0. If tight
    /// accounting has no price, too many kinds of release or too much work, `tight` is `None` and
    /// the assumptions say why.
    ///
    /// # Errors
    /// As [`Books::renyi`]; other errors of [`Books::tight`].
    pub fn account(&self, delta: f64) -> Result<Account, PrivacyError> {
        let renyi = match self.renyi(delta) {
            Err(PrivacyError::Infinite) => None,
            found => Some(found?),
        };
        let rounding = self.accountant.rounding(delta)?;
        let mut assumptions = assumptions(&self.ledger);
        let tight = match self.tight(delta) {
            Ok(tight) => Some(tight),
            Err(PrivacyError::TooManyKinds { kinds, .. }) => {
                assumptions.push(message!(
                    "no tight accounting: {kinds} kinds of release, but at most {MOST_KINDS} are supported; use fewer noise scales"
                ));
                None
            }
            Err(PrivacyError::Unpriced(refused)) => {
                assumptions.push(message!("no tight accounting: {refused}"));
                None
            }
            Err(refused @ PrivacyError::TooMuchWork { .. }) => {
                assumptions.push(message!("no tight accounting: {refused}"));
                None
            }
            Err(other) => return Err(other),
        };
        let Epsilon { classic, improved } = match renyi {
            Some(found) => found,
            // As of an (ε, δ) with δ above 0, whose Rényi divergences are infinite.
            None if tight.is_some_and(|tight| tight.value.is_finite()) => {
                let none = Bound { epsilon: f64::INFINITY, order: f64::INFINITY };
                Epsilon { classic: none, improved: none }
            }
            None => return Err(PrivacyError::Infinite),
        };
        Ok(Account { delta, classic, improved, tight, rounding, steps: self.ledger.steps(), assumptions })
    }

    /// μ of Gaussian differential privacy and its regret, for tests with a false-positive rate of
    /// at least `cut_off`; `None` if μ is infinite.
    ///
    /// # Errors
    /// As [`Pld::of`]; a cut-off outside (0, 0.5).
    pub fn gaussian(&self, cut_off: f64) -> Result<Option<GaussianFit>, PrivacyError> {
        Ok(Some(GaussianFit::of_losses(&self.losses()?, cut_off)?).filter(|fit| fit.mu.is_finite()))
    }

    /// ρ of concentrated differential privacy: see [`RdpAccountant::concentrated`]; `None` if it is
    /// infinite.
    ///
    /// # Errors
    /// As [`Books::renyi`].
    pub fn concentrated(&self, delta: f64) -> Result<Option<Concentrated>, PrivacyError> {
        match self.unpriced.clone().map_or_else(|| self.accountant.concentrated(delta), Err) {
            Err(PrivacyError::Infinite) => Ok(None),
            found => found,
        }
    }

    /// The accountant of all releases.
    ///
    /// # Errors
    /// Why a recorded release has no price.
    pub(crate) fn accountant(&self) -> Result<&RdpAccountant, PrivacyError> {
        self.unpriced.clone().map_or(Ok(&self.accountant), Err)
    }

    /// The accountant, and its curve of a release of the ledger.
    ///
    /// # Errors
    /// Why a recorded release or this one has no price.
    pub(crate) fn accountant_for(&self, release: ReleaseId) -> Result<(RdpAccountant, CurveId), PrivacyError> {
        let mut books = self.clone();
        let curve = books.priced(release)?;
        Ok((books.accountant()?.clone(), curve))
    }

    pub(crate) fn losses(&self) -> Result<Pld, PrivacyError> {
        self.tight.get_or_init(|| Pld::of_priced(&self.ledger, self.earlier.as_ref())).clone()
    }

    /// The known privacy loss distributions, of this or an earlier state of the ledger.
    fn distributions(&self) -> Option<Pld> {
        match self.tight.get() {
            Some(Ok(tight)) => Some(tight.clone()),
            _ => self.earlier.clone(),
        }
    }
}

/// Accounts for a ledger in one call: [`Books::of`], [`Books::account`] and [`of_one_example`].
/// Without releases, ε is 0.
///
/// # Errors
/// As [`Books::of`] and [`Books::account`].
pub fn account(ledger: &Ledger, delta: f64) -> Result<Account, PrivacyError> {
    let mut account = Books::of(ledger.clone())?.account(delta)?;
    account.assumptions.extend(of_one_example(ledger, delta));
    Ok(account)
}

/// States the ε of a single example (∞ without a bound), if the ledger protects users or
/// micro-batches; else `None`.
#[must_use]
pub fn of_one_example(ledger: &Ledger, delta: f64) -> Option<Message> {
    let example = ledger.per_example();
    (example != *ledger).then(|| {
        let account = Books::of(example).and_then(|books| books.account(delta));
        let cost = account.map_or(f64::INFINITY, |account| {
            account.tight.map_or(f64::INFINITY, |tight| tight.value).min(account.improved.epsilon)
        });
        message!("for a single example ε ≤ {}: it turns one vector into another", super::decimal::upper(cost, 6))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ledger::Sensitivity, noise::NoiseSpec};

    const DELTA: f64 = 1e-5;

    fn release(sampling: Sampling, sigma: f64) -> Release {
        Release::new(sampling, Sensitivity::L2 { norm: 1.0 }, Some(NoiseSpec::Gaussian { sigma }))
    }

    fn kinds() -> Vec<Release> {
        let poisson = |rate| Sampling::Poisson { rate };
        vec![
            release(poisson(0.01), 1.1),
            release(Sampling::Shuffled { batches: 5 }, 4.0),
            release(poisson(0.02), 2.0),
            release(Sampling::RandomAllocation { batches: 5 }, 3.0),
            release(Sampling::CyclicPoisson { rate: 0.08, groups: 4 }, 2.0),
        ]
    }

    /// However books reach a state, they give the ε of its ledger, to the last bit.
    #[test]
    fn every_way_to_a_state_gives_equal_bounds() {
        let mut recorded = Books::default();
        let mut whole = Ledger::new();
        let curves: Vec<RdpCurve> = kinds().iter().map(|release| RdpCurve::of(release).unwrap()).collect();
        let ids: Vec<ReleaseId> = kinds()
            .into_iter()
            .zip(&curves)
            .map(|(release, curve)| recorded.register(release, curve).unwrap())
            .collect();
        for release in kinds() {
            whole.register(release).unwrap();
        }
        let all = [(0usize, 30u64), (1, 7), (2, 12), (1, 4), (3, 8), (4, 6), (0, 3), (4, 5)];
        let first = Books::of(whole.clone()).unwrap();
        for (kind, count) in all {
            recorded.record(ids[kind], count);
            whole.record_many(ids[kind], count);
            let fresh = account(&whole, DELTA).unwrap();
            assert_eq!(recorded.account(DELTA).unwrap(), fresh);
            assert_eq!(recorded.ledger(), &whole);
            assert_eq!(first.with_events(whole.events().to_vec()).unwrap().account(DELTA).unwrap(), fresh);
            assert!(fresh.tight.unwrap().value <= fresh.improved.epsilon);
        }
        let known: Vec<(Release, RdpCurve)> = kinds().into_iter().zip(curves).collect();
        let known: Vec<(&Release, &RdpCurve)> = known.iter().map(|(release, curve)| (release, curve)).collect();
        let read = Books::of_priced(whole.clone(), &known).unwrap();
        assert_eq!(read.account(DELTA).unwrap(), account(&whole, DELTA).unwrap());
        let beginning = Ledger::of(kinds().into_iter().zip([30, 2])).unwrap();
        assert_eq!(read.after(32).unwrap().account(DELTA).unwrap(), account(&beginning, DELTA).unwrap());
        assert_eq!(read.after(u64::MAX).unwrap().account(DELTA).unwrap(), account(&whole, DELTA).unwrap());
        assert_eq!(read.after(0).unwrap().account(DELTA).unwrap().tight.unwrap().value, 0.0);
    }

    #[test]
    fn the_curve_goes_through_the_tight_bound() {
        let mut books = Books::default();
        let release = kinds().remove(0);
        let id = books.register(release.clone(), &RdpCurve::of(&release).unwrap()).unwrap();
        books.record(id, 1000);
        let tight = books.tight(DELTA).unwrap().value;
        let points = books.curve_about(tight, DELTA).unwrap();
        assert!(points.contains(&(tight, DELTA)) && points.len() > 8, "{points:?}");
    }

    /// A ledger prices only what happened; what is recorded later is priced then.
    #[test]
    fn a_kind_that_had_not_happened_is_priced_when_it_is_recorded() {
        for (recorded, is_priced) in [
            (kinds().remove(0), true),
            (Release::new(Sampling::Poisson { rate: 0.1 }, Sensitivity::L2 { norm: 1.0 }, None), false),
        ] {
            let mut ledger = Ledger::new();
            let id = ledger.register(recorded).unwrap();
            let mut books = Books::of(ledger.clone()).unwrap();
            books.record(id, 0);
            assert_eq!(books.renyi(DELTA).unwrap().improved.epsilon, 0.0);
            books.record(id, 3);
            ledger.record_many(id, 3);
            assert_eq!(books.account(DELTA), account(&ledger, DELTA));
            assert_eq!(books.renyi(DELTA).is_ok_and(|cost| cost.improved.epsilon > 0.0), is_priced);
        }
    }

    #[test]
    fn impossible_events_are_refused() {
        let mut ledger = Ledger::new();
        ledger.register(release(Sampling::Poisson { rate: 0.1 }, 1.0)).unwrap();
        let books = Books::of(ledger).unwrap();
        for events in [vec![Event { release: 1, count: 1 }], vec![Event { release: 0, count: 0 }]] {
            assert!(matches!(books.with_events(events), Err(PrivacyError::Ledger { .. })));
        }
        assert_eq!(books.with_events(vec![]).unwrap().renyi(DELTA).unwrap().improved.epsilon, 0.0);
        let noiseless = Release { noise: None, ..release(Sampling::Poisson { rate: 0.1 }, 1.0) };
        let mut ledger = Ledger::new();
        let id = ledger.register(noiseless).unwrap();
        // A release that did not happen costs nothing, and needs no price.
        let books = Books::of(ledger).unwrap();
        assert_eq!(books.with_events(vec![Event { release: 0, count: 1 }]).unwrap_err(), PrivacyError::NoNoise);
        assert_eq!(id.place(), 0);
    }
}
