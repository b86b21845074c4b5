//! Trains the runs that a lesson step describes, so that its text can state their results: first
//! those to compare with, then its own. A lesson step is a page of text, not a step of training.

use std::sync::Arc;

use leptos::prelude::*;

use super::{
    lesson_set::Until,
    lesson_steps::LessonPlayer,
    lessons::{Compared, Staged},
    names::Figures,
    pay_once::{ONCE_NEEDS, Paid},
    sweep_runs::SweepRuns,
};
use crate::{
    plot::format,
    train::report::Privacy,
    ui::{
        settings::Settings,
        size::closures::effect,
        text::{Text, t, text},
    },
    worker::protocol::RunInfo,
};

/// Whether the page has reached the state that the open step describes.
#[derive(Clone, Debug, PartialEq)]
pub enum LessonProgress {
    /// The state is reached.
    Ready,
    /// The state is not reached yet. The sentence says how far it is, or how to go on.
    Coming(String),
    /// The visitor has left the state by changing the settings.
    Other,
    /// The state needs other images. The sentence says which.
    Impossible(&'static str),
}

impl LessonPlayer {
    /// Takes a lesson step's settings, and starts the training of its runs.
    pub(super) fn stage(self, staged: Staged) {
        let same = self.0.lessons.staged.with_untracked(|now| now.as_deref() == Some(&staged));
        if same && untrack(|| self.is_staged()) {
            return;
        }
        SweepRuns(self.0).leave_sweep();
        // On part of the digits every number would differ: until all arrive, only take settings.
        if !untrack(|| self.has_all_digits()) {
            let digits = staged.settings.digits;
            self.0.take_settings(Settings { digits, ..staged.settings.clone() });
        }
        self.0.lessons.begun.set_value(None);
        self.0.lessons.done.set(false);
        self.0.lessons.staged.set(Some(Arc::new(staged)));
    }

    /// Keeps the open lesson step's runs going, whenever a signal that they depend on changes.
    pub fn follow_lessons(self) {
        effect(move || self.go_on());
    }

    /// Starts the next run of the open lesson step, or marks the step as done.
    fn go_on(self) {
        let (Some(staged), false, true) =
            (self.0.lessons.staged.get(), self.0.lessons.done.get(), self.has_all_digits())
        else {
            return;
        };
        let now = self.0.settings.get();
        let next = staged.also.iter().find(|settings| !self.keep_compared(settings));
        let (settings, until) = next.map_or((&staged.settings, staged.until), |settings| (settings, Until::End));
        let config = settings.what_runs();
        if self.0.lessons.begun.with_value(|begun| begun.as_ref() == Some(&config)) {
            // The state is reached, or the visitor has changed a setting.
            if now.what_runs() != config || (next.is_none() && self.is_at(settings, until)) {
                self.0.lessons.done.set(true);
            }
        } else {
            self.0.lessons.begun.set_value(Some(config));
            untrack(|| self.train_to(&Settings { digits: now.digits, ..settings.clone() }, until));
            // Run this again, as the state may be reached already.
            self.0.lessons.staged.notify();
        }
        if until == Until::End {
            self.keep_compared(settings);
        }
    }

    /// Continues the current run if it has these settings, else starts one; trains it to `until`.
    fn train_to(self, settings: &Settings, until: Until) {
        if self.is_at(settings, Until::Set) {
            self.0.take_settings(settings.clone());
            let report = self.0.run.report.get_untracked();
            match until {
                Until::Step if !self.is_at(settings, until) => self.0.run.step_once(),
                Until::End if !report.is_some_and(|report| report.complete) => self.0.run.play(),
                _ => {}
            }
        } else {
            self.0.run.pause();
            self.0.begin(settings.clone(), until == Until::End);
            if until == Until::Step {
                self.0.run.step_next();
            }
        }
        if until == Until::Once {
            self.0.pay_once_unless_paid();
        }
    }

    fn has_all_digits(self) -> bool {
        self.0.digits.loaded.with(|digits| digits.as_ref().is_some_and(|digits| digits.complete))
    }

    /// True if the current run has these settings, is on all digits, has reached `until`, and the
    /// numbers that a text may state are known.
    fn is_at(self, settings: &Settings, until: Until) -> bool {
        let train = self.0.digits.loaded.with(|digits| digits.as_ref().map(|digits| digits.train));
        let config = settings.what_runs();
        let stands = self.0.run.info.with(|run| {
            run.as_ref()
                .is_some_and(|run| (&run.config, run.broken) == (&config.0, config.1) && Some(run.train) == train)
        });
        stands
            && self.0.run.report.with(|report| match (report, until) {
                (_, Until::Set) => true,
                (_, Until::Once) => self.0.pay_once.hidden().is_some(),
                (None, _) => false,
                (Some(report), until) => {
                    let answered = self.0.spending.is_answered()
                        && (self.0.spending.exact().is_none() || self.0.spending.whole_curve().is_some());
                    let told = matches!(report.privacy, Privacy::NoGuarantee { .. }) || answered;
                    told && match until {
                        Until::End => report.complete && report.test_accuracy.is_some(),
                        _ => report.step > 0 && self.0.snapshots.shown.with(Option::is_some),
                    }
                }
            })
    }

    /// Records the results of the current run if it has these settings and is complete. Returns
    /// whether the results of such a run, this or an earlier one that still exists, are known.
    fn keep_compared(self, settings: &Settings) -> bool {
        if self.is_at(settings, Until::End)
            && let Some(info) = self.0.run.info.get()
        {
            let (accuracy, epsilon, found) =
                (self.0.run.accuracy.get(), Figures(self.0).headline(), Figures(self.0).found());
            let RunInfo { key, config, broken, train, data, .. } = info;
            let mu = self.0.spending.gaussian().map(|fit| fit.mu);
            let compared = Compared { key, config: (config, broken), train, data, accuracy, epsilon, found, mu };
            if self.0.lessons.compared.with_untracked(|all| all.last() != Some(&compared)) {
                self.0.lessons.compared.update(|all| {
                    all.retain(|other| other.config != compared.config);
                    all.push(compared);
                });
            }
            return true;
        }
        let whole = |known: &Compared| known.found.is_some() || known.epsilon.is_none();
        self.compared(settings).as_ref().is_some_and(whole)
    }

    /// Returns the recorded results of a complete run with these settings on the current run's
    /// digits, if that run still exists.
    fn compared(self, settings: &Settings) -> Option<Compared> {
        let config = settings.what_runs();
        let (train, data, key) =
            self.0.run.info.with(|run| run.as_ref().map(|run| (run.train, run.data.clone(), run.key.clone())))?;
        let found = self.0.lessons.compared.with(|all| {
            all.iter().find(|each| each.config == config && each.train == train && each.data == data).cloned()
        })?;
        let there =
            key == found.key || self.0.runs.past.with(|past| past.iter().any(|past| past.info.key == found.key));
        there.then_some(found)
    }

    /// True if the settings are the open lesson step's, or will be once its runs to compare end.
    #[must_use]
    pub fn is_staged(self) -> bool {
        let Some(staged) = self.0.lessons.staged.get() else { return false };
        let config = staged.settings.what_runs();
        !self.0.lessons.done.get() || self.0.settings.with(|now| now.what_runs() == config)
    }

    /// Returns whether the page has reached the state that the open lesson step describes.
    #[must_use]
    pub fn standing(self) -> LessonProgress {
        let Some(staged) = self.0.lessons.staged.get() else { return LessonProgress::Ready };
        if !self.is_staged() {
            return LessonProgress::Other;
        }
        let same = self.0.settings.with(|now| now.what_runs() == staged.settings.what_runs());
        if same && self.has_all_digits() && self.is_at(&staged.settings, staged.until) {
            return LessonProgress::Ready;
        }
        let whole = self.has_all_digits();
        if staged.until == Until::Once {
            return match self.0.pay_once.paid.get() {
                _ if !whole => LessonProgress::Coming(t!("The digits are loading; then training starts.").to_owned()),
                _ if !self.0.can_pay_once() => LessonProgress::Impossible(ONCE_NEEDS.get()),
                Paid::Summing(share) => {
                    LessonProgress::Coming(t!("Training in secret: {share} done.", share = format::percent(share)))
                }
                // The visitor has made another release, or it was forgotten.
                _ if self.0.lessons.done.get() && !self.0.pay_once.trains.get() => LessonProgress::Other,
                _ => LessonProgress::Coming(t!("Training starts soon.").to_owned()),
            };
        }
        let done = self.0.run.report.with(|report| report.as_ref().map_or(0, |report| report.step));
        let of = self.0.run.info.with(|run| run.as_ref().and_then(|run| run.config.steps));
        let so_far = |with_end: Text, without: Text| {
            let done = ("done", format::integer(done));
            match of {
                Some(steps) => with_end.with(&[done, ("all", format::integer(steps))]),
                None => without.with(&[done]),
            }
        };
        LessonProgress::Coming(match (whole, self.0.run.playing.get(), same) {
            (false, ..) => t!("The digits are loading; then training starts.").to_owned(),
            (_, true, true) => so_far(text!("Training: step {done} of {all}."), text!("Training: step {done}.")),
            (_, true, false) => so_far(
                text!("Training the run to compare with: step {done} of {all}."),
                text!("Training the run to compare with: step {done}."),
            ),
            (_, false, _) if self.0.lessons.done.get() && staged.until == Until::End => so_far(
                text!("Paused at step {done} of {all}: press Play to continue."),
                text!("Paused at step {done}: press Play to continue."),
            ),
            (_, false, _) if self.0.lessons.done.get() => t!("Press Step to continue.").to_owned(),
            _ => t!("Training starts soon.").to_owned(),
        })
    }

    /// Returns the value of a name such as `accuracy-1`, which refers to the first compared run.
    pub(super) fn value_compared(self, name: &str) -> Option<String> {
        let (what, place) = name.rsplit_once('-')?;
        let staged = self.0.lessons.staged.get()?;
        let compared = self.compared(staged.also.get(place.parse::<usize>().ok()?.checked_sub(1)?)?)?;
        match what {
            "accuracy" => compared.accuracy.map(format::percent),
            "epsilon" => compared.epsilon.map(format::epsilon),
            "found" => compared.found.map(format::percent_at_most),
            "mu" => compared.mu.map(format::epsilon),
            _ => None,
        }
    }
}
