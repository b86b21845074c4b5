//! What the settings will cost, before Play.

use std::sync::Arc;

use gloo::timers::callback::Timeout;
use leptos::prelude::*;

use crate::{
    plot::{drawing::Line, series::Point},
    train::projection::Projection,
    ui::settings::Settings,
};

/// Passes over the data that are projected where a run has no end.
pub const OPEN_EPOCHS: u64 = 10;

/// Steps that are accounted for in advance, on `train` examples.
#[must_use]
pub fn planned_steps(settings: &Settings, train: u32) -> u64 {
    let open = OPEN_EPOCHS * u64::from(train) / u64::from(settings.lot.max(1));
    settings.steps.unwrap_or(open).max(1)
}

/// The projected cost. Copied freely.
#[derive(Clone, Copy)]
pub struct ProjectedCost {
    /// What the settings will cost; why nothing can be said.
    pub projection: RwSignal<Option<Result<Arc<Projection>, String>>>,
    /// Tight ε by step of the projection.
    pub tight: RwSignal<Vec<Point>>,
    /// ε by step at other δ, until something else is set.
    pub deltas: RwSignal<Vec<Line>>,
    /// The questions wait until the settings stand still.
    pub due: StoredValue<Option<Timeout>, LocalStorage>,
    pub tight_due: StoredValue<Option<Timeout>, LocalStorage>,
}

impl ProjectedCost {
    /// Nothing is known yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            projection: RwSignal::new(None),
            tight: RwSignal::new(vec![]),
            deltas: RwSignal::new(vec![]),
            due: StoredValue::new_local(None),
            tight_due: StoredValue::new_local(None),
        }
    }

    /// The projection, where there is one.
    #[must_use]
    pub fn known(self) -> Option<Arc<Projection>> {
        self.projection.with(|projection| projection.clone().and_then(Result::ok))
    }
}
