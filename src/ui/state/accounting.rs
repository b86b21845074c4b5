//! What is asked of the accountant: the cost of the settings, and what the run as it stands gives away.

use std::sync::Arc;

use gloo::timers::callback::Timeout;
use leptos::prelude::*;

use super::{page::Page, projection::planned_steps};
use crate::{
    train::report::{Privacy, Report},
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

    /// Tight ε of the run as it stands.
    pub fn account_tightly(self) {
        // A run that went on with other digits has released what its plan says nothing of.
        let bounded =
            |report: &Report| matches!(report.privacy, Privacy::Bounded(_)) && report.by_plan && report.step > 0;
        let at =
            self.run.report.with_untracked(|report| report.as_ref().filter(|r| bounded(r)).map(|report| report.step));
        let (Some(steps), Some(info)) = (at, self.run.info.get_untracked()) else { return };
        let known = self.spending.tight.with_untracked(|spent| spent.as_ref().is_some_and(|(step, _)| *step == steps));
        if known || browser::is_embedded() {
            return;
        }
        let question = Question::Spent { config: info.config, train: info.train, steps };
        self.accountant.ask_latest(Topic::Spent, question, move |answer| {
            let same = self.run.info.with_untracked(|run| run.as_ref().is_some_and(|run| run.run == info.run));
            if let (Answer::Spent(Ok(spent)), true) = (answer, same) {
                self.spending.tight.set(Some((steps, spent)));
                self.account_for_attacks();
            }
        });
    }

    /// The privacy curve of the run as it stands, where its tight ε is known and somebody looks.
    pub fn account_for_attacks(self) {
        let (Some((steps, spent)), Some(info)) = (self.spending.tight.get_untracked(), self.run.info.get_untracked())
        else {
            return;
        };
        let known = self.spending.curve.with_untracked(|curve| curve.as_ref().is_some_and(|(step, _)| *step == steps));
        if known || !self.spending.curve_open.get_untracked() {
            return;
        }
        let question = Question::Curve { config: info.config, train: info.train, steps, epsilon: spent.epsilon };
        self.accountant.ask_latest(Topic::Curve, question, move |answer| {
            let same = self.run.info.with_untracked(|run| run.as_ref().is_some_and(|run| run.run == info.run));
            if let (Answer::Curve(Ok(curve)), true) = (answer, same) {
                self.spending.curve.set(Some((steps, curve)));
            }
        });
    }
}
