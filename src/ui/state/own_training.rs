//! The panel of the visitor's own training: its numbers, and their price.

use hushgrad_message::Message;
use leptos::prelude::*;

use crate::{
    ui::{
        link::{Link, OwnTraining},
        threads::accountant::{AccountantClient, Topic},
    },
    worker::{
        accounts::{Answer, Question},
        elsewhere::{Elsewhere, Price},
    },
};

#[derive(Clone, Copy)]
pub struct OwnTrainingPanel {
    pub open: RwSignal<bool>,
    pub numbers: RwSignal<OwnTraining>,
    /// Name and bytes of a file that is priced instead of the numbers.
    pub file: RwSignal<Option<(String, Vec<u8>)>>,
    /// The price, or why there is none; `None` while it is computed.
    pub price: RwSignal<Option<Result<Price, Message>>>,
    /// What was asked last, with its δ.
    asked: StoredValue<Option<(Elsewhere, f64)>>,
    accountant: AccountantClient,
}

impl OwnTrainingPanel {
    /// Creates the state that a link describes.
    #[must_use]
    pub fn new(link: &Link, accountant: AccountantClient) -> Self {
        Self {
            open: RwSignal::new(link.own.is_some()),
            numbers: RwSignal::new(link.own.clone().unwrap_or_default()),
            file: RwSignal::new(None),
            price: RwSignal::new(None),
            asked: StoredValue::new(None),
            accountant,
        }
    }

    /// Returns the numbers for a link, while the panel is open.
    #[must_use]
    pub fn linked(self) -> Option<OwnTraining> {
        self.open.get().then(|| self.numbers.get())
    }

    /// Shows what a link describes.
    pub fn take(self, own: Option<OwnTraining>) {
        self.open.set(own.is_some());
        self.numbers.set(own.unwrap_or_default());
    }

    /// Asks for the price of the numbers, or of the file. Tracks both.
    pub fn ask(self) {
        let (numbers, file) = (self.numbers.get(), self.file.get());
        let elsewhere = match file {
            Some((name, bytes)) => Elsewhere::File { name, bytes },
            None => {
                let (training, length) = numbers.training();
                Elsewhere::Numbers { training, length, epsilon: numbers.epsilon }
            }
        };
        let asked = (elsewhere, numbers.delta);
        if self.asked.with_value(|last| last.as_ref() == Some(&asked)) {
            return;
        }
        self.price.set(None);
        self.asked.set_value(Some(asked.clone()));
        let (elsewhere, delta) = asked.clone();
        let is_file = matches!(elsewhere, Elsewhere::File { .. });
        let question = Question::Elsewhere(elsewhere, delta);
        let then = move |answer| {
            if let Answer::Elsewhere(price) = answer
                && self.asked.with_value(|last| last.as_ref() == Some(&asked))
            {
                self.price.set(Some(*price));
            }
        };
        if is_file {
            self.accountant.ask_of_file(question, then);
        } else {
            self.accountant.ask_latest(Topic::Elsewhere, question, then);
        }
    }
}
