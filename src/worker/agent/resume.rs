//! Continuing a stored run: its record moves to a new key, and its session goes on.

use std::time::Duration;

use super::{
    ahead::{Place, ReservedReleases},
    continued::Continued,
    engines::Prepared,
    run_key::new_key,
    saving::Saving,
    state::Agent,
    stored_run::{TakeError, settled},
    time_limit::{within, write},
};
use crate::{
    engine::AnyEngine,
    mechanism::State,
    train::{
        error::SessionError,
        report::Report,
        run_file::{RunCard, RunFile},
        session::{Progress, Session},
    },
    worker::{
        host::Host,
        protocol::{Event, Fallback},
        run_log::RunLog,
        run_store::{Change, Record},
    },
};
use hushgrad_message::{Message, message, word};

impl<H: Host> Agent<H> {
    /// Continues a stored run, paused, in place of the current one.
    pub(super) async fn continue_run(&mut self, key: &str) {
        if self.data.arriving.is_some() {
            return self.problem(None, &word!("the digits are still loading; continue the run once all are loaded"));
        }
        match self.take_up(key).await {
            Ok((session, fallback, continued, notice)) => {
                let in_memory = continued.ahead.place == Place::Memory;
                self.install_run(Ok(session), fallback, Some(continued)).await;
                if let Some(error) = self.keeper.refusal.take_if(|_| in_memory) {
                    self.refuse_to_keep(error);
                }
                if let Some(notice) = notice {
                    self.host.send(Event::Notice(notice));
                }
            }
            Err(TakeError::Session(error)) => self.refuse(&error),
            Err(error) => self.problem(None, &error),
        }
    }

    /// Resumes a stored run, and moves its record to a new key in one transaction, so that its
    /// releases are counted exactly once. Another tab that has the run finds its record gone.
    /// Also returns why the GPU is not used if it was wanted, and a notice for the visitor.
    async fn take_up(
        &mut self,
        key: &str,
    ) -> Result<(Session<AnyEngine>, Option<Fallback>, Continued<H::Lock>, Option<Message>), TakeError> {
        let in_memory = self.keeper.memory.read(key).is_some();
        let _lock = if in_memory { None } else { Some(within(&*self.host, self.host.lock(key)).await?) };
        let record = self.read(key).await?;
        let (file, lost) = settled(&record)?;
        let (data, train) = (file.run.data.clone(), file.run.train);
        let (session, fallback, mut file) = self.resume(file).await?;

        let mut ahead = ReservedReleases::open(new_key(self.run.number), &session, self.data.opening.clone());
        // The new books count all earlier releases as on the current digits. If the old books name
        // other digits, they stay, to count for those.
        let before = record.books.as_deref().and_then(|books| RunLog::from_json(books).ok());
        let of_others = before.is_some_and(|books| books.digits().is_some() && books.digits() != ahead.log.digits());
        ahead.place = if in_memory { Place::Memory } else { Place::Browser };
        // Resuming may have closed a shuffled epoch, whose cost is not in the file yet.
        file.ledger = session.ledger().cloned();
        file.run.report.privacy = session.privacy()?;
        let mut saving = Saving::of(&file.run);
        saving.label.pinned = record.entry.pinned;
        let (state, text) = (state_of(&file), file.to_json());
        let moved = Record { entry: saving.entry(&file), file: text, books: Some(ahead.log.to_json()), reserved: 0 };
        let changes = vec![
            Change::Remove { key: key.to_owned(), reserved: Some(record.reserved), spent: of_others },
            Change::Begin { key: ahead.key.clone(), record: moved },
        ];
        if in_memory {
            self.keeper.memory.write(changes)?;
        } else {
            ahead.lock = within(&*self.host, self.host.lock(&ahead.key)).await.ok();
            write(&*self.host, changes).await?;
        }
        saving.saved(session.step_count());

        let lost = match lost {
            0 => None,
            1 => Some(word!("One step was released or reserved after the last save: it is counted in ε, but its parameters are lost.").into()),
            _ => Some(message!(
                "{lost} steps were released or reserved after the last save: they are counted in ε, but their parameters are lost."
            )),
        };
        let now = self.data.digits.as_ref().map(|digits| (&digits.train.name, digits.train.len() as u32));
        let other = now.filter(|now| *now != (&data, train)).map(|(now, count)| message!(
            "The run began on {data} ({train} images) and continues on {now} ({count}): its ε counts steps on both, for every image in either."
        ));
        let notice = match (lost, other) {
            (Some(lost), Some(other)) => Some(message!("{lost} {other}")),
            (lost, other) => lost.or(other),
        };
        Ok((session, fallback, Continued { ahead, saving, state, from: key.to_owned() }, notice))
    }

    /// Resumes a session from a file, on the digits loaded last.
    async fn resume(&mut self, file: RunFile) -> Result<(Session<AnyEngine>, Option<Fallback>, RunFile), SessionError> {
        let RunCard { config, report, .. } = file.run.clone();
        let Prepared { plan, engine, fallback } = self.prepare(config, Some(&state_of(&file))).await?;
        let Report { step, training_seconds, .. } = report;
        // A training time that is negative or not finite counts as zero.
        let training = Duration::try_from_secs_f64(training_seconds).unwrap_or_default();
        // A run file omits the number of gradients that were not finite, which is private.
        let (counted, clips) = (report.counted, file.clips.clone());
        let progress = Progress { step, ledger: file.ledger.clone(), training, non_finite: 0, counted, clips };
        Ok((Session::resume(plan, engine, progress)?, fallback, file))
    }
}

fn state_of(file: &RunFile) -> State {
    State { parameters: file.parameters.clone(), momentum: file.momentum.clone(), average: file.average.clone() }
}
