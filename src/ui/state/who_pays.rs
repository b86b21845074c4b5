//! Which digits pay for privacy, counted while the panel is open.

use std::sync::Arc;

use leptos::prelude::*;

use super::run::Run;
use crate::{
    data::TestSet,
    ui::{browser, threads::training::TrainingClient},
    worker::{counting::ClassReport, protocol::Request},
};

/// Minimum milliseconds between counts while a run plays.
const COUNT_MS: f64 = 1500.0;

#[derive(Clone, Copy)]
pub struct WhoPays {
    trainer: TrainingClient,
    run: Run,
    pub counted: RwSignal<Option<Arc<ClassReport>>>,
    /// Steps of the run's trained baseline; counts with fewer are of one still in training.
    baseline: RwSignal<Option<u64>>,
    /// Test set of the current run; the loaded digits may be others by now.
    pub test_set: StoredValue<TestSet>,
    pub open: RwSignal<bool>,
    counted_at: StoredValue<f64>,
    /// Whether an answer is awaited, and whether the run has advanced meanwhile: asking again would
    /// restart the count, which might then never end.
    asked: StoredValue<(bool, bool)>,
}

impl WhoPays {
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

    /// Opens the panel, which counts, or closes it.
    pub fn toggle(self, open: bool) {
        self.open.set(open);
        self.ask();
    }

    /// Takes the start of a run with this test set.
    pub fn begin(self, test_set: Option<TestSet>) {
        self.counted.set(None);
        self.baseline.set(None);
        self.asked.set_value((false, false));
        if let Some(test_set) = test_set {
            self.test_set.set_value(test_set);
        }
    }

    /// Takes a trained baseline of the run, after this many steps.
    pub fn take_baseline(self, steps: u64) {
        self.baseline.set(Some(steps));
        self.refresh();
    }

    /// Returns the counts after this step; with `open`, only if they include the trained baseline.
    #[must_use]
    pub fn after(self, step: Option<u64>, open: bool) -> Option<Arc<ClassReport>> {
        let trained = self.baseline.get();
        let counted = self.counted.get()?;
        let is_whole = !open || counted.open.as_ref().map(|counts| counts.step) == trained;
        (Some(counted.run.step) == step && is_whole).then_some(counted)
    }

    /// Counts again, if open: at once if the run is paused, else now and then.
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

    pub fn take(self, counted: ClassReport) {
        let (_, again) = self.asked.get_value();
        self.asked.set_value((false, false));
        self.counted.set(Some(Arc::new(counted)));
        if again {
            self.refresh();
        }
    }
}
