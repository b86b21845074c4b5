//! `cargo xtask test`, `cargo xtask try` and `cargo xtask deny`.

pub mod attempt;
pub mod count;
pub mod deny;
#[cfg(test)]
mod documents;
pub mod run;
mod suites;
