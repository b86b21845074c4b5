//! `hushgrad label`: the privacy label of a run file or a ledger.

use std::{error::Error, path::PathBuf};

use hushgrad::{
    accounting::{books::Books, composition, decimal::upper, ledger::Ledger, sampling::NeighbouringRelation},
    train::{
        label::{self, Format, PrivacyLabel, Subject},
        record::Record,
    },
};

use super::{given, out::say};

#[derive(clap::Args)]
pub struct Arguments {
    /// Run file or ledger, written by `hushgrad train` or the page
    file: PathBuf,
    #[arg(long, value_enum, default_value_t = Form::Md)]
    format: Form,
    /// δ of a ledger; a run file has its own [default: 1e-5]
    #[arg(long)]
    delta: Option<f64>,
    /// Another run on the same data (run file or ledger), to be counted together; may be repeated
    #[arg(long, value_name = "FILE")]
    with: Vec<PathBuf>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Form {
    /// HTML page, to print
    Html,
    /// Markdown
    Md,
    /// Entry for OpenDP's registry of deployments
    Yaml,
}

/// Writes the label to standard output.
///
/// # Errors
/// If a file cannot be read or is impossible, or the runs cannot be composed.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let given = given::run_or_ledger(&arguments.file)?;
    let delta = given::delta(&given, arguments.delta)?;
    let Record { card, ledger } = given;
    let books = ledger.clone().map(Books::of).transpose()?;
    let together = together(ledger, &arguments.with, delta)?;
    let subject = Subject { card: card.as_ref(), together: &together };
    let label = PrivacyLabel::new(books.as_ref(), delta, subject)?;
    let format = match arguments.format {
        Form::Html => Format::Html,
        Form::Md => Format::Markdown,
        Form::Yaml => Format::Registry,
    };
    say(label::write(&label, format).trim_end())
}

/// States the cost of all runs together in a sentence; empty if there is only one run.
fn together(own: Option<Ledger>, others: &[PathBuf], delta: f64) -> Result<String, Box<dyn Error>> {
    if others.is_empty() {
        return Ok(String::new());
    }
    let runs = others.len() + 1;
    let mut ledgers = vec![own];
    for file in others {
        ledgers.push(given::run_or_ledger(file)?.ledger);
    }
    let known: Vec<&Ledger> = ledgers.iter().flatten().collect();
    if known.len() < runs {
        return Ok(format!(
            "All {runs} runs on these data together: no guarantee, as {} of them had none.",
            runs - known.len()
        ));
    }
    let total = composition::total_per_example(&known, delta)?;
    let which = if total.neighbours == NeighbouringRelation::ReplaceOne { ", replace one" } else { "" };
    Ok(format!("All {runs} runs on these data together: ε ≤ {} at δ = {delta:e}{which}.", upper(total.epsilon, 3)))
}
