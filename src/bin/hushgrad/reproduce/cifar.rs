//! `hushgrad reproduce cifar`: plain clipping and the envelope on CIFAR-10, as in the paper, at
//! equal ε, each at its best learning rate, over seeds. Rates are chosen on synthetic colour images
//! ([`tuned`](super::tuned)). `--dataset colour` also measures on those, with other seeds; this
//! tests the command without CIFAR, and says nothing about CIFAR.

use std::{error::Error, path::PathBuf, sync::Mutex};

use hushgrad::{
    data::synthetic::colour,
    mechanism::{Denoiser, EncoderSpec, EnvelopeShape},
    model::{Architecture, layers::LayerList},
    plot::format,
    train::config::{RunConfig, Schedule},
};

use super::{
    results_log::ResultsLog,
    tuned::{Cell, Measure, Mechanism, table},
};
use crate::{
    dataset::{Images, Named},
    out::say,
    sections,
};

/// Number of synthetic images by which rates are chosen.
const HELD_OUT: usize = 2000;
const SEED: u64 = 1;

#[derive(clap::Args)]
pub struct Arguments {
    /// CIFAR-10 in its binary form: a folder with its six files, or its archive
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,
    /// cifar10, or colour if that is not available
    #[arg(long, value_enum, default_value = "cifar10")]
    dataset: On,
    /// Networks: small (a minute per epoch and mechanism on one thread), scattering and extractor
    /// (linear models on fixed features), paper (the network of the paper's MNIST figures),
    /// papernot (that of Papernot et al. 2021)
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Network::Paper, Network::Papernot])]
    network: Vec<Network>,
    /// Epochs, in lots of 256; the paper has 100
    #[arg(long, default_value_t = 100.0)]
    epochs: f64,
    /// Runs per mechanism
    #[arg(long, default_value_t = 5)]
    seeds: u64,
    /// Target ε of each run, by tight accounting at δ = 1e-5
    #[arg(long, value_delimiter = ',', default_values_t = [3.0])]
    epsilons: Vec<f64>,
    /// Synthetic training images for tuning the learning rate; fewer are faster
    #[arg(long, default_value_t = 50_000)]
    drawn: usize,
    /// Log of finished runs, a line each; runs in it are not repeated
    #[arg(long, value_name = "FILE", default_value = "target/reproduce/cifar.jsonl")]
    runs: PathBuf,
    /// File whose table is rewritten, between its two comments [default: only print the table]
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    /// Parallel runs, one thread each [default: the number of processors]
    #[arg(long)]
    jobs: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum On {
    Cifar10,
    Colour,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Network {
    Small,
    Scattering,
    Extractor,
    Paper,
    Papernot,
}

impl Network {
    const fn name(self) -> &'static str {
        match self {
            Self::Small => "A small CNN",
            Self::Scattering => "A linear model on scattering features",
            Self::Extractor => "A linear model on features of a fixed network",
            Self::Paper => "The CNN of the paper's MNIST figures",
            Self::Papernot => "The CNN of Papernot et al. 2021",
        }
    }

    /// The layers. Papernot, Thakurta, Song, Chien & Erlingsson 2021 (Table 2) end in two more
    /// convolutions and a global mean; here in a dense layer, to keep to eight parameter layers.
    const fn layers(self) -> &'static str {
        match self {
            Self::Small => {
                "input 3x32x32, conv 8 5x5/2 same, tanh, maxpool 2, conv 16 3x3 same, tanh, maxpool 2, dense 10"
            }
            Self::Scattering => "input 3x32x32, scattering, dense 10",
            Self::Extractor => "input 3x32x32, extractor, dense 10",
            Self::Paper => {
                "input 3x32x32, conv 16 8x8/2 same, tanh, maxpool 2/1, conv 32 4x4/2, tanh, maxpool 2/1, dense 32, tanh, dense 10"
            }
            Self::Papernot => {
                "input 3x32x32, conv 32 3x3 same, tanh, conv 32 3x3 same, tanh, avgpool 2, conv 64 3x3 same, tanh, conv 64 3x3 same, tanh, avgpool 2, \
                 conv 128 3x3 same, tanh, conv 128 3x3 same, tanh, avgpool 2, dense 10"
            }
        }
    }

    fn model(self) -> Result<Architecture, Box<dyn Error>> {
        Ok(Architecture::Built(self.layers().parse::<LayerList>()?))
    }
}

const METHODS: [Mechanism; 4] = [
    Mechanism { name: "DP-SGD", change: |_| {} },
    Mechanism { name: "momentum 0.9", change: |config| config.momentum = 0.9 },
    Mechanism { name: "envelope", change: |config| config.encoder = envelope() },
    Mechanism {
        name: "envelope, denoised",
        change: |config| {
            config.encoder = envelope();
            config.denoiser = Denoiser::KolmogorovSmirnov;
        },
    },
];

const fn envelope() -> EncoderSpec {
    EncoderSpec::Envelope { shape: EnvelopeShape::Gaussian, vectors: 100, pre_scale: 1.0, seed: 0 }
}

fn plain(model: Architecture, epochs: f64, examples: usize) -> RunConfig {
    let lot = 256;
    let steps = (epochs * examples as f64 / f64::from(lot)).round().max(1.0) as u64;
    RunConfig { model, lot, steps: Some(steps), schedule: Schedule::Linear { to: 0.1 }, ..RunConfig::default() }
}

/// Runs what is missing from the log, and writes the table.
///
/// # Errors
/// If CIFAR-10 is not where it should be, a run fails, or a file cannot be read or written.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let (dataset, name) = match arguments.dataset {
        On::Cifar10 => (Named::Cifar10, "cifar10"),
        On::Colour => (Named::Colour, "colour"),
    };
    let on = Images { data: arguments.data.clone(), dataset: Some(dataset), ..Images::default() }.found()?;
    let examples = on.train.len();
    let mut cells = Vec::new();
    for network in &arguments.network {
        let plain = plain(network.model()?, arguments.epochs, examples);
        for &epsilon in &arguments.epsilons {
            cells.extend(METHODS.iter().map(|&method| Cell { plain: plain.clone(), epsilon, method }));
        }
    }
    let drawn = colour::images(SEED, arguments.drawn, HELD_OUT);
    let log = Mutex::new(ResultsLog::open(arguments.runs.clone())?);
    let outcomes = Measure { seeds: arguments.seeds, log, on, name, drawn }.all(&cells, arguments.jobs)?;
    let networks = arguments.network.iter().flat_map(|network| arguments.epsilons.iter().map(move |_| network));
    let mut text = String::new();
    for ((cells, outcomes), network) in cells.chunks(METHODS.len()).zip(outcomes.chunks(METHODS.len())).zip(networks) {
        let RunConfig { model, lot, steps, .. } = &cells[0].plain;
        let parameters = format::integer(model.parameters() as u64);
        let heading = format!(
            "{} ({parameters} parameters) on {}, lot {lot}, {} steps, ε ≤ {}",
            network.name(),
            if arguments.dataset == On::Colour { "colour shapes" } else { "CIFAR-10" },
            steps.unwrap_or(0),
            cells[0].epsilon
        );
        text += &table(&heading, cells, outcomes);
    }
    say(&text)?;
    let Some(path) = &arguments.table else { return Ok(()) };
    let old = std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let new =
        sections::with_section(&old, "cifar", "Colour", &text).map_err(|why| format!("{}: {why}", path.display()))?;
    Ok(std::fs::write(path, new)?)
}

#[cfg(test)]
mod tests {
    use hushgrad::train::plan::Plan;

    use super::*;

    #[test]
    fn every_network_and_mechanism_has_a_plan() {
        for network in [Network::Small, Network::Scattering, Network::Extractor, Network::Paper, Network::Papernot] {
            let plain = plain(network.model().unwrap(), 1.0, 50_000);
            assert_eq!((plain.steps, plain.model.picture(), plain.model.classes()), (Some(195), colour::PICTURE, 10));
            for method in METHODS {
                let mut config = plain.clone();
                (method.change)(&mut config);
                assert!(Plan::new(config, 50_000).is_ok(), "{}", method.name);
            }
        }
    }
}
