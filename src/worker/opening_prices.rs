//! What the page's opening settings cost. Every visit asks, so the answers are shipped: a test of the page's (`ui::state::planned`) computes them anew.

use serde::{Deserialize, Serialize};

use super::accounts::{Answer, Question};
use crate::{
    plot::series::Point,
    train::{config::RunConfig, projection::Projection},
};

/// [`Prices`] as threads are told them: a program that reads JSON as well is 28 kB longer after Brotli.
pub(crate) const PRICES: &[u8] = include_bytes!("opening_prices.postcard");

/// What the opening configuration costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Prices {
    pub config: RunConfig,
    /// On MNIST, and on drawn digits.
    pub on: Vec<Price>,
}

/// What it costs on `train` examples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Price {
    pub train: u32,
    pub projection: Projection,
    /// Tight ε by step.
    pub tight: Vec<Point>,
}

/// The answer to a question that every visit asks.
pub(crate) fn known(question: &Question) -> Option<Answer> {
    let (Question::Projection { config, train, .. } | Question::Tight { config, train, .. }) = question else {
        return None;
    };
    let prices: Prices = postcard::from_bytes(PRICES).ok()?;
    let Price { projection, tight, .. } =
        prices.on.into_iter().find(|price| price.train == *train).filter(|_| prices.config == *config)?;
    match question {
        Question::Projection { steps, .. } if *steps == projection.steps => Some(Answer::Projection(Ok(projection))),
        Question::Tight { steps, .. }
            if tight.iter().map(|point| point.0).eq(steps.iter().map(|step| *step as f64)) =>
        {
            Some(Answer::Tight(Ok(tight)))
        }
        _ => None,
    }
}
