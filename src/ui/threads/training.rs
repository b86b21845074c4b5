//! Client of the training thread: starts it, sends requests, and monitors whether it lives.

use std::rc::Rc;

use gloo::timers::callback::{Interval, Timeout};
use leptos::prelude::*;

use super::thread::Thread;
use crate::{
    ui::{browser, text::t},
    worker::{
        browser::Trainer,
        protocol::{Event, Request},
    },
};

/// Interval of beats. A thread is quiet, then dead, after more silent beats than these.
const HEARTBEAT_MS: u32 = 5_000;
const QUIET_BEATS: u32 = 2;
const SILENT_BEATS: u32 = 12;
/// A thread that fails this often without a step in between is not restarted.
const MOST_FAILURES: u32 = 3;

/// The thread and its health.
#[derive(Default)]
struct State {
    thread: Option<Thread<Trainer>>,
    /// Number of the current thread; messages of earlier ones are dropped.
    threads: u32,
    failures: u32,
    heartbeat: Option<Interval>,
    /// Beats since its last message; `None` before the first.
    silent: Option<u32>,
}

#[derive(Clone, Copy)]
pub struct TrainingClient {
    state: StoredValue<State, LocalStorage>,
    /// The thread has not answered for ten seconds.
    pub quiet: RwSignal<bool>,
}

impl TrainingClient {
    #[must_use]
    pub fn new() -> Self {
        Self { state: StoredValue::new_local(State::default()), quiet: RwSignal::new(false) }
    }

    /// Starts a thread. `take` receives its events; `lost` receives, once, why it failed.
    pub fn spawn(self, take: impl Fn(Event) + 'static, lost: impl Fn(&str) + 'static) {
        let address = browser::script_address("hushgrad-worker", "./worker_loader.js");
        let number = self.state.with_value(|state| state.threads) + 1;
        let current = move || self.state.with_value(|state| state.threads == number);
        let take = move |event| {
            if current() {
                self.state.update_value(|state| state.silent = Some(0));
                self.hear(0);
                take(event);
            }
        };
        let lost = Rc::new(lost);
        let failed = move |why: String| {
            if current() {
                lost(&why);
            }
        };
        let thread = Thread::start(&address, take, failed);
        self.state.update_value(|state| {
            state.threads = number;
            state.silent = None;
            state.thread = Some(thread);
        });
    }

    /// Sends a request, or drops it without a thread.
    pub fn send(self, request: Request) {
        self.state.with_value(|state| {
            if let Some(thread) = &state.thread {
                thread.send(request);
            }
        });
    }

    /// Starts the heartbeat; `lost` is called when it fails.
    pub fn watch(self, lost: impl Fn(&str) + 'static) {
        let heartbeat = Interval::new(HEARTBEAT_MS, move || self.beat(&lost));
        self.state.update_value(|state| state.heartbeat = Some(heartbeat));
    }

    /// Counts a beat without a message, unless the page is hidden, and pings the thread.
    fn beat(self, lost: &dyn Fn(&str)) {
        let silent = self.state.try_update_value(|state| {
            state.silent = state.silent.map(|beats| if document().hidden() { 0 } else { beats + 1 });
            state.silent
        });
        self.hear(silent.flatten().unwrap_or_default());
        match silent.flatten() {
            Some(beats) if beats > SILENT_BEATS => {
                let seconds = HEARTBEAT_MS / 1000 * SILENT_BEATS;
                lost(&t!("it has not answered for {seconds} seconds", seconds = seconds));
            }
            _ => self.send(Request::Ping),
        }
    }

    /// Sets `quiet` if the thread has been silent for too many beats, else clears it.
    fn hear(self, silent: u32) {
        let quiet = silent > QUIET_BEATS;
        if self.quiet.get_untracked() != quiet {
            self.quiet.set(quiet);
        }
    }

    /// Forgets earlier failures: a step was taken.
    pub fn forgive(self) {
        self.state.update_value(|state| state.failures = 0);
    }

    /// Ends a failed thread. Returns whether another may be started.
    pub fn end_failed(self) -> bool {
        self.hear(0);
        let ended = self.state.try_update_value(|state| {
            state.failures += 1;
            state.threads += 1;
            state.silent = None;
            (state.thread.take(), state.failures < MOST_FAILURES)
        });
        let Some((gone, again)) = ended else { return false };
        // Drop the thread later: its own listener may be the caller.
        Timeout::new(0, move || drop(gone)).forget();
        again
    }
}
