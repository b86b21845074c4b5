//! Evaluation of the model on the run's test set, slice by slice.

use web_time::Instant;

use super::state::Agent;
use crate::{
    data::Dataset,
    engine::{Backend, Engine, reading},
    worker::host::Host,
};

impl<H: Host> Agent<H> {
    /// Starts an evaluation, which the loop does slice by slice.
    pub(super) fn evaluate_now(&mut self) {
        self.run.evaluation.begin();
    }

    /// Evaluates one slice; after the last, reports the accuracy.
    pub(super) async fn evaluate_slice(&mut self, slice: usize) {
        let Some(session) = &mut self.run.session else {
            self.run.evaluation.next = None;
            return;
        };
        // Without test images, the report has no accuracy.
        let Some(images) = self.run.slices.get(slice) else {
            self.run.evaluation.end();
            return self.report(None).await;
        };
        // Steps that the device is still computing count as training time.
        if slice == 0
            && let Err(error) = session.settle().await
        {
            return self.fail(error).await;
        }
        let start = Instant::now();
        let reading = session.plan().config.reading;
        match reading::count_correct(session.engine(), images, reading).await {
            Ok(correct) => self.run.evaluation.correct += correct,
            Err(error) => return self.fail(error.into()).await,
        }
        self.run.evaluation.spent += start.elapsed();
        self.run.evaluation.next = Some(slice + 1).filter(|&next| next < self.run.slices.len());
        if self.run.evaluation.next.is_none() {
            let examples: usize = self.run.slices.iter().map(Dataset::len).sum();
            self.run.evaluation.end();
            if session.engine().info().backend == Backend::Gpu {
                match session.engine().state().await {
                    Ok(state) => self.run.checkpoint = Some((session.step_count(), state)),
                    Err(error) => return self.fail(error.into()).await,
                }
            }
            self.report(Some(f64::from(self.run.evaluation.correct) / examples as f64)).await;
            if !self.run.playing {
                self.put_down().await;
            }
        }
    }
}
