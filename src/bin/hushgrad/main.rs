//! The native tool: the same runs as the page, on the command line.

#[cfg(not(target_arch = "wasm32"))]
mod account;
#[cfg(not(target_arch = "wasm32"))]
mod anneal;
#[cfg(not(target_arch = "wasm32"))]
mod attack;
#[cfg(not(target_arch = "wasm32"))]
mod audit;
#[cfg(not(target_arch = "wasm32"))]
mod calibrate;
#[cfg(not(target_arch = "wasm32"))]
mod data;
#[cfg(not(target_arch = "wasm32"))]
mod dataset;
#[cfg(not(target_arch = "wasm32"))]
mod density;
#[cfg(not(target_arch = "wasm32"))]
mod described;
#[cfg(not(target_arch = "wasm32"))]
mod distort;
#[cfg(not(target_arch = "wasm32"))]
mod export;
#[cfg(not(target_arch = "wasm32"))]
mod functional;
#[cfg(not(target_arch = "wasm32"))]
mod given;
#[cfg(not(target_arch = "wasm32"))]
mod hidden;
#[cfg(not(target_arch = "wasm32"))]
mod label;
#[cfg(not(target_arch = "wasm32"))]
mod measured;
#[cfg(not(target_arch = "wasm32"))]
mod out;
#[cfg(not(target_arch = "wasm32"))]
mod pretrain;
#[cfg(not(target_arch = "wasm32"))]
mod reproduce;
#[cfg(not(target_arch = "wasm32"))]
#[path = "../../../xtask/src/bench/sections.rs"]
mod sections;
#[cfg(not(target_arch = "wasm32"))]
mod train;
#[cfg(not(target_arch = "wasm32"))]
mod words;

#[cfg(target_arch = "wasm32")]
fn main() {}

#[cfg(not(target_arch = "wasm32"))]
fn main() -> std::process::ExitCode {
    use std::io::Write as _;

    use clap::{Parser, Subcommand};

    /// Train small models on MNIST with differential privacy, and account for what was released.
    #[derive(Parser)]
    #[command(version)]
    struct Arguments {
        #[command(subcommand)]
        command: Command,
    }

    #[derive(Subcommand)]
    enum Command {
        /// Train a model; report accuracy and ε as it goes
        Train(Box<train::Arguments>),
        /// List the graphics adapters that `train --backend gpu --adapter` chooses from
        Adapters,
        /// Print what is read of a folder or an archive of images
        Data(data::Arguments),
        /// Compute ε of a run, or of a training elsewhere
        Account(account::Arguments),
        /// Write a run or a ledger for another library: an event of dp_accounting, or a script
        Export(export::Arguments),
        /// Write the privacy label of a run or a ledger
        Label(label::Arguments),
        /// Audit your own run: empirical lower bounds on ε, optionally with an injected bug
        Audit(Box<audit::Arguments>),
        /// Find the noise scale, number of steps or sampling rate for a target ε
        Calibrate(calibrate::Arguments),
        /// Search for the best noise in each phase of a run at a fixed ε, on synthetic digits
        Anneal(anneal::Arguments),
        /// Attack a run, or what it would release, and compare the result with what ε allows
        Attack(Box<attack::Arguments>),
        /// Functional mechanism: one noisy release of the sufficient statistics, then free training
        Functional(functional::Arguments),
        /// Noisy gradient descent on all images, of which only the last model is released
        Hidden(hidden::Arguments),
        /// Repeat the project's published measurements
        Reproduce(reproduce::Arguments),
        /// Create the program's pre-trained parameters from synthetic images
        Pretrain(pretrain::Arguments),
    }

    let done = match Arguments::parse_from(words::joined(std::env::args_os())).command {
        Command::Train(arguments) => match train::run(&arguments) {
            Ok(status) => return status,
            Err(error) => Err(error),
        },
        Command::Adapters => train::list_adapters(),
        Command::Data(arguments) => data::run(&arguments),
        Command::Account(arguments) => account::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Label(arguments) => label::run(&arguments),
        Command::Audit(arguments) => audit::run(&arguments),
        Command::Calibrate(arguments) => calibrate::run(&arguments),
        Command::Anneal(arguments) => anneal::run(&arguments),
        Command::Attack(arguments) => attack::run(&arguments),
        Command::Functional(arguments) => functional::run(&arguments),
        Command::Hidden(arguments) => hidden::run(&arguments),
        Command::Reproduce(arguments) => reproduce::run(&arguments),
        Command::Pretrain(arguments) => pretrain::run(&arguments),
    };
    match done {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            // A closed standard error is ignored.
            let _ = writeln!(std::io::stderr(), "hushgrad: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}
