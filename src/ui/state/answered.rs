//! The accountant's answer on a run's ledger, and the later ledgers for which it holds.

use crate::{
    accounting::ledger::Event,
    worker::accounts::{PldEpsilon, PrivacySpent},
};

/// What the accountant answered for these events.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    pub events: Vec<Event>,
    /// The events planned to follow.
    pub then: Vec<Event>,
    pub spent: PrivacySpent,
}

impl Answered {
    /// Returns the tight bound of `events`, if this answer holds for them.
    #[must_use]
    pub fn bound(&self, events: &[Event]) -> Option<f64> {
        let PldEpsilon { epsilon, ahead, .. } = self.spent.tight.as_ref()?;
        if events == self.events {
            return Some(*epsilon);
        }
        let more = more_of(&self.events, &self.then, events)?;
        ahead.iter().find(|(count, _)| *count >= more).map(|(_, epsilon)| *epsilon)
    }
}

/// Returns how many events of `then` lead from `earlier` to `later`; `None` if none do.
pub fn more_of(earlier: &[Event], then: &[Event], later: &[Event]) -> Option<u64> {
    let total = |events: &[Event]| events.iter().fold(0u64, |sum, event| sum.saturating_add(event.count));
    let more = total(later).checked_sub(total(earlier))?;
    (Event::followed(earlier, then, more) == later).then_some(more)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::report::OrderedEpsilon;

    fn event(release: u32, count: u64) -> Event {
        Event { release, count }
    }

    #[test]
    fn bounds_cover_only_planned_releases() {
        let renyi = OrderedEpsilon { epsilon: 9.0, order: 2.0 };
        let tight =
            PldEpsilon { epsilon: 1.0, least: 0.99, ahead: vec![(10, 1.5), (40, 2.0)], loose: false, numerical: None };
        let spent = PrivacySpent { releases: 105, classic: renyi, improved: renyi, tight: Some(tight) };
        let answered =
            Answered { events: vec![event(0, 5), event(1, 100)], then: vec![event(1, 30), event(2, u64::MAX)], spent };
        let bound = |last: u64| answered.bound(&[event(0, 5), event(1, last)]);
        assert_eq!([100, 101, 110, 111, 130].map(bound), [1.0, 1.5, 1.5, 2.0, 2.0].map(Some));
        // Only 30 more of release 1 are planned; then the next phase has its own release.
        assert_eq!((bound(131), bound(99)), (None, None));
        let next = |count: u64| answered.bound(&[event(0, 5), event(1, 130), event(2, count)]);
        assert_eq!((next(10), next(11)), (Some(2.0), None));
        // Other releases than the planned ones.
        assert_eq!(answered.bound(&[event(0, 6), event(1, 100)]), None);
        assert_eq!(answered.bound(&[event(0, 5), event(1, 100), event(2, 1)]), None);
        // The first release of a run that continues with another.
        let before = Answered { events: vec![event(0, 5)], then: vec![event(1, 50)], ..answered };
        assert_eq!(before.bound(&[event(0, 5), event(1, 10)]), Some(1.5));
        assert_eq!(before.bound(&[event(0, 6)]), None);
        assert_eq!(before.bound(&[event(0, 5)]), Some(1.0));
    }
}
