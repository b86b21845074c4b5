//! What the run as it stands gives away, by tight accounting.

use leptos::prelude::*;

use super::run::Run;
use crate::{
    plot::series::Point,
    train::{
        projection::Spent,
        report::{Privacy, Report},
    },
    ui::{
        browser,
        threads::accountant::{AccountantClient, Topic},
    },
    worker::accounts::{Answer, Question},
};

/// What is known of a paused run. Copied freely.
#[derive(Clone, Copy)]
pub struct Spending {
    run: Run,
    accountant: AccountantClient,
    /// What tight accounting says of the run, at this step of it.
    pub tight: RwSignal<Option<(u64, Spent)>>,
    /// Its privacy curve at that step, which is asked for while its panel is open.
    pub curve: RwSignal<Option<(u64, Vec<Point>)>>,
    curve_open: RwSignal<bool>,
}

impl Spending {
    /// Nothing is known yet.
    #[must_use]
    pub fn new(run: Run, accountant: AccountantClient) -> Self {
        Self {
            run,
            accountant,
            tight: RwSignal::new(None),
            curve: RwSignal::new(None),
            curve_open: RwSignal::new(false),
        }
    }

    /// Nothing is known of a new run.
    pub fn forget(self) {
        self.tight.set(None);
        self.curve.set(None);
    }

    /// Tight ε of the run as it stands.
    pub fn account(self) {
        // A run that went on with other digits has released what its plan says nothing of.
        let bounded =
            |report: &Report| matches!(report.privacy, Privacy::Bounded(_)) && report.by_plan && report.step > 0;
        let at =
            self.run.report.with_untracked(|report| report.as_ref().filter(|r| bounded(r)).map(|report| report.step));
        let (Some(steps), Some(info)) = (at, self.run.info.get_untracked()) else { return };
        let known = self.tight.with_untracked(|spent| spent.as_ref().is_some_and(|(step, _)| *step == steps));
        if known || browser::is_embedded() {
            return;
        }
        let question = Question::Spent { config: info.config, train: info.train, steps };
        self.accountant.ask_latest(Topic::Spent, question, move |answer| {
            let same = self.run.info.with_untracked(|run| run.as_ref().is_some_and(|run| run.run == info.run));
            if let (Answer::Spent(Ok(spent)), true) = (answer, same) {
                self.tight.set(Some((steps, spent)));
                self.account_for_attacks();
            }
        });
    }

    /// The privacy curve of the run as it stands, where its tight ε is known and somebody looks.
    fn account_for_attacks(self) {
        let (Some((steps, spent)), Some(info)) = (self.tight.get_untracked(), self.run.info.get_untracked()) else {
            return;
        };
        let known = self.curve.with_untracked(|curve| curve.as_ref().is_some_and(|(step, _)| *step == steps));
        if known || !self.curve_open.get_untracked() {
            return;
        }
        let question = Question::Curve { config: info.config, train: info.train, steps, epsilon: spent.epsilon };
        self.accountant.ask_latest(Topic::Curve, question, move |answer| {
            let same = self.run.info.with_untracked(|run| run.as_ref().is_some_and(|run| run.run == info.run));
            if let (Answer::Curve(Ok(curve)), true) = (answer, same) {
                self.curve.set(Some((steps, curve)));
            }
        });
    }

    /// The panel that the curve is for is opened, which asks for the curve, or closed.
    pub fn toggle_curve(self, open: bool) {
        self.curve_open.set(open);
        self.account_for_attacks();
    }
}
