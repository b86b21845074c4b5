//! Opens another address in the loaded page: Back, Forward, and links to the page itself.

use leptos::prelude::*;

use super::{
    appearance::Panel, connection::Threads, digit_choice::DigitChoice, lesson_steps::LessonPlayer, page::Page,
};
use crate::ui::{browser, link::Opening, settings::Settings};

impl Page {
    /// Shows what a fresh visit would show, except that digits, runs and the visitor's theme stay.
    ///
    /// Another backend or language needs other programs or texts, so the browser reloads the page.
    pub fn visit(self, Opening { link, task, handed_in, problems }: Opening) {
        let other_language = match &link.language {
            Some(language) => *language != self.appearance.language.get_untracked(),
            None => self.appearance.language_in_link.get_untracked(),
        };
        if other_language || link.backend != self.device.choice {
            return browser::reload();
        }
        self.run.pause();
        self.lessons.forget(link.lesson.clone());
        self.messages.take_address(&problems);
        self.task.set(task);
        self.submission.take(handed_in, &link.settings);
        Threads(self).set_cores(link.cores);
        self.appearance.take_link(link.theme);
        self.appearance.present.set(link.present);
        self.appearance.show_panel(Panel::Step);
        self.lab.query.set(link.query.clone());
        self.lab.open.set(link.lab);
        self.own_training.take(link.own.clone());
        self.attacks.open.set(link.attacks || link.settings.canaries > 0);
        self.pay_once.set_up(&link);
        self.snapshots.set_speed(link.speed);
        let (digits, before) = (link.settings.digits, self.settings.with_untracked(|settings| settings.digits));
        self.take_settings(Settings { digits: before, ..link.settings });
        if digits != before {
            DigitChoice(self).change_digits(digits);
        }
        if link.lesson.is_some() {
            LessonPlayer(self).load_lessons();
        }
        // Rebuild fields and folds with the new settings.
        self.appearance.language.notify();
    }
}
