//! The functional mechanism in the training thread: what a convex head needs to know of the digits is added up in pieces, released once, and trained on for as long as anybody likes.

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

/// Training images between two looks at the clock.
const AT_A_TIME: usize = 32;
/// While it adds up, the page is told at most this often.
const TELL_EVERY: Duration = Duration::from_millis(100);
/// Beyond the first steps, of which 1, 2, 4, 8, … are measured, the head is measured every so many.
const MEASURED_EVERY: u64 = 20;
/// Steps after a release, and more whenever the visitor asks for them.
pub const STEPS: u64 = 300;

/// What the visitor wants released.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wanted {
    /// Of which features.
    pub features: Features,
    /// With which noise.
    pub mechanism: Mechanism,
    /// At which price; δ plays no part where the noise needs none.
    pub epsilon: f64,
    pub delta: f64,
}

/// What the page hears.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum News {
    /// Share of the digits that are added up.
    Summed(f64),
    /// It is released, and in the books: what it was, and its ledger as JSON.
    Released(Wanted, String),
    /// The share of the test digits that is read right after so many steps; whether these were the last that were asked for.
    Measured { step: u64, accuracy: f64, last: bool },
    /// There is no release: it was refused.
    Ended,
}

/// A release under way, or done and trained on.
pub struct PayOnce {
    wanted: Wanted,
    map: Map,
    price: Price,
    digits: Digits,
    /// Until the release, and how many digits are in them. They are as private as the digits.
    sums: Option<Sums>,
    summed: usize,
    /// From the release on.
    head: Option<Head>,
    trial: Trial,
    /// Steps that were asked for.
    upto: u64,
    told: Option<Instant>,
}

/// What a piece of work came to.
pub enum Piece {
    Nothing,
    News(News),
    /// Write the release into the books, then [`PayOnce::release`].
    Books,
}

impl PayOnce {
    /// Begins to add up.
    ///
    /// # Errors
    /// ε or δ out of range; no digits.
    pub fn new(wanted: Wanted, digits: Digits) -> Result<Self, FunctionalError> {
        let Wanted { features, mechanism, epsilon, delta } = wanted;
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

    /// Whether there is nothing to do.
    #[must_use]
    pub fn idle(&self) -> bool {
        self.head.as_ref().is_some_and(|head| head.steps() >= self.upto)
    }

    /// What the books say of the release.
    #[must_use]
    pub const fn price(&self) -> &Price {
        &self.price
    }

    /// More steps, on what is released.
    pub fn train_on(&mut self) {
        if let Some(head) = &self.head {
            self.upto = head.steps() + STEPS;
        }
    }

    /// Works for about `time`.
    ///
    /// # Errors
    /// A digit that is none.
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
            // A bar need not move more often.
            if self.summed < train.len() && self.told.is_some_and(|told| told.elapsed() < TELL_EVERY) {
                return Ok(Piece::Nothing);
            }
            self.told = Some(start);
            return Ok(Piece::News(News::Summed(self.summed as f64 / train.len() as f64)));
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
                return Ok(Piece::News(News::Measured { step, accuracy, last }));
            }
        }
        Ok(Piece::Nothing)
    }

    /// Releases what is in the books.
    ///
    /// # Errors
    /// No entropy: then nothing is released.
    pub fn release(&mut self) -> Result<News, FunctionalError> {
        if let Some(sums) = &mut self.sums {
            self.head = Some(Head::new(Released::new(sums, &self.price)?));
            // A second release would be a second price.
            self.sums = None;
        }
        Ok(News::Released(self.wanted, self.price.ledger(1)?.to_json()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        accounting::ledger::Ledger,
        data::{Dataset, synthetic},
    };

    const WANTED: Wanted =
        Wanted { features: Features::Pixels14, mechanism: Mechanism::Gaussian, epsilon: 3.0, delta: 1e-5 };

    /// It stops before the release until the books are written, and after it costs nothing more, however long it goes on.
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
                    // Whoever does not write them gets no further.
                    if books > 3 {
                        let News::Released(WANTED, ledger) = job.release().unwrap() else { panic!() };
                        assert_eq!(Ledger::from_json(&ledger).unwrap(), price.ledger(1).unwrap());
                        released += 1;
                    }
                }
                Piece::News(News::Measured { step, accuracy, last }) => {
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
    fn what_cannot_be_released_is_refused() {
        let digits = synthetic::digits(2, 10, 10);
        let none = Digits { train: Dataset::new("none", vec![], vec![]), ..digits.clone() };
        assert!(matches!(PayOnce::new(WANTED, none), Err(FunctionalError::Empty)));
        let free = Wanted { epsilon: 0.0, ..WANTED };
        assert!(matches!(PayOnce::new(free, digits), Err(FunctionalError::Epsilon(_))));
    }
}
