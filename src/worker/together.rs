//! The joint cost of all runs on the same digits: whoever sees several may learn from them all.

use hushgrad_message::{Message, message};
use serde::{Deserialize, Serialize};

use crate::accounting::{
    composition::{self, Total},
    decimal,
    ledger::Ledger,
    sampling::NeighbouringRelation,
};

/// What is remembered of all runs on the current run's digits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Remembered {
    /// Ledgers of their releases, as JSON; `None`: no guarantee, or unreadable books.
    pub so_far: Vec<Option<String>>,
    /// The same at the end of their plans.
    pub planned: Vec<Option<String>>,
    /// How many of them planned no number of steps: no sum holds whenever those stop.
    pub endless: u32,
    /// The δ at which they are composed.
    pub delta: f64,
}

/// Returns a sentence on all of them; empty for fewer than two.
pub(super) fn sentence(Remembered { so_far, planned, endless, delta }: &Remembered) -> Message {
    let count = so_far.len();
    if count < 2 {
        return Message::default();
    }
    if *endless > 0 {
        let so_far = cost(so_far, *delta);
        return message!(
            "All {count} runs on these digits that this browser remembers, together: {so_far} for the steps so far. No number of steps was planned for {endless} of them, so this assumes that results did not decide when to stop."
        );
    }
    // If all planned steps ran, there is only one sum.
    let ends = (planned != so_far).then(|| cost(planned, *delta));
    let so_far = cost(so_far, *delta);
    let Some(planned) = ends.filter(|planned| *planned != so_far) else {
        return message!("All {count} runs on these digits that this browser remembers, together: {so_far}.");
    };
    message!(
        "All {count} runs on these digits that this browser remembers, together: {planned} for all planned steps, no matter when a run stops; {so_far} for the steps so far."
    )
}

/// Describes the cost of runs with these ledgers.
fn cost(ledgers: &[Option<String>], delta: f64) -> Message {
    let runs = ledgers.len();
    let known: Vec<Ledger> = ledgers.iter().flatten().filter_map(|json| Ledger::from_json(json).ok()).collect();
    let without = runs - known.len();
    match composition::total_per_example(&known.iter().collect::<Vec<_>>(), delta) {
        _ if without > 0 => message!("no guarantee, as {without} of them had none"),
        Ok(Total { epsilon, delta: paid, neighbours, .. }) => {
            // A δ equal to the one that was set is written as it was set.
            let paid = if paid == delta { format!("{delta:e}") } else { decimal::upper_power(paid, 2) };
            let epsilon = decimal::upper(epsilon, 3);
            match neighbours {
                NeighbouringRelation::AddOrRemoveOne => message!("ε ≤ {epsilon} at δ = {paid}"),
                NeighbouringRelation::ReplaceOne => message!("ε ≤ {epsilon} at δ = {paid}, replace-one"),
            }
        }
        Err(error) => message!("no guarantee can be stated ({error})"),
    }
}
