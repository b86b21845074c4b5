//! A run: configuration → plan → session → reports.

use hushgrad_accounting as accounting;
use hushgrad_core::{data, mechanism, model, rng};
use hushgrad_engine as engine;

mod accounted;
pub mod anneal;
pub mod attack;
pub mod audit;
mod auditable;
mod bands;
pub mod books;
mod check;
pub mod config;
mod counted;
pub mod elsewhere;
pub mod error;
pub mod functional;
pub mod label;
mod limits;
pub mod number;
mod phased;
pub mod phases;
pub mod plan;
pub mod presets;
mod price;
pub mod projection;
pub mod record;
pub mod report;
mod run_card;
pub mod run_file;
pub mod session;
mod sharing;
mod units;
