//! `hushgrad reproduce accuracy`: every preset with a budget, and the usual recipe, on MNIST, over
//! seeds. Finished runs are logged, so that the command continues after an interruption and repeats
//! only what has changed. Each run looks at the test images once, after its last step.

use std::{collections::BTreeSet, error::Error, fmt::Write as _, path::PathBuf};

use hushgrad::{
    accounting::{decimal::upper, noise::NoiseSpec},
    data::{Digits, mnist},
    engine::{AnyEngine, Engine, EngineFactory, Performance, Reading, Task, cpu::CpuEngine, reading},
    model::{Architecture, pretrained},
    train::{config::RunConfig, plan::Plan, presets, projection, session::Session},
};
use indicatif::{ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::results_log::{Finished, ResultsLog};
use crate::{
    measured::{self, hex, moments},
    out::say,
    pretrain, sections,
};

/// Name of the row without MNIST images.
const PRETRAINING: &str = "synthetic digits only";

#[derive(clap::Args)]
pub struct Arguments {
    /// Runs per recipe
    #[arg(long, default_value_t = 5)]
    seeds: u64,
    /// Only this recipe: a preset with a budget, or best-8, best-without-noise, usual or
    /// usual-algorithm-1, which are not presets
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// Log of finished runs, a line each; runs in it are not repeated
    #[arg(long, value_name = "FILE", default_value = "target/reproduce/accuracy.jsonl")]
    runs: PathBuf,
    /// File whose table is rewritten, between its two comments
    #[arg(long, value_name = "FILE", default_value = "BENCHMARKS.md")]
    table: PathBuf,
    /// CPU threads, which do not affect the result [default: all]
    #[arg(long)]
    threads: Option<u32>,
}

/// A finished run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Run {
    name: String,
    seed: u64,
    identity: String,
    /// Of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    test_accuracy: f64,
    spent: Option<Spent>,
    training_seconds: f64,
    device: String,
}

impl Finished for Run {
    fn name(&self) -> &str {
        &self.name
    }

    fn identity(&self) -> &str {
        &self.identity
    }
}

/// ε at the run's δ, by two accountants.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Spent {
    tight: f64,
    improved: f64,
    delta: f64,
}

/// A row of the table.
struct Recipe {
    key: &'static str,
    label: &'static str,
    config: RunConfig,
}

/// Returns the presets with a budget, the best one at ε = 8 and without noise, tutorials' usual
/// DP-SGD, and Algorithm 1 of the same length.
fn recipes() -> Vec<Recipe> {
    let presets = presets::ALL.into_iter().filter(|preset| preset.budget.is_some());
    let mut all: Vec<Recipe> =
        presets.map(|preset| Recipe { key: preset.key, label: preset.label, config: preset.config() }).collect();
    let best = presets::Preset::by_key("best-3").map(presets::Preset::config).unwrap_or_default();
    let eight = RunConfig { noise: Some(NoiseSpec::Gaussian { sigma: 0.794 }), ..best.clone() };
    all.push(Recipe { key: "best-8", label: "`best-3` at ε = 8: σ 0.794, the same rate", config: eight });
    let config = RunConfig { noise: None, ..best };
    all.push(Recipe { key: "best-without-noise", label: "`best-3` without noise, the same rate and clip", config });
    let steps = Some(15 * 60_000 / 256 + 1);
    let usual = RunConfig { model: Architecture::CnnTanh, steps, ..RunConfig::default() };
    let published = presets::Preset::by_key("algorithm-1").map(presets::Preset::config).unwrap_or_default();
    all.push(Recipe {
        key: "usual",
        label: "DP-SGD as tutorials have it (`hushgrad train --model cnn-tanh --epochs 15`): lot 256, σ 1.1, C 1",
        config: usual,
    });
    let config = RunConfig { model: Architecture::CnnTanh, steps, ..published };
    all.push(Recipe {
        key: "usual-algorithm-1",
        label: "the same CNN and length with 1000 envelopes, Student-t noise and KS",
        config,
    });
    all
}

/// Runs what is missing from the log, and writes the complete table.
///
/// # Errors
/// If MNIST is not on this machine, a run fails, or a file cannot be read or written.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let digits = mnist::locate_or_download()?.digits;
    let mut chosen = recipes();
    if let Some(name) = &arguments.preset {
        let known: Vec<&str> = chosen.iter().map(|recipe| recipe.key).collect();
        let refusal = format!("--preset must be one of {}", known.join(", "));
        chosen.retain(|recipe| recipe.key == name);
        if chosen.is_empty() {
            return Err(refusal.into());
        }
    }
    let mut log = ResultsLog::open(arguments.runs.clone())?;
    let mut factory = EngineFactory::cpu();
    factory.threads(arguments.threads);
    let mut order = vec![];
    for Recipe { key, config, .. } in &chosen {
        for seed in 1..=arguments.seeds {
            // Replayed, so that anyone can repeat it; the stated ε assumes the system's randomness.
            let config = RunConfig { init_seed: seed, replay: Some(seed), ..config.clone() };
            let plan = Plan::new(config, digits.train.len() as u32)?;
            let identity = identity(&plan, &digits, &factory)?;
            order.push((*key, identity.clone()));
            if log.get(key, &identity).is_none() {
                log.keep(measure(key, seed, identity, plan, &digits, &factory)?)?;
            }
        }
    }
    if arguments.preset.is_none() {
        for seed in 1..=arguments.seeds {
            let recipe = format!("{PRETRAINING} {seed} {}", pretrain::recipe());
            let identity = hex(Sha256::digest(recipe));
            order.push((PRETRAINING, identity.clone()));
            if log.get(PRETRAINING, &identity).is_none() {
                log.keep(pretrain_alone(seed, identity, &digits, arguments.threads)?)?;
            }
        }
        let table = table(&log, &order);
        write_section(&arguments.table, &table)?;
        say(&table)?;
    } else {
        say(&table(&log, &order))?;
    }
    Ok(())
}

/// Digest of configuration, images, and parameters after the program's first steps.
fn identity(plan: &Plan, digits: &Digits, factory: &EngineFactory) -> Result<String, Box<dyn Error>> {
    let config = serde_json::to_string(&plan.config)?;
    let first_steps = pollster::block_on(measured::fingerprint(factory, plan.clone(), &digits.train))?;
    Ok(hex(Sha256::digest(format!("{config} {} {first_steps}", digits.train.digest()))))
}

fn measure(
    name: &str,
    seed: u64,
    identity: String,
    plan: Plan,
    digits: &Digits,
    factory: &EngineFactory,
) -> Result<Run, Box<dyn Error>> {
    let steps = plan.config.steps.ok_or("the preset has no number of steps")?;
    let spent = plan.config.noise.is_some().then(|| spent(&plan.config, steps, digits.train.len() as u32));
    let spent = spent.transpose()?;
    let bar = ProgressBar::new(steps);
    bar.set_style(ProgressStyle::with_template("{msg} {bar:40} {pos}/{len} {elapsed}/{duration}")?);
    bar.set_message(format!("{name}, seed {seed}"));
    pollster::block_on(async {
        let engine = factory.build(&plan.task, &digits.train, &plan.initial_parameters()).await?;
        let mut session: Session<AnyEngine> = Session::new(plan, engine)?;
        while !session.complete() {
            session.step().await?;
            bar.inc(1);
        }
        let test_accuracy = session.accuracy(&digits.test).await?;
        let report = session.report(Some(test_accuracy)).await?;
        bar.finish_and_clear();
        eprintln!("{name}, seed {seed}: {:.2} %, {:.0} s", 100.0 * test_accuracy, report.training_seconds);
        Ok(Run {
            name: name.to_owned(),
            seed,
            identity,
            commit: measured::commit(),
            test_accuracy,
            spent,
            training_seconds: report.training_seconds,
            device: factory.info().device,
        })
    })
}

/// Returns the configuration's ε with the system's randomness.
fn spent(config: &RunConfig, steps: u64, examples: u32) -> Result<Spent, Box<dyn Error>> {
    let config = RunConfig { replay: None, ..config.clone() };
    let books = projection::planned(&config, examples, steps)?;
    let (tight, improved) = (books.tight(config.delta)?.value, books.renyi(config.delta)?.improved.epsilon);
    Ok(Spent { tight, improved, delta: config.delta })
}

/// Evaluates pre-training alone, as the shipped parameters were created, on the test images.
fn pretrain_alone(seed: u64, identity: String, digits: &Digits, threads: Option<u32>) -> Result<Run, Box<dyn Error>> {
    let start = std::time::Instant::now();
    let bytes = pretrained::encode(pretrain::MODEL, &pretrain::train(pretrain::MODEL, seed, threads)?);
    let parameters = pretrained::decode(pretrain::MODEL, &bytes).ok_or("the encoded parameters cannot be decoded")?;
    let training_seconds = start.elapsed().as_secs_f64();
    let task = Task::without_privacy(pretrain::MODEL);
    let mut engine = CpuEngine::new(task, digits.test.slice(0..0), &parameters, Performance { chunk: None, threads })?;
    let right = pollster::block_on(reading::count_correct(&mut engine, &digits.test, Reading::Once))?;
    let test_accuracy = f64::from(right) / digits.test.len() as f64;
    eprintln!("{PRETRAINING}, seed {seed}: {:.2} %", 100.0 * test_accuracy);
    let device = engine.info().device.clone();
    let (name, commit) = (PRETRAINING.to_owned(), measured::commit());
    Ok(Run { name, seed, identity, commit, test_accuracy, spent: None, training_seconds, device })
}

/// The table in Markdown, with rows in order of first appearance in `order`.
fn table(log: &ResultsLog<Run>, order: &[(&str, String)]) -> String {
    let recipes = recipes();
    let mut names: Vec<&str> = vec![];
    for (name, _) in order {
        if !names.contains(name) {
            names.push(name);
        }
    }
    let mut text = String::from(
        "Written by `hushgrad reproduce accuracy`. Accuracy on MNIST's 10,000 test images, each run's last parameters; δ = 1e-5, \
         Poisson sampling or random allocation of 60,000 images, one image more or less. Hyperparameters were chosen on held-out training images, \
         which ε does not cover. Runs are replayed from their seeds; ε is what they cost with the system's randomness.\n\n\
         | recipe | what | ε, tight | ε, Rényi | accuracy, mean ± sd | lowest to highest | runs | s a run |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for name in names {
        let runs: Vec<&Run> = order
            .iter()
            .filter(|(other, _)| *other == name)
            .filter_map(|(_, identity)| log.get(name, identity))
            .collect();
        let Some(first) = runs.first() else { continue };
        let n = runs.len() as f64;
        let (mean, deviation) = moments(&runs.iter().map(|run| run.test_accuracy).collect::<Vec<_>>());
        let (low, high) = runs
            .iter()
            .fold((1.0f64, 0.0f64), |(low, high), run| (low.min(run.test_accuracy), high.max(run.test_accuracy)));
        let known = recipes.iter().find(|recipe| recipe.key == name);
        let label = known.map_or("pre-training alone, made anew for each seed", |recipe| recipe.label);
        let (tight, improved) = match first.spent {
            Some(spent) => (upper(spent.tight, 3), upper(spent.improved, 3)),
            None if known.is_some() => ("no guarantee".to_owned(), "no guarantee".to_owned()),
            None => ("0".to_owned(), "0".to_owned()),
        };
        let seconds = runs.iter().map(|run| run.training_seconds).sum::<f64>() / n;
        let _ = writeln!(
            text,
            "| {name} | {label} | {tight} | {improved} | {:.2} ± {:.2} % | {:.2} to {:.2} % | {} | {seconds:.0} |",
            100.0 * mean,
            100.0 * deviation,
            100.0 * low,
            100.0 * high,
            runs.len(),
        );
    }
    let shown: Vec<&Run> = order.iter().filter_map(|(name, identity)| log.get(name, identity)).collect();
    if let Some(run) = shown.first() {
        let commits: BTreeSet<&str> = shown.iter().filter_map(|run| run.commit.as_deref()).collect();
        let commits: Vec<&str> = commits.into_iter().collect();
        let (device, commits) = (&run.device, commits.join(", "));
        let _ =
            writeln!(text, "\nOn {device}, at commit {commits}; other programs ran beside it, so seconds say little.");
    }
    text
}

/// Replaces the file's section; creates the file if it does not exist.
fn write_section(path: &PathBuf, table: &str) -> Result<(), Box<dyn Error>> {
    let old = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => "# Benchmarks\n".to_owned(),
        Err(error) => return Err(format!("cannot read {}: {error}", path.display()).into()),
    };
    let new = sections::with_section(&old, "accuracy", "Accuracy", table)
        .map_err(|why| format!("{}: {why}", path.display()))?;
    std::fs::write(path, new).map_err(|e| format!("cannot write {}: {e}", path.display()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, seed: u64, test_accuracy: f64) -> Run {
        let spent = Some(Spent { tight: 2.8, improved: 2.9991, delta: 1e-5 });
        let identity = format!("{name} {seed}");
        Run {
            name: name.to_owned(),
            seed,
            identity,
            commit: Some("0123456789".to_owned()),
            test_accuracy,
            spent,
            training_seconds: 10.0,
            device: "test".to_owned(),
        }
    }

    #[test]
    fn row_states_mean_and_deviation_of_available_runs() {
        let path = std::env::temp_dir().join(format!("hushgrad-runs-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let mut log = ResultsLog::open(path.clone()).unwrap();
        log.keep(run("best-3", 1, 0.98)).unwrap();
        log.keep(run("best-3", 2, 0.99)).unwrap();
        std::fs::remove_file(&path).unwrap();
        let order = [1, 2, 3].map(|seed| ("best-3", format!("best-3 {seed}")));
        let table = table(&log, &order);
        assert!(table.contains("\nOn test, at commit 0123456789; "), "{table}");
        assert!(table.contains("| 2.800 | 3.000 | 98.50 ± 0.71 % | 98.00 to 99.00 % | 2 | 10 |"), "{table}");
    }
}
