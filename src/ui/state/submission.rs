//! What a link claims, and what this page has found of it.

use hushgrad_message::Message;
use leptos::prelude::*;

use crate::{
    train::config::RunConfig,
    ui::{link::HandedIn, settings::Settings},
};

#[derive(Clone, Copy)]
pub struct Submission {
    pub said: RwSignal<Option<HandedIn>>,
    /// The settings in the link.
    pub settings: StoredValue<Option<Settings>>,
    /// What the accountant was asked about.
    pub asked: StoredValue<Option<(RunConfig, u32)>>,
    /// ε of those settings and steps, or why there is none.
    pub found: RwSignal<Option<Result<f64, Message>>>,
}

impl Submission {
    /// Creates the state from a link's claim and settings.
    #[must_use]
    pub fn new(said: Option<HandedIn>, settings: &Settings) -> Self {
        Self {
            said: RwSignal::new(said),
            settings: StoredValue::new(Some(settings.clone())),
            asked: StoredValue::new(None),
            found: RwSignal::new(None),
        }
    }

    /// Takes another link's claim and settings.
    pub fn take(self, said: Option<HandedIn>, settings: &Settings) {
        self.settings.set_value(Some(settings.clone()));
        self.asked.set_value(None);
        self.found.set(None);
        self.said.set(said);
    }
}
