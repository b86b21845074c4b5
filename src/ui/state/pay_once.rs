//! The pay-once release, and training on it.

use leptos::prelude::*;

use super::page::Page;
use crate::{
    data::Picture,
    plot::{format, series::Point},
    train::functional::{features::Features, price::Mechanism},
    ui::{
        link::Link,
        text::{Text, t, text},
        threads::training::TrainingClient,
    },
    worker::{
        functional::{FunctionalProgress, FunctionalRequest},
        protocol::Request,
    },
};

/// What the release needs.
pub const ONCE_NEEDS: Text = text!("This needs 28×28 grey images in ten classes; the loaded ones are different.");

/// Progress of the release.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Paid {
    /// Nothing is released.
    Nothing,
    /// This share of the examples is summed.
    Summing(f64),
    /// The release is made.
    Released(FunctionalRequest),
}

#[derive(Clone, Copy)]
pub struct PayOnce {
    trainer: TrainingClient,
    pub open: RwSignal<bool>,
    /// Whether a link opened it.
    pub linked: bool,
    /// Settings of the next release.
    pub features: RwSignal<Features>,
    pub mechanism: RwSignal<Mechanism>,
    pub epsilon: RwSignal<f64>,
    pub paid: RwSignal<Paid>,
    /// Its ledger as JSON.
    pub ledger: StoredValue<String>,
    /// Test accuracy by step of training on it.
    pub curve: RwSignal<Vec<Point>>,
    /// ε by step of a training in secret: if its models had been shown, and as they were not.
    pub epsilons: RwSignal<[Vec<Point>; 2]>,
    /// Whether training is in progress.
    pub trains: RwSignal<bool>,
}

impl PayOnce {
    /// Creates the state that a link describes; nothing is released.
    #[must_use]
    pub fn new(trainer: TrainingClient, link: &Link) -> Self {
        Self {
            trainer,
            open: RwSignal::new(link.pay_once.is_some()),
            linked: link.pay_once.is_some(),
            features: RwSignal::new(link.pay_once.unwrap_or(Features::Pixels14)),
            mechanism: RwSignal::new(link.pay_once_noise),
            epsilon: RwSignal::new(link.pay_once_epsilon),
            paid: RwSignal::new(Paid::Nothing),
            ledger: StoredValue::new(String::new()),
            curve: RwSignal::new(vec![]),
            epsilons: RwSignal::new(<[Vec<Point>; 2]>::default()),
            trains: RwSignal::new(false),
        }
    }

    /// Opens the panel with what a link names, or closes it.
    pub fn set_up(self, scene: &Link) {
        if let Some(features) = scene.pay_once {
            self.features.set(features);
            self.mechanism.set(scene.pay_once_noise);
            self.epsilon.set(scene.pay_once_epsilon);
        }
        // Last, as an open panel is rebuilt with these values.
        self.open.set(scene.pay_once.is_some());
    }

    /// Returns the features for a link, if the panel is open.
    #[must_use]
    pub fn named(self) -> Option<Features> {
        self.open.get().then(|| self.features.get())
    }

    /// Forgets the release: the digits or the thread are new.
    pub fn forget(self) {
        self.paid.set(Paid::Nothing);
        self.curve.set(vec![]);
        self.epsilons.set(<[Vec<Point>; 2]>::default());
        self.trains.set(false);
    }

    /// Returns ε of a training in secret, if its models had been shown and as they were not, and its
    /// accuracy; once it is measured.
    #[must_use]
    pub fn hidden(self) -> Option<[f64; 3]> {
        let Paid::Released(made) = self.paid.get() else { return None };
        let (_, shown) = self.epsilons.with(|[shown, _]| shown.last().copied())?;
        let (_, accuracy) = self.curve.with(|curve| curve.last().copied())?;
        Some([shown, made.epsilon, accuracy])
    }

    /// Trains further steps, which cost nothing.
    pub fn train_on(self) {
        self.trains.set(true);
        self.trainer.send(Request::TrainOn);
    }
}

impl Page {
    /// Makes a release with the current settings.
    pub fn pay_once(self) {
        let once = self.pay_once;
        once.forget();
        once.paid.set(Paid::Summing(0.0));
        self.trainer.send(Request::PayOnce(self.once_wanted()));
    }

    /// Returns the release with the current settings.
    fn once_wanted(self) -> FunctionalRequest {
        let once = self.pay_once;
        let (features, mechanism) = (once.features.get_untracked(), once.mechanism.get_untracked());
        let delta = self.settings.with_untracked(|settings| settings.delta);
        FunctionalRequest { features, mechanism, epsilon: once.epsilon.get_untracked(), delta }
    }

    /// Makes a release with the current settings, unless it is made already or in progress, or the
    /// images are none that it can read.
    pub fn pay_once_unless_paid(self) {
        let again = match self.pay_once.paid.get_untracked() {
            Paid::Nothing => true,
            Paid::Summing(_) => false,
            Paid::Released(made) => made != self.once_wanted(),
        };
        if again && untrack(|| self.can_pay_once()) {
            self.pay_once();
        }
    }

    /// True if the images are 28 × 28, grey and of ten classes.
    #[must_use]
    pub fn can_pay_once(self) -> bool {
        self.digits.images() == (Picture::DIGIT, 10)
    }

    /// Takes a report of the training thread.
    pub(super) fn take_paid(self, news: FunctionalProgress) {
        let once = self.pay_once;
        if once.paid.get_untracked() == Paid::Nothing {
            return;
        }
        match news {
            FunctionalProgress::Summed(share) => once.paid.set(Paid::Summing(share)),
            FunctionalProgress::Released { wanted, ledger, curves } => {
                once.ledger.set_value(ledger);
                once.epsilons.set(curves);
                once.paid.set(Paid::Released(wanted));
                once.trains.set(true);
            }
            FunctionalProgress::Measured { step, accuracy, last } => {
                once.curve.update(|curve| curve.push((step as f64, accuracy)));
                if last {
                    once.trains.set(false);
                    let says = t!(
                        "Test accuracy by step: {accuracy} at step {step}.",
                        accuracy = format::percent(accuracy),
                        step = format::integer(step)
                    );
                    self.messages.spoken.set(says);
                }
            }
            FunctionalProgress::Ended => once.forget(),
        }
    }
}
