//! What the page's opening settings cost. Every visit asks, so the answers are shipped: a test of the page's (`ui::state::planned`) computes them anew.

use serde::de::DeserializeOwned;

/// Questions of an opening page, each with its answer.
pub(crate) const PRICES: &str = include_str!("opening_prices.json");

/// The answer to a question that every visit asks.
pub(crate) fn known<Q: DeserializeOwned + PartialEq, A: DeserializeOwned>(question: &Q) -> Option<A> {
    let all: Vec<(Q, A)> = serde_json::from_str(PRICES).ok()?;
    all.into_iter().find(|(known, _)| known == question).map(|(_, answer)| answer)
}
