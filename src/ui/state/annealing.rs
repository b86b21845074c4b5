//! The search for the noise of a run's phases, as the page sees it.

use std::sync::Arc;

use leptos::prelude::*;

use crate::{
    model::Architecture,
    train::config::RunConfig,
    ui::{settings::Settings, threads::training::TrainingClient},
    worker::{
        annealing::{Cooled, PROPOSALS},
        protocol::Request,
    },
};

/// The search. Copied freely.
#[derive(Clone, Copy)]
pub struct Annealing {
    trainer: TrainingClient,
    /// The configuration whose noise is sought; what was found is of no other.
    pub(super) of: RwSignal<Option<RunConfig>>,
    pub(super) cooled: RwSignal<Option<Arc<Cooled>>>,
    pub searches: RwSignal<bool>,
}

impl Annealing {
    /// Nothing is sought.
    #[must_use]
    pub fn new(trainer: TrainingClient) -> Self {
        Self { trainer, of: RwSignal::new(None), cooled: RwSignal::new(None), searches: RwSignal::new(false) }
    }

    /// Seeks for this configuration, at what it costs on so many examples.
    pub(super) fn begin(self, config: RunConfig, examples: u32) {
        self.of.set(Some(config.clone()));
        self.cooled.set(None);
        self.searches.set(true);
        self.trainer.send(Request::Anneal { config: Box::new(config), examples });
    }

    /// Stops where it is; what was found stays.
    pub fn stop(self) {
        if self.searches.get_untracked() {
            self.searches.set(false);
            self.trainer.send(Request::StopAnnealing);
        }
    }

    /// Other digits are here, or another thread: nothing is sought for them.
    pub fn forget(self) {
        self.searches.set(false);
        self.cooled.set(None);
    }

    /// Takes what the training thread says of it.
    pub(super) fn take(self, cooled: Option<Cooled>) {
        // What was on its way when it was stopped is left, and what is of the search before: each begins at 0.
        let begun = self.cooled.with_untracked(Option::is_some);
        let own = begun || cooled.as_ref().is_none_or(|cooled| cooled.proposal == 0);
        if own && self.searches.get_untracked() {
            self.searches.set(cooled.as_ref().is_some_and(|cooled| cooled.proposal < PROPOSALS));
            if let Some(cooled) = cooled {
                self.cooled.set(Some(Arc::new(cooled)));
            }
        }
    }
}

/// Whether the noise of these settings can be sought: it goes by a rule from phase to phase, each digit is alone, and a run of the model is short enough for a hundred of them.
#[must_use]
pub fn can_anneal(settings: &Settings) -> bool {
    settings.noise_follows_a_rule()
        && !settings.sharing().is_shared()
        && matches!(settings.model, Architecture::Linear | Architecture::Mlp)
}
