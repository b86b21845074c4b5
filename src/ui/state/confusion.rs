//! How often each test digit was read as each other, counted while its table is open.

use std::sync::Arc;

use leptos::prelude::*;

use super::run::Run;
use crate::{
    data::TestSet,
    engine::Confusion,
    ui::{browser, threads::training::TrainingClient},
    worker::protocol::Request,
};

/// Digits are counted anew at most this often while a run plays.
const COUNT_MS: f64 = 1500.0;

/// The counts. Copied freely.
#[derive(Clone, Copy)]
pub struct ConfusionTable {
    trainer: TrainingClient,
    run: Run,
    /// Step, and how often the digit of the row was read as that of the column.
    pub counts: RwSignal<Option<(u64, Arc<Confusion>)>>,
    /// What the run that stands is tested on; the digits at hand may be others by now.
    pub test_set: StoredValue<TestSet>,
    open: RwSignal<bool>,
    counted_at: StoredValue<f64>,
}

impl ConfusionTable {
    /// Nothing is counted.
    #[must_use]
    pub fn new(trainer: TrainingClient, run: Run) -> Self {
        Self {
            trainer,
            run,
            counts: RwSignal::new(None),
            test_set: StoredValue::new(TestSet::Public),
            open: RwSignal::new(false),
            counted_at: StoredValue::new(0.0),
        }
    }

    /// The table is opened, which counts, or closed.
    pub fn toggle(self, open: bool) {
        self.open.set(open);
        if open {
            self.trainer.send(Request::Confusion);
        }
    }

    /// A new run stands, tested on these digits.
    pub fn begin(self, test_set: Option<TestSet>) {
        self.counts.set(None);
        if let Some(test_set) = test_set {
            self.test_set.set_value(test_set);
        }
    }

    /// The run was measured: an open table counts anew, and that of a paused run at once.
    pub fn refresh(self) {
        if self.open.get_untracked() {
            let now = browser::now();
            if !self.run.playing.get_untracked() || now - self.counted_at.get_value() > COUNT_MS {
                self.counted_at.set_value(now);
                self.trainer.send(Request::Confusion);
            }
        }
    }

    /// Takes the counts.
    pub fn take(self, step: u64, counts: Confusion) {
        self.counts.set(Some((step, Arc::new(counts))));
    }
}
