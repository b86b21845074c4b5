//! What the run as it stands gives away, by tight accounting.

use leptos::prelude::*;

use crate::{plot::series::Point, train::projection::Spent};

/// What is known of a paused run. Copied freely.
#[derive(Clone, Copy)]
pub struct Spending {
    /// What tight accounting says of the run, at this step of it.
    pub tight: RwSignal<Option<(u64, Spent)>>,
    /// Its privacy curve at that step, which is asked for while its panel is open.
    pub curve: RwSignal<Option<(u64, Vec<Point>)>>,
    pub curve_open: RwSignal<bool>,
}

impl Spending {
    /// Nothing is known yet.
    #[must_use]
    pub fn new() -> Self {
        Self { tight: RwSignal::new(None), curve: RwSignal::new(None), curve_open: RwSignal::new(false) }
    }

    /// Nothing is known of a new run.
    pub fn forget(self) {
        self.tight.set(None);
        self.curve.set(None);
    }
}
