//! `hushgrad account`: ε of a ledger.

use std::{error::Error, path::PathBuf};

use hushgrad::{
    privacy::{ledger::Ledger, rdp},
    train::report::PrivacyBound,
};

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

/// Recomputes ε from what happened, by Rényi accounting.
///
/// # Errors
/// When the ledger cannot be read, is impossible, or has no bound.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let path = arguments.ledger.display();
    let text = std::fs::read_to_string(&arguments.ledger).map_err(|e| format!("cannot read {path}: {e}"))?;
    let ledger = Ledger::from_json(&text).map_err(|e| format!("{path}: {e}"))?;
    let epsilon = rdp::epsilon_of(&ledger, arguments.delta)?;
    let bound = PrivacyBound::new(arguments.delta, &epsilon, &ledger);
    if arguments.json {
        println!("{}", serde_json::to_string(&bound)?);
        return Ok(());
    }
    let PrivacyBound { delta, improved, classic, assumptions } = bound;
    println!("ε ≤ {} (order {}) at δ = {delta:e}", improved.epsilon, improved.order);
    println!("classic conversion: ε ≤ {} (order {})", classic.epsilon, classic.order);
    for assumption in assumptions {
        println!("  · {assumption}");
    }
    Ok(())
}
