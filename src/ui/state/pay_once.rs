//! A release that is paid once, and what is trained on it.

use leptos::prelude::*;

use super::page::Page;
use crate::{
    plot::{format, series::Point},
    train::functional::features::Features,
    ui::{link::Link, text::t, threads::training::TrainingClient},
    worker::{
        functional::{News, Wanted},
        protocol::Request,
    },
};

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Paid {
    /// Nothing is released.
    Nothing,
    /// This share of the digits is added up.
    Summing(f64),
    /// It is released.
    Released(Wanted),
}

/// The release. Copied freely.
#[derive(Clone, Copy)]
pub struct PayOnce {
    trainer: TrainingClient,
    pub open: RwSignal<bool>,
    /// Whether a link has opened it.
    pub linked: bool,
    /// What is set for the next one.
    pub features: RwSignal<Features>,
    pub epsilon: RwSignal<f64>,
    pub paid: RwSignal<Paid>,
    /// Its ledger as JSON.
    pub ledger: StoredValue<String>,
    /// Test accuracy by step on it.
    pub curve: RwSignal<Vec<Point>>,
    /// Whether steps are under way.
    pub trains: RwSignal<bool>,
}

impl PayOnce {
    /// What a link says; nothing is released.
    #[must_use]
    pub fn new(trainer: TrainingClient, link: &Link) -> Self {
        Self {
            trainer,
            open: RwSignal::new(link.pay_once.is_some()),
            linked: link.pay_once.is_some(),
            features: RwSignal::new(link.pay_once.unwrap_or(Features::Pixels14)),
            epsilon: RwSignal::new(link.pay_once_epsilon),
            paid: RwSignal::new(Paid::Nothing),
            ledger: StoredValue::new(String::new()),
            curve: RwSignal::new(vec![]),
            trains: RwSignal::new(false),
        }
    }

    /// As a link names it, while it is open.
    #[must_use]
    pub fn named(self) -> Option<Features> {
        self.open.get().then(|| self.features.get())
    }

    /// Other digits are here, or another thread: nothing is released of them.
    pub fn forget(self) {
        self.paid.set(Paid::Nothing);
        self.curve.set(vec![]);
        self.trains.set(false);
    }

    /// More steps, which cost nothing.
    pub fn train_on(self) {
        self.trains.set(true);
        self.trainer.send(Request::TrainOn);
    }
}

impl Page {
    /// Releases what is set.
    pub fn pay_once(self) {
        let once = self.pay_once;
        once.forget();
        once.paid.set(Paid::Summing(0.0));
        let delta = self.settings.with_untracked(|settings| settings.delta);
        let (features, epsilon) = (once.features.get_untracked(), once.epsilon.get_untracked());
        self.trainer.send(Request::PayOnce(Wanted { features, epsilon, delta }));
    }

    /// Takes what the training thread says of it.
    pub(super) fn take_paid(self, news: News) {
        let once = self.pay_once;
        if once.paid.get_untracked() == Paid::Nothing {
            return;
        }
        match news {
            News::Summed(share) => once.paid.set(Paid::Summing(share)),
            News::Released(wanted, ledger) => {
                once.ledger.set_value(ledger);
                once.paid.set(Paid::Released(wanted));
                once.trains.set(true);
            }
            News::Measured { step, accuracy, last } => {
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
            News::Ended => once.forget(),
        }
    }
}
