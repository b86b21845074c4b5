//! The cards of ready-made runs, which are fetched when the first is to be shown.

use std::sync::Arc;

use leptos::prelude::*;

use crate::ui::{
    browser,
    settings::cards::{Card, read},
};

/// The cards. Copied freely.
#[derive(Clone, Copy)]
pub struct Cards {
    /// `None`: not fetched yet; empty: they do not come.
    pub all: RwSignal<Option<Arc<[Card]>>>,
}

impl Cards {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self { all: RwSignal::new(None) }
    }

    /// Fetches them, unless they are there.
    pub fn load(self) {
        if self.all.with_untracked(|all| all.as_ref().is_some_and(|all| !all.is_empty())) {
            return;
        }
        leptos::task::spawn_local(async move {
            let address = browser::script_address("hushgrad-presets", "./presets.txt");
            let table = browser::fetch_text(&address).await.unwrap_or_default();
            self.all.set(Some(read(&table).into()));
        });
    }
}
