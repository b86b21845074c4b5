//! The step that the stage shows before the visitor's first.

use std::sync::Arc;

use leptos::prelude::*;

use super::{page::Page, snapshots::InspectedStep};
use crate::{ui::browser, worker::look::text};

impl Page {
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
                let people = InspectedStep { step, lot: Arc::new(lot), person: Some(Arc::new(person)) };
                self.snapshots.recorded.set(Some(people));
                self.snapshots.walk();
            }
        });
    }
}
