//! A run: configuration → plan → session → reports.

pub mod config;
pub mod report;
