//! The noise of a run's phases is sought, and what was found is taken.

use std::sync::Arc;

use leptos::prelude::*;

use super::page::Page;
use crate::{
    ui::settings::{PhaseKind, Settings},
    worker::annealing::{Cooled, Scheduled},
};

impl Page {
    /// Seeks the noise of the phases that are set, at what they cost.
    pub fn anneal(self) {
        let Some(train) = self.digits.whole() else { return };
        let config = self.settings.with_untracked(Settings::config);
        self.annealing.begin(config, train);
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
