//! The step that the stage shows before the visitor's first.

use std::sync::Arc;

use leptos::prelude::*;

use super::{
    page::Page,
    snapshots::{InspectedStep, StepOf},
};
use crate::{data::sharing::Sharing, ui::browser, worker::look::text};

impl Page {
    /// Returns the step on the stage: the visitor's own last step, else the recorded one. A step that
    /// the run has not taken does not replace the recorded one under its own settings.
    #[must_use]
    pub fn inspected(self) -> Option<InspectedStep> {
        let own = self.snapshots.people.get().filter(|own| own.step > 0 || !self.shows_recorded());
        own.or_else(|| self.snapshots.recorded.get())
    }

    /// Fetches the recorded step, if it may be shown. Without it the stage waits for the visitor's.
    pub fn load_recorded_step(self) {
        if !untrack(|| self.shows_recorded()) {
            return;
        }
        leptos::task::spawn_local(async move {
            let address = browser::script_address("hushgrad-step", "./step.txt");
            if let Ok(text) = browser::fetch_text(&address).await
                && let Some((step, lot, person)) = text::read(&text)
            {
                let (lot, person) = (Arc::new(lot), Some(Arc::new(person)));
                let people = InspectedStep { of: StepOf::Recorded, step, sharing: Sharing::Alone, lot, person };
                self.snapshots.recorded.set(Some(people));
                // A link's author has chosen what is seen first.
                if browser::query().is_empty() && browser::may_move() && untrack(|| self.shows_recorded()) {
                    for input in ["pointerdown", "keydown"] {
                        window_event_listener_untyped(input, move |_| self.knob.end_opening());
                    }
                    self.knob.open();
                }
            }
        });
    }
}
