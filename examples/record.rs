//! A tool of the page rather than an example: makes the run that it shows before there is one of the visitor's own.
//!
//! `hushgrad train --json --steps 480 --evaluate-every 12 | cargo run --no-default-features --example record > www/recorded.csv`

use std::io::{BufRead, Write};

use hushgrad::{
    accounting::decimal::upper,
    train::report::{Privacy, Report},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "step,accuracy,improved,classic")?;
    for line in std::io::stdin().lock().lines() {
        let report: Report = serde_json::from_str(&line?)?;
        let (Some(accuracy), Privacy::Bounded(bound)) = (report.test_accuracy, &report.privacy) else {
            return Err(format!("step {} has no accuracy or no bound", report.step).into());
        };
        let [improved, classic] = [bound.improved, bound.classic].map(|bound| upper(bound.epsilon, 5));
        writeln!(out, "{},{accuracy:.4},{improved},{classic}", report.step)?;
    }
    Ok(())
}
