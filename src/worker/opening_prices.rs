//! What the page's opening settings cost on MNIST. Every visit asks, so the answers are shipped: a test of the page's (`ui::state::planned`) computes them anew.

use serde::{Deserialize, Serialize};

use crate::{
    plot::series::Point,
    train::{config::RunConfig, projection::Projection},
};

/// [`Prices`] as threads are told them: a program that reads JSON as well is 28 kB longer after Brotli.
pub(crate) const PRICES: &[u8] = include_bytes!("opening_prices.postcard");

/// What the opening configuration costs on MNIST.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Prices {
    pub config: RunConfig,
    pub train: u32,
    pub projection: Projection,
    /// Tight ε by step.
    pub tight: Vec<Point>,
    /// Of a hundred members, how many any attacker finds at most.
    pub odds: u32,
}

/// What this configuration costs on `train` examples, where a visit to a page with MNIST asks for it as it opens.
pub(crate) fn known(config: &RunConfig, train: u32) -> Option<Prices> {
    let prices: Prices = postcard::from_bytes(PRICES).ok()?;
    (prices.train == train && prices.config == *config).then_some(prices)
}
