//! `hushgrad audit`: trains with canaries, bounds ε from below, and checks for broken promises.

use std::{error::Error, io::IsTerminal as _, time::Instant};

use hushgrad::{
    accounting::{
        audit::{SIGNIFICANCE, clopper_pearson_lower},
        books::Books,
        decimal::{lower, upper},
        error::PrivacyError,
        report::Account,
    },
    data::Dataset,
    engine::EngineFactory,
    mechanism::EncoderSpec,
    train::{
        audit::{InjectedBug, most_canaries},
        config::RunConfig,
        plan::Plan,
        session::Session,
    },
    ui::settings::Number,
};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde_json::json;

use super::{
    dataset::fitted,
    measured::moments,
    out::say,
    train::{
        Machine,
        flags::Flags,
        said::{count, tell},
        settings::{self, Sizes},
    },
};

/// Default number of canaries, unless fewer are allowed.
const CANARIES: u32 = 1000;
/// The same for an envelope, whose canaries need many coordinates each.
const DENSE_CANARIES: u32 = 100;

/// The assumptions of each bound, in the order of `LowerBounds::each`.
const BOUNDS: [(&str, &str); 5] = [
    ("guesses", "assumes nothing of the run (Steinke, Nasr & Jagielski 2023)"),
    ("gaussian", "if the run is Gaussian differentially private (Mahloujifar et al. 2024)"),
    ("curve", "the same, if the run's noise is of its family, at any scale"),
    ("rates", "at five thresholds, if canaries are independent and noise is of that family (Clopper & Pearson 1934)"),
    ("steps", "by single steps; assumes that sampling and composition are right (Nasr et al. 2023)"),
];

/// The options of a run as `train` has them, and the auditor's.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    flags: Flags,
    /// Inject a bug that the accountant does not know of: half-noise, double-clip, double-sampling,
    /// fixed-batches, drawn-lot, noise-of-mean or count-unpaid
    #[arg(long, value_name = "NAME", value_parser = mutation)]
    mutate: Option<InjectedBug>,
    /// Number of runs, each with its own coins, lots and noise
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    runs: u32,
    /// Compute only the two bounds from guesses, which need no accountant
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    machine: Machine,
    /// Print a line of JSON per run, and one about all if there are several; no progress bar
    #[arg(long)]
    json: bool,
}

fn mutation(name: &str) -> Result<InjectedBug, String> {
    let named = InjectedBug::ALL.into_iter().find(|mutation| mutation.name() == name);
    named.ok_or_else(|| format!("bugs that can be injected are {}", InjectedBug::ALL.map(InjectedBug::name).join(", ")))
}

/// A run's claim: upper bounds on ε.
#[derive(Clone, Copy, Debug, Serialize)]
struct Claim {
    /// By tight accounting if it applies, else by Rényi accounting.
    tight: f64,
    classic: f64,
    delta: f64,
}

/// The results of one run.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Found {
    run: u32,
    /// The broken promise.
    #[serde(skip_serializing_if = "Option::is_none")]
    broken: Option<InjectedBug>,
    /// `None` if the run claims no guarantee.
    claim: Option<Claim>,
    /// In the order of `BOUNDS`; `None` for a bound that was not computed.
    bounds: [Option<f64>; 5],
    /// True if a bound exceeds the claim.
    refuted: bool,
    canaries: usize,
    /// Number of canaries that are in.
    members: usize,
    guesses: u32,
    right: u32,
    auc: f64,
    steps: u64,
    seconds: f64,
}

/// Trains, attacks and reports.
///
/// # Errors
/// A sentence that says what to change.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    settings::check(&arguments.flags, None)?;
    let digits = arguments.flags.images.found()?;
    let examples = digits.train.len();
    let config = fitted(config(&arguments.flags, Sizes::of(&digits.train))?, &digits, arguments.flags.layers)?;
    let plan = Plan::new(config, examples as u32)?;
    let steps = plan.config.steps.ok_or("the run has no number of steps; set --steps")?;
    if let Some(refused) = arguments.mutate.and_then(|mutation| mutation.refused(&plan)) {
        return Err(format!("--mutate: {refused}").into());
    }
    if !arguments.json {
        tell(&format!(
            "{} canaries added to {} training examples of {}, {}",
            plan.config.canaries,
            examples,
            digits.train.name,
            count(steps, "step")
        ));
        if let Some(mutation) = arguments.mutate {
            tell(&format!("injected bug, hidden from the accountant; it breaks the promise: {}", mutation.promise()));
        }
    }
    let bar = if arguments.json || !std::io::stderr().is_terminal() {
        ProgressBar::hidden()
    } else {
        ProgressBar::new(steps * u64::from(arguments.runs))
    };
    bar.set_style(ProgressStyle::with_template("{bar:40} {pos}/{len} {elapsed}/{duration} {msg}")?);
    let seen = plan.config.minority.among(&digits.train);
    let factory = pollster::block_on(arguments.machine.factory())?;
    let mut all = Vec::new();
    for run in 1..=arguments.runs {
        let found = pollster::block_on(attack(arguments, run, plan.clone(), &seen, &factory, &bar))?;
        if arguments.json {
            say(&serde_json::to_string(&found)?)?;
        } else if arguments.runs == 1 {
            bar.finish_and_clear();
            say(&one(&found))?;
        } else {
            let bounds: Vec<String> = found.bounds.iter().map(|bound| short(*bound)).collect();
            bar.suspend(|| tell(&format!("run {run}: ε ≥ {}", bounds.join("  "))));
        }
        all.push(found);
    }
    bar.finish_and_clear();
    if arguments.runs > 1 {
        say(&if arguments.json { together_json(&all).to_string() } else { together(&all)? })?;
    }
    Ok(())
}

/// Returns the configuration to audit.
fn config(flags: &Flags, sizes: Sizes) -> Result<RunConfig, Box<dyn Error>> {
    if flags.settings.number(Number::Canaries) == Some(0.0) {
        return Err("an audit needs canaries; choose --canaries 1 or more".into());
    }
    let mut config = settings::configuration(flags, sizes, None)?;
    if config.canaries == 0 {
        let dense = matches!(config.encoder, EncoderSpec::Envelope { .. });
        let wanted = if dense { DENSE_CANARIES } else { CANARIES };
        config.canaries = wanted.min(most_canaries(&config, sizes.examples as u32));
    }
    Ok(config)
}

/// Trains once and evaluates the canaries' scores.
async fn attack(
    arguments: &Arguments,
    run: u32,
    plan: Plan,
    train: &Dataset,
    factory: &EngineFactory,
    bar: &ProgressBar,
) -> Result<Found, Box<dyn Error>> {
    let start = Instant::now();
    let delta = plan.config.delta;
    let engine = factory.build(&plan.task, train, &plan.initial_parameters()).await?;
    let mut session = Session::new(plan, engine)?;
    if let Some(mutation) = arguments.mutate {
        session.inject_bug(mutation)?;
    }
    bar.set_message("");
    while !session.complete() {
        session.step().await?;
        bar.inc(1);
    }
    bar.set_message("evaluating the evidence");
    let (evidence, steps) = session.evidence().ok_or("the run has no canaries")?;
    let claim = session.ledger().map(|ledger| claim(&Books::of(ledger.clone())?, delta)).transpose()?;
    let bounds = match session.ledger() {
        Some(ledger) if !arguments.quick => evidence.bounds(ledger, delta)?,
        _ => evidence.quick_bounds(delta)?,
    };
    let guesses = evidence.guesses()?;
    let tight = claim.map_or(f64::INFINITY, |claim| claim.tight);
    Ok(Found {
        run,
        broken: arguments.mutate,
        claim,
        bounds: bounds.each(),
        refuted: bounds.exceed(tight),
        canaries: evidence.scores.len(),
        members: evidence.scores.iter().filter(|(_, is_in)| *is_in).count(),
        guesses: guesses.made(),
        right: guesses.right(),
        auc: evidence.auc(),
        steps,
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// The claim of these books.
fn claim(books: &Books, delta: f64) -> Result<Claim, PrivacyError> {
    let Account { classic, improved, tight, .. } = books.account(delta)?;
    Ok(Claim { tight: tight.map_or(improved.epsilon, |tight| tight.value), classic: classic.epsilon, delta })
}

/// Formats a lower bound.
fn short(bound: Option<f64>) -> String {
    bound.map_or_else(|| "–".to_owned(), |bound| lower(bound, 3))
}

fn claimed(found: &Found) -> String {
    match found.claim {
        Some(Claim { tight, classic, delta }) => {
            format!("claimed   ε ≤ {} (classic {}) at δ = {delta:e}", upper(tight, 3), upper(classic, 3))
        }
        None => "claimed   no ε: what the run reveals grows without limit with the steps".to_owned(),
    }
}

/// A line per bound: name, value and assumption.
fn rows(of: impl Fn(usize) -> String) -> String {
    let row = |(place, (name, rests))| format!("{name:<9} {:<24} {rests}", of(place));
    let rows: Vec<String> = BOUNDS.into_iter().enumerate().map(row).collect();
    rows.join("\n")
}

/// One run as a table.
fn one(found: &Found) -> String {
    let Found { canaries, members, guesses, right, .. } = *found;
    let wrong = guesses - right;
    let share = |some: u32, of: usize| 100.0 * f64::from(some) / of.max(1) as f64;
    let verdict = match (found.claim, found.refuted, found.broken) {
        (None, ..) => "nothing was claimed, so nothing is refuted".to_owned(),
        (Some(_), true, Some(broken)) => format!("the claim is refuted; broken promise: {}", broken.promise()),
        (Some(_), true, None) => {
            "a bound exceeds the claim: by chance (for each bound, at most one run in twenty), or because a promise is not kept"
                .to_owned()
        }
        (Some(_), false, Some(broken)) => {
            format!("this run does not refute the claim, though it breaks the promise: {}", broken.promise())
        }
        (Some(_), false, None) => "no bound exceeds the claim".to_owned(),
    };
    format!(
        "{}\n{}\nEach bound is wrong with probability at most {} %: five bounds are five chances to be wrong.\nscores    AUC {:.3} over {canaries} canaries, {members} of them in\nguesses   {right} of {guesses} are right: true-positive rate {:.1} %, false-positive rate {:.1} %\n{verdict}",
        claimed(found),
        rows(|place| format!("ε ≥ {}", short(found.bounds[place]))),
        100.0 * SIGNIFICANCE,
        found.auc,
        share(right, members),
        share(wrong, canaries - members),
    )
}

/// One bound's statistics over the runs.
struct Over {
    mean: f64,
    deviation: f64,
    above: u32,
    runs: u32,
}

/// Summarises one bound over all runs; `None` if no run computed it.
fn over(all: &[Found], place: usize) -> Option<Over> {
    let bounds: Vec<f64> = all.iter().filter_map(|found| found.bounds[place]).collect();
    let above = |found: &&Found| found.bounds[place].zip(found.claim).is_some_and(|(bound, claim)| bound > claim.tight);
    let (mean, deviation) = moments(&bounds);
    let (above, runs) = (all.iter().filter(above).count() as u32, bounds.len() as u32);
    (runs > 0).then_some(Over { mean, deviation, above, runs })
}

/// All runs as a table.
fn together(all: &[Found]) -> Result<String, Box<dyn Error>> {
    let mut cells = Vec::new();
    for place in 0..BOUNDS.len() {
        cells.push(match over(all, place) {
            None => "–".to_owned(),
            Some(Over { mean, deviation, above, runs }) => {
                // Valid bounds exceed a true ε at most this often; a higher rate refutes the claim.
                let least = clopper_pearson_lower(above, runs, SIGNIFICANCE)?;
                let found = if least > SIGNIFICANCE { ", refuted" } else { "" };
                format!("{mean:.3} ± {deviation:.3}, {above} of {runs} above{found}")
            }
        });
    }
    let first = all.first().map_or_else(String::new, claimed);
    let width = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
    let refuted = all.iter().filter(|found| found.refuted).count();
    Ok(format!(
        "{first}\n{}\nA valid bound exceeds a true ε in at most {} % of runs; \"refuted\": its count shows a higher rate, with {} % confidence.\nAt least one bound exceeds the claim in {refuted} of {}: five bounds are five chances to be wrong.",
        rows(|place| format!("{:<width$}", cells[place])),
        100.0 * SIGNIFICANCE,
        100.0 * (1.0 - SIGNIFICANCE),
        count(all.len() as u64, "run"),
    ))
}

fn together_json(all: &[Found]) -> serde_json::Value {
    let bounds: serde_json::Map<String, serde_json::Value> = BOUNDS
        .iter()
        .enumerate()
        .filter_map(|(place, (name, _))| {
            let Over { mean, deviation, above, runs } = over(all, place)?;
            let least = clopper_pearson_lower(above, runs, SIGNIFICANCE).ok()?;
            let one =
                json!({ "mean": mean, "deviation": deviation, "above": above, "runs": runs, "share-at-least": least });
            Some(((*name).to_owned(), one))
        })
        .collect();
    json!({ "runs": all.len(), "refuted": all.iter().filter(|found| found.refuted).count(), "bounds": bounds })
}
