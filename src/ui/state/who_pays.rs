//! Which digits pay for privacy, counted while it is looked at.

use std::sync::Arc;

use leptos::prelude::*;

use super::run::Run;
use crate::{
    data::TestSet,
    ui::{browser, threads::training::TrainingClient},
    worker::{counting::Counted, protocol::Request},
};

/// Digits are counted anew at most this often while a run plays.
const COUNT_MS: f64 = 1500.0;

/// The counts. Copied freely.
#[derive(Clone, Copy)]
pub struct WhoPays {
    trainer: TrainingClient,
    run: Run,
    pub counted: RwSignal<Option<Arc<Counted>>>,
    /// The steps of the run's baseline, once it is trained: counts of fewer are of a baseline under way.
    baseline: RwSignal<Option<u64>>,
    /// What the run that stands is tested on; the digits at hand may be others by now.
    pub test_set: StoredValue<TestSet>,
    pub open: RwSignal<bool>,
    counted_at: StoredValue<f64>,
    /// Whether an answer is awaited, and whether the run has gone on meanwhile: a count that is asked for anew begins anew, so that it might never end.
    asked: StoredValue<(bool, bool)>,
}

impl WhoPays {
    /// Nothing is counted.
    #[must_use]
    pub fn new(trainer: TrainingClient, run: Run) -> Self {
        Self {
            trainer,
            run,
            counted: RwSignal::new(None),
            baseline: RwSignal::new(None),
            test_set: StoredValue::new(TestSet::Public),
            open: RwSignal::new(false),
            counted_at: StoredValue::new(0.0),
            asked: StoredValue::new((false, false)),
        }
    }

    /// It is opened, which counts, or closed.
    pub fn toggle(self, open: bool) {
        self.open.set(open);
        self.ask();
    }

    /// A new run stands, tested on these digits.
    pub fn begin(self, test_set: Option<TestSet>) {
        self.counted.set(None);
        self.baseline.set(None);
        self.asked.set_value((false, false));
        if let Some(test_set) = test_set {
            self.test_set.set_value(test_set);
        }
    }

    /// The run's baseline is trained, after so many steps.
    pub fn take_baseline(self, steps: u64) {
        self.baseline.set(Some(steps));
        self.refresh();
    }

    /// The counts of the run after this step; with those of its baseline only once that is trained.
    #[must_use]
    pub fn after(self, step: Option<u64>, open: bool) -> Option<Arc<Counted>> {
        let trained = self.baseline.get();
        let counted = self.counted.get()?;
        let is_whole = !open || counted.open.as_ref().map(|counts| counts.step) == trained;
        (Some(counted.run.step) == step && is_whole).then_some(counted)
    }

    /// The run was measured, or its baseline is trained: what is open is counted anew, and of a paused run at once.
    pub fn refresh(self) {
        if !self.run.playing.get_untracked() || browser::now() - self.counted_at.get_value() > COUNT_MS {
            self.ask();
        }
    }

    fn ask(self) {
        if !self.open.get_untracked() {
            return;
        }
        if self.asked.get_value().0 {
            self.asked.set_value((true, true));
            return;
        }
        self.asked.set_value((true, false));
        self.counted_at.set_value(browser::now());
        self.trainer.send(Request::Count);
    }

    /// Takes the counts.
    pub fn take(self, counted: Counted) {
        let (_, again) = self.asked.get_value();
        self.asked.set_value((false, false));
        self.counted.set(Some(Arc::new(counted)));
        if again {
            self.refresh();
        }
    }
}
