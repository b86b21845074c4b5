//! `hushgrad calibrate`: finds noise scale, steps or rate for a target ε, or ranks noise families.
//! A custom density replaces the ledger's noise at its scale, and is ranked as well.

use std::{error::Error, path::PathBuf};

use clap::ValueEnum;
use hushgrad::accounting::{
    calibrate::{self, Method, Target},
    decimal::six_digits_up,
    decimal::upper,
    ledger::Release,
    noise::NoiseSpec,
    rdp::Orders,
    report::describe,
    search::{Criterion, Ranking, families, search},
};
use serde_json::{Value, json};

use super::{density, given, out};

#[derive(clap::Args)]
pub struct Arguments {
    /// Ledger with one kind of release, to calibrate
    ledger: PathBuf,
    /// Target ε
    #[arg(long)]
    epsilon: f64,
    #[arg(long, default_value_t = 1e-5)]
    delta: f64,
    /// Number of releases [default: the ledger's]
    #[arg(long)]
    steps: Option<u64>,
    #[arg(long, value_enum, default_value_t = Accountant::Improved)]
    accountant: Accountant,
    /// What to find
    #[arg(long = "for", value_enum, default_value_t = Sought::Scale)]
    sought: Sought,
    #[command(flatten)]
    density: density::OwnDensity,
    /// Error that ranks noise families: `mean-absolute`, `root-mean-square`, or a probability p
    /// (for the p-quantile of |Z|)
    #[arg(long, value_name = "ERROR", value_parser = criterion, default_value = "root-mean-square")]
    by: Criterion,
    /// One line of JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Accountant {
    /// Rényi, classic conversion
    Classic,
    /// Rényi, improved conversion
    Improved,
    /// Privacy loss distributions
    Tight,
}

#[derive(Clone, Copy, ValueEnum)]
enum Sought {
    /// The smallest scale of the ledger's noise
    Scale,
    /// The largest number of steps
    Steps,
    /// The largest Poisson rate
    Rate,
    /// Every noise family at its smallest scale, by increasing error
    Noise,
}

fn criterion(text: &str) -> Result<Criterion, String> {
    match text {
        "mean-absolute" => Ok(Criterion::MeanAbsolute),
        "root-mean-square" => Ok(Criterion::RootMeanSquare),
        _ => text
            .parse()
            .map(Criterion::Quantile)
            .map_err(|_| "it must be mean-absolute, root-mean-square, or a probability".to_owned()),
    }
}

/// Finds the largest or smallest value that keeps the target, rounded to the safe side.
///
/// # Errors
/// A ledger with several kinds of release, or the reason why nothing reaches the target.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let ledger = given::ledger(&arguments.ledger)?;
    let [recorded] = ledger.releases() else {
        let kinds = ledger.releases().len();
        return Err(format!("{}: it must have one kind of release, not {kinds}", arguments.ledger.display()).into());
    };
    let mut release = recorded.clone();
    if let Some(density) = arguments.density.density()? {
        release.noise =
            Some(NoiseSpec::Custom { density, scale: recorded.noise.as_ref().map_or(1.0, NoiseSpec::scale) });
    }
    let steps = arguments.steps.unwrap_or_else(|| ledger.steps());
    let method = match arguments.accountant {
        Accountant::Classic => Method::Classic,
        Accountant::Improved => Method::Improved,
        Accountant::Tight => Method::Tight,
    };
    let target = Target { epsilon: arguments.epsilon, delta: arguments.delta, method, orders: Orders::All };
    let (text, json) = found(arguments, &release, steps, &target)?;
    out::say(if arguments.json { &json } else { &text })
}

/// Returns the result as text and as JSON.
fn found(
    arguments: &Arguments,
    release: &Release,
    steps: u64,
    target: &Target<'_>,
) -> Result<(String, String), Box<dyn Error>> {
    let one = |what: &str, value: Value, epsilon: f64| {
        (
            format!("{what} {value}: ε ≤ {}", upper(epsilon, 6)),
            json!({ "value": value, "epsilon": epsilon }).to_string(),
        )
    };
    Ok(match arguments.sought {
        Sought::Scale => {
            let found = calibrate::noise_scale(release, steps, target)?;
            one("noise scale", found.value.into(), found.epsilon)
        }
        Sought::Steps => {
            let found = calibrate::steps(release, target)?;
            one("steps", found.value.into(), found.epsilon)
        }
        Sought::Rate => {
            let found = calibrate::rate(release, steps, target)?;
            one("rate", found.value.into(), found.epsilon)
        }
        Sought::Noise => {
            let own = release.noise.iter().filter(|noise| matches!(noise, NoiseSpec::Custom { .. })).cloned();
            let families: Vec<NoiseSpec> = families().into_iter().chain(own).collect();
            ranked(&search(release, steps, target, arguments.by, &families)?)
        }
    })
}

fn ranked(ranking: &Ranking) -> (String, String) {
    let mut lines: Vec<String> = ranking
        .found
        .iter()
        .map(|candidate| {
            // A rounded scale must not be smaller than the exact one.
            let shown = candidate.noise.with_scale(six_digits_up(candidate.noise.scale()));
            let (noise, error) = (describe(&shown), candidate.error);
            format!(
                "error {error:.6}  E|Z| {:.6}  √E(Z²) {:.6}  ε ≤ {}  {noise}",
                candidate.mean_absolute,
                candidate.standard_deviation,
                upper(candidate.epsilon, 6)
            )
        })
        .collect();
    lines.extend(ranking.refused.iter().map(|(noise, reason)| format!("no scale for {}: {reason}", noise.family())));
    let refused: Vec<Value> =
        ranking.refused.iter().map(|(noise, reason)| json!({ "noise": noise, "reason": reason.to_string() })).collect();
    (lines.join("\n"), json!({ "found": ranking.found, "refused": refused }).to_string())
}
