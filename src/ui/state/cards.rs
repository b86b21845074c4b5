//! The cards of presets, fetched when first shown.

use std::sync::Arc;

use leptos::prelude::*;

use crate::ui::{
    browser,
    settings::cards::{Card, read},
};

#[derive(Clone, Copy)]
pub struct Cards {
    /// Whether anybody wants to see them.
    pub asked: RwSignal<bool>,
    /// `None`: not fetched yet; empty: not available.
    pub all: RwSignal<Option<Arc<[Card]>>>,
}

impl Cards {
    #[must_use]
    pub fn new() -> Self {
        Self { asked: RwSignal::new(false), all: RwSignal::new(None) }
    }

    /// Fetches the cards, unless they are present.
    pub fn load(self) {
        self.asked.set(true);
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
