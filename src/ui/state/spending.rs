//! The run's privacy loss, by tight accounting of its ledger, live.
//!
//! The accountant answers later than steps run, so it is asked ahead. A playing run shows the bound
//! of the smallest answered number of releases that is not below the actual number; a paused run
//! shows the bound of the actual releases.

use std::sync::Arc;

use hushgrad_message::Message;
use leptos::prelude::*;

use super::{
    answered::{Answered, more_of},
    charts::Charts,
    run::Run,
};
use crate::{
    accounting::{gdp::GaussianFit, ledger::Event, rdp::Concentrated},
    plot::series::Point,
    ui::{
        browser,
        threads::accountant::{AccountantClient, Topic},
    },
    worker::accounts::{Answer, Curve, PldEpsilon, Question},
};

/// Minimum wait between questions on a playing run: in milliseconds, and in multiples of the time
/// that the last answer took.
const LIVE_MS: f64 = 1000.0;
const REST: f64 = 6.0;
/// Releases to ask ahead for while the run is paused, until its speed is known.
const AHEAD: [u64; 4] = [1, 8, 64, 512];

/// The ledger of the current run, from the training thread.
#[derive(Clone)]
struct RunLedger {
    run: u32,
    json: Arc<str>,
    /// The run's step when the ledger was opened, and the releases planned from there on.
    step: u64,
    planned: Vec<Event>,
    events: Vec<Event>,
    /// Whether the accountant has it.
    told: bool,
}

#[derive(Clone, Copy)]
pub struct LiveEpsilon {
    run: Run,
    charts: Charts,
    accountant: AccountantClient,
    ledger: StoredValue<Option<RunLedger>, LocalStorage>,
    /// Number of releases so far, set before the report that it belongs to.
    pub released: RwSignal<u64>,
    answered: RwSignal<Option<Arc<Answered>>>,
    /// The privacy curve after this many releases, requested when the run is paused.
    curve: RwSignal<Option<(u64, Curve)>>,
    /// Time in milliseconds before which nothing is asked while the run plays.
    rest_until: StoredValue<f64>,
}

impl LiveEpsilon {
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

    /// Forgets everything: a new run starts.
    pub fn forget(self) {
        self.ledger.set_value(None);
        self.released.set(0);
        self.answered.set(None);
        self.curve.set(None);
        self.rest_until.set_value(0.0);
    }

    /// The next thread has no ledger yet: the accountant's is gone.
    pub fn tell_again(self) {
        self.ledger.update_value(|ledger| ledger.iter_mut().for_each(|ledger| ledger.told = false));
        self.rest_until.set_value(0.0);
    }

    /// Returns a tight bound of the releases so far, if known; of a few more while the run plays.
    #[must_use]
    pub fn tight(self) -> Option<f64> {
        self.released.track();
        let answered = self.answered.get()?;
        self.ledger.with_value(|ledger| answered.bound(&ledger.as_ref()?.events))
    }

    /// Returns the number of steps, if all releases are those planned when the run started.
    #[must_use]
    pub fn planned_steps(self) -> Option<u64> {
        self.released.track();
        self.ledger.with_value(|ledger| {
            let ledger = ledger.as_ref().filter(|ledger| ledger.step == 0)?;
            more_of(&[], &ledger.planned, &ledger.events)
        })
    }

    /// Returns the answer for exactly the releases so far.
    #[must_use]
    pub fn exact(self) -> Option<PldEpsilon> {
        if !self.is_answered() {
            return None;
        }
        self.answered.with(|answered| answered.as_ref()?.spent.tight.clone())
    }

    /// True if the accountant has answered for exactly the releases so far.
    #[must_use]
    pub fn is_answered(self) -> bool {
        self.released.track();
        let answered = self.answered.get();
        self.ledger.with_value(|ledger| match (ledger, answered) {
            (Some(ledger), Some(answered)) => ledger.events == answered.events,
            _ => false,
        })
    }

    /// Returns the whole privacy curve of a paused run, if tight accounting knows it.
    #[must_use]
    pub fn whole_curve(self) -> Option<Vec<Point>> {
        self.known_curve().map(|curve| curve.points)
    }

    /// Returns μ of a paused run, if tight accounting knows it.
    #[must_use]
    pub fn gaussian(self) -> Option<GaussianFit> {
        self.known_curve()?.gaussian
    }

    /// Returns ρ of a paused run, if there is one.
    #[must_use]
    pub fn concentrated(self) -> Option<Concentrated> {
        self.known_curve()?.concentrated
    }

    /// Returns what one example of a paused run costs if others share its vector.
    #[must_use]
    pub fn of_one(self) -> Option<Message> {
        self.known_curve()?.one
    }

    fn known_curve(self) -> Option<Curve> {
        let released = self.released.get();
        self.curve.get().filter(|(at, _)| *at == released).map(|(_, curve)| curve)
    }

    /// Takes the ledger of a run that starts.
    pub fn open_ledger(self, run: u32, json: String, step: u64, planned: Vec<Event>) {
        let ledger =
            RunLedger { run: self.run.number_of(run), json: json.into(), step, planned, events: vec![], told: false };
        self.ledger.set_value(Some(ledger));
    }

    /// Takes the releases so far, before the report on the run's state.
    pub fn take_events(self, events: Vec<Event>) {
        self.released.set(events.iter().fold(0, |sum, event| sum.saturating_add(event.count)));
        self.ledger.update_value(|ledger| {
            if let Some(ledger) = ledger {
                ledger.events = events;
            }
        });
    }

    /// Asks for the tight ε of the releases so far and of some ahead: at once if the run is paused,
    /// else now and then.
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
        // Do not ask beyond the planned steps.
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
            // Ask for what happened meanwhile.
            if !self.run.playing.get_untracked() {
                self.account();
            }
        });
    }

    /// Returns the planned steps left, if the run has an end.
    fn steps_left(self) -> Option<u64> {
        let planned = self.run.info.with_untracked(|info| info.as_ref().and_then(|info| info.config.steps))?;
        let done = self.run.report.with_untracked(|report| report.as_ref().map_or(0, |report| report.step));
        Some(planned.saturating_sub(done))
    }

    /// Returns the releases so far, after giving the accountant the ledger if it lacks it.
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
        // An unreadable ledger gets no answers; the bound that the run reports then remains.
        self.accountant.ask(question, |_| {});
    }

    /// Asks for the privacy curve of a paused run, if its tight ε is known.
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
