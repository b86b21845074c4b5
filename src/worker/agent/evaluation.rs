//! How far the current model has been evaluated, and when the next evaluation is due.

use std::time::Duration;

use web_time::Instant;

use crate::data::Dataset;

/// While a run plays, evaluation may take this share of the time.
const SHARE: f64 = 0.2;
/// Examples that are evaluated between two looks at the inbox.
const SLICE: usize = 500;

/// The evaluation of the model as it stands, slice by slice.
#[derive(Default)]
pub(super) struct Evaluation {
    /// The slice that comes next; `None`: no evaluation is under way.
    pub next: Option<usize>,
    /// Examples of the slices so far that were read right.
    pub correct: u32,
    /// Time that those slices took.
    pub spent: Duration,
    /// When the last evaluation ended, and how long it took.
    pub last: Option<(Instant, Duration)>,
    /// When the evaluation under way began, and how long the last one took from its beginning to its end, with the turns of the event loop between slices.
    pub began: Option<Instant>,
    pub lasted: Option<Duration>,
}

impl Evaluation {
    /// Begins anew, with the first slice.
    pub fn begin(&mut self) {
        (self.next, self.correct, self.spent) = (Some(0), 0, Duration::ZERO);
        self.began = Some(Instant::now());
    }

    /// Ends it: the last slice is done.
    pub fn end(&mut self) {
        self.last = Some((Instant::now(), self.spent));
        self.lasted = self.began.take().map(|began| began.elapsed());
    }

    /// Whether another evaluation keeps within its share of the time.
    pub fn is_due(&self, now: Instant) -> bool {
        self.last.is_none_or(|(ended, took)| {
            now.duration_since(ended).as_secs_f64() * SHARE >= took.as_secs_f64() * (1.0 - SHARE)
        })
    }
}

/// The test set in slices, each evaluated without a look at the inbox.
pub(super) fn cut(test: &Dataset) -> Vec<Dataset> {
    (0..test.len()).step_by(SLICE).map(|start| test.slice(start..start + SLICE)).collect()
}
