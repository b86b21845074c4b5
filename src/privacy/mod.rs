//! Differential privacy accounting in plain f64. No tensor, no browser.

pub mod ledger;
pub mod noise;
pub mod rdp;
pub mod sampling;
