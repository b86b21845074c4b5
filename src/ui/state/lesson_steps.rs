//! Steps of lessons: show their panels, take their settings, and restore the visitor's own.

use std::sync::Arc;

use leptos::prelude::*;

use super::{
    appearance::Panel,
    lesson_set::LessonSet,
    lessons::{Before, Staged},
    messages::Origin,
    page::Page,
};
use crate::{
    ui::{
        browser, link,
        settings::{Settings, clipped, presets::first_settings},
        text::t,
    },
    worker::lab::Psi,
};

/// The lesson that is open: its steps, and their runs.
#[derive(Clone, Copy)]
pub struct LessonPlayer(pub Page);

impl LessonPlayer {
    /// Fetches lessons and formulas, unless present, and opens what a link asked for.
    pub fn load_lessons(self) {
        if self.0.lessons.set.with_untracked(Option::is_some) {
            return self.enter_wanted();
        }
        leptos::task::spawn_local(async move {
            match browser::fetch_text(&browser::translated_address("hushgrad-lessons", "./lessons.txt")).await {
                Ok(text) => {
                    if self.take_lessons(&text) {
                        self.enter_wanted();
                    }
                }
                Err(reason) => self.0.messages.put(Origin::Lessons, lessons_missing(&reason)),
            }
        });
    }

    /// Returns whether the lessons could be parsed.
    fn take_lessons(self, text: &str) -> bool {
        match LessonSet::read(text) {
            Ok(set) => {
                self.0.messages.clear(Origin::Lessons);
                self.0.lessons.set.set(Some(Arc::new(set)));
                true
            }
            Err(error) => {
                self.0.messages.put(Origin::Lessons, lessons_missing(&error));
                false
            }
        }
    }

    /// Opens what a link asked for.
    fn enter_wanted(self) {
        let Some(name) = self.0.lessons.wanted.try_update_value(Option::take).flatten() else { return };
        match self.0.lessons.place_of(Some(&name)) {
            Some(place) => self.enter_by_link(place),
            None => self.0.messages.put(
                Origin::Address,
                t!("The link asks for the lesson “{name}”, which does not exist.", name = clipped(&name)),
            ),
        }
    }

    /// Takes the texts of another language, which the page uses from now on.
    pub fn take_language(self) {
        browser::listen_to_language();
        self.0.appearance.language.set(browser::language());
        if self.0.lessons.set.with_untracked(Option::is_none) {
            return;
        }
        leptos::task::spawn_local(async move {
            let spoken = browser::language();
            // Lessons have the same steps in every language: the open one stays.
            match browser::fetch_text(&browser::translated_address("hushgrad-lessons", "./lessons.txt")).await {
                // Another language was chosen meanwhile, and its lessons are on their way.
                _ if browser::language() != spoken => {}
                Ok(text) => _ = self.take_lessons(&text),
                Err(reason) => self.0.messages.put(Origin::Lessons, lessons_missing(&reason)),
            }
        });
    }

    /// Opens a step that a link names. Settings in the link are the visitor's: they stay, and the
    /// step says that they are not its own.
    fn enter_by_link(self, place: (usize, usize)) {
        let mine = self.0.settings.get_untracked();
        // Settings of a link that names no setting, and of one that names only the digits.
        let plain = Settings { digits: mine.digits, ..first_settings() };
        let named = Settings { digits: mine.digits, ..Settings::default() };
        let (lab, query) = (self.0.lab.open.get_untracked(), self.0.lab.query.get_untracked());
        let of_step = self.staged_of(place).is_some_and(|staged| staged.settings == mine);
        self.show(place, mine == plain || mine == named || of_step);
        if of_step {
            // The address held the step's settings: nothing was set before the lesson.
            self.0.lessons.before.update_value(|before| before.iter_mut().for_each(|b| b.settings = plain.clone()));
        }
        if lab {
            self.0.lab.open.set(true);
            self.0.lab.query.set(query);
        }
    }

    /// Opens a step of a lesson, and prepares the state that its text describes.
    pub fn enter(self, place: (usize, usize)) {
        self.show(place, true);
    }

    /// Opens the next step, or the previous one. A lesson's last step leads to the next lesson; the
    /// last lesson's closes it.
    pub fn turn(self, on: bool) {
        let (Some((lesson, step)), Some(set)) =
            (self.0.lessons.open.get_untracked(), self.0.lessons.set.get_untracked())
        else {
            return;
        };
        let last = step + 1 == set.lessons[lesson].steps.len();
        match (on, last) {
            (false, _) if step == 0 => {}
            (false, _) => self.enter((lesson, step - 1)),
            (true, false) => self.enter((lesson, step + 1)),
            (true, true) if lesson + 1 < set.lessons.len() => self.enter((lesson + 1, 0)),
            (true, true) => self.close_lesson(),
        }
    }

    /// Shows a step; without `stage` the settings stay.
    fn show(self, (lesson, step): (usize, usize), stage: bool) {
        let (Some(set), Some(staged)) = (self.0.lessons.set.get_untracked(), self.staged_of((lesson, step))) else {
            return;
        };
        let now = &set.lessons[lesson].steps[step];
        self.0.knob.release();
        if self.0.lessons.open.with_untracked(Option::is_none) {
            self.0.lessons.before.set_value(Some(Before {
                settings: self.0.settings.get_untracked(),
                speed: self.0.run.speed.get_untracked(),
                panel: self.0.appearance.panel.get_untracked(),
                sheet: self.0.appearance.sheet.get_untracked(),
                lab: self.0.lab.open.get_untracked(),
                pay_once: self.0.pay_once.open.get_untracked(),
                attacks: self.0.attacks.open.get_untracked(),
                query: self.0.lab.query.get_untracked(),
            }));
        }
        self.0.lessons.open.set(Some((lesson, step)));
        self.0.lab.open.set(now.show == "lab");
        self.0.own_training.open.set(false);
        let scene = link::read(set.lessons[lesson].scene(step).set).0;
        self.0.pay_once.set_up(&scene);
        self.0.attacks.open.set(scene.attacks || scene.settings.canaries > 0);
        self.0.appearance.panel.set(match now.show.as_str() {
            "step" | "setup" => Panel::Step,
            _ => Panel::Results,
        });
        self.0.appearance.sheet.set(now.show == "setup");
        // Show a class the stage again, unless the step points elsewhere.
        if self.0.appearance.present.get_untracked() {
            browser::to_top();
        }
        if now.show == "lab" {
            let psi = if now.psi.as_deref() == Some("one") { Psi::Entries(1) } else { Psi::Spread };
            self.0.lab.query.update(|query| query.psi = psi);
        }
        if stage {
            self.0.snapshots.set_speed(scene.speed);
            self.stage(staged);
        } else {
            self.0.lessons.done.set(true);
            self.0.lessons.staged.set(Some(Arc::new(staged)));
        }
    }

    /// Returns the state that a step's text describes, on the chosen digits.
    fn staged_of(self, (lesson, step): (usize, usize)) -> Option<Staged> {
        let set = self.0.lessons.set.get_untracked()?;
        let lesson = set.lessons.get(lesson).filter(|lesson| step < lesson.steps.len())?;
        let scene = lesson.scene(step);
        let digits = self.0.settings.with_untracked(|settings| settings.digits);
        let read = |query: &str| self.fitted(Settings { digits, ..link::read(query).0.settings });
        Some(Staged {
            settings: read(scene.set),
            until: scene.until,
            also: scene.also.iter().map(|query| read(query)).collect(),
        })
    }

    /// Returns settings with their model adapted to the loaded images.
    pub(super) fn fitted(self, settings: Settings) -> Settings {
        Settings { model: self.0.digits.fitted(settings.model), ..settings }
    }

    /// Adapts the open step's models to new images.
    pub(super) fn fit_lesson(self) {
        let Some(staged) = self.0.lessons.staged.get_untracked() else { return };
        let also = staged.also.iter().map(|settings| self.fitted(settings.clone())).collect();
        let fitted = Staged { settings: self.fitted(staged.settings.clone()), until: staged.until, also };
        if fitted != *staged {
            self.0.lessons.staged.set(Some(Arc::new(fitted)));
        }
    }

    /// Restores the visitor's settings; the lesson stays open.
    pub fn restore_settings(self) {
        let Some(before) = self.0.lessons.before.get_value() else { return };
        self.0.knob.release();
        self.0.lessons.done.set(true);
        self.0.run.pause();
        self.0.snapshots.set_speed(before.speed);
        let digits = self.0.settings.with_untracked(|settings| settings.digits);
        self.0.take_settings(Settings { digits, ..before.settings });
    }

    /// Takes the open step's settings again.
    pub fn stage_again(self) {
        if let Some(place) = self.0.lessons.open.get_untracked() {
            self.0.lessons.staged.set(None);
            self.enter(place);
        }
    }

    /// Closes the lesson, and restores everything as it was before.
    pub fn close_lesson(self) {
        self.restore_settings();
        self.0.lessons.staged.set(None);
        self.0.lessons.open.set(None);
        if let Some(before) = self.0.lessons.before.try_update_value(Option::take).flatten() {
            self.0.appearance.show_panel(before.panel);
            self.0.appearance.sheet.set(false);
            if before.sheet {
                self.0.appearance.show_settings();
            }
            self.0.lab.query.set(before.query);
            self.0.lab.open.set(before.lab);
            self.0.pay_once.open.set(before.pay_once);
            self.0.attacks.open.set(before.attacks);
        }
    }
}

fn lessons_missing(reason: &dyn std::fmt::Display) -> String {
    t!("The lessons could not be loaded ({reason}). Check the connection, and open them again.", reason = reason)
}
