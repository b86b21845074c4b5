//! Budgets of work, counted in units of about 0.5 to 1 ns on a 2 GHz core, not read from a clock,
//! so that a question has the same answer everywhere, and none takes minutes.

use std::sync::atomic::{AtomicU64, Ordering};

/// For one question, half of it for each direction.
pub(super) const QUESTION: f64 = 2.4e9;
/// For a curve of many questions.
pub(super) const CURVE: f64 = 2.2e9;
/// For all trials of a calibration.
pub(crate) const CALIBRATION: f64 = 8e9;
/// For putting a release's noise and envelope on a grid.
pub(crate) const PREPARATION: f64 = 3.2e9;

/// One lattice point of Gaussian noise, and one mapped atom.
pub(super) const GAUSSIAN_POINT: f64 = 180.0;
pub(super) const ATOM: f64 = 25.0;
/// One point in a sum of powers, without and with mean and variance.
pub(super) const MOMENT_POINT: f64 = 1.5;
pub(super) const CUMULANT_POINT: f64 = 12.0;
/// Adding two terms of a random allocation's ratio.
pub(super) const ALLOCATED_PAIR: f64 = 3.0;
/// One cell of a coordinate's loss.
pub(super) const COORDINATE_CELL: f64 = 500.0;

/// Work left. Threads share it; whether it suffices does not depend on their order.
#[derive(Debug)]
pub(crate) struct Work(AtomicU64);

impl Work {
    pub fn new(budget: f64) -> Self {
        Self(AtomicU64::new(budget as u64))
    }

    /// Takes `cost` and returns true; if too little is left, takes all of it and returns false.
    pub fn spend(&self, cost: f64) -> bool {
        let cost = cost as u64;
        let spent = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(cost));
        if spent.is_err() {
            self.0.store(0, Ordering::Relaxed);
        }
        spent.is_ok()
    }

    /// Runs `work` with at most `most` of this budget.
    pub fn of_which<T>(&self, most: f64, work: impl FnOnce(&Self) -> T) -> T {
        let share = most.min(self.left());
        let own = Self::new(share);
        let answer = work(&own);
        self.spend(share - own.left());
        answer
    }

    pub fn left(&self) -> f64 {
        self.0.load(Ordering::Relaxed) as f64
    }
}

/// Cost of a transform of `points`.
pub(super) fn transform(points: usize) -> f64 {
    1.5 * points as f64 * (points.max(2) as f64).log2()
}

/// Cost of a power of `frequencies`, with bounds.
pub(super) fn power(frequencies: usize, exponent: u64) -> f64 {
    frequencies as f64 * (40.0 + 5.0 * f64::from(exponent.max(1).ilog2()))
}
