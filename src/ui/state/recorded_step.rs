//! The step that the stage shows before there is one of the visitor's own.

use std::sync::Arc;

use leptos::prelude::*;

use super::{page::Page, snapshots::People};
use crate::{ui::browser, worker::look::text};

impl Page {
    /// Fetches the recorded step, where it may be shown. Where it does not come the stage waits for a step of the visitor's own.
    pub fn load_recorded_step(self) {
        if !untrack(|| self.shows_recorded()) {
            return;
        }
        leptos::task::spawn_local(async move {
            let address = browser::script_address("hushgrad-step", "./step.txt");
            if let Ok(text) = browser::fetch_text(&address).await
                && let Some((step, lot, person)) = text::read(&text)
            {
                let people = People { step, lot: Arc::new(lot), person: Some(Arc::new(person)) };
                self.snapshots.recorded.set(Some(people));
                self.snapshots.walk();
            }
        });
    }
}
