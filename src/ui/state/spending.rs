//! What the run gives away, by tight accounting of its ledger, live.
//!
//! The accountant answers later than steps run. So it is asked ahead: what is shown of a run that plays is the bound of the smallest number of releases that it
//! has answered for and that is not below what happened; of a run that stands still it is the bound of what happened.

use std::sync::Arc;

use leptos::prelude::*;

use super::answered::Answered;
use crate::{accounting::ledger::Event, plot::series::Point, worker::accounts::TightEpsilon};

/// The ledger of the run that stands, as the training thread told it.
#[derive(Clone)]
pub struct RunLedger {
    pub run: u32,
    pub json: Arc<str>,
    /// Which of its releases each step is.
    pub release: u32,
    pub events: Vec<Event>,
    /// Whether the accountant has it.
    pub told: bool,
}

/// The signals. Copied freely.
#[derive(Clone, Copy)]
pub struct Spending {
    pub ledger: StoredValue<Option<RunLedger>, LocalStorage>,
    /// Releases so far: set before the report that it belongs to.
    pub released: RwSignal<u64>,
    pub answered: RwSignal<Option<Arc<Answered>>>,
    /// The privacy curve at so many releases, which is asked for while its panel is open.
    pub curve: RwSignal<Option<(u64, Vec<Point>)>>,
    pub curve_open: RwSignal<bool>,
    /// No question before this time, in milliseconds, while the run plays.
    pub rest_until: StoredValue<f64>,
}

impl Spending {
    /// Nothing is known yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            ledger: StoredValue::new_local(None),
            released: RwSignal::new(0),
            answered: RwSignal::new(None),
            curve: RwSignal::new(None),
            curve_open: RwSignal::new(false),
            rest_until: StoredValue::new(0.0),
        }
    }

    /// Nothing is known of a new run.
    pub fn forget(self) {
        self.ledger.set_value(None);
        self.released.set(0);
        self.answered.set(None);
        self.curve.set(None);
        self.rest_until.set_value(0.0);
    }

    /// A new thread of the accountant has no ledger yet.
    pub fn tell_again(self) {
        self.ledger.update_value(|ledger| ledger.iter_mut().for_each(|ledger| ledger.told = false));
    }

    /// The tight bound of what happened, where one that holds is known.
    #[must_use]
    pub fn epsilon(self) -> Option<f64> {
        self.released.track();
        let answered = self.answered.get()?;
        self.ledger.with_value(|ledger| answered.bound(&ledger.as_ref()?.events))
    }

    /// What was said of exactly what happened.
    #[must_use]
    pub fn exact(self) -> Option<TightEpsilon> {
        self.released.track();
        let answered = self.answered.get()?;
        let same =
            self.ledger.with_value(|ledger| ledger.as_ref().is_some_and(|ledger| ledger.events == answered.events));
        answered.spent.tight.clone().filter(|_| same)
    }
}
