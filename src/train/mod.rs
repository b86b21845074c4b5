//! A run: configuration → plan → session → reports.

pub mod config;
