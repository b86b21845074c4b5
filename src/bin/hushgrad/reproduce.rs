//! `hushgrad reproduce`: repeats the project's published measurements.

use std::error::Error;

mod accuracy;
mod cifar;
mod figures;
mod methods;
mod results_log;
mod tuned;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Accuracy on MNIST of every preset with a budget, over seeds; writes the table
    Accuracy(accuracy::Arguments),
    /// The paper's figures and its headline on MNIST: tuned, over seeds, as CSV, SVG and tables
    Figures(figures::Arguments),
    /// Compare each mechanism with plain DP-SGD at the same ε, each at its best learning rate, over
    /// seeds; writes the table
    Methods(methods::Arguments),
    /// Compare the envelope with DP-SGD on CIFAR-10 (`--data`) at the same ε, each at its best
    /// learning rate, over seeds
    Cifar(cifar::Arguments),
}

/// Runs the chosen measurement.
///
/// # Errors
/// A sentence that says what to change.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    match &arguments.what {
        What::Accuracy(arguments) => accuracy::run(arguments),
        What::Figures(arguments) => figures::run(arguments),
        What::Methods(arguments) => methods::run(arguments),
        What::Cifar(arguments) => cifar::run(arguments),
    }
}
