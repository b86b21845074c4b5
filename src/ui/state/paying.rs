//! Requests pay-once releases, and handles the training thread's reports.

use leptos::prelude::*;

use super::{page::Page, pay_once::Paid};
use crate::{
    plot::format,
    ui::text::t,
    worker::{
        functional::{FunctionalProgress, FunctionalRequest},
        protocol::Request,
    },
};

impl Page {
    /// Makes a release with the current settings.
    pub fn pay_once(self) {
        let once = self.pay_once;
        once.forget();
        once.paid.set(Paid::Summing(0.0));
        let delta = self.settings.with_untracked(|settings| settings.delta);
        let (features, mechanism) = (once.features.get_untracked(), once.mechanism.get_untracked());
        let epsilon = once.epsilon.get_untracked();
        self.trainer.send(Request::PayOnce(FunctionalRequest { features, mechanism, epsilon, delta }));
    }

    /// Takes a report of the training thread.
    pub(super) fn take_paid(self, news: FunctionalProgress) {
        let once = self.pay_once;
        if once.paid.get_untracked() == Paid::Nothing {
            return;
        }
        match news {
            FunctionalProgress::Summed(share) => once.paid.set(Paid::Summing(share)),
            FunctionalProgress::Released(wanted, ledger) => {
                once.ledger.set_value(ledger);
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
