//! `hushgrad calibrate`: finds noise scale, steps or rate for a target ε, or ranks noise families.
//! A custom density replaces the ledger's noise at its scale, and is ranked as well.

use std::error::Error;

use clap::ValueEnum;
use hushgrad::accounting::{
    PrivacyError,
    calibrate::{self, Method, Target},
    decimal::six_digits_up,
    decimal::upper,
    ledger::{Ledger, Release},
    noise::NoiseSpec,
    rdp::Orders,
    report::describe,
    search::{Criterion, Ranking, families, search},
};
use serde_json::{Value, json};

use super::{
    density,
    described::{Described, DescribedError},
    given, out,
};

#[derive(clap::Args)]
pub struct Arguments {
    /// Target ε
    #[arg(long)]
    epsilon: f64,
    #[arg(long, default_value_t = 1e-5)]
    delta: f64,
    /// Accountant that must confirm ε [default: tight, or improved where no tight price is known]
    #[arg(long, value_enum)]
    accountant: Option<Accountant>,
    /// Kinds of release whose noise is scaled, by number from 1; of several kinds [default: all]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    kinds: Vec<u32>,
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
    #[command(flatten)]
    training: Described,
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

impl From<Accountant> for Method {
    fn from(accountant: Accountant) -> Self {
        match accountant {
            Accountant::Classic => Self::Classic,
            Accountant::Improved => Self::Improved,
            Accountant::Tight => Self::Tight,
        }
    }
}

/// What is calibrated: equal releases, or a ledger with several kinds of release.
enum Calibrated {
    Steps(Release, Option<u64>),
    Kinds(Ledger),
}

/// Finds the largest or smallest value that keeps the target, rounded to the safe side.
///
/// # Errors
/// A file or options that cannot be read, or the reason why nothing reaches the target.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let training = &arguments.training;
    let density = arguments.density.density()?;
    let mut calibrated = match training.file() {
        None => Calibrated::Steps(training.step()?, training.steps()?),
        Some(file) => {
            let ledger = given::ledger(file)?;
            match ledger.releases() {
                [one] if one.parts.is_empty() && arguments.kinds.is_empty() => {
                    Calibrated::Steps(one.clone(), Some(training.steps()?.unwrap_or_else(|| ledger.steps())))
                }
                _ if training.steps()?.is_some() || density.is_some() => {
                    return Err("--steps and another noise need a ledger with one kind of release".into());
                }
                _ => Calibrated::Kinds(ledger),
            }
        }
    };
    if let (Some(density), Calibrated::Steps(release, _)) = (density, &mut calibrated) {
        let scale = release.noise.as_ref().map_or(1.0, NoiseSpec::scale);
        release.noise = Some(NoiseSpec::Custom { density, scale });
    }
    let find = |method: Method| {
        let target = Target { epsilon: arguments.epsilon, delta: arguments.delta, method, orders: Orders::All };
        found(arguments, &calibrated, &target)
    };
    let (text, json) = match arguments.accountant {
        Some(accountant) => find(accountant.into())?,
        // Families are compared by an accountant that prices them all.
        None if matches!(arguments.sought, Sought::Noise) => find(Method::Improved)?,
        None => match find(Method::Tight) {
            Err(error) if error.downcast_ref().is_some_and(is_unpriced) => find(Method::Improved)?,
            found => found?,
        },
    };
    out::say(if arguments.json { &json } else { &text })
}

/// True if another accountant may have an answer.
fn is_unpriced(error: &PrivacyError) -> bool {
    matches!(error, PrivacyError::Unpriced(_) | PrivacyError::TooMuchWork { .. } | PrivacyError::TooManyKinds { .. })
}

/// Returns the result as text and as JSON.
fn found(
    arguments: &Arguments,
    calibrated: &Calibrated,
    target: &Target<'_>,
) -> Result<(String, String), Box<dyn Error>> {
    let (by, name) = match target.method {
        Method::Classic => ("Rényi accounting with the classic conversion", "classic"),
        Method::Improved => ("Rényi accounting", "improved"),
        Method::Tight => ("tight accounting", "tight"),
    };
    let one = |what: &str, value: Value, epsilon: f64| {
        (
            format!("{what} {value}, by {by}: ε ≤ {}", upper(epsilon, 6)),
            json!({ "value": value, "epsilon": epsilon, "accountant": name }),
        )
    };
    let (text, json) = match (calibrated, arguments.sought) {
        (Calibrated::Kinds(ledger), Sought::Scale) => of_kinds(arguments, ledger, target, one)?,
        (Calibrated::Kinds(ledger), _) => {
            let kinds = ledger.releases().len();
            return Err(format!("only the scale of the noise can be found for {kinds} kinds of release at once").into());
        }
        (Calibrated::Steps(release, _), Sought::Steps) => {
            let found = calibrate::steps(release, target)?;
            one("steps", found.value.into(), found.epsilon)
        }
        (Calibrated::Steps(release, steps), sought) => {
            let steps = steps.ok_or(DescribedError::Missing("--steps or --epochs"))?;
            match sought {
                Sought::Scale | Sought::Steps => {
                    let found = calibrate::noise_scale(release, steps, target)?;
                    one("noise scale", found.value.into(), found.epsilon)
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
            }
        }
    };
    Ok((text, json.to_string()))
}

/// Finds one factor on the noise of several kinds of release.
fn of_kinds(
    arguments: &Arguments,
    ledger: &Ledger,
    target: &Target<'_>,
    one: impl Fn(&str, Value, f64) -> (String, Value),
) -> Result<(String, Value), Box<dyn Error>> {
    let known = ledger.releases().len();
    if let Some(kind) = arguments.kinds.iter().find(|&&kind| kind as usize > known) {
        return Err(format!("--kinds names kind {kind}; the ledger has {known}").into());
    }
    let kinds: Vec<usize> = arguments.kinds.iter().map(|&kind| kind as usize - 1).collect();
    let found = calibrate::noise_factor(ledger, &kinds, target)?;
    let scaled = ledger.with_noise_times(found.value, |kind| kinds.is_empty() || kinds.contains(&kind))?;
    let scales: Vec<f64> =
        scaled.releases().iter().filter_map(|release| Some(release.noise.as_ref()?.scale())).collect();
    let (mut text, mut json) = one("noise times", found.value.into(), found.epsilon);
    for (kind, scale) in (1..).zip(&scales) {
        text += &format!("\nkind {kind}: noise scale {scale}");
    }
    json["scales"] = json!(scales);
    Ok((text, json))
}

fn ranked(ranking: &Ranking) -> (String, Value) {
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
    (lines.join("\n"), json!({ "found": ranking.found, "refused": refused }))
}
