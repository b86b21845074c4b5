//! Runs that outlive their thread: written as files, and continued.

use std::time::Duration;

use super::{Agent, Host, Prepared};
use crate::{
    engine::{AnyEngine, Engine},
    mechanism::State,
    train::{
        error::SessionError,
        report::Report,
        run_file::{RunCard, RunFile},
        session::{Progress, Session},
    },
    worker::protocol::{Event, Instead},
};

impl<H: Host> Agent<H> {
    pub(super) async fn save(&mut self, key: String, run: u32, card: RunCard) {
        let Some(session) = self.session.as_mut().filter(|_| run == self.runs) else { return };
        match write(session, card).await {
            Ok(file) => self.host.send(Event::RunSaved { key, card: file.run.to_json(), file: file.to_json() }),
            Err(error) => self.fail(error).await,
        }
    }

    pub(super) async fn continue_run(&mut self, name: &str, bytes: &[u8]) {
        if self.arriving.is_some() {
            return self.problem(None, &"the digits are still on their way; continue the run when all are there");
        }
        let file = match RunFile::from_json(name, bytes) {
            Ok(file) => file,
            Err(error) => return self.problem(None, &error),
        };
        let (data, train) = (file.run.data.clone(), file.run.train);
        match self.resume(file).await {
            Ok((session, instead)) => self.stand(Ok(session), instead),
            Err(error) => return self.refuse(&error),
        }
        let now = self.digits.as_ref().map(|digits| (&digits.train.name, digits.train.len() as u32));
        if let Some((now, count)) = now.filter(|now| *now != (&data, train)) {
            self.host.send(Event::Notice(format!(
                "The run began on {data} ({train} images) and goes on with {now} ({count}): its ε counts both, for every image of either."
            )));
        }
    }

    async fn resume(&mut self, file: RunFile) -> Result<(Session<AnyEngine>, Option<Instead>), SessionError> {
        let RunFile { run: RunCard { config, report, .. }, ledger, parameters, momentum, average, .. } = file;
        let state = State { parameters, momentum, average };
        let Prepared { plan, engine, instead } = self.prepare(config, Some(&state)).await?;
        let Report { step, training_seconds, .. } = report;
        // A time that no clock measures counts as none.
        let training = Duration::try_from_secs_f64(training_seconds).unwrap_or_default();
        // No file tells what was not finite.
        let session = Session::resume(plan, engine, Progress { step, ledger, training, non_finite: 0 })?;
        Ok((session, instead))
    }
}

async fn write(session: &mut Session<AnyEngine>, card: RunCard) -> Result<RunFile, SessionError> {
    let Report { test_accuracy, test_set, .. } = card.report;
    let report = Report { test_accuracy, test_set, ..session.report(None).await? };
    let state = session.engine().state().await?;
    let config = session.plan().config.clone();
    Ok(RunFile::new(RunCard { config, report, ..card }, session.ledger().cloned(), state))
}
