//! What the run gives away, by tight accounting of its ledger, live.
//!
//! The accountant answers later than steps run. So it is asked ahead: what is shown of a run that plays is the bound of the smallest number of releases that it
//! has answered for and that is not below what happened; of a run that stands still it is the bound of what happened.

use std::sync::Arc;

use leptos::prelude::*;

use crate::{
    accounting::ledger::Event,
    plot::series::Point,
    worker::accounts::{Spent, TightEpsilon},
};

/// The ledger of the run that stands, as the training thread told it.
#[derive(Clone)]
pub struct RunLedger {
    pub run: u32,
    pub json: Arc<str>,
    /// Which of its releases each step is.
    pub release: u32,
    pub events: Vec<Event>,
    /// Whether the accountant has it.
    pub told: bool,
}

/// What the accountant said of these events.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    pub events: Vec<Event>,
    pub release: u32,
    pub spent: Spent,
}

impl Answered {
    /// The tight bound of `events`, if this answer holds for them.
    #[must_use]
    fn bound(&self, events: &[Event]) -> Option<f64> {
        let TightEpsilon { epsilon, ahead, .. } = self.spent.tight.as_ref()?;
        if events == self.events {
            return Some(*epsilon);
        }
        let more = more_of(&self.events, self.release, events)?;
        ahead.iter().find(|(count, _)| *count >= more).map(|(_, epsilon)| *epsilon)
    }
}

/// How many more of `release` make `later` of `earlier`; `None` where it is something else.
fn more_of(earlier: &[Event], release: u32, later: &[Event]) -> Option<u64> {
    let total = |events: &[Event]| events.iter().fold(0u64, |sum, event| sum.saturating_add(event.count));
    let more = total(later).checked_sub(total(earlier))?;
    let mut expected = earlier.to_vec();
    match expected.last_mut() {
        _ if more == 0 => {}
        Some(last) if last.release == release => last.count = last.count.saturating_add(more),
        _ => expected.push(Event { release, count: more }),
    }
    (expected == later).then_some(more)
}

/// The signals. Copied freely.
#[derive(Clone, Copy)]
pub struct Spending {
    pub ledger: StoredValue<Option<RunLedger>, LocalStorage>,
    /// Releases so far: set before the report that it belongs to.
    pub released: RwSignal<u64>,
    pub answered: RwSignal<Option<Arc<Answered>>>,
    /// The privacy curve at so many releases, which is asked for while its panel is open.
    pub curve: RwSignal<Option<(u64, Vec<Point>)>>,
    pub curve_open: RwSignal<bool>,
    /// No question before this time, in milliseconds, while the run plays.
    pub rest_until: StoredValue<f64>,
}

impl Spending {
    /// Nothing is known yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            ledger: StoredValue::new_local(None),
            released: RwSignal::new(0),
            answered: RwSignal::new(None),
            curve: RwSignal::new(None),
            curve_open: RwSignal::new(false),
            rest_until: StoredValue::new(0.0),
        }
    }

    /// Nothing is known of a new run.
    pub fn forget(self) {
        self.ledger.set_value(None);
        self.released.set(0);
        self.answered.set(None);
        self.curve.set(None);
        self.rest_until.set_value(0.0);
    }

    /// A new thread of the accountant has no ledger yet.
    pub fn tell_again(self) {
        self.ledger.update_value(|ledger| ledger.iter_mut().for_each(|ledger| ledger.told = false));
    }

    /// The tight bound of what happened, where one that holds is known.
    #[must_use]
    pub fn epsilon(self) -> Option<f64> {
        self.released.track();
        let answered = self.answered.get()?;
        self.ledger.with_value(|ledger| answered.bound(&ledger.as_ref()?.events))
    }

    /// What was said of exactly what happened.
    #[must_use]
    pub fn exact(self) -> Option<TightEpsilon> {
        self.released.track();
        let answered = self.answered.get()?;
        let same =
            self.ledger.with_value(|ledger| ledger.as_ref().is_some_and(|ledger| ledger.events == answered.events));
        answered.spent.tight.clone().filter(|_| same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::report::OrderedEpsilon;

    fn event(release: u32, count: u64) -> Event {
        Event { release, count }
    }

    #[test]
    fn a_bound_is_shown_of_no_more_than_it_holds_for() {
        let renyi = OrderedEpsilon { epsilon: 9.0, order: 2.0 };
        let tight = TightEpsilon { epsilon: 1.0, ahead: vec![(10, 1.5), (40, 2.0)], numerical: None };
        let spent = Spent { releases: 105, classic: renyi, improved: renyi, tight: Some(tight) };
        let answered = Answered { events: vec![event(0, 5), event(1, 100)], release: 1, spent };
        let bound = |last: u64| answered.bound(&[event(0, 5), event(1, last)]);
        assert_eq!([100, 101, 110, 111, 140].map(bound), [1.0, 1.5, 1.5, 2.0, 2.0].map(Some));
        assert_eq!((bound(141), bound(99)), (None, None));
        // Other releases than those that were asked for.
        assert_eq!(answered.bound(&[event(0, 6), event(1, 100)]), None);
        assert_eq!(answered.bound(&[event(0, 5), event(1, 100), event(2, 1)]), None);
        // The first release of a run that goes on with another.
        let before = Answered { events: vec![event(0, 5)], release: 1, ..answered };
        assert_eq!(before.bound(&[event(0, 5), event(1, 10)]), Some(1.5));
        assert_eq!(before.bound(&[event(0, 6)]), None);
        assert_eq!(before.bound(&[event(0, 5)]), Some(1.0));
    }
}
