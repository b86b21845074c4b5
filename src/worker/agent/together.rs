//! What this browser remembers of all runs on the same digits, for the accountant to add up.

use super::{
    state::Agent,
    time_limit::{within, write},
};
use crate::{
    accounting::ledger::Ledger,
    worker::{
        host::Host,
        protocol::Event,
        run_log::{RunLog, RunLogError},
        run_store::{Change, StoreError, StoredBooks},
        together::Remembered,
    },
};
use hushgrad_message::message;

impl<H: Host> Agent<H> {
    /// Tells the page of all runs on the digits loaded last. A concurrent task reads them.
    pub(super) fn add_up(&self) {
        let (Some(session), Some(digits), true) = (&self.run.session, self.data.opening.clone(), self.keeper.keeps)
        else {
            return;
        };
        let (delta, mut spent) = (session.plan().config.delta, self.keeper.memory.spent());
        let host = self.host.clone();
        self.host.spawn(async move {
            match within(&*host, host.spent()).await {
                Ok(more) => spent.extend(more),
                // A browser that keeps nothing has nothing from earlier visits.
                Err(StoreError::Refused) => {}
                // Without the unreadable runs, the sum would be too small.
                Err(error) => {
                    let sentence = message!("The total cost of all runs on these digits is unknown, because {error}.");
                    return host.send(Event::Together(Err(sentence)));
                }
            }
            host.send(Event::Together(Ok(remembered(&spent, &digits, delta))));
        });
    }

    /// Stops counting earlier runs on these digits, which the visitor says are public. The current
    /// run still counts, and so do runs in other tabs, whose books only those tabs may change.
    pub(super) async fn forget(&mut self) {
        let Some(digits) = self.data.opening.clone() else { return };
        let begun = self.run.session.as_ref().is_some_and(|session| session.step_count() > 0);
        let own = self.keeper.ahead.as_ref().filter(|_| begun).map(|ahead| ahead.key.clone());
        let of_these = |spent: Vec<StoredBooks>| -> Vec<String> {
            let theirs = |spent: &StoredBooks| {
                Some(&spent.key) != own.as_ref()
                    && RunLog::from_json(&spent.books).is_ok_and(|books| books.digits().is_none_or(|of| of == digits))
            };
            spent.into_iter().filter(theirs).map(|spent| spent.key).collect()
        };
        // Restoring a deleted run would bring back books that count.
        self.keeper.deleted = None;
        // Memory never refuses to forget a key.
        let in_memory = of_these(self.keeper.memory.spent());
        drop(self.keeper.memory.write(in_memory.into_iter().map(|key| Change::Forget { key }).collect()));
        let forgotten = match within(&*self.host, self.host.spent()).await {
            Ok(spent) => self.forget_free(of_these(spent)).await,
            Err(error) => Err(error),
        };
        match forgotten {
            Ok(0) | Err(StoreError::Refused) => {}
            Ok(held) => self.aside(&message!(
                "{held} of the earlier runs still count, because another tab is using them; close it, and try again"
            )),
            Err(error) => {
                self.aside(&message!("the earlier runs were not forgotten, because {error}; try again later"))
            }
        }
        self.add_up();
    }

    /// Forgets the runs that no other tab holds, and returns how many are left.
    async fn forget_free(&self, keys: Vec<String>) -> Result<usize, StoreError> {
        // Locks are held until the books are written, so that no tab continues a run meanwhile.
        let (mut locks, mut changes, mut held) = (vec![], vec![], 0);
        for key in keys {
            match within(&*self.host, self.host.lock(&key)).await {
                Ok(lock) => {
                    locks.push(lock);
                    changes.push(Change::Forget { key });
                }
                Err(StoreError::Busy) => held += 1,
                Err(error) => return Err(error),
            }
        }
        write(&*self.host, changes).await.map(|()| held)
    }
}

/// Returns the ledgers of the runs on `digits`.
fn remembered(spent: &[StoredBooks], digits: &str, delta: f64) -> Remembered {
    let mut all = Remembered { delta, ..Remembered::default() };
    for spent in spent {
        let books = match RunLog::from_json(&spent.books) {
            Ok(books) if books.digits() != Some(digits) => continue,
            // Unreadable books may hide any cost: they count as a run without a guarantee.
            read => read.ok(),
        };
        let ledger = |of: fn(&RunLog, u64) -> Result<Option<Ledger>, RunLogError>| {
            Some(of(books.as_ref()?, spent.reserved).ok()??.to_json())
        };
        all.so_far.push(ledger(RunLog::with));
        all.planned.push(ledger(RunLog::with_planned));
        all.endless += u32::from(books.as_ref().is_some_and(|books| !books.is_planned()));
    }
    all
}
