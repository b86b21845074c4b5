//! The functional mechanism in pieces: sums for a convex head, their release, and training on it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use web_time::Instant;

use crate::{
    data::Digits,
    train::functional::{
        error::FunctionalError,
        features::{Features, Map},
        head::{Head, Trial},
        price::{Mechanism, Price},
        release::Released,
        sums::Sums,
    },
};

/// Training images between checks of the clock.
const AT_A_TIME: usize = 32;
/// Least time between messages to the page during summation.
const TELL_EVERY: Duration = Duration::from_millis(100);
/// After the first steps, measured at 1, 2, 4, 8, …, the head is measured every so many steps.
const MEASURED_EVERY: u64 = 20;
/// Steps after a release, and after each request for more.
pub const STEPS: u64 = 300;

/// The release that the visitor wants.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionalRequest {
    pub features: Features,
    pub mechanism: Mechanism,
    /// The price; δ is unused by noise that needs none.
    pub epsilon: f64,
    pub delta: f64,
}

/// Progress, for the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FunctionalProgress {
    /// Share of the digits summed.
    Summed(f64),
    /// The release is made and in the books: the request, and its ledger as JSON.
    Released(FunctionalRequest, String),
    /// Test accuracy after `step` steps; `last` if no more were requested.
    Measured { step: u64, accuracy: f64, last: bool },
    /// It was refused or failed.
    Ended,
}

/// A release in progress, or made and trained on.
pub struct PayOnce {
    wanted: FunctionalRequest,
    map: Map,
    price: Price,
    digits: Digits,
    /// The sums until the release, as private as the digits, and how many digits they contain.
    sums: Option<Sums>,
    summed: usize,
    /// From the release on.
    head: Option<Head>,
    trial: Trial,
    /// Steps requested in all.
    upto: u64,
    told: Option<Instant>,
}

/// The result of a piece of work.
pub enum Piece {
    Nothing,
    FunctionalProgress(FunctionalProgress),
    /// Write the release into the books, then call [`PayOnce::release`].
    Books,
}

impl PayOnce {
    /// Starts summing.
    ///
    /// # Errors
    /// If ε or δ is out of range, or there are no digits.
    pub fn new(wanted: FunctionalRequest, digits: Digits) -> Result<Self, FunctionalError> {
        let FunctionalRequest { features, mechanism, epsilon, delta } = wanted;
        let budget = mechanism.budget(epsilon, delta);
        let price = budget.price(features.dimension())?;
        if digits.train.is_empty() {
            return Err(FunctionalError::Empty);
        }
        let mut map = Map::new(features, budget.ball());
        if mechanism == Mechanism::Relevance {
            map = map.by_relevance()?;
        }
        let (sums, trial) = (Some(Sums::new(map.dimension())), Trial::new(&map));
        Ok(Self { wanted, map, price, digits, sums, summed: 0, head: None, trial, upto: STEPS, told: None })
    }

    /// True if there is nothing to do.
    #[must_use]
    pub fn idle(&self) -> bool {
        self.head.as_ref().is_some_and(|head| head.steps() >= self.upto)
    }

    /// Returns the price of the release, as entered in the books.
    #[must_use]
    pub const fn price(&self) -> &Price {
        &self.price
    }

    /// Requests more steps on the release.
    pub fn train_on(&mut self) {
        if let Some(head) = &self.head {
            self.upto = head.steps() + STEPS;
        }
    }

    /// Works for about `time`.
    ///
    /// # Errors
    /// If a digit is invalid.
    pub fn piece(&mut self, time: Duration) -> Result<Piece, FunctionalError> {
        let start = Instant::now();
        let Digits { train, test, .. } = &self.digits;
        if let Some(sums) = &mut self.sums {
            if self.summed >= train.len() {
                return Ok(Piece::Books);
            }
            while self.summed < train.len() && start.elapsed() < time {
                let upto = (self.summed + AT_A_TIME).min(train.len());
                sums.add_images(&self.map, train, self.summed..upto)?;
                self.summed = upto;
            }
            // A progress bar need not move more often.
            if self.summed < train.len() && self.told.is_some_and(|told| told.elapsed() < TELL_EVERY) {
                return Ok(Piece::Nothing);
            }
            self.told = Some(start);
            return Ok(Piece::FunctionalProgress(FunctionalProgress::Summed(self.summed as f64 / train.len() as f64)));
        }
        let Some(head) = &mut self.head else { return Ok(Piece::Nothing) };
        while self.trial.len() < test.len() && start.elapsed() < time {
            self.trial.add(&self.map, test, self.trial.len())?;
        }
        while self.trial.len() >= test.len() && head.steps() < self.upto && start.elapsed() < time {
            head.step();
            let step = head.steps();
            let last = step >= self.upto;
            if last || step.is_power_of_two() || step.is_multiple_of(MEASURED_EVERY) {
                let accuracy = self.trial.accuracy(head.weights());
                return Ok(Piece::FunctionalProgress(FunctionalProgress::Measured { step, accuracy, last }));
            }
        }
        Ok(Piece::Nothing)
    }

    /// Makes the release, which is already in the books.
    ///
    /// # Errors
    /// If there is no entropy; then nothing is released.
    pub fn release(&mut self) -> Result<FunctionalProgress, FunctionalError> {
        if let Some(sums) = &mut self.sums {
            self.head = Some(Head::new(Released::new(sums, &self.price)?));
            // A second release would cost again.
            self.sums = None;
        }
        Ok(FunctionalProgress::Released(self.wanted, self.price.ledger(1)?.to_json()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        accounting::ledger::Ledger,
        data::{Dataset, synthetic},
    };

    const WANTED: FunctionalRequest =
        FunctionalRequest { features: Features::Pixels14, mechanism: Mechanism::Gaussian, epsilon: 3.0, delta: 1e-5 };

    /// Waits for the books before the release, and costs nothing more after it.
    #[test]
    fn nothing_is_released_before_the_books_are_written_and_no_step_asks_for_them_again() {
        let mut job = PayOnce::new(WANTED, synthetic::digits(2, 3000, 500)).unwrap();
        let price = job.price().clone();
        let (mut released, mut curve, mut books) = (0, Vec::new(), 0);
        for _ in 0..100_000 {
            match job.piece(Duration::from_millis(2)).unwrap() {
                Piece::Books => {
                    books += 1;
                    assert!(curve.is_empty());
                    // Without `release`, the job makes no progress.
                    if books > 3 {
                        let FunctionalProgress::Released(WANTED, ledger) = job.release().unwrap() else { panic!() };
                        assert_eq!(Ledger::from_json(&ledger).unwrap(), price.ledger(1).unwrap());
                        released += 1;
                    }
                }
                Piece::FunctionalProgress(FunctionalProgress::Measured { step, accuracy, last }) => {
                    curve.push((step, accuracy));
                    if last && step < 3 * STEPS {
                        assert!(job.idle());
                        job.train_on();
                    }
                }
                _ => {}
            }
            if job.idle() {
                break;
            }
        }
        assert_eq!((released, books), (1, 4));
        assert_eq!(job.price(), &price);
        let (last, accuracy) = *curve.last().unwrap();
        assert!(last == 3 * STEPS && accuracy > 0.5, "{last} {accuracy}");
        assert_eq!(curve[..4].iter().map(|point| point.0).collect::<Vec<_>>(), [1, 2, 4, 8]);
    }

    #[test]
    fn releases_without_digits_or_budget_are_refused() {
        let digits = synthetic::digits(2, 10, 10);
        let none = Digits { train: Dataset::new("none", vec![], vec![]), ..digits.clone() };
        assert!(matches!(PayOnce::new(WANTED, none), Err(FunctionalError::Empty)));
        let free = FunctionalRequest { epsilon: 0.0, ..WANTED };
        assert!(matches!(PayOnce::new(free, digits), Err(FunctionalError::Epsilon(_))));
    }
}
