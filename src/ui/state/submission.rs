//! What a link hands in, and what this page has found of it.

use leptos::prelude::*;

use crate::{
    train::config::RunConfig,
    ui::{link::HandedIn, settings::Settings},
};

/// What was handed in. Copied freely.
#[derive(Clone, Copy)]
pub struct Submission {
    pub said: RwSignal<Option<HandedIn>>,
    /// The settings that the link came with.
    pub settings: StoredValue<Option<Settings>>,
    /// What the accountant was asked of.
    pub asked: StoredValue<Option<(RunConfig, u32)>>,
    /// ε of those settings and steps; what stands in the way of one.
    pub found: RwSignal<Option<Result<f64, String>>>,
}

impl Submission {
    /// What a link with these settings says.
    #[must_use]
    pub fn new(said: Option<HandedIn>, settings: &Settings) -> Self {
        Self {
            said: RwSignal::new(said),
            settings: StoredValue::new(Some(settings.clone())),
            asked: StoredValue::new(None),
            found: RwSignal::new(None),
        }
    }

    /// What another link says.
    pub fn take(self, said: Option<HandedIn>, settings: &Settings) {
        self.settings.set_value(Some(settings.clone()));
        self.asked.set_value(None);
        self.found.set(None);
        self.said.set(said);
    }
}
