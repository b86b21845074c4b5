//! Changes of settings, and the runs that result.

use leptos::prelude::*;

use super::{
    annealing::NoiseSearch,
    digit_choice::DigitChoice,
    lesson_steps::LessonPlayer,
    messages::{Origin, as_sentence},
    page::Page,
    sweep_runs::SweepRuns,
    task::TaskLock,
};
use crate::{
    ui::{
        settings::{Choice, Digits, Number, Select, Settings, UserSource, presets::Preset},
        threads::accountant::Topic,
    },
    worker::{
        accounts::{Answer, Question},
        protocol::{Request, RunInfo},
    },
};

impl Page {
    /// Changes settings as far as a task allows. If a new run results, it plays if the old one did.
    pub fn change(self, edit: impl FnOnce(&mut Settings)) {
        // A change during a sweep ends it and restores the other settings.
        let left = SweepRuns(self).leave_sweep();
        let before = self.settings.get_untracked();
        let mut asked = before.clone();
        edit(&mut asked);
        let settings = TaskLock(self).admitted(&before, asked);
        if left || before != settings {
            self.set_all(settings, before, Self::restart);
        }
    }

    /// Takes settings, even if a task fixes them.
    pub(super) fn take_settings(self, settings: Settings) {
        let left = SweepRuns(self).leave_sweep();
        let before = self.settings.get_untracked();
        if left || before != settings {
            self.set_all(settings, before, Self::restart);
        }
    }

    /// Starts a run of these settings; `play`: it plays as soon as it is ready.
    pub fn begin(self, settings: Settings, play: bool) {
        self.run.play_next(play);
        self.set_all(settings, self.settings.get_untracked(), Self::start);
    }

    /// Sets everything, then calls `then` once the noise for a budget is known.
    fn set_all(self, settings: Settings, before: Settings, then: fn(Self)) {
        // A refused value no longer matters once the field has another.
        for number in Number::ALL {
            if before.number(number) != settings.number(number) {
                self.messages.clear(Some(number));
            }
        }
        self.settings.set(LessonPlayer(self).fitted(settings));
        NoiseSearch(self).leave_search();
        self.follow_budget(self.digits.train(), Some(before), then);
    }

    /// Applies a preset, and shows its note.
    pub fn choose_preset(self, preset: Preset) {
        if !TaskLock(self).may_set("preset") {
            return;
        }
        self.messages.problems.set(vec![]);
        self.change(|settings| *settings = preset.settings(settings));
        self.messages.notify(preset.note.get().to_owned());
    }

    /// Selects an option of a choice by its key.
    pub fn choose(self, select: Select, key: &str) {
        // Digits have to be loaded as well.
        match Digits::by_key(key).filter(|_| select == Select::Digits) {
            Some(digits) => DigitChoice(self).choose_digits(digits),
            None => self.change(|settings| {
                (select.spec().set)(settings, key);
                match select {
                    Select::Phases => settings.plan_phases(),
                    Select::UserSource if settings.user_source == UserSource::Data => {
                        if let Some(named) = self.digits.users() {
                            settings.take_users(named);
                        }
                    }
                    _ => {}
                }
            }),
        }
    }

    /// Makes the users whom the files name the unit, if they name any.
    pub fn protect_users(self) {
        if let Some(named) = self.digits.users() {
            self.change(|settings| settings.take_users(named));
        }
    }

    /// Commits the text of a number field.
    pub fn commit(self, number: Number, text: &str) {
        match number.parse(text) {
            Ok(value) => {
                self.messages.clear(Some(number));
                self.change(|settings| {
                    settings.set_number(number, value);
                    match (number, value) {
                        (Number::Scale, _) => settings.budget = None,
                        (Number::Users, None) => settings.forget_users(),
                        _ => {}
                    }
                });
                // Leaving a field commits it like Enter: report again what does not fit the data.
                self.check_data();
            }
            Err(error) => self.messages.put(Some(number), error.to_string()),
        }
        if number == Number::Scale {
            self.knob.release();
        }
    }

    /// Starts a run of the settings, unless the current run has them.
    pub(super) fn restart(self) {
        let (config, broken) = self.settings.with_untracked(Settings::what_runs);
        let same = |run: &RunInfo| run.config == config && run.broken == broken;
        if self.run.info.with_untracked(|run| run.as_ref().is_some_and(same)) {
            // Problems of other settings no longer matter: the run's settings are back.
            self.messages.clear(Origin::Run);
            return self.run.stay();
        }
        self.run.play_on();
        self.start();
    }

    /// Starts a run of the settings on the loaded digits.
    pub(super) fn start(self) {
        if self.check_data() {
            self.messages.clear(Some(Number::Lot));
            self.run.keep_model();
            let (config, broken) = self.settings.with_untracked(Settings::what_runs);
            self.trainer.send(Request::Start { config: Box::new(config), broken });
        } else {
            self.run.stay();
        }
    }

    /// Computes the noise scale for the settings' budget, if any, then calls `then`. If no scale
    /// keeps the budget, restores the settings `before`.
    pub(super) fn follow_budget(self, train: Option<u32>, before: Option<Settings>, then: fn(Self)) {
        self.run.set_settling(true);
        if self.settings.with_untracked(Settings::unread) {
            return self.with_density(move |page| page.follow_budget(train, before, then));
        }
        let mut settings = self.settings.get_untracked();
        let Some((config, steps, budget)) = train.and_then(|train| settings.plan_budget(train)) else {
            self.cost.schedule();
            self.run.set_settling(false);
            return then(self);
        };
        if self.settings.with_untracked(|old| *old != settings) {
            self.settings.set(settings.clone());
        }
        let question = Question::Scale { config, train: train.unwrap_or_default(), steps, budget };
        self.accountant.ask_latest(Topic::Scale, question, move |answer| {
            // Newer settings have a question of their own, or no budget.
            let (Answer::Scale(scale), true) = (answer, self.settings.with_untracked(|now| *now == settings)) else {
                return;
            };
            self.run.set_settling(false);
            match scale {
                Ok(scale) => {
                    self.settings.update(|settings| settings.scale = scale);
                    self.cost.schedule();
                    then(self);
                }
                Err(phrase) => {
                    if SweepRuns(self).end_sweep_early(&phrase) {
                        return;
                    }
                    if let Some(before) = before {
                        self.settings.set(before);
                    }
                    self.cost.schedule();
                    self.messages.put(Some(Number::Budget), as_sentence(&phrase));
                    self.run.stay();
                }
            }
        });
    }

    /// Parses the visitor's density if necessary, then calls `then`.
    fn with_density(self, then: impl FnOnce(Self) + 'static) {
        let formula = self.settings.with_untracked(|settings| settings.unread().then(|| settings.formula.clone()));
        let Some(formula) = formula else { return then(self) };
        self.accountant.ask(Question::Density(formula.clone()), move |answer| {
            let Answer::Density(read) = answer else { return };
            if self.settings.with_untracked(|settings| settings.formula != formula) {
                return;
            }
            match read {
                Ok(density) => {
                    self.messages.clear(Origin::Density);
                    self.settings.update(|settings| settings.density = Some(density));
                    then(self);
                }
                Err(phrase) => {
                    self.messages.put(Origin::Density, as_sentence(&phrase));
                    self.run.stay();
                }
            }
        });
    }
}
