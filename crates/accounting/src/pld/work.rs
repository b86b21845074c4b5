//! What an answer may cost: counted in units that take half a nanosecond to one on a core of 2 GHz, not read from a clock. So the same question has the same answer
//! everywhere, and none takes minutes.

use std::sync::atomic::{AtomicU64, Ordering};

/// For one question, of which each direction has half.
pub(super) const QUESTION: f64 = 2.4e9;
/// For a curve of many questions.
pub(super) const CURVE: f64 = 2.2e9;
/// For all trials of a calibration.
pub(crate) const CALIBRATION: f64 = 8e9;
/// To put one release's noise and envelope on a grid.
pub(super) const PREPARATION: f64 = 3.2e9;

/// One point of a lattice of Gaussian noise, and one atom that is mapped.
pub(super) const GAUSSIAN_POINT: f64 = 180.0;
pub(super) const ATOM: f64 = 25.0;
/// One point in a sum of powers, and where mean and variance are wanted too.
pub(super) const MOMENT_POINT: f64 = 1.5;
pub(super) const CUMULANT_POINT: f64 = 12.0;
/// Two terms of a random allocation's ratio that are added.
pub(super) const ALLOCATED_PAIR: f64 = 3.0;
/// One cell of a coordinate's loss.
pub(super) const COORDINATE_CELL: f64 = 500.0;

/// Work that is left. Shared between threads: whether all of it is enough does not depend on their order.
#[derive(Debug)]
pub(crate) struct Work(AtomicU64);

impl Work {
    pub fn new(budget: f64) -> Self {
        Self(AtomicU64::new(budget as u64))
    }

    /// Takes the cost of what is to be done; or says that there is not so much left, and then nothing more is to be had.
    pub fn spend(&self, cost: f64) -> bool {
        let cost = cost as u64;
        let spent = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(cost));
        if spent.is_err() {
            self.0.store(0, Ordering::Relaxed);
        }
        spent.is_ok()
    }

    /// `work` with so much of this at most.
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

/// A transform of so many points.
pub(super) fn transform(points: usize) -> f64 {
    1.5 * points as f64 * (points.max(2) as f64).log2()
}

/// The power of so many frequencies, with its bounds.
pub(super) fn power(frequencies: usize, exponent: u64) -> f64 {
    frequencies as f64 * (40.0 + 5.0 * f64::from(exponent.max(1).ilog2()))
}
