//! Several runs on the same examples as one: what they released together, and what all of it costs.
//!
//! Runs on one training set are one mechanism that releases the releases of all of them, each of which may depend on what came before: *adaptive
//! composition*. Losses add up order by order (Mironov 2017, Proposition 1; Theorem 1 of the paper), so the price of the runs together is
//! that of one ledger with the events of all ([`Ledger::compose`]). It is smaller than the sum of the runs' ε, and never smaller than any of them.
//!
//! Assumed: all runs are in the list; they are on the *same* examples; what is protected is the same. Whether and how to run again may depend on
//! what was seen, and ε is that of what was released in the end; a promise made beforehand needs a budget set beforehand.

use super::{
    books::Books,
    error::PrivacyError,
    ledger::{Event, Ledger, Release},
    rdp::epsilon_of,
    sampling::NeighbouringRelation,
};

impl Ledger {
    /// What happened here and then in `next`, a run by itself: its sampler is a new one, so shuffled epochs that are open here are given up first
    /// ([`Ledger::give_up_epoch`]). The order of runs does not matter to ε. Runs with different neighbours can be written into one ledger
    /// and not be priced as one; [`total`] prices them.
    ///
    /// # Errors
    /// When either ledger, or both together, cannot have happened.
    pub fn compose(&self, next: &Self) -> Result<Self, PrivacyError> {
        next.validate()?;
        let mut both = self.clone();
        for release in self.releases() {
            both.give_up_epoch(release.sampling);
        }
        append(&mut both, next.events().iter().map(|event| (&next.releases()[event.release as usize], event.count)))?;
        both.validate()?;
        Ok(both)
    }

    /// What happened here after all that happened in `earlier`, which this ledger begins with; `None` where it does not begin with it.
    ///
    /// That one ledger begins with another does not say that one run continues the other: two runs with equal settings look so, too. Only
    /// whoever knows that it does may leave out what is in both.
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
        let mut rest = Self::new();
        let left = open.into_iter().chain(own);
        let left = left.map(|event| Some((self.releases().get(event.release as usize)?, event.count)));
        append(&mut rest, left.collect::<Option<Vec<_>>>()?.into_iter()).ok()?;
        Some(rest)
    }
}

/// What `runs` cost one example together, whatever each of them protects as a whole ([`Ledger::per_example`]): what may be said of runs whose units nobody names.
///
/// # Errors
/// As [`total`].
pub fn total_per_example(runs: &[&Ledger], delta: f64) -> Result<Total, PrivacyError> {
    let own: Vec<Ledger> = runs.iter().map(|run| run.per_example()).collect();
    total(&own.iter().collect::<Vec<_>>(), delta)
}

fn append<'a>(to: &mut Ledger, events: impl Iterator<Item = (&'a Release, u64)>) -> Result<(), PrivacyError> {
    for (release, count) in events {
        let id = to.register(release.clone())?;
        to.record_many(id, count);
    }
    Ok(())
}

/// What runs cost together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Total {
    /// Upper bound: by tight accounting where every release has a price there, else by Rényi accounting.
    pub epsilon: f64,
    /// The δ at which `epsilon` holds. It is the δ that was asked for.
    pub delta: f64,
    /// The neighbouring relation for which it holds.
    pub neighbours: NeighbouringRelation,
}

/// What `runs` cost together at `delta`, whoever sees all that they released.
///
/// Runs with one neighbouring relation are priced as one ledger. Where some are priced for replace-one and some for add-or-remove-one, the total
/// is for replace-one: to exchange an example is to take one out and to put one in, and P(D₁) ≤ e^ε·P(D₂) + δ ≤ e^ε·(e^ε·P(D₃) + δ) + δ makes of an (ε, δ)
/// for the second relation (2ε, (1 + e^ε)·δ) for the first. The two groups add up, also where their runs alternate and depend on one another
/// (concurrent composition: Lyu 2022; Vadhan & Zhang 2023).
///
/// Where some runs protect an example and others a micro-batch or a user, the total is of one example in all of them ([`Ledger::per_example`]).
///
/// # Errors
/// As [`epsilon_of`]: no guarantee in any run, too many kinds of release, no finite bound.
pub fn total(runs: &[&Ledger], delta: f64) -> Result<Total, PrivacyError> {
    // An example is one wherever it stands.
    let mut kinds = runs.iter().flat_map(|run| run.releases()).map(Release::protects);
    let first = kinds.next();
    if first.is_some_and(|first| kinds.any(|kind| kind != first)) {
        return total_per_example(runs, delta);
    }
    let (mut added, mut replaced) = (Ledger::new(), Ledger::new());
    for run in runs {
        let happened = || run.events().iter().filter_map(|event| run.releases().get(event.release as usize));
        let relation = |neighbours| happened().any(|release| release.sampling.neighbours() == neighbours);
        match (relation(NeighbouringRelation::AddOrRemoveOne), relation(NeighbouringRelation::ReplaceOne)) {
            (true, true) => return Err(PrivacyError::MixedNeighbours),
            (_, false) => added = added.compose(run)?,
            (false, true) => replaced = replaced.compose(run)?,
        }
    }
    let neighbours = match (added.events().is_empty(), replaced.events().is_empty()) {
        (_, true) => NeighbouringRelation::AddOrRemoveOne,
        (true, false) => NeighbouringRelation::ReplaceOne,
        (false, false) => {
            let (doubled, spent) = as_replace_one(&added, 0.5 * delta)?;
            // What was not spent of half of δ is left to the others.
            let epsilon = doubled + epsilon_of(&replaced, delta - spent)?.improved.epsilon;
            return finite(Total { epsilon: epsilon.next_up(), delta, neighbours: NeighbouringRelation::ReplaceOne });
        }
    };
    let all = if neighbours == NeighbouringRelation::AddOrRemoveOne { &added } else { &replaced };
    let account = Books::of(all.clone())?.account(delta)?;
    let epsilon = account.tight.map_or(f64::INFINITY, |tight| tight.value).min(account.improved.epsilon);
    finite(Total { epsilon, delta, neighbours })
}

fn finite(total: Total) -> Result<Total, PrivacyError> {
    if total.epsilon.is_finite() { Ok(total) } else { Err(PrivacyError::Infinite) }
}

/// ε for replace-one of a ledger that is priced for add-or-remove-one, at some δ of at most `most`, and that δ.
fn as_replace_one(ledger: &Ledger, most: f64) -> Result<(f64, f64), PrivacyError> {
    const TRIES: usize = 64;
    /// Room for ε that grows while δ falls, so that the search ends.
    const SLACK: f64 = 0.75;
    let accountant = super::rdp::Accountant::of(ledger)?;
    let mut delta = 0.5 * most;
    for _ in 0..TRIES {
        let epsilon = accountant.epsilon(delta)?.improved.epsilon;
        // Rounded up: three operations, and an exponential that is off by a unit in its last place.
        let spent = delta * (1.0 + epsilon.exp()) * (1.0 + 8.0 * f64::EPSILON);
        if spent <= most {
            return Ok((2.0 * epsilon, spent));
        }
        delta *= SLACK * most / spent;
        if delta.is_nan() || delta < f64::MIN_POSITIVE {
            break;
        }
    }
    Err(PrivacyError::Infinite)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        ledger::{PrivacyUnit, Sensitivity},
        noise::NoiseSpec,
        pld::TOLERANCE,
        sampling::Sampling,
    };

    const DELTA: f64 = 1e-5;

    fn release(sampling: Sampling, sigma: f64) -> Release {
        Release::new(sampling, Sensitivity::L2 { norm: 1.0 }, Some(NoiseSpec::Gaussian { sigma }))
    }

    fn ledger(events: &[(Release, u64)]) -> Ledger {
        let mut ledger = Ledger::new();
        append(&mut ledger, events.iter().map(|(release, count)| (release, *count))).unwrap();
        ledger
    }

    fn epsilon(ledger: &Ledger) -> f64 {
        let account = Books::of(ledger.clone()).unwrap().account(DELTA).unwrap();
        account.tight.map_or(account.improved.epsilon, |tight| tight.value)
    }

    fn of(runs: &[&Ledger]) -> f64 {
        total(runs, DELTA).unwrap().epsilon
    }

    /// Poisson sampling, and shuffled and allocated epochs of three and five batches.
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

    /// By Rényi accounting, whose sums are exact.
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
            // Basic composition, at thrice the δ.
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
            // Basic composition, at thrice the δ.
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

        /// Nothing is forgotten, and nothing is added, where no epoch is open.
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
            // And back.
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
    fn a_ledger_begins_with_another_or_it_does_not() {
        let (a, b) = (release(Sampling::Poisson { rate: 0.1 }, 2.0), release(Sampling::Poisson { rate: 0.1 }, 3.0));
        let whole = ledger(&[(a.clone(), 5), (b.clone(), 4), (a.clone(), 1)]);
        assert_eq!(whole.after(&Ledger::new()), Some(whole.clone()));
        assert_eq!(whole.after(&whole), Some(Ledger::new()));
        // The same releases, called by other numbers.
        let mut renamed = Ledger::new();
        renamed.register(b.clone()).unwrap();
        let id = renamed.register(a.clone()).unwrap();
        renamed.record_many(id, 3);
        assert_eq!(whole.after(&renamed), Some(ledger(&[(a.clone(), 2), (b.clone(), 4), (a.clone(), 1)])));
        for other in [ledger(&[(a.clone(), 6)]), ledger(&[(b.clone(), 1)]), ledger(&[(a.clone(), 5), (b, 4), (a, 2)])] {
            assert_eq!(whole.after(&other), None, "{other:?}");
        }
    }

    /// Against the parts by themselves.
    #[test]
    fn different_neighbours_add_up_to_a_guarantee_for_an_exchange() {
        let poisson = ledger(&[(release(Sampling::Poisson { rate: 0.01 }, 2.0), 100)]);
        let fixed = ledger(&[(release(Sampling::FixedSize { population: 1000, size: 10 }, 2.0), 100)]);
        let both = total(&[&poisson, &fixed], DELTA).unwrap();
        assert_eq!(both.neighbours, NeighbouringRelation::ReplaceOne);
        assert_eq!(both, total(&[&fixed, &poisson], DELTA).unwrap());
        let at = |ledger: &Ledger, delta| epsilon_of(ledger, delta).unwrap().improved.epsilon;
        let least = 2.0 * at(&poisson, 0.5 * DELTA) + at(&fixed, DELTA);
        assert!(both.epsilon >= least && both.epsilon < 1.25 * least, "{} {least}", both.epsilon);
        let (doubled, spent) = as_replace_one(&poisson, 0.5 * DELTA).unwrap();
        assert!(spent <= 0.5 * DELTA && doubled >= 2.0 * at(&poisson, 0.25 * DELTA));
        assert_eq!(total(&[&fixed, &fixed], DELTA).unwrap().neighbours, NeighbouringRelation::ReplaceOne);
        // Two relations in one run are no run of this program.
        assert!(matches!(total(&[&poisson.compose(&fixed).unwrap()], DELTA), Err(PrivacyError::MixedNeighbours)));
    }

    #[test]
    fn what_has_no_guarantee_makes_the_sum_without() {
        let fine = ledger(&[(release(Sampling::Poisson { rate: 0.01 }, 2.0), 100)]);
        let noiseless = Release { noise: None, ..release(Sampling::Poisson { rate: 0.01 }, 1.0) };
        assert_eq!(total(&[&fine, &ledger(&[(noiseless, 1)])], DELTA), Err(PrivacyError::NoNoise));
        let batch =
            Release { unit: PrivacyUnit::MicroBatch, ..release(Sampling::FixedSize { population: 9, size: 1 }, 2.0) };
        // Of different units: what each costs one example.
        let batch = ledger(&[(batch, 1)]);
        let both = total(&[&fine, &batch], DELTA).unwrap();
        assert_eq!(both, total(&[&fine, &batch.per_example()], DELTA).unwrap());
        assert!(both.epsilon > total(&[&batch], DELTA).unwrap().epsilon);
        assert_eq!(total_per_example(&[&batch], DELTA), total(&[&batch.per_example()], DELTA));
        // Too dear for any number: no bound, and no endless search.
        let dear = ledger(&[(release(Sampling::Poisson { rate: 1.0 }, 0.01), 1000)]);
        let fixed = ledger(&[(release(Sampling::FixedSize { population: 9, size: 1 }, 2.0), 1)]);
        assert!(total(&[&dear, &fixed], DELTA).is_err());
        assert_eq!(total(&[], DELTA).unwrap().epsilon, 0.0);
        assert!(total(&[&fine], 0.0).is_err());
    }
}
