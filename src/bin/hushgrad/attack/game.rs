//! `hushgrad attack game`: simulates guessing which of N candidates was in, beside upper bounds.

use std::{error::Error, path::PathBuf};

use hushgrad::{accounting::decimal::upper, attack::game::Game};
use serde_json::json;

use super::{bar, setup::Run, show, told};
use crate::{given, out::say};

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    run: Run,
    /// Ledger to attack instead of a configuration; --examples is its number of training examples
    #[arg(long, value_name = "FILE", conflicts_with_all = OF_A_RUN)]
    ledger: Option<PathBuf>,
    /// Number of candidates, one of whom was in; several numbers play several games
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [10])]
    candidates: Vec<u32>,
    /// Number of training examples
    #[arg(long, default_value_t = 60_000)]
    examples: u32,
    /// Rounds to simulate; the standard error falls with their square root [default: enough for
    /// 50,000 scores]
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    rounds: Option<u32>,
    /// Seed of the simulation
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print one line of JSON per game
    #[arg(long)]
    json: bool,
}

/// Options that `--ledger` replaces.
const OF_A_RUN: [&str; 13] = [
    "config",
    "preset",
    "model",
    "clip",
    "sigma",
    "no_noise",
    "lot",
    "sampling",
    "learning_rate",
    "momentum",
    "steps",
    "epochs",
    "replay",
];

/// Scores between updates of the progress bar.
const SLICE: u32 = 64;

/// Plays a game for each number of candidates.
///
/// # Errors
/// A sentence that says what to change.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let Arguments { examples, seed, json, .. } = *arguments;
    let config = arguments.run.configuration(examples.max(1))?;
    let ledger = arguments.ledger.as_deref().map(given::ledger).transpose()?;
    let mut said = false;
    for &candidates in &arguments.candidates {
        let mut game = match &ledger {
            Some(ledger) => Game::of(ledger, config.delta, examples.into(), candidates, seed)?,
            None => Game::new(&config, examples, candidates, seed)?,
        };
        if let Some(rounds) = arguments.rounds {
            game.set_rounds(rounds);
        }
        let bar = bar(json, "scores")?;
        loop {
            let progress = game.advance(SLICE)?;
            show(&bar, progress);
            if progress.complete() {
                break;
            }
        }
        bar.finish_and_clear();
        let outcome = game.outcome().ok_or("no round was played; choose --rounds 2 or more")?;
        let roc = game.roc()?;
        if json {
            say(&json!({ "outcome": outcome, "auc": roc.auc(), "roc": told::chart(&roc) }).to_string())?;
            continue;
        }
        if !said {
            say(&format!(
                "the run costs ε ≤ {} at δ = {:e}, by tight accounting\n\
                 candidates   the attack names the right one   upper bound, any attack     (by ε and δ alone)   by chance",
                upper(outcome.epsilon, 4),
                outcome.delta
            ))?;
            said = true;
        }
        say(&format!(
            "{:>10}   {:>7.2} ± {:.2} %                 {:>7.2} %                   {:>7.2} %            {:>7.2} %",
            outcome.candidates,
            100.0 * outcome.attack.value,
            100.0 * outcome.attack.standard_error,
            100.0 * outcome.bound,
            100.0 * outcome.bound_of_epsilon,
            100.0 * outcome.chance
        ))?;
    }
    Ok(())
}
