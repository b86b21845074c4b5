//! `hushgrad anneal`: simulated annealing of noise over phases, at one ε, on synthetic digits.

use std::{error::Error, path::PathBuf};

use hushgrad::{
    data::{Dataset, synthetic},
    engine::EngineFactory,
    rng::NotPrivateReplay,
    train::{
        anneal::{Annealing, Planned},
        config::RunConfig,
        phases::{MOST_PHASES, PhaseList, Phases, lengths},
        plan::Plan,
        presets::Preset,
        projection::scale_for,
    },
};

use crate::{
    measured::{loss, moments, trained},
    out::{is_read, say},
    train::settings,
};

/// Number of held-out synthetic digits, used by the search and the final comparison.
const HELD_OUT: usize = 2000;
/// Runs with other seeds per schedule in the final comparison of annealed and constant noise.
const JUDGES: u64 = 5;

#[derive(clap::Args)]
pub struct Arguments {
    /// ε of every run tried, by Rényi accounting
    #[arg(long, default_value_t = 1.0)]
    epsilon: f64,
    /// Preset to anneal [default: the default settings]
    #[arg(long, value_parser = settings::preset, conflicts_with = "config")]
    preset: Option<Preset>,
    /// Configuration to anneal, as JSON
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Steps per run
    #[arg(long, default_value_t = 400)]
    steps: u64,
    /// Phases of equal length
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(2..=MOST_PHASES as i64))]
    phases: u32,
    /// Noise schedules to try, one run each
    #[arg(long, default_value_t = 100)]
    proposals: u32,
    /// Learning rate [default: the configuration's]
    #[arg(long = "lr", value_name = "RATE")]
    learning_rate: Option<f64>,
    /// Number of synthetic training digits
    #[arg(long, default_value_t = 10_000)]
    digits: usize,
    /// Seed of digits, runs and proposals, all of which are public
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// CPU threads [default: all]
    #[arg(long)]
    threads: Option<u32>,
}

/// Prints each proposal, then the best schedule found beside constant noise.
///
/// # Errors
/// A sentence that says what to change.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let mut config = settings::ground(arguments.config.as_deref(), arguments.preset)?;
    config.learning_rate = arguments.learning_rate.unwrap_or(config.learning_rate);
    (config.steps, config.replay) = (Some(arguments.steps), None);
    let most = arguments.steps.min(MOST_PHASES as u64);
    if u64::from(arguments.phases) > most {
        return Err(format!(
            "--phases is {}; for {} steps it must be at most {most}",
            arguments.phases, arguments.steps
        )
        .into());
    }
    let (picture, classes) = (config.model.picture(), config.model.classes());
    let drawn = synthetic::like(picture, classes, arguments.seed, arguments.digits, HELD_OUT).ok_or_else(|| {
        format!("the search needs synthetic images, and there are none of {picture} in {classes} classes")
    })?;
    let mut factory = EngineFactory::cpu();
    factory.threads(arguments.threads);
    let trial = Trial { arguments, config, train: drawn.train, held_out: drawn.test, factory };

    let start = trial.of(&vec![1.0; arguments.phases as usize], arguments.seed)?;
    say(&format!(
        "constant noise: scale {}, held-out loss {:.4}, accuracy {:.2} %",
        start.scale,
        start.loss,
        100.0 * start.accuracy
    ))?;
    let mut annealing = Annealing::new(arguments.phases as usize, start.loss, 0.01 * start.loss);
    let mut rng = NotPrivateReplay::new(arguments.seed);
    for proposal in 1..=arguments.proposals {
        let factors = annealing.propose(&mut rng);
        let found = trial.of(&factors, arguments.seed)?;
        let (temperature, _) = annealing.now();
        let taken = annealing.judge(&factors, found.loss, &mut rng);
        let line = format!(
            "{proposal:>4}  temperature {temperature:.5}  loss {:.4}  {}  {}",
            found.loss,
            if taken { "accepted" } else { "rejected" },
            words(&factors)
        );
        if !is_read(&line)? {
            return Ok(());
        }
    }
    let (best, loss) = annealing.best();
    say(&format!("lowest loss {loss:.4} with factors {}", words(&best)))?;
    // With seeds that the search has not seen, because it picked the luckiest of many runs.
    for (name, factors) in [("constant", vec![1.0; best.len()]), ("annealed", best)] {
        let runs = (1..=JUDGES)
            .map(|judge| trial.of(&factors, arguments.seed + 1000 * judge))
            .collect::<Result<Vec<_>, _>>()?;
        let (mean, deviation) = moments(&runs.iter().map(|run| 100.0 * run.accuracy).collect::<Vec<_>>());
        let (loss, spread) = moments(&runs.iter().map(|run| run.loss).collect::<Vec<_>>());
        say(&format!(
            "{name}: held-out accuracy {mean:.2} ± {deviation:.2} %, loss {loss:.4} ± {spread:.4} ({JUDGES} other seeds)"
        ))?;
    }
    say(&trial.optimum(start.scale))
}

/// A recipe whose noise schedule is searched.
struct Trial<'a> {
    arguments: &'a Arguments,
    config: RunConfig,
    train: Dataset,
    held_out: Dataset,
    factory: EngineFactory,
}

/// The result of a run with given factors.
struct Found {
    scale: f64,
    /// Mean cross-entropy, in nats.
    loss: f64,
    accuracy: f64,
}

impl Trial<'_> {
    /// Returns the configuration with phases of these noise factors.
    fn with(&self, factors: &[f64]) -> RunConfig {
        let lengths = lengths(self.arguments.steps, self.arguments.phases);
        let list: Vec<String> =
            lengths.zip(factors).map(|(steps, factor)| format!("{steps} noise {factor:.6}")).collect();
        RunConfig { phases: Phases::List(PhaseList(list.join("; "))), ..self.config.clone() }
    }

    /// Trains once at the common ε, with the same random draws for all factors.
    fn of(&self, factors: &[f64], seed: u64) -> Result<Found, Box<dyn Error>> {
        let mut config = self.with(factors);
        let examples = self.train.len() as u32;
        let scale = scale_for(&config, examples, self.arguments.steps, self.arguments.epsilon)?;
        config.noise = config.noise.map(|noise| noise.with_scale(scale));
        config.replay = Some(seed);
        let plan = Plan::new(config, examples)?;
        pollster::block_on(async {
            let mut session = trained(&self.factory, plan, &self.train).await?;
            let loss = loss(session.engine(), &self.held_out).await?;
            Ok(Found { scale, loss, accuracy: session.accuracy(&self.held_out).await? })
        })
    }

    /// Lists the best multipliers for a quadratic model, by the configuration's learning rates.
    fn optimum(&self, scale: f64) -> String {
        let mut text =
            "theoretical optimum for gradient descent on a quadratic, at these learning rates, as multiples of the constant noise:"
                .to_owned();
        let mut config = self.with(&vec![1.0; self.arguments.phases as usize]);
        config.noise = config.noise.map(|noise| noise.with_scale(scale));
        match Planned::of(&config) {
            Some(planned) => {
                for curvature in [0.0, 0.001, 0.01] {
                    let factors: Vec<f64> = planned.best(curvature).iter().map(|sigma| sigma / scale).collect();
                    text += &format!("\n  curvature {curvature}: {}", words(&factors));
                }
            }
            None => text += "\n  (known only for Gaussian noise, and for runs of at most a million steps)",
        }
        text
    }
}

fn words(factors: &[f64]) -> String {
    factors.iter().map(|factor| format!("{factor:.3}")).collect::<Vec<_>>().join(" ")
}
