//! `hushgrad hidden`: noisy gradient descent of which only the last model is released.

use std::{error::Error, time::Instant};

use hushgrad::{
    accounting::{books::account, decimal::upper, ledger::Ledger},
    data::Digits,
    train::functional::{
        features::{Ball, Map},
        head::Trial,
        hidden::{HiddenBudget, HiddenTraining, STEPS, STRONG_CONVEXITY},
    },
};
use indicatif::ProgressBar;
use serde_json::json;

use crate::{
    functional::{Once, Records},
    out::say,
    train::found,
};

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    once: Once,
    /// λ: the loss has ½λ‖w‖² added, which makes it strongly convex
    #[arg(long, default_value_t = STRONG_CONVEXITY)]
    lambda: f64,
    /// Steps on all images, whose models are shown to nobody
    #[arg(long, default_value_t = STEPS)]
    steps: u64,
}

/// Trains, releases the last model and reports.
///
/// # Errors
/// A sentence that says what to change.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let &Arguments { ref once, lambda, steps } = arguments;
    let &Once { epsilon, delta, .. } = once;
    let budget = HiddenBudget { epsilon, delta, strong_convexity: lambda, steps };
    // Checks the numbers before anything is read.
    budget.price(1)?;
    let records = Records::claim(once)?;
    let features = once.features.map();
    let map = Map::new(features, Ball::L2);
    let Digits { train, test, .. } = found(once.data.as_deref(), once.synthetic)?;
    let price = budget.price(train.len() as u64)?;
    let ledger = Ledger::of([(price.release.clone(), 1)])?;
    let mut records = records.of(&train, format!("hidden steps: {}", features.key()))?;

    let start = Instant::now();
    let mut training = HiddenTraining::new(price.clone(), map.dimension())?;
    training.read(&map, &train, usize::MAX)?;
    let bar = if once.json { ProgressBar::hidden() } else { ProgressBar::new(steps) };
    while !training.is_done() {
        training.advance()?;
        bar.set_position(training.steps());
    }
    bar.finish_and_clear();
    records.enter(Some(&ledger))?;
    let accuracy = Trial::of(&map, &test)?.accuracy(training.release()?);
    let seconds = start.elapsed().as_secs_f64();
    records.tell(delta)?;

    let spent = account(&ledger, delta)?.improved.epsilon;
    let [shown, _] = price.curves(delta, 1);
    let shown = shown[0].1;
    let setting = price.descent().setting();
    if once.json {
        return say(&json!({
            "features": features.key(), "dimension": map.dimension(), "steps": steps, "lambda": lambda,
            "noise": setting.noise, "step-size": setting.step_size, "epsilon": spent, "delta": delta,
            "epsilon-if-shown": shown, "crossover": price.descent().crossover(), "accuracy": accuracy, "seconds": seconds,
        })
        .to_string());
    }
    say(&format!(
        "the last model of {steps} steps on {} features ({}): ε ≤ {} at δ = {delta:e}\n\
         test accuracy {:.2} %\n\
         had all {steps} models been shown: ε ≤ {}; from step {:.0} on hiding them costs less\n\
         {seconds:.1} s",
        map.dimension(),
        features.key(),
        upper(spent, 6),
        100.0 * accuracy,
        upper(shown, 6),
        price.descent().crossover().ceil(),
    ))
}
