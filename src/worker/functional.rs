//! A convex head for which one pays once, in pieces: either sums, their release, and training on it
//! (the functional mechanism), or a training in secret of which the last model is released.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use web_time::Instant;

use crate::{
    accounting::ledger::{Ledger, Release},
    data::{Dataset, Digits},
    plot::series::Point,
    train::functional::{
        error::FunctionalError,
        features::{Ball, Features, Map},
        head::{Head, Trial, Weights},
        hidden::{self, HiddenBudget, HiddenPrice, HiddenTraining},
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
    /// Share of what must be done before the release.
    Summed(f64),
    /// The release is made and in the books.
    Released {
        wanted: FunctionalRequest,
        /// Its ledger as JSON.
        ledger: String,
        /// ε by step of a training in secret: if its models had been shown, and as they were not.
        curves: [Vec<Point>; 2],
    },
    /// Test accuracy after `step` steps; `last` if no more were requested.
    Measured { step: u64, accuracy: f64, last: bool },
    /// It was refused or failed.
    Ended,
}

/// Points of [`FunctionalProgress::Released::curves`].
const POINTS: u64 = 100;
/// Share of the progress bar for the features of a training in secret; the rest is for its steps.
const READING: f64 = 0.1;

/// What is paid for.
enum Paid {
    Sums(Price),
    Training(HiddenPrice),
}

/// What is as private as the digits, until the release.
enum Secret {
    /// The sums, and how many digits they contain.
    Sums(Box<Sums>, usize),
    Training(Box<HiddenTraining>),
}

/// A release in progress, or made and trained on.
pub struct PayOnce {
    wanted: FunctionalRequest,
    map: Map,
    paid: Paid,
    digits: Digits,
    secret: Option<Secret>,
    /// From the release of sums on.
    head: Option<Head>,
    /// The last model of a training in secret, until it is measured.
    model: Option<Weights>,
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
        if digits.train.is_empty() {
            return Err(FunctionalError::Empty);
        }
        let (map, paid, secret) = match mechanism.budget(epsilon, delta) {
            Some(budget) => {
                let price = budget.price(features.dimension())?;
                let mut map = Map::new(features, budget.ball());
                if mechanism == Mechanism::Relevance {
                    map = map.by_relevance()?;
                }
                let sums = Secret::Sums(Box::new(Sums::new(map.dimension())), 0);
                (map, Paid::Sums(price), sums)
            }
            None => {
                let (strong_convexity, steps) = (hidden::STRONG_CONVEXITY, hidden::STEPS);
                let budget = HiddenBudget { epsilon, delta, strong_convexity, steps };
                let price = budget.price(digits.train.len() as u64)?;
                let map = Map::new(features, Ball::L2);
                let training = Box::new(HiddenTraining::new(price.clone(), map.dimension())?);
                (map, Paid::Training(price), Secret::Training(training))
            }
        };
        let (secret, trial) = (Some(secret), Trial::new(&map));
        Ok(Self { wanted, map, paid, digits, secret, head: None, model: None, trial, upto: STEPS, told: None })
    }

    /// True if there is nothing to do.
    #[must_use]
    pub fn idle(&self) -> bool {
        self.secret.is_none() && self.model.is_none() && self.head.as_ref().is_none_or(|head| head.steps() >= self.upto)
    }

    /// Returns the release, as entered in the books.
    #[must_use]
    pub const fn entry(&self) -> &Release {
        match &self.paid {
            Paid::Sums(price) => &price.release,
            Paid::Training(price) => &price.release,
        }
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
        if let Some(secret) = &mut self.secret {
            let Some(share) = secret.piece(&self.map, train, || start.elapsed() < time)? else {
                return Ok(Piece::Books);
            };
            // A progress bar need not move more often.
            if share < 1.0 && self.told.is_some_and(|told| told.elapsed() < TELL_EVERY) {
                return Ok(Piece::Nothing);
            }
            self.told = Some(start);
            return Ok(Piece::FunctionalProgress(FunctionalProgress::Summed(share)));
        }
        while self.trial.len() < test.len() && start.elapsed() < time {
            self.trial.add(&self.map, test, self.trial.len())?;
        }
        if self.trial.len() >= test.len()
            && let (Some(model), Paid::Training(price)) = (self.model.take(), &self.paid)
        {
            let (step, accuracy) = (price.steps(), self.trial.accuracy(&model));
            return Ok(Piece::FunctionalProgress(FunctionalProgress::Measured { step, accuracy, last: true }));
        }
        let Some(head) = &mut self.head else { return Ok(Piece::Nothing) };
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
        let mut curves = [vec![], vec![]];
        match (&mut self.secret, &self.paid) {
            (Some(Secret::Sums(sums, _)), Paid::Sums(price)) => {
                self.head = Some(Head::new(Released::new(sums, price)?));
            }
            (Some(Secret::Training(training)), Paid::Training(price)) => {
                self.model = Some(training.release()?.clone());
                curves = price.curves(self.wanted.delta, POINTS);
            }
            _ => {}
        }
        // A second release would cost again.
        self.secret = None;
        let ledger = Ledger::of([(self.entry().clone(), 1)])?.to_json();
        Ok(FunctionalProgress::Released { wanted: self.wanted, ledger, curves })
    }
}

impl Secret {
    /// Works while `goes_on`; returns the share that is done, or `None` if all was done before.
    fn piece(
        &mut self,
        map: &Map,
        train: &Dataset,
        goes_on: impl Fn() -> bool,
    ) -> Result<Option<f64>, FunctionalError> {
        match self {
            Self::Sums(_, summed) if *summed >= train.len() => Ok(None),
            Self::Sums(sums, summed) => {
                while *summed < train.len() && goes_on() {
                    let upto = (*summed + AT_A_TIME).min(train.len());
                    sums.add_images(map, train, *summed..upto)?;
                    *summed = upto;
                }
                Ok(Some(*summed as f64 / train.len() as f64))
            }
            Self::Training(training) if training.is_done() => Ok(None),
            Self::Training(training) => {
                while training.examples() < train.len() && goes_on() {
                    training.read(map, train, training.examples() + AT_A_TIME)?;
                }
                let read = training.examples() as f64 / train.len() as f64;
                while read >= 1.0 && !training.is_done() && goes_on() {
                    training.advance()?;
                }
                Ok(Some(READING * read + (1.0 - READING) * training.steps() as f64 / hidden::STEPS as f64))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::synthetic;

    const WANTED: FunctionalRequest =
        FunctionalRequest { features: Features::Pixels14, mechanism: Mechanism::Gaussian, epsilon: 3.0, delta: 1e-5 };

    /// Waits for the books before the release, and costs nothing more after it.
    #[test]
    fn nothing_is_released_before_the_books_are_written_and_no_step_asks_for_them_again() {
        let mut job = PayOnce::new(WANTED, synthetic::digits(2, 3000, 500)).unwrap();
        let ledger_of = Ledger::of([(job.entry().clone(), 1)]).unwrap();
        let (mut released, mut curve, mut books) = (0, Vec::new(), 0);
        for _ in 0..100_000 {
            match job.piece(Duration::from_millis(2)).unwrap() {
                Piece::Books => {
                    books += 1;
                    assert!(curve.is_empty());
                    // Without `release`, the job makes no progress.
                    if books > 3 {
                        let FunctionalProgress::Released { wanted: WANTED, ledger, .. } = job.release().unwrap() else {
                            panic!()
                        };
                        assert_eq!(Ledger::from_json(&ledger).unwrap(), ledger_of);
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
        let (last, accuracy) = *curve.last().unwrap();
        assert!(last == 3 * STEPS && accuracy > 0.5, "{last} {accuracy}");
        assert_eq!(curve[..4].iter().map(|point| point.0).collect::<Vec<_>>(), [1, 2, 4, 8]);
    }

    /// No model of a training in secret is shown but the last, whose price is in the books before.
    #[test]
    fn a_training_in_secret_shows_its_end_alone() {
        let wanted = FunctionalRequest { mechanism: Mechanism::Hidden, ..WANTED };
        let mut job = PayOnce::new(wanted, synthetic::digits(2, 1500, 500)).unwrap();
        let mut shares = vec![];
        loop {
            match job.piece(Duration::from_millis(20)).unwrap() {
                Piece::FunctionalProgress(FunctionalProgress::Summed(share)) => shares.push(share),
                Piece::FunctionalProgress(other) => panic!("{other:?} before the books"),
                Piece::Nothing => {}
                Piece::Books => break,
            }
        }
        assert!(shares.windows(2).all(|pair| pair[0] <= pair[1]) && *shares.last().unwrap() <= 1.0);
        let FunctionalProgress::Released { ledger, curves: [shown, hidden], .. } = job.release().unwrap() else {
            panic!()
        };
        assert!(Ledger::from_json(&ledger).unwrap().releases()[0].hidden.is_some());
        assert!(shown.len() == 100 && (hidden[99].1 / WANTED.epsilon - 1.0).abs() < 1e-2, "{:?}", hidden[99]);
        let mut measured = vec![];
        while !job.idle() {
            if let Piece::FunctionalProgress(progress) = job.piece(Duration::from_millis(20)).unwrap() {
                measured.push(progress);
            }
        }
        let [FunctionalProgress::Measured { step: hidden::STEPS, accuracy, last: true }] = measured[..] else {
            panic!("{measured:?}")
        };
        assert!(accuracy > 0.3, "{accuracy}");
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
