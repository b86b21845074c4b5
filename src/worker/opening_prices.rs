//! The cost of the opening settings on MNIST, shipped, and tested by `ui::state::planned`.

use serde::{Deserialize, Serialize};

use crate::{
    plot::series::Point,
    train::{config::RunConfig, projection::Projection},
};

/// [`Prices`] in postcard: a program that also reads JSON is 28 kB longer after Brotli.
pub(crate) const PRICES: &[u8] = include_bytes!("opening_prices.postcard");

/// The cost of the opening configuration on MNIST.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Prices {
    pub config: RunConfig,
    pub train: u32,
    pub projection: Projection,
    /// Tight ε by step.
    pub tight: Vec<Point>,
    /// Of a hundred members, how many an attacker finds at most.
    pub odds: u32,
}

/// Returns the cost of this configuration on `train` examples, if it is the shipped one.
pub(crate) fn known(config: &RunConfig, train: u32) -> Option<Prices> {
    let prices: Prices = postcard::from_bytes(PRICES).ok()?;
    (prices.train == train && prices.config == *config).then_some(prices)
}
