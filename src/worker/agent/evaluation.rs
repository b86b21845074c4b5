//! How far the current model is evaluated, and when the next evaluation is due.

use std::time::Duration;

use web_time::Instant;

use crate::data::Dataset;

/// Share of the time that evaluation may take while a run plays.
const SHARE: f64 = 0.2;
/// Examples evaluated between checks of the inbox.
const SLICE: usize = 500;

/// The evaluation of the current model, slice by slice.
#[derive(Default)]
pub(super) struct Evaluation {
    /// The next slice; `None` if no evaluation is in progress.
    pub next: Option<usize>,
    /// Examples of the slices so far that were read correctly.
    pub correct: u32,
    /// Time that those slices took.
    pub spent: Duration,
    /// When the last evaluation ended, and how long it took.
    pub last: Option<(Instant, Duration)>,
    /// When the evaluation began, and how long the last took in all, with turns of the event loop.
    pub began: Option<Instant>,
    pub lasted: Option<Duration>,
}

impl Evaluation {
    /// Restarts with the first slice.
    pub fn begin(&mut self) {
        (self.next, self.correct, self.spent) = (Some(0), 0, Duration::ZERO);
        self.began = Some(Instant::now());
    }

    /// Ends the evaluation after its last slice.
    pub fn end(&mut self) {
        self.last = Some((Instant::now(), self.spent));
        self.lasted = self.began.take().map(|began| began.elapsed());
    }

    /// True if another evaluation keeps within its share of the time.
    pub fn is_due(&self, now: Instant) -> bool {
        self.last.is_none_or(|(ended, took)| {
            now.duration_since(ended).as_secs_f64() * SHARE >= took.as_secs_f64() * (1.0 - SHARE)
        })
    }
}

/// Cuts the test set into slices, each of which is evaluated without checking the inbox.
pub(super) fn cut(test: &Dataset) -> Vec<Dataset> {
    (0..test.len()).step_by(SLICE).map(|start| test.slice(start..start + SLICE)).collect()
}
