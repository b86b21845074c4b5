//! What the run gives away, by tight accounting of its ledger, live.
//!
//! The accountant answers later than steps run. So it is asked ahead: what is shown of a run that plays is the bound of the smallest number of releases that it
//! has answered for and that is not below what happened; of a run that stands still it is the bound of what happened.

use std::sync::Arc;

use leptos::prelude::*;

use super::{
    answered::{Answered, more_of},
    charts::Charts,
    run::Run,
};
use crate::{
    accounting::{gdp::GaussianFit, ledger::Event},
    plot::series::Point,
    ui::{
        browser,
        threads::accountant::{AccountantClient, Topic},
    },
    worker::accounts::{Answer, Curve, Question, TightEpsilon},
};

/// A run that plays is accounted for this often, in milliseconds, and no more often than one in so many of the times that an answer takes.
const LIVE_MS: f64 = 1000.0;
const REST: f64 = 6.0;
/// Releases ahead that are asked for of a run that stands still: so much is known when it plays, until its speed is.
const AHEAD: [u64; 4] = [1, 8, 64, 512];

/// The ledger of the run that stands, as the training thread told it.
#[derive(Clone)]
struct RunLedger {
    run: u32,
    json: Arc<str>,
    /// The run's step when it was opened, and what the steps from there on release.
    step: u64,
    planned: Vec<Event>,
    events: Vec<Event>,
    /// Whether the accountant has it.
    told: bool,
}

/// The signals. Copied freely.
#[derive(Clone, Copy)]
pub struct Spending {
    run: Run,
    charts: Charts,
    accountant: AccountantClient,
    ledger: StoredValue<Option<RunLedger>, LocalStorage>,
    /// Releases so far: set before the report that it belongs to.
    pub released: RwSignal<u64>,
    answered: RwSignal<Option<Arc<Answered>>>,
    /// The privacy curve at so many releases, which is asked for where the run stands still.
    curve: RwSignal<Option<(u64, Curve)>>,
    /// No question before this time, in milliseconds, while the run plays.
    rest_until: StoredValue<f64>,
}

impl Spending {
    /// Nothing is known yet.
    #[must_use]
    pub fn new(run: Run, charts: Charts, accountant: AccountantClient) -> Self {
        Self {
            run,
            charts,
            accountant,
            ledger: StoredValue::new_local(None),
            released: RwSignal::new(0),
            answered: RwSignal::new(None),
            curve: RwSignal::new(None),
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

    /// The accountant's thread is gone: the next has no ledger yet.
    pub fn tell_again(self) {
        self.ledger.update_value(|ledger| ledger.iter_mut().for_each(|ledger| ledger.told = false));
        self.rest_until.set_value(0.0);
    }

    /// A tight bound of what happened, where one that holds is known: the bound of a few releases more while the run plays.
    #[must_use]
    pub fn tight(self) -> Option<f64> {
        self.released.track();
        let answered = self.answered.get()?;
        self.ledger.with_value(|ledger| answered.bound(&ledger.as_ref()?.events))
    }

    /// How many of the steps happened, and nothing else, that were planned when the run was begun.
    #[must_use]
    pub fn planned_steps(self) -> Option<u64> {
        self.released.track();
        self.ledger.with_value(|ledger| {
            let ledger = ledger.as_ref().filter(|ledger| ledger.step == 0)?;
            more_of(&[], &ledger.planned, &ledger.events)
        })
    }

    /// What was said of exactly what happened.
    #[must_use]
    pub fn exact(self) -> Option<TightEpsilon> {
        if !self.is_answered() {
            return None;
        }
        self.answered.with(|answered| answered.as_ref()?.spent.tight.clone())
    }

    /// Whether the accountant has said all that it can of exactly what happened.
    #[must_use]
    pub fn is_answered(self) -> bool {
        self.released.track();
        let answered = self.answered.get();
        self.ledger.with_value(|ledger| match (ledger, answered) {
            (Some(ledger), Some(answered)) => ledger.events == answered.events,
            _ => false,
        })
    }

    /// The whole privacy curve, where the run stands still and tight accounting knows it.
    #[must_use]
    pub fn whole_curve(self) -> Option<Vec<Point>> {
        self.known_curve().map(|curve| curve.points)
    }

    /// μ of the run that stands still, where tight accounting knows it.
    #[must_use]
    pub fn gaussian(self) -> Option<GaussianFit> {
        self.known_curve()?.gaussian
    }

    /// What one example costs where others share its vector, of the run that stands still.
    #[must_use]
    pub fn of_one(self) -> Option<String> {
        self.known_curve()?.one
    }

    fn known_curve(self) -> Option<Curve> {
        let released = self.released.get();
        self.curve.get().filter(|(at, _)| *at == released).map(|(_, curve)| curve)
    }

    /// A run stands, with this ledger: what its first steps will cost is asked before they run.
    pub fn open_ledger(self, run: u32, json: String, step: u64, planned: Vec<Event>) {
        let ledger =
            RunLedger { run: self.run.number_of(run), json: json.into(), step, planned, events: vec![], told: false };
        self.ledger.set_value(Some(ledger));
    }

    /// Takes what has happened, before the report that says where the run stands.
    pub fn take_events(self, events: Vec<Event>) {
        self.released.set(events.iter().fold(0, |sum, event| sum.saturating_add(event.count)));
        self.ledger.update_value(|ledger| {
            if let Some(ledger) = ledger {
                ledger.events = events;
            }
        });
    }

    /// Asks for the tight ε of what happened, and of what will while nobody asks: at once where the run stands still, now and then while it plays.
    pub fn account(self) {
        let playing = self.run.playing.get_untracked();
        let now = browser::now();
        if playing && now < self.rest_until.get_value() {
            return;
        }
        let delta = self.run.info.with_untracked(|info| info.as_ref().map(|info| info.config.delta));
        let (Some(delta), Some(ledger)) = (delta, self.ledger.get_value()) else { return };
        let before = self.answered.get_untracked();
        if before.as_ref().is_some_and(|answered| answered.events == ledger.events) {
            return self.account_for_attacks();
        }
        self.rest_until.set_value(f64::INFINITY);
        if !ledger.told {
            self.tell_ledger(&ledger);
        }
        let RunLedger { run, step: first, planned, events, .. } = ledger;
        let since = self.released.get_untracked().saturating_sub(before.map_or(0, |answered| answered.spent.releases));
        let mut ahead = if playing && since > 0 { vec![since, 4 * since] } else { AHEAD.to_vec() };
        // Nobody is shown the bound of more steps than are planned.
        if let Some(left) = self.steps_left() {
            ahead.iter_mut().for_each(|more| *more = left.min(*more));
            ahead.dedup();
        }
        let step = self.run.report.with_untracked(|report| report.as_ref().map(|report| report.step));
        let mut then = planned;
        let mut done = step.unwrap_or(0).saturating_sub(first);
        then.retain_mut(|event| {
            let passed = event.count.min(done);
            done -= passed;
            event.count -= passed;
            event.count > 0
        });
        let question = Question::Spent { run, events: events.clone(), then: then.clone(), ahead, delta };
        self.accountant.ask_latest(Topic::Spent, question, move |answer| {
            let answered_at = browser::now();
            self.rest_until.set_value(answered_at + LIVE_MS.max(REST * (answered_at - now)));
            let same = self.run.info.with_untracked(|info| info.as_ref().is_some_and(|info| info.run == run));
            let (Answer::Spent(Ok(spent)), true) = (answer, same) else { return };
            if let (Some(tight), Some(step)) = (&spent.tight, step.filter(|step| *step > 0)) {
                self.run.curves.update_value(|curves| curves.tight.push((step as f64, tight.epsilon)));
                self.charts.schedule();
            }
            self.answered.set(Some(Arc::new(Answered { events, then, spent })));
            // What happened meanwhile.
            if !self.run.playing.get_untracked() {
                self.account();
            }
        });
    }

    /// Planned steps that are left, where there is an end.
    fn steps_left(self) -> Option<u64> {
        let planned = self.run.info.with_untracked(|info| info.as_ref().and_then(|info| info.config.steps))?;
        let done = self.run.report.with_untracked(|report| report.as_ref().map_or(0, |report| report.step));
        Some(planned.saturating_sub(done))
    }

    /// What happened, where there is a ledger, for the accountant to read; it is told of it where it was not.
    pub fn told_events(self) -> Option<Vec<Event>> {
        let ledger = self.ledger.get_value()?;
        if !ledger.told {
            self.tell_ledger(&ledger);
        }
        Some(ledger.events)
    }

    fn tell_ledger(self, ledger: &RunLedger) {
        self.ledger.update_value(|ledger| ledger.iter_mut().for_each(|ledger| ledger.told = true));
        let question = Question::Ledger { run: ledger.run, ledger: ledger.json.to_string() };
        // One that cannot be read has no answers: the page goes on with the bound that the run reports.
        self.accountant.ask(question, |_| {});
    }

    /// The privacy curve of the run as it stands still, where its tight ε is known.
    fn account_for_attacks(self) {
        let (Some(tight), Some(ledger)) = (untrack(|| self.exact()), self.ledger.get_value()) else {
            return;
        };
        let delta = self.run.info.with_untracked(|info| info.as_ref().map(|info| info.config.delta));
        let at = self.released.get_untracked();
        let known = self.curve.with_untracked(|curve| curve.as_ref().is_some_and(|(known, _)| *known == at));
        let wanted = at > 0 && !known && !self.run.playing.get_untracked();
        let Some(delta) = delta.filter(|_| wanted) else { return };
        let RunLedger { run, events, .. } = ledger;
        let question = Question::Curve { run, events, delta, epsilon: tight.epsilon };
        self.accountant.ask_latest(Topic::Curve, question, move |answer| {
            let same = self.run.info.with_untracked(|info| info.as_ref().is_some_and(|info| info.run == run));
            if let (Answer::Curve(Ok(curve)), true) = (answer, same) {
                self.curve.set(Some((at, curve)));
            }
        });
    }
}
