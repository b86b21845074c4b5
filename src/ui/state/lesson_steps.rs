//! Steps of lessons: the page takes their settings, shows their panels and does what they say.

use std::sync::Arc;

use leptos::prelude::*;

use super::{
    appearance::Panel,
    lesson_set::{LessonSet, Step},
    messages::Origin,
    page::Page,
};
use crate::{
    ui::{browser, link, settings::Settings},
    worker::lab::Psi,
};

impl Page {
    /// Fetches lessons and formulas, unless they are there.
    pub fn load_lessons(self) {
        if self.lessons.set.with_untracked(Option::is_some) {
            return;
        }
        leptos::task::spawn_local(async move {
            match browser::fetch_text(&browser::script_address("hushgrad-lessons", "./lessons.txt")).await {
                Ok(text) => {
                    let set = LessonSet::read(&text);
                    let wanted = self.lessons.wanted.try_update_value(Option::take).flatten();
                    let found = wanted.as_deref().and_then(|name| set.find(name));
                    self.lessons.set.set(Some(Arc::new(set)));
                    match (found, wanted) {
                        // A link brings its own settings; only a bare one starts the lesson's.
                        (Some(place), Some(name)) => self.enter(place, !name.contains('.')),
                        (None, Some(name)) => self.messages.put(
                            Origin::Address,
                            format!("The link asks for the lesson “{name}”, and there is none of that name."),
                        ),
                        _ => {}
                    }
                }
                Err(reason) => self.messages.put(
                    Origin::Run,
                    format!("The lessons could not be fetched ({reason}). Check the connection, and open them again."),
                ),
            }
        });
    }

    /// Opens a step of a lesson; with `act`, the page takes its settings and does what it says.
    pub fn enter(self, (lesson, step): (usize, usize), act: bool) {
        let Some(set) = self.lessons.set.get_untracked() else { return };
        let Some(now) = set.lessons.get(lesson).and_then(|lesson| lesson.steps.get(step)) else { return };
        self.lessons.open.set(Some((lesson, step)));
        // A link that opens the lab says what it is asked, too.
        let ask = act || !self.lab.open.get_untracked();
        if ask {
            self.lab.open.set(now.show == "lab");
        }
        self.appearance.panel.set(match now.show.as_str() {
            "step" => Panel::Step,
            "setup" => Panel::Setup,
            _ => Panel::Results,
        });
        match now.psi.as_deref() {
            Some("one") if ask => self.lab.query.update(|query| query.psi = Psi::Entries(1)),
            _ if ask && now.show == "lab" => self.lab.query.update(|query| query.psi = Psi::Spread),
            _ => {}
        }
        if act {
            self.act(now);
        }
    }

    fn act(self, step: &Step) {
        if let Some(query) = &step.set {
            let (link, _) = link::read(query);
            let digits = self.settings.with_untracked(|settings| settings.digits);
            self.snapshots.set_speed(link.speed);
            self.run.pause();
            self.change(|settings| *settings = Settings { digits, ..link.settings });
        }
        match step.act.as_deref() {
            Some("play") => self.play(),
            Some("step") => self.run.step_once(),
            _ => {}
        }
    }

    /// Closes the lesson, and the noise lab with it.
    pub fn close_lesson(self) {
        self.lessons.open.set(None);
        self.lab.open.set(false);
    }
}
