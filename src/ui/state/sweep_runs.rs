//! Sweeps: four runs, or curves, that show the effect of one number.

use hushgrad_message::Message;
use leptos::prelude::*;

use super::{
    appearance::Panel, charts::COLOURS, messages::as_sentence, names::Figures, page::Page, planned::planned_steps,
    task::TaskLock,
};
use crate::{
    plot::{drawing::Line, format},
    train::config::RunConfig,
    ui::{
        settings::{
            Number, Settings,
            sweep::{self, Sweep},
            verdict::Outcome,
        },
        text::t,
        threads::accountant::Topic,
    },
    worker::{
        accounts::{Answer, Question},
        protocol::RunInfo,
    },
};

/// A sweep, run by run.
#[derive(Clone, Copy)]
pub struct SweepRuns(pub Page);

impl SweepRuns {
    /// Starts four runs that show the effect of a number.
    pub fn begin_sweep(self, number: Number) {
        self.end_sweep();
        if !TaskLock(self.0).may_set(number.spec().key) {
            return;
        }
        let whole = self.0.digits.loaded.with_untracked(|loaded| loaded.as_ref().is_some_and(|loaded| loaded.complete));
        let Some(train) = self.0.digits.train().filter(|_| whole) else {
            return self
                .0
                .messages
                .notify(t!("The digits are still loading: start the sweep when they are there.").to_owned());
        };
        // Problems of the current settings are reported where they belong.
        if self.0.settings.with_untracked(Settings::unread) || !self.0.check_data() {
            return;
        }
        if number == Number::Delta {
            return self.sweep_delta(train);
        }
        let Some(sweep) = self.0.settings.with_untracked(|settings| Sweep::new(number, settings, train)) else {
            let label = number.spec().label.get();
            return self
                .0
                .messages
                .notify(t!("{label}: there is no room for a sweep around this value.", label = label));
        };
        self.0.run.pause();
        // The last sweep's runs give up their colours.
        for run in self.0.sweeps.runs.try_update_value(std::mem::take).unwrap_or_default() {
            self.0.runs.label(run, |past| past.pinned = false);
        }
        self.0.lab.open.set(false);
        self.0.own_training.open.set(false);
        self.0.appearance.show_panel(Panel::Results);
        self.0.sweeps.outcomes.set(Some((number, vec![])));
        self.0.sweeps.ended.set_value(vec![]);
        self.0.sweeps.price.set(None);
        self.0.sweeps.current.set(Some(sweep));
        self.next_of_sweep();
    }

    /// δ changes what is stated of a run, not the run: its sweep is four curves of ε.
    fn sweep_delta(self, train: u32) {
        let settings = self.0.settings.get_untracked();
        if let Some(reason) = settings.no_guarantee() {
            return self.0.messages.notify(reason.to_owned());
        }
        self.0.appearance.show_panel(Panel::Results);
        self.0.messages.notice.set(Some(
            t!(
                "δ changes what is said about a run, not the run itself: the chart of ε shows the same steps at four δ."
            )
            .to_owned(),
        ));
        self.0.cost.deltas.set(vec![]);
        let steps = planned_steps(&settings, train);
        for (delta, class) in sweep::values(Number::Delta, &settings, train).into_iter().zip(&COLOURS[1..]) {
            let config = RunConfig { delta, ..settings.config() };
            let settings = settings.clone();
            self.0.accountant.ask(Question::Projection { config, train, steps }, move |answer| {
                let (Answer::Projection(Ok(found)), true) =
                    (answer, self.0.settings.with_untracked(|now| *now == settings))
                else {
                    return;
                };
                let name = format!("δ = {}", format::number(delta));
                self.0.cost.deltas.update(|lines| {
                    // Asking twice draws one curve.
                    lines.retain(|line| line.name != name);
                    lines.push(Line { class, name, points: found.curve });
                });
            });
        }
    }

    /// Ends a sweep, complete or not: restores the settings, and starts their run.
    pub fn end_sweep(self) {
        if self.leave_sweep() {
            self.0.run.pause();
            self.0.begin(self.0.settings.get_untracked(), false);
        }
    }

    /// Ends a sweep whose next run cannot start, dropping the refused value. Returns whether there
    /// was one.
    pub fn end_sweep_early(self, why: &Message) -> bool {
        let waits = self.0.sweeps.awaits_run();
        if waits {
            self.end_sweep();
            self.0.messages.notify(t!("The sweep has ended early. {why}", why = as_sentence(why)));
        }
        waits
    }

    /// Drops a sweep in progress, and restores all settings but the digits, which no sweep changes.
    pub fn leave_sweep(self) -> bool {
        let Some(Sweep { before, .. }) = self.0.sweeps.current.get_untracked() else { return false };
        self.0.sweeps.current.set(None);
        self.0.settings.update(|now| *now = Settings { digits: now.digits, ..before });
        true
    }

    fn next_of_sweep(self) {
        let Some(sweep) = self.0.sweeps.current.get_untracked() else { return };
        match sweep.settings() {
            Some(settings) => self.0.begin(settings, true),
            None => self.end_sweep(),
        }
    }

    /// Takes the start of a run, which may be the sweep's.
    pub(super) fn take_run_of_sweep(self, info: &RunInfo) {
        let Some(mut sweep) = self.0.sweeps.current.get_untracked() else { return };
        if sweep.wants(&info.config) {
            // A run that was restarted gives its colour to this one.
            if let Some(before) = sweep.run.replace(info.run) {
                self.0.runs.label(before, |past| past.pinned = false);
            }
            // From its first step on it is stored under this name, with its colour.
            self.0.runs.name_current(sweep.name(), true);
            self.0.sweeps.runs.update_value(|runs| runs.push(info.run));
            self.0.sweeps.current.set(Some(sweep));
        } else if sweep.run.is_some() {
            // An earlier run was continued meanwhile, with its own settings. While the sweep waits
            // for its own run, others may still start.
            self.0.sweeps.current.set(None);
        }
    }

    /// Records the outcome of the current run.
    fn note_outcome(self) {
        let value = self
            .0
            .sweeps
            .current
            .with_untracked(|sweep| sweep.as_ref().and_then(|sweep| sweep.values.get(sweep.at).copied()));
        let epsilon = untrack(|| Figures(self.0).headline());
        if let (Some(value), Some(accuracy)) = (value, self.0.run.accuracy.get_untracked()) {
            self.0.sweeps.outcomes.update(|outcomes| {
                if let Some((_, outcomes)) = outcomes {
                    outcomes.push(Outcome { value, accuracy, epsilon });
                }
            });
            self.ask_price();
        }
    }

    /// Asks what the sweep's runs cost together, and what selecting the best of them would.
    fn ask_price(self) {
        let run = self.0.run.info.with_untracked(|info| info.as_ref().map(|info| (info.config.clone(), info.train)));
        let step = self.0.run.report.with_untracked(|report| report.as_ref().map(|report| report.step));
        let (Some((config, train)), Some(step)) = (run, step) else { return };
        self.0.sweeps.ended.update_value(|ended| ended.push((config, step)));
        let runs = self.0.sweeps.ended.get_value();
        if runs.len() > 1 {
            self.0.accountant.ask_latest(Topic::Sweep, Question::Sweep { runs, train }, move |answer| {
                if let Answer::Sweep(price) = answer {
                    self.0.sweeps.price.set(price.ok());
                }
            });
        }
    }

    /// The current run is complete and evaluated: starts the next of its sweep.
    pub(super) fn end_run_of_sweep(self) {
        if self.0.sweeps.owns(self.0.run.info.with_untracked(|run| run.as_ref().map(|run| run.run))) {
            self.note_outcome();
            self.0.sweeps.advance();
            self.next_of_sweep();
        }
    }
}
