//! The model is evaluated on the run's test set, slice by slice.

use web_time::Instant;

use super::state::Agent;
use crate::{
    data::Dataset,
    engine::{Backend, Engine, reading},
    worker::host::Host,
};

impl<H: Host> Agent<H> {
    /// Begins an evaluation; the loop does it slice by slice.
    pub(super) fn evaluate_now(&mut self) {
        self.evaluation.begin();
    }

    /// Evaluates one slice; after the last one the page hears the accuracy.
    pub(super) async fn evaluate_slice(&mut self, slice: usize) {
        let Some(session) = &mut self.session else {
            self.evaluation.next = None;
            return;
        };
        // Nothing to test on: the page hears of the run without an accuracy.
        let Some(images) = self.slices.get(slice) else {
            self.evaluation.end();
            return self.report(None).await;
        };
        // Steps that the device still computes count as training time.
        if slice == 0
            && let Err(error) = session.settle().await
        {
            return self.fail(error).await;
        }
        let start = Instant::now();
        let reading = session.plan().config.reading;
        match reading::count_correct(session.engine(), images, reading).await {
            Ok(correct) => self.evaluation.correct += correct,
            Err(error) => return self.fail(error.into()).await,
        }
        self.evaluation.spent += start.elapsed();
        self.evaluation.next = Some(slice + 1).filter(|&next| next < self.slices.len());
        if self.evaluation.next.is_none() {
            let examples: usize = self.slices.iter().map(Dataset::len).sum();
            self.evaluation.end();
            if session.engine().info().backend == Backend::Gpu {
                match session.engine().state().await {
                    Ok(state) => self.checkpoint = Some((session.step_count(), state)),
                    Err(error) => return self.fail(error.into()).await,
                }
            }
            self.report(Some(f64::from(self.evaluation.correct) / examples as f64)).await;
            if !self.playing {
                self.put_down().await;
            }
        }
    }
}
