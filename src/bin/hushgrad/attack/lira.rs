//! `hushgrad attack lira`: the likelihood ratio attack with shadow models, on ordinary digits.

use std::error::Error;

use hushgrad::{
    attack::lira::{Lira, Shadows},
    engine::EngineFactory,
};
use serde_json::json;

use super::{
    bar,
    setup::{Data, Run},
    show, told,
};
use crate::out::say;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    run: Run,
    #[command(flatten)]
    data: Data,
    /// Number of records; each model trains on its own random half
    #[arg(long, default_value_t = 2000)]
    records: u32,
    /// Shadow models, besides the attacked one
    #[arg(long, default_value_t = 32)]
    models: u32,
    /// Seed that selects records and coins
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// CPU threads [default: all]
    #[arg(long)]
    threads: Option<u32>,
    /// One line of JSON
    #[arg(long)]
    json: bool,
}

/// Steps between updates of the progress bar.
const SLICE: u32 = 8;

/// Trains all models and attacks the last.
///
/// # Errors
/// A sentence that says what to change.
pub async fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let Arguments { records, models, seed, .. } = *arguments;
    let shadows = Shadows { records, models, seed };
    let config = arguments.run.configuration(records.max(1))?;
    let train = arguments.data.train()?;
    let mut factory = EngineFactory::cpu();
    factory.threads(arguments.threads);
    let bar = bar(arguments.json, "steps")?;
    let mut attack = Lira::new(factory, &train, config.clone(), &shadows)?;
    loop {
        let progress = attack.advance(SLICE).await?;
        show(&bar, progress);
        if progress.complete() {
            break;
        }
    }
    bar.finish_and_clear();
    let found = attack.found()?.ok_or("no model was trained; choose --steps 1 or more")?;
    if arguments.json {
        let line = json!({ "data": train.name, "shadows": shadows, "config": config, "told": told::json(&found) });
        return say(&line.to_string());
    }
    let title = format!(
        "{} trained on about half of {records} records of {}, with {models} shadow models",
        config.model, train.name
    );
    say(&[&title, told::HEAD, &told::row("ordinary", &found)].join("\n"))
}
