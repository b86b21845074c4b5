//! Pays once: a release for a convex head, which is in the books before it is made, and the training on it.

use super::{pace::YIELD_EVERY, run_key::new_key, state::Agent, time_limit::write};
use crate::{
    accounting::ledger::Ledger,
    worker::{
        functional::{News, PayOnce, Piece, Wanted},
        host::Host,
        protocol::Event,
        run_log::RunLog,
        run_store::{Change, Entry, Record},
    },
};

impl<H: Host> Agent<H> {
    /// Begins a release on the digits loaded last, in the place of the one before: that is released, and its price stays in the books.
    pub(super) fn begin_release(&mut self, wanted: Wanted) {
        self.pay_once = None;
        let digits = self.digits.clone().filter(|_| self.arriving.is_none());
        let begun = match digits {
            Some(digits) => PayOnce::new(wanted, digits).map_err(|error| error.to_string()),
            None => Err("the digits are not all there yet; release them when they are".to_owned()),
        };
        match begun {
            Ok(job) => self.pay_once = Some((job, self.opening.clone())),
            Err(refusal) => self.end_release(&refusal),
        }
    }

    /// More steps on what is released.
    pub(super) fn train_on(&mut self) {
        if let Some((job, _)) = &mut self.pay_once {
            job.train_on();
        }
    }

    /// Does the next piece of it, if there is any.
    pub(super) async fn advance_release(&mut self) {
        let Some((job, _)) = self.pay_once.as_mut().filter(|(job, _)| !job.idle()) else { return };
        let done = match job.piece(YIELD_EVERY) {
            Ok(Piece::Nothing) => return,
            Ok(Piece::News(news)) => return self.host.send(Event::PaidOnce(news)),
            Ok(Piece::Books) => self.release().await,
            Err(error) => Err(error.to_string()),
        };
        if let Err(refusal) = done {
            self.end_release(&refusal);
        }
    }

    /// Enters the release into the books of these digits, and makes it.
    async fn release(&mut self) -> Result<(), String> {
        let Some((job, digits)) = &self.pay_once else { return Ok(()) };
        if self.keeps {
            let books = RunLog::open(Some(&Ledger::new()), &[(&job.price().release, 1)], Some(1), digits.clone());
            let entry = Entry { name: String::new(), note: String::new(), pinned: false, card: String::new() };
            let record = Record { entry, file: String::new(), books: Some(books.to_json()), reserved: 1 };
            let key = new_key(self.runs);
            // Books alone, as of a run that was removed: they count.
            let change = || {
                vec![
                    Change::Begin { key: key.clone(), record: record.clone() },
                    Change::Remove { key: key.clone(), reserved: None, spent: true },
                ]
            };
            if let Err(error) = write(&*self.host, change()).await {
                // In memory a new record is always taken.
                drop(self.memory.write(change()));
                self.refuse_to_keep(error);
            }
        }
        let Some((job, _)) = &mut self.pay_once else { return Ok(()) };
        let news = job.release().map_err(|error| error.to_string())?;
        self.host.send(Event::PaidOnce(news));
        self.add_up();
        Ok(())
    }

    fn end_release(&mut self, refusal: &str) {
        self.pay_once = None;
        self.aside(&refusal);
        self.host.send(Event::PaidOnce(News::Ended));
    }
}
