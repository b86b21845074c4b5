//! What is asked of the accountant: the cost of the settings, and what the run as it stands gives away.

use std::sync::Arc;

use gloo::timers::callback::Timeout;
use leptos::prelude::*;

use super::{
    page::Page,
    projection::planned_steps,
    spending::{Answered, RunLedger},
};
use crate::{
    accounting::ledger::Event,
    ui::{
        browser,
        settings::{Encoder, Family, Settings},
        threads::accountant::Topic,
    },
    worker::accounts::{Answer, Question},
};

/// A projection waits until the settings have stood still this long.
const PROJECTION_MS: u32 = 120;
/// Points of the tight curve, and how long it waits where it takes long: the accountant answers one question at a time.
const TIGHT: u64 = 6;
const TIGHT_MS: u32 = 600;

/// A run that plays is accounted for this often, in milliseconds, and no more often than one in so many of the times that an answer takes.
const LIVE_MS: f64 = 1000.0;
const REST: f64 = 6.0;
/// Releases ahead that are asked for of a run that stands still: so much is known when it plays, until its speed is.
const AHEAD: [u64; 4] = [1, 8, 64, 512];

impl Page {
    /// Looks anew at what the settings will cost, once they stand still.
    pub fn schedule_projection(self) {
        let due = Timeout::new(PROJECTION_MS, move || {
            let train = self.digits.train();
            let (Some(train), settings) = (train, self.settings.get_untracked()) else { return };
            let steps = planned_steps(&settings, train);
            let question = Question::Projection { config: settings.config(), train, steps };
            self.accountant.ask_latest(Topic::Projection, question, move |answer| {
                if let Answer::Projection(projection) = answer {
                    self.cost.projection.set(Some(projection.map(Arc::new)));
                    self.project_tight(train);
                }
            });
        });
        self.cost.deltas.set(vec![]);
        self.cost.due.set_value(Some(due));
    }

    /// Tight ε of what is projected: at once where it is quickly told, else when the settings have stood still.
    pub fn project_tight(self, train: u32) {
        self.cost.tight.set(vec![]);
        let settings = self.settings.get_untracked();
        if settings.replay.is_some() || !self.cost.projection.with_untracked(|known| matches!(known, Some(Ok(_)))) {
            return self.cost.tight_due.set_value(None);
        }
        let quick = settings.encoder == Encoder::Clip && settings.family == Family::Gaussian;
        let due = Timeout::new(if quick { 0 } else { TIGHT_MS }, move || self.ask_tight(settings, train));
        self.cost.tight_due.set_value(Some(due));
    }

    fn ask_tight(self, settings: Settings, train: u32) {
        let steps = planned_steps(&settings, train);
        let mut at: Vec<u64> = (1..=TIGHT).map(|i| (steps * i * i / (TIGHT * TIGHT)).max(1)).collect();
        at.dedup();
        let question = Question::Tight { config: settings.config(), train, steps: at };
        self.accountant.ask_latest(Topic::Tight, question, move |answer| {
            if let Answer::Tight(Ok(points)) = answer
                && self.settings.with_untracked(|now| *now == settings)
            {
                self.cost.tight.set(points);
            }
        });
    }

    /// A run stands, with this ledger: what its first steps will cost is asked before they run.
    pub(super) fn open_ledger(self, run: u32, json: String, release: u32) {
        if browser::is_embedded() {
            return;
        }
        let ledger =
            RunLedger { run: self.run.number_of(run), json: json.into(), release, events: vec![], told: false };
        self.spending.ledger.set_value(Some(ledger));
    }

    /// Takes what has happened, before the report that says where the run stands.
    pub(super) fn take_events(self, events: Vec<Event>) {
        self.spending.released.set(events.iter().fold(0, |sum, event| sum.saturating_add(event.count)));
        self.spending.ledger.update_value(|ledger| {
            if let Some(ledger) = ledger {
                ledger.events = events;
            }
        });
    }

    /// Asks for the tight ε of what happened, and of what will while nobody asks: at once where the run stands still, now and then while it plays.
    pub fn account_tightly(self) {
        let playing = self.run.playing.get_untracked();
        let now = browser::now();
        if playing && now < self.spending.rest_until.get_value() {
            return;
        }
        let delta = self.run.info.with_untracked(|info| info.as_ref().map(|info| info.config.delta));
        let (Some(delta), Some(ledger)) = (delta, self.spending.ledger.get_value()) else { return };
        let before = self.spending.answered.get_untracked();
        if before.as_ref().is_some_and(|answered| answered.events == ledger.events) {
            return self.account_for_attacks();
        }
        self.spending.rest_until.set_value(f64::INFINITY);
        if !ledger.told {
            self.tell_ledger(&ledger);
        }
        let RunLedger { run, release, events, .. } = ledger;
        let since =
            self.spending.released.get_untracked().saturating_sub(before.map_or(0, |answered| answered.spent.releases));
        let ahead = if playing && since > 0 { vec![since, 4 * since] } else { AHEAD.to_vec() };
        let step = self.run.report.with_untracked(|report| report.as_ref().map(|report| report.step));
        let question = Question::Spent { run, events: events.clone(), release, ahead, delta };
        self.accountant.ask_latest(Topic::Spent, question, move |answer| {
            let answered_at = browser::now();
            self.spending.rest_until.set_value(answered_at + LIVE_MS.max(REST * (answered_at - now)));
            let same = self.run.info.with_untracked(|info| info.as_ref().is_some_and(|info| info.run == run));
            let (Answer::Spent(Ok(spent)), true) = (answer, same) else { return };
            if let (Some(tight), Some(step)) = (&spent.tight, step.filter(|step| *step > 0)) {
                self.run.curves.update_value(|curves| curves.tight.push((step as f64, tight.epsilon)));
                self.charts.schedule();
            }
            self.spending.answered.set(Some(Arc::new(Answered { events, release, spent })));
            // What happened meanwhile.
            if !self.run.playing.get_untracked() {
                self.account_tightly();
            }
        });
    }

    fn tell_ledger(self, ledger: &RunLedger) {
        self.spending.ledger.update_value(|ledger| ledger.iter_mut().for_each(|ledger| ledger.told = true));
        let question = Question::Ledger { run: ledger.run, ledger: ledger.json.to_string() };
        // One that cannot be read has no answers: the page goes on with the bound that the run reports.
        self.accountant.ask(question, |_| {});
    }

    /// The privacy curve of the run as it stands, where its tight ε is known and somebody looks.
    pub fn account_for_attacks(self) {
        let (Some(tight), Some(ledger)) = (untrack(|| self.spending.exact()), self.spending.ledger.get_value()) else {
            return;
        };
        let delta = self.run.info.with_untracked(|info| info.as_ref().map(|info| info.config.delta));
        let at = self.spending.released.get_untracked();
        let known = self.spending.curve.with_untracked(|curve| curve.as_ref().is_some_and(|(known, _)| *known == at));
        let (Some(delta), false, true) = (delta, known, self.spending.curve_open.get_untracked() && at > 0) else {
            return;
        };
        let RunLedger { run, events, .. } = ledger;
        let question = Question::Curve { run, events, delta, epsilon: tight.epsilon };
        self.accountant.ask_latest(Topic::Curve, question, move |answer| {
            let same = self.run.info.with_untracked(|info| info.as_ref().is_some_and(|info| info.run == run));
            if let (Answer::Curve(Ok(curve)), true) = (answer, same) {
                self.spending.curve.set(Some((at, curve)));
            }
        });
    }
}
