//! What the page's opening settings cost. Every visit asks, so the answers are shipped: a test of the page's (`ui::state::planned`) computes them anew.

use serde::{Deserialize, Serialize};

use super::accounts::{Answer, Question};
use crate::{plot::series::Point, train::projection::Projection};

/// [`Prices`] as threads are told them: a program that reads JSON as well is 28 kB longer after Brotli.
pub(crate) const PRICES: &[u8] = include_bytes!("opening_prices.postcard");

/// Questions of an opening page, each with its answer.
pub(crate) type Prices = Vec<(Question, Price)>;

/// An answer that is shipped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Price {
    Projection(Projection),
    Tight(Vec<Point>),
}

impl From<Price> for Answer {
    fn from(price: Price) -> Self {
        match price {
            Price::Projection(found) => Self::Projection(Ok(found)),
            Price::Tight(found) => Self::Tight(Ok(found)),
        }
    }
}

/// The answer to a question that every visit asks.
pub(crate) fn known(question: &Question) -> Option<Answer> {
    let all: Prices = postcard::from_bytes(PRICES).ok()?;
    all.into_iter().find(|(known, _)| known == question).map(|(_, price)| price.into())
}
