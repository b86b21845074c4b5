//! Starts both threads, and goes on if one fails.

use leptos::prelude::*;

use super::{messages::Origin, page::Page};
use crate::{
    ui::{
        browser,
        size::closures::{bool_memo, effect},
        text::t,
        threads::accountant::Failure,
    },
    worker::protocol::Request,
};

impl Page {
    /// Starts both threads, and requests a backend and digits.
    pub fn connect(self) {
        self.start_trainer();
        self.accountant.spawn();
        if self.lessons.wanted.with_value(Option::is_some) {
            self.load_lessons();
        }
        self.trainer.watch(move |why| self.lose_trainer(why));
    }

    /// Reports failed accountant threads and pending features, and checks submissions. Call it
    /// before the first question, which starts a thread.
    pub fn listen(self) {
        effect(move || self.check_submission());
        self.accountant.on_failure(move |failure| {
            if matches!(failure, Failure::Accountant(_)) {
                self.cost.cancel();
                self.run.stay();
                self.spending.tell_again();
            }
            self.messages.put(Origin::Run, failure.to_string());
        });
        let computing = bool_memo(move || self.run.features.with(Option::is_some));
        let mut said = None;
        // Show the notice while it is true.
        effect(move || {
            if computing.get() {
                let sentence = t!("Before the first step, the features of all training images are computed, once.");
                self.messages.notify(sentence.to_owned());
                said = Some(sentence);
            } else if let Some(sentence) = said.take() {
                self.messages.withdraw(sentence);
            }
        });
    }

    /// Sets the number of cores for the CPU.
    pub fn set_cores(self, cores: Option<u32>) {
        if self.device.cores.get_untracked() != cores {
            self.device.cores.set(cores);
            self.trainer.send(Request::Cores(cores));
        }
    }

    fn start_trainer(self) {
        self.trainer.spawn(move |event| self.take(event), move |why| self.lose_trainer(why));
        self.trainer.send(Request::Open {
            backend: self.device.wanted(),
            cores: self.device.cores.get_untracked(),
            keep: !browser::is_embedded(),
            lots: self.snapshots.lots,
        });
        self.snapshots.follow_speed();
        self.load_digits(self.settings.with_untracked(|s| s.digits), None);
    }

    /// Handles the loss of the training thread: reports what is kept of its run, and starts another
    /// thread unless it failed too often.
    pub fn lose_trainer(self, why: &str) {
        let again = self.trainer.end_failed();
        let kept = match (self.current(), self.runs.current.with_value(|current| current.in_memory_only)) {
            (None, _) => None,
            (_, in_memory_only) if in_memory_only || browser::is_embedded() || untrack(|| self.run.is_broken()) => {
                Some(t!("Its run is lost."))
            }
            _ => Some(t!(
                "Its run is kept in the list below: every step is counted; the parameters are from the last save."
            )),
        };
        self.leave_sweep();
        self.runs.end_undo();
        self.list_current();
        self.forget_run();
        self.pay_once.forget();
        self.annealing.forget();
        self.attacks.forget();
        self.run.lose();
        self.device.engine.set(None);
        self.device.timed.set(None);
        self.device.stopped.set(!again);
        self.digits.forget();
        let why = why.trim_end_matches('.');
        let mut sentence = match again {
            true => t!("The training thread failed: {why}. Another one has been started.", why = why),
            false => t!(
                "The training thread failed again: {why}. Reload the page, or add backend=cpu to its address.",
                why = why
            ),
        };
        if let Some(kept) = kept {
            sentence += " ";
            sentence += kept;
        }
        self.messages.put(Origin::Thread, sentence);
        if again {
            self.start_trainer();
        }
    }

    /// Saves the current run when the page is hidden.
    pub fn save_when_hidden(self) {
        let away = window_event_listener_untyped("visibilitychange", move |_| {
            if document().hidden() {
                self.trainer.send(Request::Save);
            }
        });
        on_cleanup(move || away.remove());
    }
}
