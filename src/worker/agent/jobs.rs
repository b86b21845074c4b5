//! Jobs beside the run, between checks of the inbox.

use hushgrad_message::Message;

use super::{pace::YIELD_EVERY, state::Agent};
use crate::worker::{
    host::Host,
    jobs::{Job, JobKind, JobRequest},
    protocol::Event,
};

impl<H: Host> Agent<H> {
    /// Starts a job, in place of any other of its kind.
    pub(super) fn start_job(&mut self, request: JobRequest) {
        let kind = request.kind();
        self.stop_job(kind);
        match Job::start(request) {
            Ok(job) => self.jobs.started.push(job),
            Err(refusal) => self.fail_job(kind, &refusal),
        }
    }

    pub(super) fn stop_job(&mut self, kind: JobKind) {
        self.jobs.started.retain(|job| job.kind() != kind);
    }

    /// Does the next piece of each job.
    pub(super) async fn advance_jobs(&mut self) {
        for mut job in std::mem::take(&mut self.jobs.started) {
            match job.piece(YIELD_EVERY).await {
                Ok((progress, done)) => {
                    progress.into_iter().for_each(|progress| self.host.send(Event::Job(progress)));
                    if !done {
                        self.jobs.started.push(job);
                    }
                }
                Err(refusal) => self.fail_job(job.kind(), &refusal),
            }
        }
    }

    fn fail_job(&self, kind: JobKind, refusal: &Message) {
        self.aside(refusal);
        self.host.send(Event::JobFailed(kind));
    }
}
