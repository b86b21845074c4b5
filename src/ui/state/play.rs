//! The visitor's commands to the run: play, pause, export.

use leptos::prelude::*;

use super::page::Page;
use crate::ui::text::t;

impl Page {
    /// Plays the run.
    pub fn play(self) {
        // Only here: notices stay when a run continues on its own.
        self.messages.notice.set(None);
        self.run.play();
        if self.run.is_awaited() {
            self.messages.spoken.set(t!("Starting as soon as all digits are loaded.").to_owned());
        }
    }

    /// Plays or pauses the run.
    pub fn toggle(self) {
        let plays = self.run.playing.get_untracked() || self.run.starting.get_untracked();
        if plays { self.run.pause() } else { self.play() }
    }

    /// Exports the model.
    pub fn export_weights(self) {
        if !self.run.request_weights() {
            self.messages.notify(t!("There is no model to export yet.").to_owned());
        }
    }
}
