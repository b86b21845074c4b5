//! The training thread's loop: requests, the run, reports. Its [`Host`] is a browser or a test.
//!
//! One task owns the run. It checks its inbox between two steps and between two slices of an
//! evaluation, so every request is answered within a step's time, and none finds a step half done.
//!
//! `state` holds the `Agent`; its parts `ahead`, `saving` and `evaluation` do not refer to it. Each
//! other file has the agent's methods on one subject.

mod ahead;
mod continued;
mod digits;
mod engines;
mod evaluate;
mod evaluation;
mod failure;
mod files;
mod functional;
mod inspect;
mod jobs;
mod pace;
mod play;
mod requests;
mod reserve;
mod resume;
mod run_key;
mod runs;
mod save;
mod saving;
mod start;
mod state;
mod stored_run;
mod time_limit;
mod timed;
mod together;

use std::rc::Rc;

use futures::{
    StreamExt,
    channel::mpsc::{TryRecvError, UnboundedReceiver, UnboundedSender},
};
use pace::SLEEP;
use state::Agent;
use web_time::Instant;

use super::{host::Host, inbox::Incoming};

/// Answers requests until the inbox closes.
pub async fn run<H: Host>(host: Rc<H>, mut inbox: UnboundedReceiver<Incoming>, reply: UnboundedSender<Incoming>) {
    let mut agent = Agent::new(host, reply);
    loop {
        let message = if agent.idle() { inbox.next().await.map(Some) } else { poll(&mut inbox) };
        match message {
            None => return,
            Some(Some(message)) => agent.receive(message).await,
            Some(None) => agent.advance().await,
        }
    }
}

/// Returns the next message: `Some(None)` if the inbox is empty, `None` if it is closed.
fn poll(inbox: &mut UnboundedReceiver<Incoming>) -> Option<Option<Incoming>> {
    match inbox.try_recv() {
        Ok(message) => Some(Some(message)),
        Err(TryRecvError::Empty) => Some(None),
        Err(TryRecvError::Closed) => None,
    }
}

impl<H: Host> Agent<H> {
    /// True if there is nothing to do until the next message.
    fn idle(&self) -> bool {
        (!self.run.playing || self.awaits_digits() || self.waits_for_books())
            && self.run.evaluation.next.is_none()
            && !self.run.preview
            && self.jobs.background.idle()
            && self.jobs.pay_once.as_ref().is_none_or(|(job, _)| job.idle())
            && self.jobs.started.is_empty()
    }

    async fn receive(&mut self, message: Incoming) {
        match message {
            Incoming::Arrival { load, arrival } => self.arrive(load, arrival).await,
            Incoming::Request(request) => self.answer(request).await,
            Incoming::Reserved { run, block, result } => self.take_reserved(run, block, result).await,
            Incoming::Saved { run, step, result } => self.take_saved(run, step, result),
        }
    }

    /// Does a piece of the background jobs, and a slice of an evaluation or a few steps.
    async fn advance(&mut self) {
        if std::mem::take(&mut self.run.preview) && !self.run.playing && !self.awaits_digits() {
            self.preview().await;
        }
        self.advance_background().await;
        self.advance_release().await;
        self.advance_jobs().await;
        if self.run.evaluation.next.is_none() && !self.run.playing {
            return self.host.yield_now().await;
        }
        if let Some(slice) = self.run.evaluation.next {
            self.evaluate_slice(slice).await;
        } else if self.awaits_digits() {
            // Arriving digits wake the loop.
        } else if let Some(left) = self.run.wake.take().and_then(|wake| wake.checked_duration_since(Instant::now())) {
            self.run.wake = Some(Instant::now() + left);
            self.host.sleep(left.min(SLEEP)).await;
        } else if self.preparing().await {
            // The inbox is checked first.
        } else {
            self.write_ahead().await;
            self.play_on().await;
        }
        self.host.yield_now().await;
    }
}
