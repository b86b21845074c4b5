//! `hushgrad reproduce methods`: compares each mechanism with plain DP-SGD at equal ε, each at its
//! best learning rate, over seeds. Rates are chosen on synthetic digits ([`tuned`](super::tuned)).

use std::{collections::BTreeSet, error::Error, path::PathBuf, sync::Mutex};

use hushgrad::{
    accounting::groups::NoiseStrategy,
    data::{mnist, sharing::Sharing, synthetic},
    mechanism::{AdaptiveClip, Denoiser, EncoderSpec, EnvelopeShape, LayerClip},
    model::Architecture,
    plot::format,
    train::{
        config::{RunConfig, SamplingPolicy, Schedule},
        phases::{NoiseSchedule, Phases, Rule},
    },
};

use super::{
    results_log::ResultsLog,
    tuned::{Cell, Measure, Mechanism, merged, table},
};
use crate::{out::say, sections};

/// Number of synthetic digits by which rates are chosen.
const HELD_OUT: usize = 4000;

#[derive(clap::Args)]
pub struct Arguments {
    /// Runs per mechanism, on MNIST
    #[arg(long, default_value_t = 5)]
    seeds: u64,
    /// Target ε of each run, by tight accounting at δ = 1e-5
    #[arg(long, value_delimiter = ',', default_values_t = [1.0, 3.0])]
    epsilons: Vec<f64>,
    /// Only mechanisms whose name contains this, and plain DP-SGD; other rows of the table stay
    #[arg(long, value_name = "WORD")]
    method: Option<String>,
    /// Only this model: mlp or cnn-tanh
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Log of finished runs, a line each; runs in it are not repeated
    #[arg(long, value_name = "FILE", default_value = "target/reproduce/methods.jsonl")]
    runs: PathBuf,
    /// File whose table is rewritten, between its two comments
    #[arg(long, value_name = "FILE", default_value = "docs/methods.md")]
    table: PathBuf,
    /// Parallel runs, one thread each [default: the number of processors]
    #[arg(long)]
    jobs: Option<usize>,
}

const METHODS: [Mechanism; 33] = [
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
    Mechanism { name: "micro-batches of 8", change: |config| config.sharing = Sharing::MicroBatches { size: 8 } },
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
    Mechanism { name: "Cramér–von Mises distance", change: |config| config.denoiser = Denoiser::CramerVonMises },
    Mechanism { name: "Wasserstein distance", change: |config| config.denoiser = Denoiser::Wasserstein },
    Mechanism { name: "low-pass filter, 0.9", change: |config| config.denoiser = Denoiser::LowPass { keeps: 0.9 } },
    Mechanism { name: "Kalman filter, gain 0.5", change: |config| config.denoiser = Denoiser::Kalman { gain: 0.5 } },
    Mechanism { name: "Gaussian envelope", change: |config| config.encoder = envelope(EnvelopeShape::Gaussian, 1.0) },
    Mechanism {
        name: "heavy-tailed envelope",
        change: |config| config.encoder = envelope(EnvelopeShape::HeavyTailed, 1.0),
    },
    Mechanism { name: "sparse envelope", change: |config| config.encoder = envelope(EnvelopeShape::Sparse, 1.0) },
    Mechanism { name: "mixed envelope", change: |config| config.encoder = envelope(EnvelopeShape::Mixed, 1.0) },
    Mechanism {
        name: "envelope like drawn digits",
        change: |config| config.encoder = envelope(EnvelopeShape::Drawn, 1.0),
    },
    Mechanism {
        name: "envelope like drawn digits, gradients replaced",
        change: |config| config.encoder = envelope(EnvelopeShape::Drawn, 1e6),
    },
    Mechanism { name: "group normalisation", change: |config| config.model = normalised("groupnorm 4") },
    Mechanism { name: "batch normalisation", change: |config| config.model = normalised("batchnorm") },
    Mechanism {
        name: "batch normalisation, moments clipped apart",
        change: |config| {
            config.model = normalised("batchnorm");
            let groups = vec![1, 2, 1, 2, 1, 1];
            config.encoder = EncoderSpec::Layers(LayerClip { norms: vec![1.0, 0.1], groups, ..LayerClip::even(1.0) });
        },
    },
];

/// The layers of `cnn-tanh`, normalised before the activations of both convolutions.
fn normalised(by: &str) -> Architecture {
    let list = format!(
        "conv 16 8x8/2 same, {by}, tanh, maxpool 2/1, conv 32 4x4/2, {by}, tanh, maxpool 2/1, dense 32, tanh, dense 10"
    );
    Architecture::Built(list.parse().expect("the layers are known"))
}

/// As many vectors as on the page.
const fn envelope(shape: EnvelopeShape, pre_scale: f64) -> EncoderSpec {
    EncoderSpec::Envelope { shape, vectors: 100, pre_scale, seed: 1 }
}

/// Whether a row is measured: an envelope ranks each coordinate, which takes the perceptron minutes a run, and
/// only the CNN's layers are normalised.
fn is_measured(model: Architecture, method: &Mechanism) -> bool {
    model != Architecture::Mlp || !["envelope", "normalisation"].iter().any(|word| method.name.contains(word))
}

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

/// The base configuration: lot 256, six epochs (CNN: two), and a rate that falls to a tenth.
fn plain(model: Architecture) -> RunConfig {
    let (lot, steps) = (256, if model == Architecture::Mlp { 1410 } else { 470 });
    let schedule = Schedule::Linear { to: 0.1 };
    RunConfig { model, lot, steps: Some(steps), schedule, ..RunConfig::default() }
}

/// Heading for a model at an ε.
fn heading(Cell { plain, epsilon, .. }: &Cell) -> String {
    let name = if plain.model == Architecture::Mlp { "The perceptron" } else { "The CNN" };
    let parameters = format::integer(plain.model.parameters() as u64);
    let (lot, steps) = (plain.lot, plain.steps.unwrap_or(0));
    format!("{name} ({parameters} parameters), lot {lot}, {steps} steps, ε ≤ {epsilon}")
}

/// Runs what is missing from the log, and writes the table.
///
/// # Errors
/// If MNIST is not on this machine, a run fails, or a file cannot be read or written.
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
            let rows = methods.iter().filter(|method| is_measured(model, method));
            cells.extend(rows.map(|&method| Cell { plain: plain(model), epsilon, method }));
        }
    }
    let log = Mutex::new(ResultsLog::open(arguments.runs.clone())?);
    let measure = Measure { seeds: arguments.seeds, log, on: mnist, name: "mnist", drawn };
    let outcomes = measure.all(&cells, arguments.jobs)?;
    let commits: BTreeSet<&str> = outcomes.iter().flat_map(|outcome| &outcome.commits).map(String::as_str).collect();
    let mut text = format!(
        "By `hushgrad reproduce methods`: each at the learning rate that is best on synthetic digits, which falls to a tenth over the run; clipped to C = 1; the CNN is `cnn-tanh`. {} seeds on MNIST, mean ± standard deviation; a difference in bold is more than two of its standard errors from none. Run last: at commit {}.\n\n",
        arguments.seeds,
        commits.into_iter().collect::<Vec<_>>().join(", ")
    );
    let mut rest = &outcomes[..];
    for cells in cells.chunk_by(|a, b| (a.plain.model, a.epsilon) == (b.plain.model, b.epsilon)) {
        let (own, others) = rest.split_at(cells.len());
        rest = others;
        text += &table(&heading(&cells[0]), cells, own);
    }
    say(&text)?;
    let old = std::fs::read_to_string(&arguments.table)
        .map_err(|error| format!("cannot read {}: {error}", arguments.table.display()))?;
    let new = sections::update_section(&old, "methods", "Side by side", |old| merged(old, &text))
        .map_err(|why| format!("{}: {why}", arguments.table.display()))?;
    Ok(std::fs::write(&arguments.table, new)?)
}

#[cfg(test)]
mod tests {
    use hushgrad::train::plan::Plan;

    use super::{super::tuned::scale, *};

    #[test]
    fn scale_keeps_the_target_epsilon() {
        for method in METHODS {
            let mut config = plain(Architecture::CnnTanh);
            (method.change)(&mut config);
            config.steps = Some(240);
            let (sigma, spent) = scale(&config, 60_000, 1.0).unwrap();
            assert!(spent <= 1.0 && spent > 0.99, "{}: {spent} at {sigma}", method.name);
            assert!(Plan::new(config, 60_000).is_ok(), "{}", method.name);
        }
    }
}
