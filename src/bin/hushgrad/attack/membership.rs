//! `hushgrad attack membership`: loss-threshold membership inference on mislabelled digits.

use std::error::Error;

use hushgrad::{
    attack::membership::{Membership, MembershipReport, MembershipTarget},
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
    /// Approximate number of records that the model is trained on
    #[arg(long, default_value_t = 2000)]
    records: u32,
    /// Mislabelled candidates, each in or out by a fair coin
    #[arg(long, default_value_t = 1000)]
    mislabelled: u32,
    /// Correctly labelled candidates, for comparison
    #[arg(long, default_value_t = 500)]
    labelled: u32,
    /// Seed that selects candidates, labels and coins
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

/// Trains and attacks.
///
/// # Errors
/// A sentence that says what to change.
pub async fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let Arguments { records, mislabelled, labelled, seed, .. } = *arguments;
    let sought = MembershipTarget { records, mislabelled, labelled, seed };
    let config = arguments.run.configuration(sought.examples()?)?;
    let train = arguments.data.train()?;
    let mut factory = EngineFactory::cpu();
    factory.threads(arguments.threads);
    let bar = bar(arguments.json, "steps")?;
    let mut attack = Membership::new(&factory, &train, config.clone(), &sought, None).await?;
    loop {
        let progress = attack.advance(SLICE).await?;
        show(&bar, progress);
        if progress.complete() {
            break;
        }
    }
    bar.finish_and_clear();
    let found = attack.found().await?;
    if arguments.json {
        let MembershipReport { epsilon, delta, steps, replayed, .. } = found;
        let line = json!({
            "data": train.name, "sought": sought, "config": config, "steps": steps, "epsilon-at-most": epsilon, "delta": delta, "replayed": replayed,
            "mislabelled": told::json(&found.mislabelled), "labelled": found.labelled.as_ref().map(told::json),
        });
        return say(&line.to_string());
    }
    let mut lines = vec![
        format!(
            "{} trained on about {records} records of {} ({} steps): {}",
            config.model,
            train.name,
            found.steps,
            told::cost(found.epsilon, found.delta, found.replayed)
        ),
        told::HEAD.to_owned(),
        told::row("mislabelled", &found.mislabelled),
    ];
    lines.extend(found.labelled.as_ref().map(|labelled| told::row("correctly labelled", labelled)));
    say(&lines.join("\n"))
}
