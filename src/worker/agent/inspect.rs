//! Requests on the model besides training: to read a drawn digit, to count which digits pay for
//! privacy, and to train the run's non-private baseline.

use super::{engines::Prepared, pace::YIELD_EVERY, state::Agent};
use crate::{
    data::{Dataset, Picture},
    engine::{Engine, EngineError, reading},
    train::{config::RunConfig, error::SessionError, plan::Plan, session::Session},
    worker::{background::baseline_of, host::Host, protocol::Event},
};
use hushgrad_message::word;

impl<H: Host> Agent<H> {
    /// Reads a drawn digit: 784 pixels in [0, 1].
    pub(super) async fn predict(&mut self, pixels: &[f32]) {
        let fine = pixels.len() == Picture::DIGIT.pixels() && pixels.iter().all(|p| (0.0..=1.0).contains(p));
        if !fine {
            return self.aside(&word!("a drawn digit must have 784 pixels between 0 and 1"));
        }
        let Some(session) = &mut self.run.session else { return };
        let (reading, picture) = (session.plan().config.reading, session.plan().config.model.picture());
        // A model of other images reads no digit; the page has no pad beside it.
        if picture != Picture::DIGIT {
            return;
        }
        match reading::predict(session.engine(), picture, pixels, reading).await {
            Ok(classes) => self.host.send(Event::Prediction(classes)),
            Err(error) => self.fail(error.into()).await,
        }
    }

    /// Starts to count which digits pay for privacy, with the current model.
    pub(super) async fn count(&mut self) {
        let Some(session) = &mut self.run.session else { return };
        let parameters = match session.engine().state().await {
            Ok(state) => state.read_with().to_vec(),
            Err(error) => return self.fail(error.into()).await,
        };
        let Some(first) = self.run.slices.first() else { return };
        let (run, look) = ((session.step_count(), parameters), self.run.looked_at.clone().filter(|look| look.step > 0));
        if let Err(error) = self.jobs.background.count(session.plan(), run, first, look).await {
            self.aside(&error);
        }
    }

    /// Starts to train the current run's non-private baseline.
    pub(super) async fn train_baseline(&mut self) {
        let (Some(session), Some(train)) = (&self.run.session, self.run.data.clone()) else {
            return self.host.send(Event::NoBaseline);
        };
        let (config, step) = (&session.plan().config, session.step_count());
        let config = baseline_of(config, config.steps.unwrap_or(step).max(step));
        if let Err(error) = self.begin_baseline(config, &train).await {
            self.aside(&error);
            self.host.send(Event::NoBaseline);
        }
    }

    async fn begin_baseline(&mut self, config: RunConfig, train: &Dataset) -> Result<(), SessionError> {
        let plan = Plan::new(config, train.len() as u32)?;
        let Prepared { plan, engine, .. } = self.build(plan, train, None).await?;
        self.jobs.background.train_baseline(Session::new(plan, engine)?);
        Ok(())
    }

    /// Does the next piece of the background jobs, if there are any.
    pub(super) async fn advance_background(&mut self) {
        if self.jobs.background.idle() {
            return;
        }
        match self.jobs.background.advance(&self.run.slices, YIELD_EVERY, self.run.playing).await {
            Ok(Some(done)) => self.host.send(done),
            Ok(None) => {}
            Err(error) => {
                self.jobs.background.clear();
                match error {
                    // The baseline restarts on the CPU; the run moves when its own next step fails.
                    SessionError::Engine(lost @ EngineError::DeviceLost(_)) => {
                        self.leave_gpu(&lost);
                        self.train_baseline().await;
                    }
                    error => {
                        self.aside(&error);
                        self.host.send(Event::NoBaseline);
                    }
                }
            }
        }
    }
}
