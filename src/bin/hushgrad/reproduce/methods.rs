//! `hushgrad reproduce methods`: each mechanism beside plain DP-SGD at the same ε, each at its best learning rate, over seeds.
//!
//! A rate is chosen by the loss on held-out digits that the program draws, after training on drawn digits: neither looks at MNIST, and choosing is free. Then
//! runs with other seeds train on MNIST, whose test images are looked at once a run. A run is a line of JSON in a file; called again, the command goes on
//! where it stopped.

use std::{collections::BTreeMap, error::Error, fmt::Write as _, path::PathBuf, sync::Mutex};

use hushgrad::{
    accounting::{
        calibrate::{self, Method, Scales, Target},
        decimal::upper,
        groups::NoiseStrategy,
        rdp::Orders,
    },
    data::{Dataset, Digits, mnist, synthetic},
    engine::EngineFactory,
    mechanism::{AdaptiveClip, Denoiser, EncoderSpec, LayerClip},
    model::Architecture,
    plot::format,
    train::{
        config::{RunConfig, SamplingPolicy, Schedule},
        error::PriceError,
        phases::{NoiseSchedule, Phases, Rule},
        plan::Plan,
        projection,
    },
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::results_log::{Finished, ResultsLog, hex};
use crate::{
    measured::{self, moments},
    sections,
};

/// Drawn digits that rates are chosen by.
const HELD_OUT: usize = 4000;
/// Rates are tried by factors of two from the first until neither neighbour is better.
const FIRST_RATE: f64 = 1.0;
const MOST_RATES: usize = 12;
/// Noise scales that are tried.
const SCALES: Scales = Scales { first: 1.0, least: 0.01, most: 1e3 };

#[derive(clap::Args)]
pub struct Arguments {
    /// Runs on MNIST of each mechanism
    #[arg(long, default_value_t = 5)]
    seeds: u64,
    /// ε of all runs, by tight accounting at δ = 1e-5
    #[arg(long, value_delimiter = ',', default_values_t = [1.0, 3.0])]
    epsilons: Vec<f64>,
    /// Only mechanisms whose name has this in it; plain DP-SGD is always there
    #[arg(long, value_name = "WORD")]
    method: Option<String>,
    /// Only this model: mlp or cnn-tanh
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Where finished runs are kept, a line each
    #[arg(long, value_name = "FILE", default_value = "target/reproduce/methods.jsonl")]
    runs: PathBuf,
    /// File whose table is written anew, between its two comments
    #[arg(long, value_name = "FILE", default_value = "docs/methods.md")]
    table: PathBuf,
    /// Runs at a time, each on one thread [default: as many as there are processors]
    #[arg(long)]
    jobs: Option<usize>,
}

/// A finished run on MNIST, or the choice of a rate.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Run {
    name: String,
    /// Digest of all that decided it.
    identity: String,
    rate: f64,
    /// Held-out loss on drawn digits, or accuracy on MNIST's test images.
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

/// A mechanism: what it changes of plain DP-SGD.
#[derive(Clone, Copy)]
struct Mechanism {
    name: &'static str,
    change: fn(&mut RunConfig),
}

const METHODS: [Mechanism; 21] = [
    Mechanism { name: "DP-SGD", change: |_| {} },
    Mechanism { name: "momentum 0.9", change: |config| config.momentum = 0.9 },
    Mechanism { name: "random allocation", change: |config| config.sampling = SamplingPolicy::RandomAllocation },
    Mechanism { name: "noise falls to half over 6 phases", change: |config| config.phases = over_phases(0.5) },
    Mechanism { name: "noise doubles over 6 phases", change: |config| config.phases = over_phases(2.0) },
    Mechanism { name: "correlated noise, 4 bands", change: |config| config.bands = 4 },
    Mechanism { name: "correlated noise, 8 bands", change: |config| config.bands = 8 },
    Mechanism { name: "clip layer by layer", change: |config| config.encoder = layers(NoiseStrategy::Proportional) },
    Mechanism {
        name: "clip layer by layer, noise by dimension",
        change: |config| config.encoder = layers(NoiseStrategy::DimensionAdjusted),
    },
    Mechanism { name: "adaptive clip, half within", change: |config| config.adaptive_clip = following(0.5) },
    Mechanism { name: "adaptive clip, four fifths within", change: |config| config.adaptive_clip = following(0.8) },
    Mechanism { name: "adaptive clip, a fifth within", change: |config| config.adaptive_clip = following(0.2) },
    Mechanism { name: "Laplacian smoothing, s = 1", change: |config| config.denoiser = smoothing(1.0) },
    Mechanism { name: "Laplacian smoothing, s = 3", change: |config| config.denoiser = smoothing(3.0) },
    Mechanism { name: "Laplacian smoothing, s = 10", change: |config| config.denoiser = smoothing(10.0) },
    Mechanism { name: "James–Stein", change: |config| config.denoiser = Denoiser::JamesStein },
    Mechanism { name: "best linear estimator", change: |config| config.denoiser = Denoiser::Linear },
    Mechanism { name: "soft threshold", change: |config| config.denoiser = Denoiser::SoftThreshold },
    Mechanism { name: "Kolmogorov–Smirnov distance", change: |config| config.denoiser = Denoiser::KolmogorovSmirnov },
    Mechanism { name: "low-pass filter, 0.9", change: |config| config.denoiser = Denoiser::LowPass { keeps: 0.9 } },
    Mechanism { name: "Kalman filter, gain 0.5", change: |config| config.denoiser = Denoiser::Kalman { gain: 0.5 } },
];

fn layers(strategy: NoiseStrategy) -> EncoderSpec {
    EncoderSpec::Layers(LayerClip { strategy, ..LayerClip::even(1.0) })
}

const fn following(quantile: f64) -> Option<AdaptiveClip> {
    Some(AdaptiveClip { quantile, noise: AdaptiveClip::noise() })
}

const fn smoothing(strength: f64) -> Denoiser {
    Denoiser::LaplacianSmoothing { strength }
}

const fn over_phases(to: f64) -> Phases {
    Phases::Schedule(NoiseSchedule { rule: Rule::Exponential, phases: 6, to })
}

/// What a mechanism is added to: six epochs of lots of 256 for the perceptron, two for the CNN; a rate that falls to a tenth.
fn plain(model: Architecture) -> RunConfig {
    let (lot, steps) = (256, if model == Architecture::Mlp { 1410 } else { 470 });
    let schedule = Schedule::Linear { to: 0.1 };
    RunConfig { model, lot, steps: Some(steps), schedule, ..RunConfig::default() }
}

/// One cell of the table.
struct Cell {
    model: Architecture,
    epsilon: f64,
    method: Mechanism,
}

/// What a cell came to.
struct Outcome {
    sigma: f64,
    spent: f64,
    rate: f64,
    accuracies: Vec<f64>,
}

/// Runs what has not been run, and writes the table.
///
/// # Errors
/// When MNIST is not on this machine, a run fails, or a file cannot be read or written.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let mnist = mnist::locate_or_download()?.digits;
    let drawn = synthetic::digits(1, mnist.train.len(), HELD_OUT);
    let models = [(Architecture::Mlp, "mlp"), (Architecture::CnnTanh, "cnn-tanh")];
    let models: Vec<Architecture> = models
        .iter()
        .filter(|(_, name)| arguments.model.as_deref().is_none_or(|only| only == *name))
        .map(|(model, _)| *model)
        .collect();
    let wanted = |method: &Mechanism| arguments.method.as_deref().is_none_or(|word| method.name.contains(word));
    let methods: Vec<Mechanism> =
        (0..).zip(METHODS).filter(|(place, method)| *place == 0 || wanted(method)).map(|(_, method)| method).collect();
    let mut cells = Vec::new();
    for &model in &models {
        for &epsilon in &arguments.epsilons {
            cells.extend(methods.iter().map(|&method| Cell { model, epsilon, method }));
        }
    }
    let measure =
        Measure { seeds: arguments.seeds, log: Mutex::new(ResultsLog::open(arguments.runs.clone())?), mnist, drawn };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(arguments.jobs.unwrap_or(0)).build()?;
    // The longest first, so that the last ones do not wait for one.
    let found: Vec<Result<Outcome, String>> = pool.install(|| {
        cells
            .par_iter()
            .rev()
            .map(|cell| measure.cell(cell).map_err(|error| format!("{}: {error}", cell.method.name)))
            .collect()
    });
    let mut outcomes = found.into_iter().rev().collect::<Result<Vec<_>, _>>()?;
    let mut text = String::new();
    for &model in &models {
        for &epsilon in &arguments.epsilons {
            let rest = outcomes.split_off(methods.len());
            let of_these = std::mem::replace(&mut outcomes, rest);
            text += &table(model, epsilon, &methods, &of_these);
        }
    }
    println!("{text}");
    let old = std::fs::read_to_string(&arguments.table)
        .map_err(|error| format!("cannot read {}: {error}", arguments.table.display()))?;
    let new = sections::with_section(&old, "methods", "Side by side", &text)
        .map_err(|why| format!("{}: {why}", arguments.table.display()))?;
    Ok(std::fs::write(&arguments.table, new)?)
}

/// All that cells share.
struct Measure {
    seeds: u64,
    log: Mutex<ResultsLog<Run>>,
    mnist: Digits,
    drawn: Digits,
}

type Fallible<T> = Result<T, Box<dyn Error + Send + Sync>>;

impl Measure {
    fn cell(&self, cell: &Cell) -> Fallible<Outcome> {
        let mut config = plain(cell.model);
        (cell.method.change)(&mut config);
        let examples = self.mnist.train.len() as u32;
        let (sigma, spent) = scale(&config, examples, cell.epsilon)?;
        config.noise = config.noise.map(|noise| noise.with_scale(sigma));
        let name = format!("{} {:?} {}", cell.method.name, cell.model, cell.epsilon);
        let rate = self.rate(&name, &config)?;
        let mut accuracies = Vec::new();
        for seed in 1..=self.seeds {
            let config = RunConfig { learning_rate: rate, init_seed: seed, replay: Some(seed), ..config.clone() };
            accuracies.push(self.known(&name, "mnist", &config, || {
                trained(&config, &self.mnist.train, &self.mnist.test, Asked::Accuracy)
            })?);
        }
        eprintln!(
            "{name}: rate {rate}, {:.2} %",
            100.0 * accuracies.iter().sum::<f64>() / accuracies.len().max(1) as f64
        );
        Ok(Outcome { sigma, spent, rate, accuracies })
    }

    /// The learning rate with the least held-out loss on drawn digits, among powers of two.
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
                let loss = self.known(name, "drawn", &config, || {
                    trained(&config, &self.drawn.train, &self.drawn.test, Asked::Loss)
                })?;
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

    /// What a run found, from the log or from the run.
    fn known(
        &self,
        name: &str,
        digits: &str,
        config: &RunConfig,
        run: impl FnOnce() -> Fallible<f64>,
    ) -> Fallible<f64> {
        let identity = hex(Sha256::digest(format!("{digits} {}", serde_json::to_string(config)?)));
        let log = || self.log.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(known) = log().get(name, &identity) {
            return Ok(known.found);
        }
        let found = run()?;
        log().keep(Run { name: name.to_owned(), identity, rate: config.learning_rate, found })?;
        Ok(found)
    }
}

/// What is asked of a trained model.
#[derive(Clone, Copy)]
enum Asked {
    /// Mean cross-entropy, in nats.
    Loss,
    Accuracy,
}

fn trained(config: &RunConfig, train: &Dataset, test: &Dataset, asked: Asked) -> Fallible<f64> {
    let plan = Plan::new(config.clone(), train.len() as u32)?;
    let mut factory = EngineFactory::cpu();
    factory.threads(Some(1));
    pollster::block_on(async {
        let mut session = measured::trained(&factory, plan, train).await?;
        Ok(match asked {
            Asked::Accuracy => session.accuracy(test).await?,
            Asked::Loss => measured::loss(session.engine(), test).await?,
        })
    })
}

/// The least noise scale, to four digits, with which the run's steps stay within `epsilon` by tight accounting, and what they then cost.
fn scale(config: &RunConfig, examples: u32, epsilon: f64) -> Fallible<(f64, f64)> {
    let steps = config.steps.unwrap_or(1);
    let at = |scale: f64| -> Result<f64, PriceError> {
        let noise = config.noise.as_ref().map(|noise| noise.with_scale(scale));
        Ok(projection::planned(&RunConfig { noise, ..config.clone() }, examples, steps)?.tight(config.delta)?.value)
    };
    let target = Target { epsilon, delta: config.delta, method: Method::Tight, orders: Orders::All };
    let found = calibrate::least_scale(&target, SCALES, at)?.ok_or("no noise keeps so small an ε")?;
    let sigma = projection::round_up(found.value);
    Ok((sigma, at(sigma)?))
}

/// A model at an ε, mechanism by mechanism; what differs by more than two standard errors of the difference is in bold.
fn table(model: Architecture, epsilon: f64, methods: &[Mechanism], outcomes: &[Outcome]) -> String {
    let config = plain(model);
    let name = if model == Architecture::Mlp { "The perceptron" } else { "The CNN" };
    let parameters = format::integer(model.parameters() as u64);
    let (lot, steps) = (config.lot, config.steps.unwrap_or(0));
    let mut text = format!(
        "### {name} ({parameters} parameters), lot {lot}, {steps} steps, ε ≤ {epsilon}\n\n\
         | | σ | ε, tight | best rate | accuracy, mean ± sd | against DP-SGD |\n| --- | ---: | ---: | ---: | ---: | ---: |\n"
    );
    let percent = |outcome: &Outcome| moments(&outcome.accuracies.iter().map(|a| 100.0 * a).collect::<Vec<_>>());
    let Some(base) = outcomes.first().map(percent) else { return text };
    for (method, outcome) in methods.iter().zip(outcomes) {
        let (mean, deviation) = percent(outcome);
        let n = outcome.accuracies.len() as f64;
        let error = (deviation.powi(2) / n + base.1.powi(2) / n).sqrt();
        let difference = mean - base.0;
        let against = match difference.abs() > 2.0 * error {
            _ if method.name == METHODS[0].name => String::new(),
            true => format!("**{difference:+.2}** ± {error:.2}"),
            false => format!("{difference:+.2} ± {error:.2}"),
        };
        let (sigma, spent, rate) = (outcome.sigma, upper(outcome.spent, 3), outcome.rate);
        let _ = writeln!(
            text,
            "| {} | {sigma:.3} | {spent} | {rate} | {mean:.2} ± {deviation:.2} % | {against} |",
            method.name
        );
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_keeps_its_epsilon() {
        for method in METHODS {
            let mut config = plain(Architecture::Mlp);
            (method.change)(&mut config);
            config.steps = Some(240);
            let (sigma, spent) = scale(&config, 60_000, 1.0).unwrap();
            assert!(spent <= 1.0 && spent > 0.99, "{}: {spent} at {sigma}", method.name);
            assert!(Plan::new(config, 60_000).is_ok(), "{}", method.name);
        }
    }

    #[test]
    fn a_row_says_how_far_it_is_from_plain_dp_sgd() {
        let outcome =
            |accuracies: [f64; 3]| Outcome { sigma: 1.1, spent: 0.9991, rate: 2.0, accuracies: accuracies.to_vec() };
        let outcomes = [outcome([0.9, 0.91, 0.92]), outcome([0.905, 0.915, 0.925]), outcome([0.95, 0.96, 0.97])];
        let text = table(Architecture::Mlp, 1.0, &METHODS[..3], &outcomes);
        assert!(text.contains("| DP-SGD | 1.100 | 1.000 | 2 | 91.00 ± 1.00 % |  |\n"), "{text}");
        assert!(
            text.contains("| 91.50 ± 1.00 % | +0.50 ± 0.82 |\n") && text.contains("| **+5.00** ± 0.82 |\n"),
            "{text}"
        );
    }
}
