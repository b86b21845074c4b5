//! A tool of the page rather than an example: makes the run that it shows before there is one of the visitor's own, of the preset that it opens with.
//!
//! `hushgrad train --preset quick-linear --json --evaluate-every 1 | cargo run --no-default-features --example record > www/recorded.csv`

use std::io::{BufRead, Write};

use hushgrad::{
    accounting::decimal::upper,
    train::{presets, projection::planned, report::Report},
};

/// Training images of the run.
const TRAIN: u32 = 60_000;
/// Beyond the first steps, of which the page draws 1, 2, 4, 8, …, every so many.
const EVERY: u64 = 10;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = presets::Preset::by_key(presets::FIRST).ok_or("the first preset is in the table")?.config();
    let mut out = std::io::stdout().lock();
    writeln!(out, "step,accuracy,tight")?;
    for line in std::io::stdin().lock().lines() {
        let report: Report = serde_json::from_str(&line?)?;
        let step = report.step;
        if !step.is_multiple_of(EVERY) && !step.is_power_of_two() {
            continue;
        }
        let accuracy = report.test_accuracy.ok_or_else(|| format!("step {step} has no accuracy"))?;
        let tight = match step {
            0 => "0".to_owned(),
            _ => upper(planned(&config, TRAIN, step)?.tight(config.delta)?.value, 5),
        };
        writeln!(out, "{step},{accuracy:.4},{tight}")?;
    }
    Ok(())
}
