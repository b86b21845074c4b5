//! Makes the run that the page shows before there is one of the visitor's own:
//! `hushgrad train --json --steps 480 --evaluate-every 12 | cargo run --no-default-features --example record > www/recorded.csv`

use std::io::{BufRead, Write};

use hushgrad::train::report::{Privacy, Report};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "step,accuracy,improved,classic")?;
    for line in std::io::stdin().lock().lines() {
        let report: Report = serde_json::from_str(&line?)?;
        let (Some(accuracy), Privacy::Bounded(bound)) = (report.test_accuracy, &report.privacy) else {
            return Err(format!("step {} has no accuracy or no bound", report.step).into());
        };
        let (improved, classic) = (bound.improved.epsilon, bound.classic.epsilon);
        writeln!(out, "{},{accuracy:.4},{improved:.5},{classic:.5}", report.step)?;
    }
    Ok(())
}
