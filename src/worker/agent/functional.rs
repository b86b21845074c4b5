//! Pay once: a release for a convex head, entered into the books before it is made, and training.

use super::{pace::YIELD_EVERY, run_key::new_key, state::Agent, time_limit::write};
use crate::{
    accounting::ledger::Ledger,
    worker::{
        functional::{FunctionalProgress, FunctionalRequest, PayOnce, Piece},
        host::Host,
        protocol::Event,
        run_log::RunLog,
        run_store::{Change, Entry, Record},
    },
};
use hushgrad_message::{Message, ToMessage, word};

impl<H: Host> Agent<H> {
    /// Starts a release on the digits loaded last. The price of the one before stays in the books.
    pub(super) fn begin_release(&mut self, wanted: FunctionalRequest) {
        self.jobs.pay_once = None;
        let digits = self.data.digits.clone().filter(|_| self.data.arriving.is_none());
        let begun = match digits {
            Some(digits) => PayOnce::new(wanted, digits).map_err(|error| error.to_message()),
            None => Err(word!("not all digits are loaded yet; release them once they are").into()),
        };
        match begun {
            Ok(job) => self.jobs.pay_once = Some((job, self.data.opening.clone())),
            Err(refusal) => self.end_release(&refusal),
        }
    }

    /// Requests more steps on the release.
    pub(super) fn train_on(&mut self) {
        if let Some((job, _)) = &mut self.jobs.pay_once {
            job.train_on();
        }
    }

    /// Does the next piece of the job, if there is one.
    pub(super) async fn advance_release(&mut self) {
        let Some((job, _)) = self.jobs.pay_once.as_mut().filter(|(job, _)| !job.idle()) else { return };
        let done = match job.piece(YIELD_EVERY) {
            Ok(Piece::Nothing) => return,
            Ok(Piece::FunctionalProgress(news)) => return self.host.send(Event::PaidOnce(news)),
            Ok(Piece::Books) => self.release().await,
            Err(error) => Err(error.to_message()),
        };
        if let Err(refusal) = done {
            self.end_release(&refusal);
        }
    }

    /// Enters the release into the books of these digits, then makes it.
    async fn release(&mut self) -> Result<(), Message> {
        let Some((job, digits)) = &self.jobs.pay_once else { return Ok(()) };
        if self.keeper.keeps {
            let books = RunLog::open(Some(&Ledger::new()), &[(job.entry(), 1)], Some(1), digits.clone());
            let entry = Entry { name: String::new(), note: String::new(), pinned: false, card: String::new() };
            let record = Record { entry, file: String::new(), books: Some(books.to_json()), reserved: 1 };
            let key = new_key(self.run.number);
            // Only books, like those of a removed run: they count.
            let change = || {
                vec![
                    Change::Begin { key: key.clone(), record: record.clone() },
                    Change::Remove { key: key.clone(), reserved: None, spent: true },
                ]
            };
            if let Err(error) = write(&*self.host, change()).await {
                // Memory always takes a new record.
                drop(self.keeper.memory.write(change()));
                self.refuse_to_keep(error);
            }
        }
        let Some((job, _)) = &mut self.jobs.pay_once else { return Ok(()) };
        let news = job.release().map_err(|error| error.to_message())?;
        self.host.send(Event::PaidOnce(news));
        self.add_up();
        Ok(())
    }

    fn end_release(&mut self, refusal: &Message) {
        self.jobs.pay_once = None;
        self.aside(refusal);
        self.host.send(Event::PaidOnce(FunctionalProgress::Ended));
    }
}
