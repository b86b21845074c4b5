//! Runs at a given ε, at the best learning rate on public images, for `reproduce`'s tables.
//!
//! Rates are chosen by held-out loss after training on synthetic images, at no cost because the
//! measured images play no part. Runs with other seeds train on those; each looks at the test
//! images once. Runs are logged, so that an interrupted command continues.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    fmt::Write as _,
    sync::Mutex,
};

use hushgrad::{
    accounting::{
        calibrate::{self, Method, Scales, Target},
        decimal::upper,
        rdp::Orders,
    },
    data::Digits,
    engine::EngineFactory,
    train::{config::RunConfig, error::PriceError, plan::Plan, projection},
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::results_log::{Finished, ResultsLog};
use crate::measured::{self, hex, moments};

/// Rates are tried by factors of two from this one until neither neighbour is better.
const FIRST_RATE: f64 = 1.0;
const MOST_RATES: usize = 12;
/// Noise scales tried.
const SCALES: Scales = Scales { first: 1.0, least: 0.01, most: 1e3 };

/// A finished run on the measured images, or a trial of a rate.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Run {
    name: String,
    /// Digest of configuration, images, and parameters after the program's first steps.
    identity: String,
    /// Of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    rate: f64,
    /// Held-out loss on synthetic images, or test accuracy on the measured images.
    found: f64,
}

impl Finished for Run {
    fn name(&self) -> &str {
        &self.name
    }

    fn identity(&self) -> &str {
        &self.identity
    }
}

/// A mechanism, as a change to plain DP-SGD.
#[derive(Clone, Copy)]
pub struct Mechanism {
    pub name: &'static str,
    pub change: fn(&mut RunConfig),
}

/// A row of a table.
pub struct Cell {
    /// The base configuration.
    pub plain: RunConfig,
    pub epsilon: f64,
    pub method: Mechanism,
}

/// The results of a row.
pub struct Outcome {
    sigma: f64,
    spent: f64,
    rate: f64,
    accuracies: Vec<f64>,
    /// Commits of the programs that ran.
    pub commits: BTreeSet<String>,
}

/// Settings common to all rows.
pub struct Measure {
    pub seeds: u64,
    pub log: Mutex<ResultsLog<Run>>,
    /// The measured images, and their name in the log.
    pub on: Digits,
    pub name: &'static str,
    /// Public images for choosing rates.
    pub drawn: Digits,
}

type Fallible<T> = Result<T, Box<dyn Error + Send + Sync>>;

impl Measure {
    /// Returns each cell's outcome in order, running `jobs` at a time, each on one thread.
    ///
    /// # Errors
    /// The first run that fails, with its row's name.
    pub fn all(&self, cells: &[Cell], jobs: Option<usize>) -> Result<Vec<Outcome>, Box<dyn Error>> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.unwrap_or(0)).build()?;
        // In reverse order, as later rows take longest and should not start last.
        let found: Vec<Result<Outcome, String>> = pool.install(|| {
            let of = |cell: &Cell| self.cell(cell).map_err(|error| format!("{}: {error}", cell.method.name));
            cells.par_iter().rev().map(of).collect()
        });
        Ok(found.into_iter().rev().collect::<Result<_, _>>()?)
    }

    fn cell(&self, cell: &Cell) -> Fallible<Outcome> {
        let mut config = cell.plain.clone();
        (cell.method.change)(&mut config);
        let examples = self.on.train.len() as u32;
        let (sigma, spent) = scale(&config, examples, cell.epsilon)?;
        config.noise = config.noise.map(|noise| noise.with_scale(sigma));
        let name = format!("{} {:?} {}", cell.method.name, cell.plain.model, cell.epsilon);
        let rate = self.rate(&name, &config)?;
        let (mut accuracies, mut commits) = (Vec::new(), BTreeSet::new());
        for seed in 1..=self.seeds {
            let config = RunConfig { learning_rate: rate, init_seed: seed, replay: Some(seed), ..config.clone() };
            let run = self.known(&name, self.name, &config, &self.on, Asked::Accuracy)?;
            accuracies.push(run.found);
            commits.extend(run.commit);
        }
        eprintln!(
            "{name}: rate {rate}, {:.2} %",
            100.0 * accuracies.iter().sum::<f64>() / accuracies.len().max(1) as f64
        );
        Ok(Outcome { sigma, spent, rate, accuracies, commits })
    }

    /// Returns the power of two with the least held-out loss on synthetic images.
    fn rate(&self, name: &str, config: &RunConfig) -> Fallible<f64> {
        let mut known: BTreeMap<i32, f64> = BTreeMap::new();
        let mut at = 0;
        for _ in 0..MOST_RATES {
            for place in [at, at + 1, at - 1] {
                if known.contains_key(&place) {
                    continue;
                }
                let learning_rate = FIRST_RATE * f64::from(place).exp2();
                let config = RunConfig { learning_rate, replay: Some(1000), ..config.clone() };
                let loss = self.known(name, "drawn", &config, &self.drawn, Asked::Loss)?.found;
                known.insert(place, if loss.is_finite() { loss } else { f64::INFINITY });
            }
            let best = known.iter().min_by(|a, b| a.1.total_cmp(b.1)).map_or(at, |(place, _)| *place);
            if best == at {
                break;
            }
            at = best;
        }
        Ok(FIRST_RATE * f64::from(at).exp2())
    }

    /// Returns a run from the log, or runs it.
    fn known(&self, name: &str, digits: &str, config: &RunConfig, on: &Digits, asked: Asked) -> Fallible<Run> {
        let plan = Plan::new(config.clone(), on.train.len() as u32)?;
        let first_steps = pollster::block_on(measured::fingerprint(&one_thread(), plan.clone(), &on.train))?;
        let identity = hex(Sha256::digest(format!("{digits} {} {first_steps}", serde_json::to_string(config)?)));
        let log = || self.log.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(known) = log().get(name, &identity) {
            return Ok(known.clone());
        }
        let found = trained(plan, on, asked)?;
        let commit = measured::commit();
        let run = Run { name: name.to_owned(), identity, commit, rate: config.learning_rate, found };
        log().keep(run.clone())?;
        Ok(run)
    }
}

/// What to evaluate of a trained model.
#[derive(Clone, Copy)]
enum Asked {
    /// Mean cross-entropy, in nats.
    Loss,
    Accuracy,
}

fn one_thread() -> EngineFactory {
    let mut factory = EngineFactory::cpu();
    factory.threads(Some(1));
    factory
}

fn trained(plan: Plan, Digits { train, test, .. }: &Digits, asked: Asked) -> Fallible<f64> {
    pollster::block_on(async {
        let mut session = measured::trained(&one_thread(), plan, train).await?;
        Ok(match asked {
            Asked::Accuracy => session.accuracy(test).await?,
            Asked::Loss => measured::loss(session.engine(), test).await?,
        })
    })
}

/// Returns the least noise scale, in four digits, whose tight ε is at most `epsilon`, and that ε.
pub fn scale(config: &RunConfig, examples: u32, epsilon: f64) -> Fallible<(f64, f64)> {
    let steps = config.steps.unwrap_or(1);
    let at = |scale: f64| -> Result<f64, PriceError> {
        let noise = config.noise.as_ref().map(|noise| noise.with_scale(scale));
        Ok(projection::planned(&RunConfig { noise, ..config.clone() }, examples, steps)?.tight(config.delta)?.value)
    };
    let target = Target { epsilon, delta: config.delta, method: Method::Tight, orders: Orders::All };
    let found =
        calibrate::least_scale(&target, SCALES, at)?.ok_or("no noise scale in the search keeps ε that small")?;
    let sigma = projection::round_up(found.value);
    Ok((sigma, at(sigma)?))
}

/// Returns the rows of a model at an ε, compared with the first row. Differences above two standard
/// errors are in bold.
pub fn table(heading: &str, cells: &[Cell], outcomes: &[Outcome]) -> String {
    let mut text = format!(
        "### {heading}\n\n\
         | | σ | ε, tight | best rate | accuracy, mean ± sd | against {} |\n| --- | ---: | ---: | ---: | ---: | ---: |\n",
        cells.first().map_or("", |cell| cell.method.name)
    );
    let percent = |outcome: &Outcome| moments(&outcome.accuracies.iter().map(|a| 100.0 * a).collect::<Vec<_>>());
    let Some(base) = outcomes.first().map(percent) else { return text };
    for (place, (cell, outcome)) in cells.iter().zip(outcomes).enumerate() {
        let (mean, deviation) = percent(outcome);
        let n = outcome.accuracies.len() as f64;
        let error = (deviation.powi(2) / n + base.1.powi(2) / n).sqrt();
        let difference = mean - base.0;
        let against = match difference.abs() > 2.0 * error {
            _ if place == 0 => String::new(),
            true => format!("**{difference:+.2}** ± {error:.2}"),
            false => format!("{difference:+.2} ± {error:.2}"),
        };
        let (sigma, spent, rate) = (outcome.sigma, upper(outcome.spent, 3), outcome.rate);
        let name = cell.method.name;
        let _ = writeln!(text, "| {name} | {sigma:.3} | {spent} | {rate} | {mean:.2} ± {deviation:.2} % | {against} |");
    }
    text.push('\n');
    text
}

/// Replaces rows and tables of `old` by those of `new`; text before the tables comes from `new`.
pub fn merged(old: &str, new: &str) -> String {
    const TABLE: &str = "### ";
    let mut tables: Vec<Vec<&str>> = Vec::new();
    let parts = |text| str::split(text, TABLE).skip(1).map(|part: &str| part.trim_end().lines().collect::<Vec<_>>());
    tables.extend(parts(old));
    for part in parts(new) {
        let Some(table) = tables.iter_mut().find(|table| table.first() == part.first()) else {
            tables.push(part);
            continue;
        };
        let mut after = 0;
        for row in part {
            // Lines (heading, header, rows) are identified by their first column.
            let name = |line: &str| line.split('|').nth(1).unwrap_or(line).to_owned();
            match table.iter().position(|line| name(line) == name(row)) {
                Some(place) => (table[place], after) = (row, place),
                None => {
                    after += 1;
                    table.insert(after, row);
                }
            }
        }
    }
    let head = new.split(TABLE).next().unwrap_or_default();
    tables.iter().fold(head.to_owned(), |text, table| text + TABLE + &table.join("\n") + "\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_state_their_difference_from_the_first() {
        let outcome = |accuracies: [f64; 3]| Outcome {
            sigma: 1.1,
            spent: 0.9991,
            rate: 2.0,
            accuracies: accuracies.to_vec(),
            commits: BTreeSet::new(),
        };
        let outcomes = [outcome([0.9, 0.91, 0.92]), outcome([0.905, 0.915, 0.925]), outcome([0.95, 0.96, 0.97])];
        let cell =
            |name| Cell { plain: RunConfig::default(), epsilon: 1.0, method: Mechanism { name, change: |_| {} } };
        let text = table("The perceptron", &[cell("DP-SGD"), cell("one"), cell("two")], &outcomes);
        assert!(text.contains("| DP-SGD | 1.100 | 1.000 | 2 | 91.00 ± 1.00 % |  |\n"), "{text}");
        assert!(
            text.contains("| 91.50 ± 1.00 % | +0.50 ± 0.82 |\n") && text.contains("| **+5.00** ± 0.82 |\n"),
            "{text}"
        );
    }

    #[test]
    fn rows_not_run_again_are_kept() {
        let head = "| | σ |\n| --- | --- |\n";
        let old = format!("Before.\n\n### A\n\n{head}| DP-SGD | 1 |\n| two | 2 |\n\n### B\n\n{head}| DP-SGD | 5 |\n\n");
        let new = format!("Now.\n\n### A\n\n{head}| DP-SGD | 1 |\n| one | 3 |\n\n### C\n\n{head}| DP-SGD | 7 |\n\n");
        let expected = format!(
            "Now.\n\n### A\n\n{head}| DP-SGD | 1 |\n| one | 3 |\n| two | 2 |\n\n### B\n\n{head}| DP-SGD | 5 |\n\n### C\n\n{head}| DP-SGD | 7 |\n\n"
        );
        assert_eq!(merged(&old, &new), expected);
        assert_eq!(merged(&expected, &new), expected);
        assert_eq!(merged("", &new), new);
    }
}
