//! A run submitted by a link. What the link claims is its author's word; ε is recomputed here from
//! the settings, and the run can be trained again.

use hushgrad_message::Message;
use leptos::prelude::*;

use super::{names::Figures, page::Page, sweep_runs::SweepRuns};
use crate::{
    plot::format,
    ui::{
        link::HandedIn,
        settings::{Decay, Digits, PhaseKind, Settings},
        text::{t, text},
    },
    worker::accounts::{Answer, Question},
};

/// Two runs of the same settings differ by less than this in accuracy, by chance, for which nobody
/// must be accused: 24 runs of 40 steps (linear, σ 1.1, synthetic digits) have a standard deviation
/// of 0.8 points, the difference of two runs 1.1, so five points exceed four of those.
const ALIKE: f64 = 0.05;

/// Rounds ε to the digits shown.
fn as_said(epsilon: f64) -> f64 {
    format::significant(format::shown(epsilon), 4)
}

/// Why a run that breaks its promise gets no label and cannot be submitted.
pub fn broken_promise() -> &'static str {
    t!("This run breaks its promise, so its ε is wrong: it gets no label and cannot be handed in.")
}

/// A handed-in run: its claim, checked.
#[derive(Clone, Copy)]
pub struct HandedInRun(pub Page);

impl HandedInRun {
    /// Asks the accountant about the submission, once all digits have arrived.
    pub(super) fn check_submission(self) {
        let Some(said) = self.0.submission.said.get() else { return };
        let whole = self
            .0
            .digits
            .loaded
            .with(|loaded| loaded.as_ref().filter(|loaded| loaded.complete).map(|loaded| loaded.train));
        let (Some(train), true) = (whole, self.is_submission()) else { return };
        let settings = self.0.settings.get();
        if settings.unread() || settings.no_guarantee().is_some() {
            return;
        }
        let config = settings.config();
        let asked = Some((config.clone(), train));
        if self.0.submission.asked.with_value(|before| *before == asked) {
            return;
        }
        self.0.submission.asked.set_value(asked.clone());
        let steps = said.planned.unwrap_or(said.steps);
        let take = move |found: Result<f64, Message>| {
            if self.0.submission.asked.with_value(|now| *now == asked) {
                self.0.submission.found.set(Some(found));
            }
        };
        self.0.accountant.ask(Question::Projection { config: config.clone(), train, steps }, move |answer| {
            let Answer::Projection(found) = answer else { return };
            let renyi = match found {
                Ok(found) => found.end.improved.epsilon,
                Err(phrase) => return take(Err(phrase)),
            };
            // Not all noise has a tight price. Both bounds hold, so the smaller does.
            self.0.accountant.ask(Question::Tight { config, train, steps: vec![steps] }, move |answer| {
                let tight =
                    if let Answer::Tight(Ok(points)) = answer { points.last().map(|point| point.1) } else { None };
                take(Ok(tight.map_or(renyi, |tight| tight.min(renyi))));
            });
        });
    }

    /// True if the current settings are those of the submission.
    #[must_use]
    pub fn is_submission(self) -> bool {
        // A formula is parsed later.
        let plain = |settings: &Settings| Settings { density: None, ..settings.clone() };
        self.0
            .settings
            .with(|now| self.0.submission.settings.with_value(|then| then.as_ref().map(plain)) == Some(plain(now)))
    }

    /// Compares the claimed ε with this page's own, in a sentence.
    #[must_use]
    pub fn verdict_on_epsilon(self) -> String {
        let Some(said) = self.0.submission.said.get() else { return String::new() };
        if !self.is_submission() {
            return t!("The settings are no longer those that were handed in.").to_owned();
        }
        if let Some(reason) = self.0.settings.with(Settings::no_guarantee) {
            return match said.epsilon {
                Some(_) => t!("Claim does not match: {reason}", reason = reason),
                None => t!("Claim matches: {reason}", reason = reason),
            };
        }
        let found = match self.0.submission.found.get() {
            None => return t!("ε: this page is computing its own.").to_owned(),
            Some(Err(phrase)) => {
                return t!("ε: this page has no bound for these settings ({phrase}).", phrase = phrase);
            }
            Some(Ok(found)) => found,
        };
        let verdict = match said.epsilon {
            None => {
                text!(
                    "ε: this page computes ≤ {epsilon} for these settings and steps; the link says that there is no guarantee."
                )
            }
            Some(said) if (said / as_said(found) - 1.0).abs() < 1e-6 => {
                text!("ε: this page computes ≤ {epsilon} for these settings and steps, as the link says.")
            }
            Some(said) if said > found => {
                text!(
                    "ε: this page computes ≤ {epsilon} for these settings and steps: less than the link says, so the link's ε holds."
                )
            }
            Some(_) => {
                text!(
                    "ε: this page computes ≤ {epsilon} for these settings and steps. It does not agree: the link says less."
                )
            }
        };
        verdict.with(&[("epsilon", format::epsilon(found))])
    }

    /// Says what this page knows of the claimed accuracy, in a sentence.
    #[must_use]
    pub fn verdict_on_accuracy(self) -> String {
        let Some(said) = self.0.submission.said.get().filter(|_| self.is_submission()) else { return String::new() };
        let own = self.0.settings.with(|settings| settings.digits == Digits::Files);
        let at = self.0.run.report.with(|report| report.as_ref().map(|report| (report.step, report.complete)));
        let accuracy = self.0.run.accuracy.get();
        match (at, accuracy) {
            (Some((step, _)), Some(accuracy)) if step == said.steps && !self.0.run.playing.get() => {
                let verdict = if (accuracy - said.accuracy).abs() < ALIKE {
                    text!("Accuracy: retrained, {share} after as many steps, about what the link says.")
                } else {
                    text!("Accuracy: retrained, {share} after as many steps, not what the link says.")
                };
                verdict.with(&[("share", format::percent(accuracy))])
            }
            _ if own => t!("Accuracy: not checked here; it was reached on the author's own files.").to_owned(),
            _ => match self.0.settings.with(|settings| settings.replay) {
                Some(_) => t!("Accuracy: not checked here. Retraining gives nearly the same, as the noise has a seed.")
                    .to_owned(),
                None => {
                    t!("Accuracy: not checked here. Retraining gives only about the same, as the noise is drawn anew.")
                        .to_owned()
                }
            },
        }
    }

    /// Trains the submitted run from the start.
    pub fn train_again(self) {
        let Some(settings) = self.0.submission.settings.get_value() else { return };
        SweepRuns(self.0).leave_sweep();
        self.0.begin(settings, true);
    }

    /// Dismisses the submission.
    pub fn put_away(self) {
        self.0.submission.said.set(None);
    }

    /// Returns the settings and the claim of a link that submits the current run.
    ///
    /// # Errors
    /// Why there is nothing to submit, in a sentence.
    pub fn hand_in(self) -> Result<(Settings, HandedIn), &'static str> {
        if self.0.run.is_moving() {
            return Err(t!("Pause the run first: only a paused run can be handed in."));
        }
        if untrack(|| self.0.run.is_broken()) {
            return Err(broken_promise());
        }
        let (report, settings) = (self.0.run.report.get_untracked(), self.0.run.settings());
        let (Some(report), Some(settings)) = (report.filter(|report| report.step > 0), settings) else {
            return Err(t!("There is nothing to hand in yet: train some steps first."));
        };
        let steps = report.step;
        let measured = self.0.run.curves.with_value(|curves| curves.accuracy.points().last().copied());
        let Some((_, accuracy)) = measured.filter(|(step, _)| *step == steps as f64 && !self.0.run.is_measuring())
        else {
            return Err(t!("The accuracy at this step is being measured: try again in a moment."));
        };
        let bounded = settings.no_guarantee().is_none();
        if bounded && !untrack(|| self.0.spending.is_answered()) {
            return Err(t!("The ε of these steps is being computed: try again in a moment."));
        }
        // For a run that stopped early, state the cost of its plan.
        let follows = untrack(|| self.0.cost.is_of_run(self.0.run));
        let all = settings.steps.filter(|all| *all > steps && follows);
        let epsilon = untrack(|| all.map_or_else(|| Figures(self.0).headline(), |_| self.0.cost.end()));
        let epsilon = epsilon.map(as_said).filter(|_| bounded);
        // Name the noise that was used. With a constant rate and no phases, nothing depends on the
        // number of planned steps, so plan those that were done.
        let same = settings.decay == Decay::Constant && settings.phases == PhaseKind::None;
        let planned = if same { Some(steps) } else { settings.steps };
        Ok((
            Settings { budget: None, steps: planned, ..settings },
            HandedIn { name: String::new(), steps, accuracy, epsilon, planned: all },
        ))
    }
}
