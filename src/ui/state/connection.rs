//! Starts both threads, and goes on if one fails.

use leptos::prelude::*;

use super::{
    digit_choice::DigitChoice, handed_in::HandedInRun, lesson_steps::LessonPlayer, messages::Origin, page::Page,
    sweep_runs::SweepRuns,
};
use crate::{
    ui::{
        browser,
        size::closures::{bool_memo, effect},
        text::t,
        threads::accountant::Failure,
    },
    worker::protocol::Request,
};

/// The threads: started, listened to, restarted.
#[derive(Clone, Copy)]
pub struct Threads(pub Page);

impl Threads {
    /// Starts both threads, and requests a backend and digits.
    pub fn connect(self) {
        self.start_trainer();
        self.0.accountant.spawn();
        if self.0.lessons.wanted.with_value(Option::is_some) {
            LessonPlayer(self.0).load_lessons();
        }
        self.0.trainer.watch(move |why| self.lose_trainer(why));
    }

    /// Reports failed accountant threads and pending features, and checks submissions. Call it
    /// before the first question, which starts a thread.
    pub fn listen(self) {
        effect(move || HandedInRun(self.0).check_submission());
        self.0.accountant.on_failure(move |failure| {
            if matches!(failure, Failure::Accountant(_)) {
                self.0.cost.cancel();
                self.0.run.stay();
                self.0.spending.tell_again();
            }
            self.0.messages.put(Origin::Run, failure.to_string());
        });
        let computing = bool_memo(move || self.0.run.features.with(Option::is_some));
        let mut said = None;
        // Show the notice while it is true.
        effect(move || {
            if computing.get() {
                let sentence = t!("Before the first step, the features of all training images are computed, once.");
                self.0.messages.notify(sentence.to_owned());
                said = Some(sentence);
            } else if let Some(sentence) = said.take() {
                self.0.messages.withdraw(sentence);
            }
        });
    }

    /// Sets the number of cores for the CPU.
    pub fn set_cores(self, cores: Option<u32>) {
        if self.0.device.cores.get_untracked() != cores {
            self.0.device.cores.set(cores);
            self.0.trainer.send(Request::Cores(cores));
        }
    }

    fn start_trainer(self) {
        self.0.trainer.spawn(move |event| self.0.take(event), move |why| self.lose_trainer(why));
        self.0.trainer.send(Request::Open {
            backend: self.0.device.wanted(),
            cores: self.0.device.cores.get_untracked(),
            keep: !browser::is_embedded(),
            lots: self.0.snapshots.lots,
        });
        self.0.snapshots.follow_speed();
        DigitChoice(self.0).load_digits(self.0.settings.with_untracked(|s| s.digits), None);
    }

    /// Handles the loss of the training thread: reports what is kept of its run, and starts another
    /// thread unless it failed too often.
    pub fn lose_trainer(self, why: &str) {
        let again = self.0.trainer.end_failed();
        let kept = match (self.0.current(), self.0.runs.current.with_value(|current| current.in_memory_only)) {
            (None, _) => None,
            (_, in_memory_only) if in_memory_only || browser::is_embedded() || untrack(|| self.0.run.is_broken()) => {
                Some(t!("Its run is lost."))
            }
            _ => Some(t!(
                "Its run is kept in the list below: every step is counted; the parameters are from the last save."
            )),
        };
        SweepRuns(self.0).leave_sweep();
        self.0.runs.end_undo();
        self.0.list_current();
        self.0.forget_run();
        self.0.pay_once.forget();
        self.0.annealing.forget();
        self.0.attacks.forget();
        self.0.run.lose();
        self.0.device.engine.set(None);
        self.0.device.timed.set(None);
        self.0.device.stopped.set(!again);
        self.0.digits.forget();
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
        self.0.messages.put(Origin::Thread, sentence);
        if again {
            self.start_trainer();
        }
    }

    /// Saves the current run when the page is hidden.
    pub fn save_when_hidden(self) {
        let away = window_event_listener_untyped("visibilitychange", move |_| {
            if document().hidden() {
                self.0.trainer.send(Request::Save);
            }
        });
        on_cleanup(move || away.remove());
    }
}
