//! Saved data of the current run besides its engine's state and books, and what is saved already.

use std::time::Duration;

use web_time::Instant;

use crate::{
    plot::series::{Curve, decimate},
    train::{
        projection::Point,
        report::{Privacy, Report},
        run_file::{RunCard, RunFile},
    },
    worker::{protocol::Label, run_store::Entry},
};

/// A playing run is saved at most this often,
const SAVE_EVERY: Duration = Duration::from_secs(1);
/// and so that saving takes at most one part in this many of the time.
const SAVE_SHARE: u32 = 20;
/// Points of a saved curve.
const POINTS: usize = 1000;

/// The current run's label and curves, and which of its steps is saved.
#[derive(Default)]
pub(super) struct Saving {
    pub label: Label,
    /// Step and value of the test accuracy measured last.
    accuracy: Option<(u64, f64)>,
    accuracies: Curve,
    improved: Curve,
    classic: Curve,
    /// The step saved last, and the step at which its accuracy was measured.
    saved: Option<(u64, Option<u64>)>,
    /// When the run was last written, and how long that took.
    last: Option<(Instant, Duration)>,
    /// True if the page knows that the run cannot be saved.
    pub told: bool,
}

impl Saving {
    /// Returns the label and curves of a continued run.
    pub fn of(card: &RunCard) -> Self {
        let curve = |points: &[Point]| {
            let mut curve = Curve::default();
            points.iter().for_each(|point| curve.push(*point));
            curve
        };
        Self {
            label: Label { name: card.name.clone(), note: card.note.clone(), pinned: false },
            accuracy: card.accuracy.map(|accuracy| (card.report.step, accuracy)),
            accuracies: curve(&card.accuracy_curve),
            improved: curve(&card.improved_curve),
            classic: curve(&card.classic_curve),
            ..Self::default()
        }
    }

    /// Adds a report to the curves, so that they show what the page was told.
    pub fn note(&mut self, report: &Report) {
        let step = report.step as f64;
        if let Some(accuracy) = report.test_accuracy {
            self.accuracy = Some((report.step, accuracy));
            self.accuracies.push((step, accuracy));
        }
        if let Privacy::Bounded(bound) = &report.privacy {
            self.improved.push((step, bound.improved.epsilon));
            self.classic.push((step, bound.classic.epsilon));
        }
    }

    pub fn last_accuracy(&self) -> Option<f64> {
        self.accuracy.map(|(_, accuracy)| accuracy)
    }

    /// Returns the accuracy after exactly this step, if it was measured.
    pub fn accuracy_at(&self, step: u64) -> Option<f64> {
        self.accuracy.filter(|(measured, _)| *measured == step).map(|(_, accuracy)| accuracy)
    }

    /// Returns accuracy, improved ε and classic ε by step, at most [`POINTS`] points each.
    pub fn curves(&self) -> [Vec<Point>; 3] {
        [&self.accuracies, &self.improved, &self.classic].map(|curve| decimate(curve.points(), POINTS))
    }

    /// True if the playing run is due to be saved again.
    pub fn is_due(&self) -> bool {
        self.last.is_none_or(|(last, took)| last.elapsed() >= SAVE_EVERY.max(took.saturating_mul(SAVE_SHARE)))
    }

    /// Records that the run was written, starting at `start`.
    pub fn wrote(&mut self, start: Instant) {
        self.last = Some((Instant::now(), start.elapsed()));
    }

    fn measured(&self) -> Option<u64> {
        self.accuracy.map(|(step, _)| step)
    }

    /// Records that the store holds the run as of `step`.
    pub fn saved(&mut self, step: u64) {
        self.saved = Some((step, self.measured()));
        self.told = false;
    }

    pub fn is_saved(&self, step: u64) -> bool {
        self.saved == Some((step, self.measured()))
    }

    /// Returns the run's entry in the list.
    pub fn entry(&self, file: &RunFile) -> Entry {
        let Label { name, note, pinned } = self.label.clone();
        Entry { name, note, pinned, card: file.run.to_json() }
    }
}
