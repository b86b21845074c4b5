//! A task leaves some settings free. The others are fixed until the visitor unlocks them all: in the set-up, under the stations, and for whatever
//! else would set them. A lesson takes its own settings, and gives the task's back.

use leptos::prelude::*;

use super::page::Page;
use crate::ui::{link::Lock, settings::Settings, text::t};

impl Page {
    /// Whether the open task has fixed the setting of this name in links.
    #[must_use]
    pub fn is_fixed(self, key: &str) -> bool {
        self.task.with(|task| task.as_ref().is_some_and(|task| !task.leaves(key)))
    }

    /// Whether a setting may be changed now; says why where it may not.
    #[must_use]
    pub fn may_set(self, key: &str) -> bool {
        let fixed = untrack(|| self.is_fixed(key));
        if fixed {
            self.refuse();
        }
        !fixed
    }

    /// What the settings become where these are asked for: the task refuses what it does not leave free.
    pub(super) fn admitted(self, before: &Settings, asked: Settings) -> Settings {
        if self.task_allows(before, &asked) {
            return asked;
        }
        self.refuse();
        before.clone()
    }

    fn task_allows(self, before: &Settings, after: &Settings) -> bool {
        self.task.with_untracked(|task| task.as_ref().is_none_or(|task| task.allows(before, after)))
    }

    fn refuse(self) {
        if let Some(sentence) = self.task.with_untracked(|task| task.as_ref().map(Lock::sentence)) {
            self.messages.notify(sentence + " " + t!("“Unlock all” ends the task."));
        }
    }

    /// All settings are free again.
    pub fn unlock(self) {
        self.task.set(None);
        self.messages.notify(t!("All settings are free. The link of the task locks them again.").to_owned());
    }

    /// A run with settings of its own, which the visitor asked for, ends a task that would not allow them.
    pub(super) fn unlock_for(self, settings: &Settings) {
        let digits = self.settings.with_untracked(|now| now.digits);
        let settings = Settings { digits, ..settings.clone() };
        if !self.settings.with_untracked(|now| self.task_allows(now, &settings)) {
            self.unlock();
        }
    }
}
