//! A release that is paid once, and what is trained on it.

use leptos::prelude::*;

use crate::{
    plot::series::Point,
    train::functional::{features::Features, price::Mechanism},
    ui::{link::Link, threads::training::TrainingClient},
    worker::{functional::Wanted, protocol::Request},
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
    pub mechanism: RwSignal<Mechanism>,
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
            mechanism: RwSignal::new(link.pay_once_noise),
            epsilon: RwSignal::new(link.pay_once_epsilon),
            paid: RwSignal::new(Paid::Nothing),
            ledger: StoredValue::new(String::new()),
            curve: RwSignal::new(vec![]),
            trains: RwSignal::new(false),
        }
    }

    /// As a lesson's step has it, which this is the link of: open with what it names, or closed.
    pub fn set_up(self, scene: &Link) {
        if let Some(features) = scene.pay_once {
            self.features.set(features);
            self.mechanism.set(scene.pay_once_noise);
            self.epsilon.set(scene.pay_once_epsilon);
        }
        // Last: what is open already is built anew, with these.
        self.open.set(scene.pay_once.is_some());
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
