//! A run: configuration → plan → session → reports.

mod accounted;
pub mod books;
pub mod config;
pub mod error;
mod limits;
pub mod plan;
pub mod presets;
mod price;
pub mod projection;
pub mod report;
pub mod run_file;
pub mod session;
