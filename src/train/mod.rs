//! A run: configuration → plan → session → reports.

pub mod config;
pub mod error;
pub mod plan;
pub mod report;
pub mod session;
