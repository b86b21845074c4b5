//! Tool, not an example: records the runs that the page shows before a visitor's first, with the
//! initial preset on MNIST, and on synthetic digits for sites without MNIST.
//!
//! `hushgrad train --preset quick-linear --json --evaluate-every 1 |
//! cargo run --no-default-features --example record > www/recorded.csv`
//!
//! `cargo run --no-default-features --example record drawn > www/recorded-drawn.csv`

use std::io::{BufRead, Write};

use futures_executor::block_on;
use hushgrad::{
    accounting::decimal::upper,
    data::synthetic,
    engine::{Performance, cpu::CpuEngine},
    train::{config::RunConfig, label, plan::Plan, presets, projection::planned, report::Report, session::Session},
    worker::protocol::DRAWN,
};

/// Number of MNIST training images.
const MNIST: u32 = 60_000;
/// Interval of recorded steps, besides 1, 2, 4, 8, ….
const EVERY: u64 = 20;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let config = presets::Preset::by_key(presets::FIRST).ok_or("the first preset is in the table")?.config();
    writeln!(std::io::stdout(), "step,accuracy,tight,odds")?;
    if std::env::args().nth(1).is_some_and(|which| which == "drawn") {
        return drawn(&config);
    }
    for line in std::io::stdin().lock().lines() {
        let report: Report = serde_json::from_str(&line?)?;
        if is_shown(report.step) {
            let accuracy = report.test_accuracy.ok_or_else(|| format!("step {} has no accuracy", report.step))?;
            write(&config, MNIST, report.step, accuracy)?;
        }
    }
    Ok(())
}

/// Trains on as many synthetic digits as the page does.
fn drawn(config: &RunConfig) -> Result<(), Failure> {
    let digits = synthetic::digits(0, DRAWN.0 as usize, DRAWN.1 as usize);
    let plan = Plan::new(config.clone(), DRAWN.0)?;
    let engine = CpuEngine::new(plan.task.clone(), digits.train, &plan.initial_parameters(), Performance::default())?;
    let mut session = Session::new(plan, engine)?;
    while !session.complete() {
        block_on(session.step())?;
        if is_shown(session.step_count()) {
            let accuracy = block_on(session.accuracy(&digits.test))?;
            write(config, DRAWN.0, session.step_count(), accuracy)?;
        }
    }
    Ok(())
}

fn is_shown(step: u64) -> bool {
    step.is_multiple_of(EVERY) || step.is_power_of_two()
}

/// Writes a line, with ε after `step` steps rounded up. The last line has the odds.
fn write(config: &RunConfig, train: u32, step: u64, accuracy: f64) -> Result<(), Failure> {
    let books = planned(config, train, step)?;
    let tight = if step == 0 { "0".to_owned() } else { upper(books.tight(config.delta)?.value, 5) };
    let odds = match config.steps {
        Some(end) if end == step => format!(",{}", label::odds(&books, config.delta)?.0),
        _ => String::new(),
    };
    Ok(writeln!(std::io::stdout(), "{step},{accuracy:.4},{tight}{odds}")?)
}
