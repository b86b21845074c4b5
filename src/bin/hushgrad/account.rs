//! `hushgrad account`: ε of a ledger.

use std::{error::Error, path::PathBuf};

use hushgrad::privacy::{ledger::Ledger, report};

#[derive(clap::Args)]
pub struct Arguments {
    /// A ledger, as `hushgrad train --ledger` or the page exports it
    ledger: PathBuf,
    #[arg(long, default_value_t = 1e-5)]
    delta: f64,
    /// One line of JSON
    #[arg(long)]
    json: bool,
}

/// Recomputes ε from what happened, by every accountant.
///
/// # Errors
/// When the ledger cannot be read, is impossible, or has no bound.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let path = arguments.ledger.display();
    let text = std::fs::read_to_string(&arguments.ledger).map_err(|e| format!("cannot read {path}: {e}"))?;
    let ledger = Ledger::from_json(&text).map_err(|e| format!("{path}: {e}"))?;
    let account = report::account(&ledger, arguments.delta)?;
    if arguments.json {
        println!("{}", serde_json::to_string(&account)?);
    } else {
        println!("{account}");
    }
    Ok(())
}
