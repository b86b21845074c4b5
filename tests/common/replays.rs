//! Replayed runs must give their recorded results: parameters, ε, ledger and run file of runs that
//! combine every two models, encoders, noises, denoisers and samplers. What changes them changes
//! what old run files, links and papers say.
//!
//! An engine's sums depend on its instruction set, or on its adapter: `replays.json` has digests
//! for those that it names, and on another machine the test reports that it compares none.
//! `HUSHGRAD_RECORD=1 cargo test --test engines replays` records this machine's.

use std::{collections::BTreeMap, path::Path};

use hushgrad::{
    data::{Dataset, synthetic},
    engine::{Engine as _, EngineFactory, EngineInfo},
    mechanism::Denoiser,
    model::Architecture,
    train::{
        config::{RunConfig, SamplingPolicy},
        plan::Plan,
        report::Privacy,
        run_file::{RunCard, RunFile},
        session::Session,
    },
};
use pollster::block_on;
use sha2::{Digest as _, Sha256};

#[cfg(feature = "gpu")]
use crate::adapter;
use crate::suite;

const STEPS: u64 = 20;
const TRAIN: usize = 300;

/// Built networks with each kind of layer. The sums of `dense 24, sigmoid, dense 10` changed on
/// AVX-512 when dense layers began to choose their tiles by their inputs: 784 are 49 tiles of 16, and
/// no longer 24 of 32 and a remainder.
const BUILT: [&str; 5] = [
    "conv 8 5x5/2 same, relu, maxpool 2, dense 10",
    "conv 4 3x3, groupnorm 2, elu, avgpool 2, dense 10",
    "dense 24, sigmoid, dense 10",
    "scattering, groupnorm 27, tanh, dense 10",
    "conv 6 5x5/2, tempered 1.58 3 0.71, maxpool 3/2, conv 8 3x3/2 same, relu, dense 10",
];

const DENOISERS: [Denoiser; 8] = [
    Denoiser::None,
    Denoiser::KolmogorovSmirnov,
    Denoiser::JamesStein,
    Denoiser::Linear,
    Denoiser::SoftThreshold,
    Denoiser::LaplacianSmoothing { strength: 3.0 },
    Denoiser::LowPass { keeps: 0.9 },
    Denoiser::Kalman { gain: 0.5 },
];

const SAMPLERS: [SamplingPolicy; 4] =
    [SamplingPolicy::Poisson, SamplingPolicy::FixedSize, SamplingPolicy::Shuffled, SamplingPolicy::RandomAllocation];

fn configurations() -> Vec<RunConfig> {
    let built = BUILT.map(|list| Architecture::Built(list.parse().unwrap()));
    let models: Vec<Architecture> = Architecture::ALL.into_iter().chain(built).collect();
    let (encoders, noises) = (suite::encoders(), suite::noises());
    let sizes = [models.len(), encoders.len(), noises.len(), DENOISERS.len(), SAMPLERS.len()];
    let row = |(place, [model, encoder, noise, denoiser, sampler]): (usize, [usize; 5])| RunConfig {
        model: models[model],
        encoder: encoders[encoder].clone(),
        noise: noises[noise].clone(),
        denoiser: DENOISERS[denoiser],
        sampling: SAMPLERS[sampler],
        lot: 30,
        learning_rate: 0.1,
        momentum: if place % 3 == 0 { 0.9 } else { 0.0 },
        steps: Some(STEPS),
        ..RunConfig::default()
    };
    suite::rows(sizes).into_iter().enumerate().map(row).collect()
}

fn digest(bytes: impl AsRef<[u8]>) -> String {
    Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The result of a run in one line, or the field at fault: sentences may be reworded.
fn outcome(factory: &EngineFactory, config: RunConfig, train: &Dataset) -> String {
    run(factory, config, train)
        .unwrap_or_else(|error| format!("refused: {}", error.split(':').next().unwrap_or_default()))
}

fn run(factory: &EngineFactory, config: RunConfig, train: &Dataset) -> Result<String, String> {
    let engine = |factory: &EngineFactory, plan: &Plan| {
        block_on(factory.build(&plan.task, train, &plan.initial_parameters())).map_err(|error| error.to_string())
    };
    let plan = Plan::new(config.clone(), train.len() as u32).map_err(|error| error.to_string())?;
    let charged =
        Session::new(plan.clone(), engine(&EngineFactory::cpu(), &plan)?).map_err(|error| error.to_string())?;
    let ledger = charged.ledger_ahead(STEPS).map_or_else(|| "none".to_owned(), |ledger| digest(ledger.to_json()));
    let privacy = charged.privacy_ahead(STEPS).map_err(|error| error.to_string())?;
    let privacy = match privacy {
        Privacy::Bounded(bound) => {
            let [improved, classic] = [bound.improved, bound.classic].map(|bound| bound.epsilon);
            format!("ε {improved}, classic {classic}")
        }
        Privacy::NoGuarantee { .. } => "no guarantee".to_owned(),
    };

    let plan = Plan::new(RunConfig { replay: Some(7), ..config }, train.len() as u32).unwrap();
    let mut session = Session::new(plan.clone(), engine(factory, &plan)?).unwrap();
    for _ in 0..STEPS {
        block_on(session.step()).map_err(|error| error.to_string())?;
    }
    let mut report = block_on(session.report(None)).unwrap();
    // Times differ between runs.
    report.training_seconds = 0.0;
    let reason = match &report.privacy {
        Privacy::NoGuarantee { reason } => reason.to_string(),
        Privacy::Bounded(_) => panic!("a replayed run has no guarantee"),
    };
    let state = block_on(session.engine().state()).unwrap();
    let bytes: Vec<u8> = state.parameters.iter().flat_map(|parameter| parameter.to_le_bytes()).collect();
    let card = RunCard {
        name: "replay".to_owned(),
        note: String::new(),
        config: plan.config,
        engine: EngineInfo { device: String::new(), ..factory.info() },
        data: train.name.to_string(),
        train: train.len() as u32,
        test: 1,
        report,
        accuracy: None,
        accuracy_curve: Vec::new(),
        improved_curve: Vec::new(),
        classic_curve: Vec::new(),
    };
    let file = digest(RunFile::new(card, session.ledger().cloned(), state).to_json().replace(&reason, ""));
    Ok(format!("parameters {}, ledger {ledger}, file {file}, {privacy}", digest(bytes)))
}

type Recorded = BTreeMap<String, BTreeMap<String, String>>;

/// Compares every `every`th run with the record for this device.
fn hold(factory: &EngineFactory, device: &str, every: usize) {
    let train = synthetic::digits(1, TRAIN, 1).train;
    let outcomes: BTreeMap<String, String> = configurations()
        .into_iter()
        .step_by(every)
        .map(|config| {
            let RunConfig { model, encoder, noise, denoiser, sampling, .. } = &config;
            // The table of a custom density is long.
            let noise: String = format!("{noise:?}").chars().take(50).collect();
            let name = format!("{} | {encoder:?} | {noise} | {denoiser:?} | {sampling:?}", model.written());
            (name, outcome(factory, config, &train))
        })
        .collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/replays.json");
    let mut recorded: Recorded =
        std::fs::read(&path).map_or_else(|_| BTreeMap::new(), |json| serde_json::from_slice(&json).unwrap());
    if std::env::var_os("HUSHGRAD_RECORD").is_some() {
        recorded.insert(device.to_owned(), outcomes);
        std::fs::write(path, serde_json::to_string_pretty(&recorded).unwrap() + "\n").unwrap();
        return;
    }
    let Some(expected) = recorded.get(device) else {
        eprintln!("**** NOT COMPARED: tests/replays.json has no runs of {device}. ****");
        return;
    };
    let wrong: Vec<String> = outcomes
        .iter()
        .filter(|(name, outcome)| expected.get(*name) != Some(outcome))
        .map(|(name, outcome)| format!("{name}:\n  {outcome}, recorded {:?}", expected.get(name)))
        .collect();
    assert_eq!(outcomes.len(), expected.len());
    assert!(wrong.is_empty(), "parameters, privacy, ledger, run file of {device}:\n{}", wrong.join("\n"));
}

#[test]
fn replays_on_the_cpu_match_the_records() {
    let mut factory = EngineFactory::cpu();
    factory.threads(Some(2));
    let device = factory.info().device;
    let set = device.split(',').next().unwrap_or_default();
    hold(&factory, set, 1);
}

#[cfg(feature = "gpu")]
#[test]
fn replays_on_the_gpu_match_the_records() {
    let Some(gpu) = adapter::device() else { return };
    let factory = EngineFactory::on(gpu);
    let device = factory.info().device;
    hold(&factory, &device, 16);
}
