//! Composition of several runs on the same examples.
//!
//! Runs on one training set form one mechanism, each release of which may depend on earlier ones:
//! *adaptive composition*. Losses add up order by order (Mironov 2017, Proposition 1; Theorem 1 of
//! the paper), so the runs cost as much as one ledger with the events of all ([`Ledger::compose`]):
//! usually less than the sum of their ε, never less than any of them.
//!
//! Assumed: the list is complete; the runs share their examples and privacy unit. Running again may
//! depend on results: ε covers what was released. A promise needs a budget set beforehand.

use super::{
    books::Books,
    error::PrivacyError,
    ledger::{Event, Ledger, Release},
    pld::Rigor,
    sampling::NeighbouringRelation,
};
use hushgrad_message::{Message, ToMessage, message, word};

impl Ledger {
    /// This ledger followed by `next`, a separate run with a new sampler: epochs left open here are
    /// first given up ([`Ledger::charge_open_epoch`]). ε does not depend on the order of runs. A ledger
    /// may hold runs with different neighbouring relations, but only [`total`] prices them.
    ///
    /// # Errors
    /// If either ledger, or both together, cannot have happened.
    pub fn compose(&self, next: &Self) -> Result<Self, PrivacyError> {
        next.validate()?;
        let mut both = self.clone();
        for release in self.releases() {
            both.charge_open_epoch(release.sampling);
        }
        both.append(next.events().iter().map(|event| (next.releases()[event.release as usize].clone(), event.count)))?;
        both.validate()?;
        Ok(both)
    }

    /// The events after those of `earlier`; `None` if this ledger does not begin with `earlier`.
    ///
    /// Runs with equal settings have equal ledgers, so a common beginning does not show that this
    /// ledger continues the same run. The caller must know this before leaving it out.
    #[must_use]
    pub fn after(&self, earlier: &Self) -> Option<Self> {
        let mut own = self.events().iter().copied();
        let mut open: Option<Event> = None;
        for Event { release, mut count } in earlier.events().iter().copied() {
            let wanted = earlier.releases().get(release as usize)?;
            while count > 0 {
                let Event { release, count: there } = open.take().or_else(|| own.next())?;
                if self.releases().get(release as usize) != Some(wanted) {
                    return None;
                }
                let taken = count.min(there);
                count -= taken;
                open = (there > taken).then_some(Event { release, count: there - taken });
            }
        }
        let left = open.into_iter().chain(own);
        let left = left.map(|event| Some((self.releases().get(event.release as usize)?.clone(), event.count)));
        Self::of(left.collect::<Option<Vec<_>>>()?).ok()
    }
}

/// The cost of `runs` to one example, whatever units they protect ([`Ledger::per_example`]).
///
/// # Errors
/// As [`total`].
pub fn total_per_example(runs: &[&Ledger], delta: f64) -> Result<Total, PrivacyError> {
    let own: Vec<Ledger> = runs.iter().map(|run| run.per_example()).collect();
    total(&own.iter().collect::<Vec<_>>(), delta)
}

/// The joint cost of several runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Total {
    /// Upper bound: the smaller of tight (where it has a price) and improved Rényi accounting.
    pub epsilon: f64,
    /// The δ at which `epsilon` holds, as requested.
    pub delta: f64,
    /// The neighbouring relation for which it holds.
    pub neighbours: NeighbouringRelation,
    /// The accounting that gave `epsilon`.
    pub accounting: Accounting,
}

/// The accounting that gives the smaller bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Accounting {
    /// Privacy loss distributions; proven or not.
    Tight(Rigor),
    /// Rényi divergence at the order that gives the smallest ε.
    Renyi,
}

hushgrad_message::display!(Accounting);

impl ToMessage for Accounting {
    fn to_message(&self) -> Message {
        match self {
            Self::Tight(rigor) => message!("privacy loss distributions, {rigor}"),
            Self::Renyi => word!("Rényi accounting").into(),
        }
    }
}

/// The joint cost of `runs` at `delta`, to an attacker who sees all their releases.
///
/// Runs with one neighbouring relation are priced as one ledger. With both relations, the total is
/// for replace-one, at which every release of a noisy sum has a price ([`Ledger::replacing_one`]).
///
/// If runs protect different units, the total is for one example in all ([`Ledger::per_example`]).
///
/// # Errors
/// As [`Books::account`]: a run without a guarantee, too many kinds of release, no finite bound.
/// [`PrivacyError::MixedNeighbours`] for one run of both relations, and with a pair that is known for
/// one relation alone.
pub fn total(runs: &[&Ledger], delta: f64) -> Result<Total, PrivacyError> {
    // `None` (one example) is the same unit in every run.
    let mut kinds = runs.iter().flat_map(|run| run.releases()).map(Release::protects);
    let first = kinds.next();
    if first.is_some_and(|first| kinds.any(|kind| kind != first)) {
        return total_per_example(runs, delta);
    }
    let (mut added, mut replaced) = (Ledger::new(), Ledger::new());
    for run in runs {
        let happened = || run.events().iter().filter_map(|event| run.releases().get(event.release as usize));
        let relation = |neighbours| happened().any(|release| release.neighbours() == neighbours);
        match (relation(NeighbouringRelation::AddOrRemoveOne), relation(NeighbouringRelation::ReplaceOne)) {
            (true, true) => return Err(PrivacyError::MixedNeighbours),
            (_, false) => added = added.compose(run)?,
            (false, true) => replaced = replaced.compose(run)?,
        }
    }
    let (neighbours, all) = match (added.events().is_empty(), replaced.events().is_empty()) {
        (_, true) => (NeighbouringRelation::AddOrRemoveOne, added),
        (true, false) => (NeighbouringRelation::ReplaceOne, replaced),
        (false, false) => (NeighbouringRelation::ReplaceOne, added.replacing_one()?.compose(&replaced)?),
    };
    let account = Books::of(all)?.account(delta)?;
    let renyi = account.improved.epsilon;
    let (epsilon, accounting) = match account.tight {
        Some(tight) if tight.value <= renyi => (tight.value, Accounting::Tight(tight.rigor)),
        _ => (renyi, Accounting::Renyi),
    };
    finite(Total { epsilon, delta, neighbours, accounting })
}

fn finite(total: Total) -> Result<Total, PrivacyError> {
    if total.epsilon.is_finite() { Ok(total) } else { Err(PrivacyError::Infinite) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        ledger::{PrivacyUnit, Sensitivity},
        noise::NoiseSpec,
        pld::TOLERANCE,
        rdp::epsilon_of,
        sampling::Sampling,
    };

    const DELTA: f64 = 1e-5;

    fn release(sampling: Sampling, sigma: f64) -> Release {
        Release::new(sampling, Sensitivity::L2 { norm: 1.0 }, Some(NoiseSpec::Gaussian { sigma }))
    }

    fn ledger(events: &[(Release, u64)]) -> Ledger {
        Ledger::of(events.iter().cloned()).unwrap()
    }

    fn epsilon(ledger: &Ledger) -> f64 {
        let account = Books::of(ledger.clone()).unwrap().account(DELTA).unwrap();
        account.tight.map_or(account.improved.epsilon, |tight| tight.value)
    }

    fn of(runs: &[&Ledger]) -> f64 {
        total(runs, DELTA).unwrap().epsilon
    }

    /// Poisson sampling, and shuffled and random-allocation epochs of three and five batches.
    fn added() -> impl Strategy<Value = Ledger> {
        let sampling = prop_oneof![
            prop::sample::select(vec![0.01, 0.1, 1.0]).prop_map(|rate| Sampling::Poisson { rate }),
            prop::sample::select(vec![3, 5]).prop_map(|batches| Sampling::Shuffled { batches }),
            prop::sample::select(vec![3, 5]).prop_map(|batches| Sampling::RandomAllocation { batches }),
        ];
        let one = (sampling, prop::sample::select(vec![2.0, 4.0, 7.0]), 1u64..12);
        prop::collection::vec(one, 1..4).prop_map(|events| {
            let events: Vec<_> =
                events.into_iter().map(|(sampling, sigma, count)| (release(sampling, sigma), count)).collect();
            ledger(&events)
        })
    }

    /// Rényi ε, whose sums are exact.
    fn renyi(ledger: &Ledger, delta: f64) -> f64 {
        epsilon_of(ledger, delta).unwrap().improved.epsilon
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn a_composed_ledger_costs_no_less_than_any_part_and_no_more_than_all(a in added(), b in added(), c in added()) {
            let compose = |first: &Ledger, then: [&Ledger; 2]| {
                then.into_iter().fold(first.compose(&Ledger::new()).unwrap(), |sum, next| sum.compose(next).unwrap())
            };
            let all = compose(&a, [&b, &c]);
            let sum = renyi(&all, DELTA);
            let each = [&a, &b, &c].map(|run| renyi(run, DELTA));
            for part in each {
                prop_assert!(sum >= part * (1.0 - 1e-12), "{} {}", sum, part);
            }
            // Basic composition, at three times δ.
            let thrice = renyi(&all, 3.0 * DELTA);
            prop_assert!(thrice <= each.iter().sum::<f64>() * (1.0 + 1e-9), "{} {:?}", thrice, each);
            for order in [compose(&a, [&c, &b]), compose(&b, [&a, &c]), compose(&b, [&c, &a]), compose(&c, [&a, &b]), compose(&c, [&b, &a])] {
                let other = renyi(&order, DELTA);
                prop_assert!((sum - other).abs() <= 1e-9 * sum, "{} {}", sum, other);
            }
        }

        #[test]
        fn a_sum_is_no_less_than_any_part_and_no_more_than_all(a in added(), b in added(), c in added()) {
            let sum = of(&[&a, &b, &c]);
            let each = [&a, &b, &c].map(epsilon);
            for part in each {
                prop_assert!(sum >= part * (1.0 - TOLERANCE), "{} {}", sum, part);
            }
            // Basic composition, at three times δ.
            let thrice = total(&[&a, &b, &c], 3.0 * DELTA).unwrap().epsilon;
            prop_assert!(thrice <= each.iter().sum::<f64>() * (1.0 + TOLERANCE), "{} {:?}", thrice, each);
        }

        #[test]
        fn the_order_of_runs_does_not_matter(a in added(), b in added(), c in added()) {
            let sum = of(&[&a, &b, &c]);
            for order in [[&a, &c, &b], [&b, &a, &c], [&b, &c, &a], [&c, &a, &b], [&c, &b, &a]] {
                let other = of(&order);
                prop_assert!((sum - other).abs() <= 1e-9 * sum, "{} {}", sum, other);
            }
            let nested = a.compose(&b.compose(&c).unwrap()).unwrap();
            prop_assert!((epsilon(&nested) - sum).abs() <= 1e-9 * sum);
        }

        /// Without open epochs, composing neither loses nor adds events.
        #[test]
        fn a_sum_is_the_ledger_with_the_events_of_all(
            counts in prop::collection::vec((prop::sample::select(vec![0.01, 0.2]), 1.0..9.0f64, 1u64..50), 2..6),
            cut in 0.0..1.0f64,
        ) {
            let events: Vec<_> = counts
                .iter()
                .map(|&(rate, sigma, count)| (release(Sampling::Poisson { rate }, sigma.round()), count))
                .collect();
            let whole = ledger(&events);
            let cut = (cut * events.len() as f64) as usize;
            let (first, second) = (ledger(&events[..cut]), ledger(&events[cut..]));
            prop_assert_eq!(first.compose(&second).unwrap(), whole.clone());
            prop_assert_eq!(of(&[&first, &second]), epsilon(&whole));
            // `after` inverts `compose`.
            let rest = whole.after(&first).unwrap();
            prop_assert_eq!(rest.steps(), second.steps());
            prop_assert_eq!(first.compose(&rest).unwrap(), whole);
        }
    }

    #[test]
    fn an_epoch_that_a_run_left_open_is_not_filled_by_the_next() {
        let shuffled = release(Sampling::Shuffled { batches: 5 }, 4.0);
        let (two, five, ten) =
            (ledger(&[(shuffled.clone(), 2)]), ledger(&[(shuffled.clone(), 5)]), ledger(&[(shuffled, 10)]));
        assert_eq!(of(&[&two, &two]), epsilon(&ten));
        assert!(of(&[&two, &two]) > epsilon(&five));
    }

    #[test]
    fn after_detects_a_common_beginning() {
        let (a, b) = (release(Sampling::Poisson { rate: 0.1 }, 2.0), release(Sampling::Poisson { rate: 0.1 }, 3.0));
        let whole = ledger(&[(a.clone(), 5), (b.clone(), 4), (a.clone(), 1)]);
        assert_eq!(whole.after(&Ledger::new()), Some(whole.clone()));
        assert_eq!(whole.after(&whole), Some(Ledger::new()));
        // The same releases under other ids.
        let mut renamed = Ledger::new();
        renamed.register(b.clone()).unwrap();
        let id = renamed.register(a.clone()).unwrap();
        renamed.record_many(id, 3);
        assert_eq!(whole.after(&renamed), Some(ledger(&[(a.clone(), 2), (b.clone(), 4), (a.clone(), 1)])));
        for other in [ledger(&[(a.clone(), 6)]), ledger(&[(b.clone(), 1)]), ledger(&[(a.clone(), 5), (b, 4), (a, 2)])] {
            assert_eq!(whole.after(&other), None, "{other:?}");
        }
    }

    /// Compared with the two groups priced separately, by group privacy of two.
    #[test]
    fn different_neighbours_add_up_to_a_guarantee_for_an_exchange() {
        let poisson = ledger(&[(release(Sampling::Poisson { rate: 0.01 }, 2.0), 100)]);
        let fixed = ledger(&[(release(Sampling::FixedSize { population: 1000, size: 10 }, 2.0), 100)]);
        let both = total(&[&poisson, &fixed], DELTA).unwrap();
        assert_eq!(both.neighbours, NeighbouringRelation::ReplaceOne);
        assert_eq!(both, total(&[&fixed, &poisson], DELTA).unwrap());
        let at = |ledger: &Ledger, delta| epsilon_of(ledger, delta).unwrap().improved.epsilon;
        let separately = 2.0 * at(&poisson, 0.5 * DELTA) + at(&fixed, DELTA);
        let exchanged = of(&[&poisson.replacing_one().unwrap()]);
        assert!(both.epsilon > exchanged && both.epsilon < separately, "{} {exchanged} {separately}", both.epsilon);
        assert!(exchanged > of(&[&poisson]) && exchanged < 2.0 * at(&poisson, 0.25 * DELTA));
        assert!(matches!(both.accounting, Accounting::Tight(_)));
        assert_eq!(total(&[&fixed, &fixed], DELTA).unwrap().neighbours, NeighbouringRelation::ReplaceOne);
        // One run never mixes both relations.
        assert!(matches!(total(&[&poisson.compose(&fixed).unwrap()], DELTA), Err(PrivacyError::MixedNeighbours)));
    }

    #[test]
    fn a_run_without_guarantee_makes_the_total_fail() {
        let fine = ledger(&[(release(Sampling::Poisson { rate: 0.01 }, 2.0), 100)]);
        let noiseless = Release { noise: None, ..release(Sampling::Poisson { rate: 0.01 }, 1.0) };
        assert_eq!(total(&[&fine, &ledger(&[(noiseless, 1)])], DELTA), Err(PrivacyError::NoNoise));
        let batch =
            Release { unit: PrivacyUnit::MicroBatch, ..release(Sampling::FixedSize { population: 9, size: 1 }, 2.0) };
        // Different units are priced per example.
        let batch = ledger(&[(batch, 1)]);
        let both = total(&[&fine, &batch], DELTA).unwrap();
        assert_eq!(both, total(&[&fine, &batch.per_example()], DELTA).unwrap());
        assert!(both.epsilon > total(&[&batch], DELTA).unwrap().epsilon);
        assert_eq!(total_per_example(&[&batch], DELTA), total(&[&batch.per_example()], DELTA));
        assert_eq!(total(&[], DELTA).unwrap().epsilon, 0.0);
        assert!(total(&[&fine], 0.0).is_err());
    }
}
