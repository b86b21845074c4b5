//! A task leaves some settings free. The others are fixed everywhere until the visitor unlocks them
//! all. A lesson takes its own settings, and restores the task's.

use leptos::prelude::*;

use super::page::Page;
use crate::ui::{link::Lock, settings::Settings, text::t};

/// What a task leaves free.
#[derive(Clone, Copy)]
pub struct TaskLock(pub Page);

impl TaskLock {
    /// True if the open task fixes the setting of this key.
    #[must_use]
    pub fn is_fixed(self, key: &str) -> bool {
        self.0.task.with(|task| task.as_ref().is_some_and(|task| !task.leaves(key)))
    }

    /// True if a setting may be changed now; says why if not.
    #[must_use]
    pub fn may_set(self, key: &str) -> bool {
        let fixed = untrack(|| self.is_fixed(key));
        if fixed {
            self.refuse();
        }
        !fixed
    }

    /// Returns `asked` if the task allows it, else refuses and returns `before`.
    pub(super) fn admitted(self, before: &Settings, asked: Settings) -> Settings {
        if self.task_allows(before, &asked) {
            return asked;
        }
        self.refuse();
        before.clone()
    }

    fn task_allows(self, before: &Settings, after: &Settings) -> bool {
        self.0.task.with_untracked(|task| task.as_ref().is_none_or(|task| task.allows(before, after)))
    }

    fn refuse(self) {
        if let Some(sentence) = self.0.task.with_untracked(|task| task.as_ref().map(Lock::sentence)) {
            self.0.messages.notify(sentence + " " + t!("“Unlock all” ends the task."));
        }
    }

    /// Frees all settings.
    pub fn unlock(self) {
        self.0.task.set(None);
        self.0.messages.notify(t!("All settings are unlocked. The task's link locks them again.").to_owned());
    }

    /// Ends a task that does not allow the settings of a run that the visitor has requested.
    pub(super) fn unlock_for(self, settings: &Settings) {
        let digits = self.0.settings.with_untracked(|now| now.digits);
        let settings = Settings { digits, ..settings.clone() };
        if !self.0.settings.with_untracked(|now| self.task_allows(now, &settings)) {
            self.unlock();
        }
    }
}
