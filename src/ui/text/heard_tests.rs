//! Messages of the threads as they arise, each of which must be German in all its parts. That every
//! template has a translation is checked by `cargo xtask test` on the sources.

use std::time::Duration;

use hushgrad_message::{ToMessage, message};

use super::*;
use crate::{
    accounting::{noise::NoiseSpec, report::assumptions, search::families},
    data::{
        Picture,
        idx::{self, Kind},
        shards::Manifest,
        sharing::Sharing,
        visitor,
    },
    engine::{EngineError, LocalSteps, Unsupported},
    mechanism::{AdaptiveClip, Denoiser, EncoderSpec, EnvelopeShape, LayerClip, PaidMetrics},
    train::{
        config::{Augmentation, Minority, RunConfig, SamplingPolicy, Schedule, Start},
        error::NoGuarantee,
        plan::Plan,
        projection,
        run_file::RunFile,
    },
    worker::{
        accounts::{Accounts, Answer, Question},
        lab::{Candidate, ComparisonQuery, Psi},
        run_store::StoreError,
    },
};

/// Makes this thread speak German.
fn german() {
    speak(Table::read(include_str!("../../../www/text/de.txt"), |n| usize::from(n != 1.0)));
    format::speak(',', '.');
}

/// A run with adaptive clipping and optional paid metrics.
fn counted(quantile: f64, noise: f64, metrics: Option<f64>, config: RunConfig) -> RunConfig {
    let (adaptive_clip, metrics) = (Some(AdaptiveClip { quantile, noise }), metrics.map(|noise| PaidMetrics { noise }));
    RunConfig { adaptive_clip, metrics, ..config }
}

/// Messages, each of which must be German in all its parts.
#[derive(Default)]
struct Said(Vec<Message>);

impl Said {
    fn add(&mut self, said: impl ToMessage) {
        self.0.push(said.to_message());
    }

    fn fails<T, E: ToMessage>(&mut self, result: Result<T, E>) {
        self.add(result.err().expect("a refusal"));
    }

    fn check(&self, least: usize) {
        german();
        let english: Vec<_> = self.0.iter().flat_map(|message| english(message.parts())).collect();
        assert!(english.is_empty(), "{english:#?}");
        assert!(self.0.len() >= least, "{}", self.0.len());
    }
}

/// Returns the parts without a translation: templates, and values that are sentences.
fn english(message: Parts<'_>) -> Vec<String> {
    let template = message.template();
    let words = |text: &str| {
        text.split([' ', '{', '}']).filter(|word| word.len() > 1 && word.chars().all(char::is_alphabetic)).count()
    };
    let mut found = vec![];
    if TABLE.get().translation(template).is_none() && words(template) > template.matches('{').count() {
        found.push(template.to_owned());
    }
    message.fill(template, &mut String::new(), &mut |_, value, _| match value {
        Value::Message(inner) => found.extend(english(inner)),
        // What is wrong with JSON is in the words of its library.
        Value::Text(text) if words(text) > 2 && !text.contains(" at line ") => found.push(text.to_owned()),
        Value::Text(_) => {}
    });
    found
}

#[test]
fn a_message_is_shown_with_what_is_in_it() {
    speak(Table::read(
        "{file}: {fault}\n= {file}: {fault}\nthe file holds {found}; expected {expected}\n= erwartet: {expected}; die Datei enthält {found}\n\
         labels\n= Etiketten\nat least {0}\n= mindestens {0}\n",
        |_| 0,
    ));
    format::speak(',', '.');
    let holds = |found: Message, expected: &'static str| message!("the file holds {found}; expected {expected}");
    for (said, own) in [
        (Message::from("labels"), "Etiketten"),
        (holds("labels".into(), "mice"), "erwartet: mice; die Datei enthält Etiketten"),
        (holds(message!("at least {}", 1000.5), "labels"), "erwartet: Etiketten; die Datei enthält mindestens 1000,5"),
        // A name is no word of the program.
        (message!("{}: {fault}", "labels: {0}".to_owned(), fault = holds("labels".into(), "∞")), "labels: {0}: …"),
        (
            message!("{file}: {fault}", file = "1.5".to_owned(), fault = holds(Message::text("2.5"), "∞")),
            "1.5: erwartet: ∞; die Datei enthält 2,5",
        ),
        (Message::from("nobody says this"), "nobody says this"),
        (Message::default(), ""),
    ] {
        let own = own.replace('…', "erwartet: ∞; die Datei enthält Etiketten");
        // The table has {file}, the message {0}: it stays English around its parts.
        assert_eq!(heard(&said), own);
    }
}

#[test]
fn names_that_files_keep_are_translated() {
    german();
    for (name, own) in [
        ("synthetic digits", "synthetische Ziffern"),
        ("MNIST", "MNIST"),
        ("mine.zip (your files)", "mine.zip (deine Dateien)"),
        ("your files (a.gz)", "deine Dateien (a.gz)"),
        ("AVX2, 1 thread", "AVX2, 1 Thread"),
        ("wasm simd128, 3 threads", "Wasm mit SIMD128, 3 Threads"),
        ("llvmpipe (Vulkan, software)", "llvmpipe (Vulkan, Software)"),
    ] {
        assert_eq!(named(name), own);
    }
}

fn all_noises() -> Vec<NoiseSpec> {
    let density = crate::worker::lab::read("1/(1+x^2)^2").unwrap();
    families().into_iter().chain([NoiseSpec::Custom { density, scale: 1.0 }]).collect()
}

#[test]
fn settings_errors_are_german() {
    let mut said = Said::default();
    let config = RunConfig::default;
    let envelope =
        |vectors, pre_scale| EncoderSpec::Envelope { vectors, shape: EnvelopeShape::HeavyTailed, pre_scale, seed: 1 };
    let layers = |norms: &[f64]| EncoderSpec::Layers(LayerClip { norms: norms.to_vec(), ..LayerClip::even(1.0) });
    let users = |users, skew, steps, rate| RunConfig {
        sharing: Sharing::Users { users, skew, seed: 0 },
        local: LocalSteps { steps, rate },
        ..config()
    };
    for refused in [
        RunConfig { lot: 0, ..config() },
        RunConfig { learning_rate: -0.5, ..config() },
        RunConfig { learning_rate: 1e-50, ..config() },
        RunConfig { learning_rate: f64::INFINITY, ..config() },
        RunConfig { momentum: 1.5, ..config() },
        RunConfig { momentum: 1.0 - 1e-12, ..config() },
        RunConfig { delta: 0.0, ..config() },
        RunConfig { steps: Some(0), ..config() },
        RunConfig { grid_bits: Some(99), ..config() },
        RunConfig { grid_bits: Some(4), noise: None, ..config() },
        RunConfig { augmentation: Some(Augmentation { copies: 4, reach: 9 }), ..config() },
        RunConfig { augmentation: Some(Augmentation { copies: 99, reach: 2 }), ..config() },
        RunConfig { schedule: Schedule::Linear { to: 2.0 }, ..config() },
        RunConfig { encoder: EncoderSpec::Clip { norm: 0.0 }, ..config() },
        RunConfig { encoder: layers(&[1.0, 0.0]), ..config() },
        RunConfig { encoder: layers(&[1.0, 1.0]), ..config() },
        RunConfig { encoder: layers(&[]), model: crate::model::Architecture::Mlp, ..config() },
        RunConfig { encoder: envelope(4, 0.0), ..config() },
        RunConfig { encoder: envelope(0, 1.0), ..config() },
        RunConfig { noise: None, denoiser: Denoiser::KolmogorovSmirnov, ..config() },
        RunConfig { start: Start::Pretrained, model: crate::model::Architecture::Mlp, ..config() },
        RunConfig { bands: 0, ..config() },
        RunConfig { bands: 2, sampling: SamplingPolicy::Shuffled, ..config() },
        RunConfig { bands: 2, noise: None, ..config() },
        RunConfig { bands: 2, encoder: EncoderSpec::None, ..config() },
        RunConfig { bands: 2, grid_bits: Some(8), ..config() },
        RunConfig { bands: 2, denoiser: Denoiser::JamesStein, ..config() },
        RunConfig { bands: 8, steps: Some(7), ..config() },
        RunConfig { bands: 4, ..config() },
        RunConfig { sharing: Sharing::MicroBatches { size: 999 }, ..config() },
        RunConfig { sharing: Sharing::MicroBatches { size: 4 }, bands: 2, lot: 8, ..config() },
        RunConfig { sharing: Sharing::MicroBatches { size: 4 }, local: LocalSteps { steps: 2, rate: 1.0 }, ..config() },
        RunConfig { sharing: Sharing::MicroBatches { size: 4 }, sampling: SamplingPolicy::FixedSize, ..config() },
        counted(0.0, 0.05, None, config()),
        counted(0.5, 0.0, None, config()),
        counted(0.5, 0.1, Some(0.0), config()),
        counted(0.5, 0.1, None, RunConfig { noise: None, ..config() }),
        counted(0.5, 0.1, None, RunConfig { grid_bits: Some(8), ..config() }),
        counted(0.5, 0.1, None, RunConfig { bands: 2, lot: 8, ..config() }),
        counted(0.5, 0.1, None, RunConfig { encoder: EncoderSpec::None, ..config() }),
        counted(0.5, 0.1, None, RunConfig { encoder: layers(&[1.0]), ..config() }),
        counted(0.5, 0.1, Some(0.1), RunConfig { sharing: Sharing::MicroBatches { size: 4 }, ..config() }),
        counted(0.5, 0.1, None, RunConfig { phases: "2; 3 clip 0.5".parse().unwrap(), steps: Some(5), ..config() }),
        users(0, 1.0, 1, 1.0),
        users(300, 0.0, 1, 1.0),
        users(3, 1.0, 1, 1.0),
        users(300, 1.0, 0, 1.0),
        users(300, 1.0, 1, 0.0),
    ] {
        said.fails(Plan::new(refused, 1000));
    }
    said.fails(Plan::new(RunConfig { lot: 9, ..config() }, 1));
    said.fails(Plan::new(RunConfig { lot: 9, minority: Minority::Turned, ..config() }, 20));
    for noise in all_noises() {
        for scale in [-1.0, 1e-300, 1e-46, 1e60, f64::NAN] {
            if let Err(error) = Plan::new(RunConfig { noise: Some(noise.with_scale(scale)), ..config() }, 1000) {
                said.add(error);
            }
        }
    }
    for noise in
        [NoiseSpec::StudentT { nu: 1.0, scale: 1.0 }, NoiseSpec::GeneralizedGaussian { exponent: 0.5, scale: 1.0 }]
    {
        said.fails(Plan::new(RunConfig { noise: Some(noise), ..config() }, 1000));
    }
    said.check(38);
    let Err(refused) = Plan::new(RunConfig { learning_rate: -0.5, ..config() }, 1000) else { panic!("a plan") };
    assert_eq!(heard(&refused.to_message()), "Lernrate ist -0,5; erlaubt ist: über 0 und höchstens 1.000.000");
}

#[test]
fn the_accountants_refusals_are_german() {
    let (mut said, mut accounts) = (Said::default(), Accounts::default());
    let config = RunConfig::default;
    for formula in [
        "",
        "exp(",
        "exp(-y)",
        "1+x",
        "x+*2",
        "1.2.3",
        "max(x)",
        "x²",
        "exp(-x^2)*(1+2*x^4)",
        "1/(1+abs(x))",
        "exp(-(x-1)^2)",
        "exp(x)",
        "0",
        "-1",
        "ln(x)",
    ]
    .into_iter()
    .map(str::to_owned)
    .chain(["(".repeat(500), "x+".repeat(600)])
    {
        let Answer::Density(Err(phrase)) = accounts.answer(Question::Density(formula.clone())) else {
            panic!("{formula}")
        };
        said.add(phrase);
    }
    for (config, budget) in [
        (RunConfig { noise: None, ..config() }, 1.0),
        (RunConfig { replay: Some(1), ..config() }, 1.0),
        (RunConfig { encoder: EncoderSpec::None, ..config() }, 1.0),
        (RunConfig { delta: 2.0, ..config() }, 1.0),
        (config(), 1e-9),
        (RunConfig { sampling: SamplingPolicy::Shuffled, ..config() }, 1e-4),
        (RunConfig { grid_bits: Some(1), delta: 1e-300, ..config() }, 1.0),
    ] {
        let Answer::Scale(Err(phrase)) =
            accounts.answer(Question::Scale { config, train: 60_000, steps: 1_000_000, budget })
        else {
            panic!()
        };
        said.add(phrase);
    }
    for epsilon in [-1.0, 1e9, 1e-12] {
        let query = ComparisonQuery {
            noise: Candidate::Family(NoiseSpec::Gaussian { sigma: 1.0 }),
            psi: Psi::Spread,
            rate: 0.01,
            steps: 100_000,
            delta: 1e-5,
            epsilon,
        };
        if let Answer::Compare(compared) = accounts.answer(Question::Compare(query)) {
            compared.err().into_iter().for_each(|phrase| said.add(phrase));
        }
    }
    let unknown = Question::Curve { run: 9, events: vec![], delta: 1e-5, epsilon: 1.0 };
    let Answer::Curve(Err(phrase)) = accounts.answer(unknown) else { panic!() };
    said.add(phrase);
    for ledger in [
        "",
        "{}",
        "{\"format\":\"x\",\"version\":1,\"releases\":[],\"events\":[]}",
        "{\"format\":\"hushgrad-ledger\",\"version\":99,\"releases\":[],\"events\":[]}",
    ] {
        let Answer::Ledger(Err(phrase)) = accounts.answer(Question::Ledger { run: 9, ledger: ledger.to_owned() })
        else {
            panic!("{ledger}")
        };
        said.add(phrase);
    }
    for bytes in [
        b"".to_vec(),
        b"PK".to_vec(),
        b"{}".to_vec(),
        b"[1,".to_vec(),
        b"{\"format\":\"x\",\"version\":1}".to_vec(),
        b"{\"format\":\"hushgrad-run\",\"version\":99}".to_vec(),
        b"{\"format\":\"hushgrad-run\",\"version\":1}".to_vec(),
    ] {
        said.fails(RunFile::to_show("my run: labels.json", &bytes));
    }
    said.check(32);
}

#[test]
fn assumptions_are_german() {
    let mut said = Said::default();
    let envelope = EncoderSpec::Envelope { vectors: 4, shape: EnvelopeShape::HeavyTailed, pre_scale: 1.0, seed: 1 };
    for noise in all_noises() {
        for encoder in [EncoderSpec::Clip { norm: 1.5 }, envelope.clone()] {
            for sampling in [
                SamplingPolicy::Poisson,
                SamplingPolicy::FixedSize,
                SamplingPolicy::Shuffled,
                SamplingPolicy::RandomAllocation,
            ] {
                for grid_bits in [None, Some(12)] {
                    let noise = Some(noise.with_scale(2.5));
                    let config = RunConfig {
                        noise,
                        encoder: encoder.clone(),
                        sampling,
                        grid_bits,
                        lot: 64,
                        ..RunConfig::default()
                    };
                    match projection::planned(&config, 60_000, 7) {
                        Ok(books) => assumptions(books.ledger()).into_iter().for_each(|phrase| said.add(phrase)),
                        Err(error) => said.add(error),
                    }
                }
            }
        }
    }
    let banded = projection::planned(&RunConfig { bands: 4, ..RunConfig::default() }, 60_000, 7).unwrap();
    assumptions(banded.ledger()).into_iter().for_each(|phrase| said.add(phrase));
    let counts = counted(0.5, 0.1, Some(0.1), RunConfig::default());
    let counts = projection::planned(&counts, 60_000, 7).unwrap();
    assumptions(counts.ledger()).into_iter().for_each(|phrase| said.add(phrase));
    for reason in [NoGuarantee::Replayed, NoGuarantee::NoNoise, NoGuarantee::NoBound, NoGuarantee::Unrecorded] {
        said.add(reason);
    }
    said.check(100);
}

#[test]
fn errors_of_files_engines_and_stores_are_german() {
    let mut said = Said::default();
    let images = |count: u32| [idx::header(Kind::Images, count), vec![0; 784 * count as usize]].concat();
    let labels = |count: u32| [idx::header(Kind::Labels, count), vec![1; count as usize]].concat();
    for bytes in [vec![], b"PK\x03\x04".to_vec(), b"<!doctype html>".to_vec(), images(2)[..900].to_vec()] {
        said.fails(idx::read("train-images.gz", &bytes));
    }
    said.fails(idx::read_kind("a: b", &images(1), Kind::Labels));
    let assembled = |files: &[(&str, Vec<u8>)]| visitor::assemble(files).map(drop);
    said.fails(assembled(&[]));
    said.fails(assembled(&[("a", images(2)), ("b", labels(3))]));
    said.fails(assembled(&[("a", images(2))]));
    said.fails(assembled(&[("x.npy", b"\x93NUMPY\x01\0".to_vec())]));
    for manifest in ["{\"format\":9}", "<html>"] {
        said.fails(Manifest::parse(manifest.as_bytes()));
    }
    for error in [
        Unsupported::GridOnGpu,
        Unsupported::Length { what: "pixels", found: 1, expected: 2 },
        Unsupported::Images { found: Picture { channels: 3, side: 32 }, expected: Picture::DIGIT },
    ] {
        said.add(EngineError::from(error));
    }
    said.add(EngineError::WrongResult { adapter: "A".into(), what: "the noise".into(), difference: 1.5e-3 });
    for error in [StoreError::Full, StoreError::Silent(Duration::from_secs(20)), StoreError::Gone] {
        said.add(message!("the run could not be deleted: {error}; close the other tab, or try again later"));
    }
    said.check(18);
    let refused = idx::read("labels", b"PK\x03\x04").unwrap_err();
    assert_eq!(
        heard(&refused.to_message()),
        "labels: Bytes 50 4b 03 04 (ein ZIP-Archiv: entpacke es zuerst): weder gzip (1f 8b) noch IDX (00 00 08 …); die Datei lässt sich nicht lesen"
    );
}
