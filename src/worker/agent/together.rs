//! What all runs on the same digits cost together in this browser: whoever sees several of them may learn as much as they tell together.

use super::{
    state::Agent,
    time_limit::{within, write},
};
use crate::{
    accounting::{
        composition::{self, Total},
        decimal,
        ledger::Ledger,
        sampling::NeighbouringRelation,
    },
    worker::{
        host::Host,
        protocol::Event,
        run_log::RunLog,
        run_store::{Change, Spent, StoreError},
    },
};

impl<H: Host> Agent<H> {
    /// Tells the page what all runs on the digits loaded last cost together. It is computed in a task beside the loop.
    pub(super) fn add_up(&self) {
        let (Some(session), Some(digits), true) = (&self.session, self.opening.clone(), self.keeps) else { return };
        let (delta, mut spent) = (session.plan().config.delta, self.memory.spent());
        let host = self.host.clone();
        self.host.spawn(async move {
            match within(&*host, host.spent()).await {
                Ok(more) => spent.extend(more),
                // A browser that keeps nothing has nothing of earlier visits.
                Err(StoreError::Refused) => {}
                // Without the runs that cannot be read the sum would be too small.
                Err(error) => {
                    let sentence =
                        format!("What all runs on these digits cost together is not known, because {error}.");
                    return host.send(Event::Together(sentence));
                }
            }
            host.send(Event::Together(sentence(&spent, &digits, delta)));
        });
    }

    /// Stops counting earlier runs on these digits, because the visitor says that the digits are public. The current run still counts.
    pub(super) async fn forget(&mut self) {
        let Some(digits) = self.opening.clone() else { return };
        let begun = self.session.as_ref().is_some_and(|session| session.step_count() > 0);
        let own = self.ahead.as_ref().filter(|_| begun).map(|ahead| ahead.key.clone());
        let of_these = |spent: Vec<Spent>| -> Vec<Change> {
            let theirs = |spent: &Spent| {
                Some(&spent.key) != own.as_ref()
                    && RunLog::from_json(&spent.books).is_ok_and(|books| books.digits().is_none_or(|of| of == digits))
            };
            spent.into_iter().filter(theirs).map(|spent| Change::Forget { key: spent.key }).collect()
        };
        // What was deleted before has books that still count.
        self.deleted = None;
        // Memory never refuses to forget a key.
        drop(self.memory.write(of_these(self.memory.spent())));
        let forgotten = match within(&*self.host, self.host.spent()).await {
            Ok(spent) => write(&*self.host, of_these(spent)).await,
            Err(error) => Err(error),
        };
        if let Err(error) = forgotten.or_else(|error| if error == StoreError::Refused { Ok(()) } else { Err(error) }) {
            self.aside(&format!("the runs before are not forgotten, because {error}; try again later"));
        }
        self.add_up();
    }
}

/// A sentence on the runs on `digits`; empty where there are no two of them.
fn sentence(spent: &[Spent], digits: &str, delta: f64) -> String {
    let ledgers: Vec<Option<Ledger>> = spent
        .iter()
        .filter_map(|spent| match RunLog::from_json(&spent.books) {
            Ok(books) if books.digits() != Some(digits) => None,
            // Books that cannot be read may hide any cost: they count as a run without a guarantee.
            read => Some(read.and_then(|books| books.with(spent.reserved)).ok().flatten()),
        })
        .collect();
    let (runs, without) = (ledgers.len(), ledgers.iter().filter(|ledger| ledger.is_none()).count());
    if runs < 2 {
        return String::new();
    }
    let known: Vec<&Ledger> = ledgers.iter().flatten().collect();
    let cost = match composition::total_per_example(&known, delta) {
        _ if without > 0 => format!("none, as {without} of them had no guarantee"),
        Ok(Total { epsilon, delta: paid, neighbours }) => {
            let which = if neighbours == NeighbouringRelation::ReplaceOne { ", replace-one" } else { "" };
            // A δ that is the one that was set is written as it was set.
            let paid = if paid == delta { format!("{delta:e}") } else { decimal::upper_power(paid, 2) };
            format!("ε ≤ {} at δ = {paid}{which}", decimal::upper(epsilon, 3))
        }
        Err(error) => format!("none can be stated ({error})"),
    };
    format!("All {runs} runs on these digits that this browser remembers, together: {cost}.")
}
