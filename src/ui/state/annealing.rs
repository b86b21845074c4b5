//! The search for the noise of a run's phases, as the page sees it.

use std::sync::Arc;

use leptos::prelude::*;

use super::page::Page;
use crate::{
    model::Architecture,
    train::config::RunConfig,
    ui::{
        settings::{PhaseKind, Settings},
        threads::training::TrainingClient,
    },
    worker::{
        annealing::{AnnealProgress, PROPOSALS, Scheduled},
        jobs::{JobKind, JobRequest},
        protocol::Request,
    },
};

#[derive(Clone, Copy)]
pub struct Annealing {
    trainer: TrainingClient,
    /// The configuration whose noise is searched for; the result applies to no other.
    of: RwSignal<Option<RunConfig>>,
    cooled: RwSignal<Option<Arc<AnnealProgress>>>,
    pub searches: RwSignal<bool>,
}

impl Annealing {
    #[must_use]
    pub fn new(trainer: TrainingClient) -> Self {
        Self { trainer, of: RwSignal::new(None), cooled: RwSignal::new(None), searches: RwSignal::new(false) }
    }

    /// Starts a search for `config`, at its cost on `examples` examples.
    fn begin(self, config: RunConfig, examples: u32) {
        self.of.set(Some(config.clone()));
        self.cooled.set(None);
        self.searches.set(true);
        self.trainer.send(Request::StartJob(JobRequest::Anneal { config: Box::new(config), examples }));
    }

    /// Stops the search; what was found stays.
    pub fn stop(self) {
        if self.searches.get_untracked() {
            self.searches.set(false);
            self.trainer.send(Request::StopJob(JobKind::Anneal));
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

/// What the page does with the search.
#[derive(Clone, Copy)]
pub struct NoiseSearch(pub Page);

impl NoiseSearch {
    /// Searches for the noise of the current phases, at their cost.
    pub fn anneal(self) {
        let Some(train) = self.0.digits.whole() else { return };
        let config = self.0.settings.with_untracked(Settings::config);
        self.0.annealing.begin(config, train);
    }

    /// Returns what was found for the current settings.
    #[must_use]
    pub fn cooled(self) -> Option<Arc<AnnealProgress>> {
        let cooled = self.0.annealing.cooled.get()?;
        let config = self.0.settings.with(Settings::config);
        self.0.annealing.of.with(|of| of.as_ref() == Some(&config)).then_some(cooled)
    }

    /// Returns the schedule last accepted or, after the search, the best one.
    #[must_use]
    pub fn annealed(self) -> Option<Scheduled> {
        let cooled = self.cooled()?;
        Some(if self.0.annealing.searches.get() { cooled.now.clone() } else { cooled.best.clone() })
    }

    /// Applies the best schedule.
    pub fn take_annealed(self) {
        let Some(best) = untrack(|| self.cooled()).map(|cooled| cooled.best.clone()) else { return };
        self.0.annealing.stop();
        self.0.change(|settings| {
            settings.phases = PhaseKind::List;
            settings.phase_list = best.list;
            settings.scale = best.scale;
            settings.budget = None;
        });
    }

    /// Stops a search for earlier settings.
    pub(super) fn leave_search(self) {
        let config = self.0.settings.with_untracked(Settings::config);
        if self.0.annealing.of.with_untracked(|of| of.as_ref() != Some(&config)) {
            self.0.annealing.stop();
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
