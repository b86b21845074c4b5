//! `hushgrad hidden`: noisy gradient descent of which only the last model is released.

use std::{error::Error, path::PathBuf, time::Instant};

use hushgrad::{
    accounting::{books::account, decimal::upper},
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
    functional::{Kind, Records},
    out::say,
    train::found,
};

#[derive(clap::Args)]
pub struct Arguments {
    /// ε of the last model
    #[arg(long, default_value_t = 1.0)]
    epsilon: f64,
    #[arg(long, default_value_t = 1e-5)]
    delta: f64,
    #[arg(long, value_enum, default_value = "pixels-14")]
    features: Kind,
    /// λ: the loss has ½λ‖w‖² added, which makes it strongly convex
    #[arg(long, default_value_t = STRONG_CONVEXITY)]
    lambda: f64,
    /// Steps on all images, whose models are shown to nobody
    #[arg(long, default_value_t = STEPS)]
    steps: u64,
    /// Folder or file of images, as for `train` [default: MNIST, as `train` finds it]
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// Use synthetic digits
    #[arg(long, conflicts_with = "data")]
    synthetic: bool,
    /// Write the ledger here, before anything is released
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// Record the training in these books (as for `train`), before it is released
    #[arg(long, value_name = "FILE")]
    books: Option<PathBuf>,
    /// One line of JSON
    #[arg(long)]
    json: bool,
}

/// Trains, releases the last model and reports.
///
/// # Errors
/// A sentence that says what to change.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let &Arguments { epsilon, delta, lambda, steps, .. } = arguments;
    let budget = HiddenBudget { epsilon, delta, strong_convexity: lambda, steps };
    // Checks the numbers before anything is read.
    budget.price(1)?;
    let records = Records::claim(arguments.ledger.as_deref(), arguments.books.as_deref())?;
    let features = arguments.features.map();
    let map = Map::new(features, Ball::L2);
    let Digits { train, test, .. } = found(arguments.data.as_deref(), arguments.synthetic)?;
    let price = budget.price(train.len() as u64)?;
    let ledger = price.ledger(1)?;
    let mut records = records.of(&train, format!("hidden steps: {}", features.key()))?;

    let start = Instant::now();
    let mut training = HiddenTraining::new(price.clone(), map.dimension())?;
    training.read(&map, &train, usize::MAX)?;
    let bar = if arguments.json { ProgressBar::hidden() } else { ProgressBar::new(steps) };
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
    let [shown, _] = price.curves(delta, 1)?;
    let shown = shown[0].1;
    let setting = price.descent().setting();
    if arguments.json {
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
