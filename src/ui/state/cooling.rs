//! Searches for the noise of a run's phases, and applies the result.

use std::sync::Arc;

use leptos::prelude::*;

use super::page::Page;
use crate::{
    ui::settings::{PhaseKind, Settings},
    worker::annealing::{AnnealProgress, Scheduled},
};

impl Page {
    /// Searches for the noise of the current phases, at their cost.
    pub fn anneal(self) {
        let Some(train) = self.digits.whole() else { return };
        let config = self.settings.with_untracked(Settings::config);
        self.annealing.begin(config, train);
    }

    /// Returns what was found for the current settings.
    #[must_use]
    pub fn cooled(self) -> Option<Arc<AnnealProgress>> {
        let cooled = self.annealing.cooled.get()?;
        let config = self.settings.with(Settings::config);
        self.annealing.of.with(|of| of.as_ref() == Some(&config)).then_some(cooled)
    }

    /// Returns the schedule last accepted or, after the search, the best one.
    #[must_use]
    pub fn annealed(self) -> Option<Scheduled> {
        let cooled = self.cooled()?;
        Some(if self.annealing.searches.get() { cooled.now.clone() } else { cooled.best.clone() })
    }

    /// Applies the best schedule.
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

    /// Stops a search for earlier settings.
    pub(super) fn leave_search(self) {
        let config = self.settings.with_untracked(Settings::config);
        if self.annealing.of.with_untracked(|of| of.as_ref() != Some(&config)) {
            self.annealing.stop();
        }
    }
}
