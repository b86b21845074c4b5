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
        annealing::{Cooled, PROPOSALS, Scheduled},
        protocol::Request,
    },
};

/// The search. Copied freely.
#[derive(Clone, Copy)]
pub struct Annealing {
    trainer: TrainingClient,
    /// The configuration whose noise is sought; what was found is of no other.
    of: RwSignal<Option<RunConfig>>,
    cooled: RwSignal<Option<Arc<Cooled>>>,
    pub searches: RwSignal<bool>,
}

impl Annealing {
    /// Nothing is sought.
    #[must_use]
    pub fn new(trainer: TrainingClient) -> Self {
        Self { trainer, of: RwSignal::new(None), cooled: RwSignal::new(None), searches: RwSignal::new(false) }
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

impl Page {
    /// Seeks the noise of the phases that are set, at what they cost.
    pub fn anneal(self) {
        let Some(train) = self.digits.whole() else { return };
        let config = self.settings.with_untracked(Settings::config);
        self.annealing.of.set(Some(config.clone()));
        self.annealing.cooled.set(None);
        self.annealing.searches.set(true);
        self.trainer.send(Request::Anneal { config: Box::new(config), examples: train });
    }

    /// What was found for the settings as they are.
    #[must_use]
    pub fn cooled(self) -> Option<Arc<Cooled>> {
        let cooled = self.annealing.cooled.get()?;
        let config = self.settings.with(Settings::config);
        self.annealing.of.with(|of| of.as_ref() == Some(&config)).then_some(cooled)
    }

    /// The schedule that the search has accepted last or, once it is over, the best.
    #[must_use]
    pub fn annealed(self) -> Option<Scheduled> {
        let cooled = self.cooled()?;
        Some(if self.annealing.searches.get() { cooled.now.clone() } else { cooled.best.clone() })
    }

    /// Sets the phases of the best schedule.
    pub fn take_annealed(self) {
        let Some(best) = untrack(|| self.cooled()).map(|cooled| cooled.best.clone()) else { return };
        self.annealing.stop();
        self.change(|settings| {
            settings.phases = PhaseKind::List;
            settings.phase_list = best.list;
            settings.scale = best.scale;
            settings.budget = None;
        });
    }

    /// Other settings are here: a search for those before is of no use.
    pub(super) fn leave_search(self) {
        let config = self.settings.with_untracked(Settings::config);
        if self.annealing.of.with_untracked(|of| of.as_ref() != Some(&config)) {
            self.annealing.stop();
        }
    }
}
