//! The search for the noise of a run's phases, as the page sees it.

use std::sync::Arc;

use leptos::prelude::*;

use crate::{
    model::Architecture,
    train::config::RunConfig,
    ui::{settings::Settings, threads::training::TrainingClient},
    worker::{
        annealing::{AnnealProgress, PROPOSALS},
        protocol::Request,
    },
};

#[derive(Clone, Copy)]
pub struct Annealing {
    trainer: TrainingClient,
    /// The configuration whose noise is searched for; the result applies to no other.
    pub(super) of: RwSignal<Option<RunConfig>>,
    pub(super) cooled: RwSignal<Option<Arc<AnnealProgress>>>,
    pub searches: RwSignal<bool>,
}

impl Annealing {
    #[must_use]
    pub fn new(trainer: TrainingClient) -> Self {
        Self { trainer, of: RwSignal::new(None), cooled: RwSignal::new(None), searches: RwSignal::new(false) }
    }

    /// Starts a search for `config`, at its cost on `examples` examples.
    pub(super) fn begin(self, config: RunConfig, examples: u32) {
        self.of.set(Some(config.clone()));
        self.cooled.set(None);
        self.searches.set(true);
        self.trainer.send(Request::Anneal { config: Box::new(config), examples });
    }

    /// Stops the search; what was found stays.
    pub fn stop(self) {
        if self.searches.get_untracked() {
            self.searches.set(false);
            self.trainer.send(Request::StopAnnealing);
        }
    }

    /// Forgets the search: the digits or the thread are new.
    pub fn forget(self) {
        self.searches.set(false);
        self.cooled.set(None);
    }

    /// Takes a report of the training thread.
    pub(super) fn take(self, cooled: Option<AnnealProgress>) {
        // Ignore reports of a stopped or earlier search: each search starts at proposal 0.
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

/// True if the noise of these settings can be searched for: it follows a rule from phase to phase,
/// no example is shared, and the model is small enough for a hundred runs.
#[must_use]
pub fn can_anneal(settings: &Settings) -> bool {
    settings.noise_follows_a_rule()
        && !settings.sharing().is_shared()
        && matches!(settings.model, Architecture::Linear | Architecture::Mlp)
}
