//! Settings change: what follows from it, up to the run of the new ones.

use leptos::prelude::*;

use super::{
    messages::{Origin, as_sentence},
    page::Page,
};
use crate::{
    ui::{
        settings::{Choice, Digits, Number, Select, Settings, presets::Preset},
        threads::accountant::Topic,
    },
    worker::{
        accounts::{Answer, Question},
        protocol::{Request, RunInfo},
    },
};

impl Page {
    /// Changes settings, as far as a task lets them be changed; a new run starts where the change means one, and goes on playing if the old one did.
    pub fn change(self, edit: impl FnOnce(&mut Settings)) {
        // Who sets something in the midst of a sweep ends it: all else becomes what it was.
        let left = self.leave_sweep();
        let before = self.settings.get_untracked();
        let mut asked = before.clone();
        edit(&mut asked);
        let settings = self.admitted(&before, asked);
        if left || before != settings {
            self.set_all(settings, before, Self::restart);
        }
    }

    /// The same, whatever a task has fixed.
    pub(super) fn take_settings(self, settings: Settings) {
        let left = self.leave_sweep();
        let before = self.settings.get_untracked();
        if left || before != settings {
            self.set_all(settings, before, Self::restart);
        }
    }

    /// A new run of these settings, which plays as soon as it stands, if it is to.
    pub fn begin(self, settings: Settings, play: bool) {
        self.run.play_next(play);
        self.set_all(settings, self.settings.get_untracked(), Self::start);
    }

    /// Sets everything, and goes on with `then`, once the noise that a budget asks for is known.
    fn set_all(self, settings: Settings, before: Settings, then: fn(Self)) {
        // What a field was refused for is void once something else has given it a value.
        for number in Number::ALL {
            if before.number(number) != settings.number(number) {
                self.messages.clear(Some(number));
            }
        }
        self.settings.set(self.fitted(settings));
        self.leave_search();
        self.follow_budget(self.digits.train(), Some(before), then);
    }

    /// Sets all that a preset sets, and says what there is to see.
    pub fn choose_preset(self, preset: Preset) {
        if !self.may_set("preset") {
            return;
        }
        self.messages.problems.set(vec![]);
        self.change(|settings| *settings = preset.settings(settings));
        self.messages.notify(preset.note.get().to_owned());
    }

    /// An option of a choice was chosen, by its key.
    pub fn choose(self, select: Select, key: &str) {
        // Digits are not chosen before they are there.
        match Digits::by_key(key).filter(|_| select == Select::Digits) {
            Some(digits) => self.choose_digits(digits),
            None => self.change(|settings| {
                (select.spec().set)(settings, key);
                if select == Select::Phases {
                    settings.plan_phases();
                }
            }),
        }
    }

    /// A number field was committed with this text.
    pub fn commit(self, number: Number, text: &str) {
        match number.parse(text) {
            Ok(value) => {
                self.messages.clear(Some(number));
                self.change(|settings| {
                    settings.set_number(number, value);
                    if number == Number::Scale {
                        settings.budget = None;
                    }
                });
                // A field is committed by Enter and again when it is left: what does not fit the data stays said.
                self.check_data();
            }
            Err(error) => self.messages.put(Some(number), error.to_string()),
        }
    }

    /// A run of the settings, unless the one that stands is of them.
    pub(super) fn restart(self) {
        let (config, broken) = self.settings.with_untracked(Settings::what_runs);
        let same = |run: &RunInfo| run.config == config && run.broken == broken;
        if self.run.info.with_untracked(|run| run.as_ref().is_some_and(same)) {
            // What other settings were refused for is void once those of the run are back.
            self.messages.clear(Origin::Run);
            return self.run.stay();
        }
        self.run.play_on();
        self.start();
    }

    /// A run of the settings on the digits that are there.
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

    /// Lets the noise scale follow from the settings' budget, where they have one, and goes on with `then`. If no scale
    /// keeps it, the settings become what they were `before`.
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
            // What has been set since has a question of its own, or no budget any more.
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
                    if self.end_sweep_early(&phrase) {
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

    /// Has a density of the visitor's own read, where it has not been, and goes on with `then`.
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
