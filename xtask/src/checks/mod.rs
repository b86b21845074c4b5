//! `cargo xtask test` and `cargo xtask deny`.

pub mod count;
pub mod deny;
#[cfg(test)]
mod documents;
pub mod run;
mod suites;
