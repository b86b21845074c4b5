//! Searches for the noise of a run's phases, and applies the result.

use std::sync::Arc;

use leptos::prelude::*;

use super::page::Page;
use crate::{
    ui::settings::{PhaseKind, Settings},
    worker::annealing::{AnnealProgress, Scheduled},
};

/// The search for the noise of a run's phases.
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
