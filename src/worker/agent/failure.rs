//! What happens to a run whose engine fails.

use super::state::Agent;
use crate::{
    engine::{Backend, Engine},
    train::{error::SessionError, session::Session},
    worker::host::Host,
};
use hushgrad_message::message;

impl<H: Host> Agent<H> {
    /// Moves a run whose GPU fails to the CPU, from its last checkpoint; its ledger counts every
    /// release, including steps that are now trained again. Any other failure pauses the run.
    pub(super) async fn fail(&mut self, error: SessionError) {
        self.run.evaluation.next = None;
        let on_gpu = self.run.session.as_mut().is_some_and(|session| session.engine().info().backend == Backend::Gpu);
        let moved = match error {
            SessionError::Engine(error) if on_gpu => {
                let why = self.leave_gpu(&error);
                self.move_to_cpu(&why).await.map(|()| why.reason)
            }
            other => Err(other),
        };
        match moved {
            Ok(why) => {
                let step = self.run.checkpoint.as_ref().map_or(0, |(step, _)| *step);
                let done = self.run.session.as_ref().map_or(0, Session::step_count);
                self.problem(None, &message!(
                    "{why}; the run continues on the CPU from its last checkpoint, with its parameters after step {step} of {done}; ε counts every released step"
                ));
                self.evaluate_now();
            }
            Err(error) => {
                self.set_playing(false);
                self.put_down().await;
                self.problem(None, &error);
            }
        }
    }
}
