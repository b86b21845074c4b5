//! `hushgrad attack`: attacks on a run, compared with what ε allows.

use std::{error::Error, io::IsTerminal as _};

use hushgrad::attack::Progress;
use indicatif::{ProgressBar, ProgressStyle};

mod game;
mod invert;
mod lira;
mod membership;
mod setup;
mod told;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Membership inference by the final model's loss, on mislabelled digits, each in by a coin
    Membership(membership::Arguments),
    /// Guess which of N candidates was in, from all that a run releases: simulated success and its
    /// upper bound
    Game(game::Arguments),
    /// Reconstruct an image from one gradient of a perceptron, under increasing noise
    Invert(invert::Arguments),
    /// Membership inference with shadow models (LiRA), on ordinary digits
    Lira(lira::Arguments),
}

/// Runs the chosen attack.
///
/// # Errors
/// A sentence that says what to change.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    match &arguments.what {
        What::Membership(arguments) => pollster::block_on(membership::run(arguments)),
        What::Game(arguments) => game::run(arguments),
        What::Invert(arguments) => invert::run(arguments),
        What::Lira(arguments) => pollster::block_on(lira::run(arguments)),
    }
}

/// Returns a progress bar that counts in `unit`; hidden for JSON or without a terminal.
fn bar(json: bool, unit: &str) -> Result<ProgressBar, Box<dyn Error>> {
    let bar = if json || !std::io::stderr().is_terminal() { ProgressBar::hidden() } else { ProgressBar::new(1) };
    let template = ["{bar:40} {pos}/{len} ", unit, " {elapsed}/{duration}"].concat();
    bar.set_style(ProgressStyle::with_template(&template)?);
    Ok(bar)
}

fn show(bar: &ProgressBar, progress: Progress) {
    bar.set_length(progress.of);
    bar.set_position(progress.done);
}
