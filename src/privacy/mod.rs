//! Differential privacy accounting in plain f64. No tensor, no browser.

pub mod dynamics;
pub mod ledger;
pub mod noise;
pub mod normal;
pub mod rdp;
pub mod risk;
pub mod sampling;
