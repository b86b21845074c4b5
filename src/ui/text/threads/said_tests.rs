//! Real sentences of the threads, each of which must be German in all its parts.

use std::{fmt::Display, time::Duration};

use super::{tests::german, *};
use crate::{
    accounting::{noise::NoiseSpec, report::assumptions, search::families},
    data::{
        Picture, Remark,
        file_fault::{CifarField, FileError, FileFault, NpyExpected, NpyField, NpySide, TarField},
        idx::{self, Kind},
        picture::ClassesError,
        shards::Manifest,
        sharing::Sharing,
        visitor::{self, Role, VisitorError},
    },
    engine::{EngineError, LocalSteps, Unsupported},
    mechanism::{AdaptiveClip, Denoiser, EncoderSpec, EnvelopeShape, LayerClip, PaidMetrics, error::MechanismError},
    train::{
        config::{Augmentation, Minority, RunConfig, SamplingPolicy, Schedule, Start},
        error::{NoGuarantee, SessionError},
        plan::Plan,
        projection,
        run_file::RunFile,
    },
    worker::{
        accounts::{Accounts, Answer, Question},
        lab::{Candidate, ComparisonQuery, Psi},
        load_error::LoadError,
        reading::ReaderError,
        run_log::RunLogError,
        run_store::StoreError,
    },
};

/// A run with adaptive clipping and optional paid metrics.
fn counted(quantile: f64, noise: f64, metrics: Option<f64>, config: RunConfig) -> RunConfig {
    let (adaptive_clip, metrics) = (Some(AdaptiveClip { quantile, noise }), metrics.map(|noise| PaidMetrics { noise }));
    RunConfig { adaptive_clip, metrics, ..config }
}

/// Sentences of threads, each of which must be German in all its parts.
#[derive(Default)]
struct Said(Vec<String>);

impl Said {
    fn add(&mut self, said: impl Display) {
        self.0.push(said.to_string());
    }

    fn fails<T, E: Display>(&mut self, result: Result<T, E>) {
        self.add(result.err().expect("a refusal"));
    }

    fn check(&self, least: usize) {
        german();
        let english: Vec<_> = self
            .0
            .iter()
            .filter(|said| !look_up(said, DEEPEST, &Cell::new(0)).is_some_and(|(_, whole)| whole))
            .collect();
        assert!(english.is_empty(), "{english:#?}");
        assert!(self.0.len() >= least, "{}", self.0.len());
    }
}

#[test]
fn file_errors_are_german() {
    let mut said = Said::default();
    let images = |count: u32| [idx::header(Kind::Images, count), vec![0; 784 * count as usize]].concat();
    let labels = |count: u32| [idx::header(Kind::Labels, count), vec![1; count as usize]].concat();
    let changed = |at: usize, byte: u8| {
        let mut bytes = images(2);
        bytes[at] = byte;
        bytes
    };
    let zipped = |bytes: &[u8]| {
        use std::io::Write as _;
        let mut packer = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
        packer.write_all(bytes).unwrap();
        packer.finish().unwrap()
    };
    let cut = zipped(&images(20));
    for bytes in [
        vec![],
        b"PK\x03\x04".to_vec(),
        b"\x89PNG".to_vec(),
        b"<!doctype html>".to_vec(),
        b"version https://git-lfs".to_vec(),
        b"\x93NUMPY".to_vec(),
        vec![1, 2, 3, 4, 5],
        images(2)[..9].to_vec(),
        images(2)[..900].to_vec(),
        [images(2), vec![0; 9]].concat(),
        changed(2, 9),
        changed(2, 0x0d),
        changed(2, 0x77),
        changed(3, 2),
        changed(7, 0),
        changed(4, 9),
        changed(11, 99),
        changed(15, 99),
        [idx::header(Kind::Labels, 2), vec![1, 177]].concat(),
        cut[..20].to_vec(),
        [&cut[..12], &[0xff; 30]].concat(),
        zipped(b"PK\x03\x04 and more"),
        zipped(&[images(2), vec![0; 9]].concat()),
    ] {
        said.fails(idx::read("train-images.gz", &bytes));
    }
    said.fails(idx::read_kind("a: b", &images(1), Kind::Labels));
    let assembled = |files: &[(&str, Vec<u8>)]| visitor::assemble(files).map(drop);
    let assembled_whole = |files: &[(&str, Vec<u8>)]| visitor::assemble(files).expect("images");
    said.fails(assembled(&[]));
    said.fails(assembled(&["a", "b", "c", "d", "e"].map(|name| (name, images(1)))));
    said.fails(assembled(&[("a", images(2)), ("b", labels(3))]));
    said.fails(assembled(&[("a", images(2))]));
    said.fails(assembled(&[("a", labels(2))]));
    said.fails(assembled(&[("a", images(2)), ("b", labels(2))]));
    said.fails(assembled(&[("train-a", images(2)), ("train-b", images(2)), ("c", labels(2))]));
    said.fails(assembled(&[("a", images(9)), ("b", images(9)), ("c", labels(9)), ("d", labels(9))]));
    said.fails(assembled(&[("a", images(9)), ("b", labels(9))]));
    let file = || "„a“: is 5; it must be labels".to_owned();
    for error in [
        VisitorError::TooLarge { file: file(), bytes: 5_000_000_000, most: 400_000_000 },
        VisitorError::TooMuch { file: file(), bytes: 5_000_000_000, most: 400_000_000 },
        VisitorError::Unreadable { file: file() },
        VisitorError::Changed { file: file() },
        VisitorError::NoMemory { file: file(), bytes: 12_345_678 },
        VisitorError::NotAlone { first: file(), second: file() },
        VisitorError::SizesDiffer { first: file(), second: file() },
        VisitorError::Duplicate { first: file(), second: file(), role: Role::Test, kind: Kind::Labels },
        VisitorError::RolesDiffer { images_file: file(), labels_file: file() },
    ] {
        german();
        let error = error.to_string();
        assert!(heard(&error).contains(&file()), "{}", heard(&error));
        said.add(error);
    }
    for (file, bytes) in [
        ("notes.txt", b"hello".to_vec()),
        ("a.png", b"\x89PNG\r\n".to_vec()),
        ("x.npy", b"\x93NUMPY\x01\0".to_vec()),
        ("data_batch_1.bin", vec![7; 5000]),
        ("data_batch_1.bin", vec![77; 3073]),
        ("test_batch.bin", vec![7; 3073]),
        ("train.bin", vec![21; 3074]),
        ("batches.meta.txt", b"cat\ndog\n".to_vec()),
        ("batches.meta.txt", vec![0xff; 9]),
        ("mine.zip", b"PK\x05\x06".to_vec()),
        ("images", idx::header_of(&[1, 8, 8, 2])),
        ("images", idx::header_of(&[500_000, 64, 64, 3])),
    ] {
        said.fails(assembled(&[(file, bytes)]));
    }
    said.fails(assembled(&["a", "b", "c", "d", "e", "f", "g", "h"].map(|name| (name, images(1)))));
    said.fails(assembled(&[("a", images(2)), ("test.bin", vec![7; 3073])]));
    let files = || "„a“: is 5; it must be labels".to_owned();
    for fault in [
        FileFault::NoMemory { entry: files(), bytes: 5 },
        FileFault::EntryTooLarge { entry: files(), bytes: 5, most: 4 },
        FileFault::TooMuch { entry: files(), most: 4 },
        FileFault::Pixels { entry: files(), most: 4 },
        FileFault::ZipOverlap,
        FileFault::Twice { entry: files() },
        FileFault::TooMany { found: 500_001 },
        FileFault::NoExamples,
        FileFault::Classes(ClassesError::Count { found: 1 }),
        FileFault::Classes(ClassesError::Name { class: 1, name: files() }),
        FileFault::Classes(ClassesError::Twice { first: 1, second: 2, name: files() }),
        FileFault::CifarLabel { field: CifarField::Fine, found: 101, record: 3, most: 99 },
        FileFault::CifarNames { found: 2, expected: 10 },
        FileFault::CifarNameless,
        FileFault::CifarMissing { file: files() },
        FileFault::GzipTruncated { entry: files() },
        FileFault::GzipDamaged { entry: files(), detail: files() },
        FileFault::TarTruncated { entry: files() },
        FileFault::TarHeader { field: TarField::Name, at: 512 },
        FileFault::TarHeader { field: TarField::Size, at: 512 },
        FileFault::TarHeader { field: TarField::Checksum, at: 512 },
        FileFault::TarKind { entry: files() },
        FileFault::TarEntry { entry: files() },
        FileFault::ZipEntries { found: 5, most: 4 },
        FileFault::ZipEntry { entry: files() },
        FileFault::NpyMagic { array: files(), found: "50 4b".to_owned() },
        FileFault::NpyVersion { array: files(), found: 4 },
        FileFault::NpyHeader { array: files(), field: NpyField::Length },
        FileFault::NpyHeader { array: files(), field: NpyField::Shape },
        FileFault::NpyType { array: files(), name: "<f4".to_owned(), expected: NpyExpected::LabelType },
        FileFault::NpyType { array: files(), name: "|O8".to_owned(), expected: NpyExpected::ImageType },
        FileFault::NpyFortran { array: files() },
        FileFault::NpyShape { array: files(), found: "(1, 2)".to_owned(), expected: NpyExpected::ImageShape },
        FileFault::NpyShape { array: files(), found: "(1, 2)".to_owned(), expected: NpyExpected::LabelShape },
        FileFault::NpyLength { array: files(), found: 5, expected: 4 },
        FileFault::NpySide { array: files(), field: NpySide::Rows, found: 65 },
        FileFault::NpyPixel { array: files(), image: 1, place: 2, found: "-0.5".to_owned() },
        FileFault::NpyLabel { array: files(), index: 1, found: "-1".to_owned() },
        FileFault::NpyNames { found: "x, y".to_owned() },
        FileFault::NpyCounts { images: files(), found: 1, labels: files(), other: 2 },
        FileFault::NpySizes { first: files(), second: files() },
        FileFault::NoPictures,
        FileFault::NoFolder { entry: files() },
        FileFault::TooDeep { entry: files() },
        FileFault::NoPicture { entry: files() },
        FileFault::OnlyTested { entry: files(), class: files() },
        FileFault::OnlyTests,
        FileFault::PictureMagic { entry: files(), found: "50 4b".to_owned() },
        FileFault::PictureHeader { entry: files() },
        FileFault::PictureCut { entry: files() },
        FileFault::PictureSize { entry: files(), width: 5000, height: 1 },
        FileFault::Undecodable { entry: files(), detail: files() },
        FileFault::OtherSize { entry: files(), width: 5, height: 1 },
        FileFault::Unreadable { entry: files(), detail: files() },
    ] {
        said.add(VisitorError::from(FileError { file: files(), fault }));
    }
    for error in [
        ReaderError::Absent { reason: "the browser does not say why".to_owned() },
        ReaderError::Ended { reason: "its images did not arrive whole".to_owned() },
        ReaderError::NoMemory { bytes: 400_000_000 },
        ReaderError::Superseded,
    ] {
        said.add(LoadError::from(error));
    }
    let own = assembled_whole(&[
        ("a", [idx::header_of(&[90, 2, 2]), (0..360).map(|i| (i * 7) as u8).collect()].concat()),
        ("b", labels(90)),
    ]);
    own.remarks().into_iter().for_each(|remark| said.add(remark));
    said.add(Remark::Dark { brightest: 16 });
    said.add(Remark::Empty { label: 0 });
    for manifest in ["", "{}", "<html>", "{\"format\":9}", "[1]"] {
        said.fails(Manifest::parse(manifest.as_bytes()));
    }
    for reason in ["the server answered 404 Not Found", "Failed to fetch", "Load failed"] {
        let error = LoadError::Fetch { url: "https://a.b/c.bin".to_owned(), reason: reason.to_owned(), absent: false };
        if !reason.contains("404") {
            said.add(SessionError::Start { reason: reason.to_owned() });
            said.add(SessionError::Extractor { reason: reason.to_owned() });
            said.add(error);
        }
    }
    said.add(SessionError::Start { reason: "the file is damaged, or of another version of this site".to_owned() });
    said.check(48);
    assert_eq!(
        heard("labels: the file holds labels; expected images"),
        "labels: die Datei enthält Labels; erwartet werden Bilder",
        "a file's name is no word"
    );
    assert_eq!(
        heard(
            "x.gz: bytes 50 4b 03 04 (a ZIP archive: unpack it first): neither gzip (1f 8b) nor IDX (00 00 08 …); the file cannot be read"
        ),
        "x.gz: Bytes 50 4b 03 04 (ein ZIP-Archiv: entpacke es zuerst): weder gzip (1f 8b) noch IDX (00 00 08 …); die Datei lässt sich nicht lesen"
    );
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
    assert_eq!(
        heard("learning-rate is -0.5; it must be above 0 and at most 1000000"),
        "Lernrate ist -0,5; erlaubt ist: über 0 und höchstens 1.000.000"
    );
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
    assert_eq!(
        heard("the formula cannot be read: at character 3, “*” is not expected here"),
        "die Formel lässt sich nicht lesen: bei Zeichen 3, „*“ wird hier nicht erwartet"
    );
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
    assert_eq!(
        heard("each gradient clipped to L2 norm 1.5; Gaussian noise of σ 2.5 on every coordinate of the sum"),
        "jeder Gradient gekürzt auf die L2-Norm 1,5; Gauß-Rauschen mit σ 2,5 auf jeder Koordinate der Summe"
    );
}

#[test]
fn engine_and_store_errors_are_german() {
    let mut said = Said::default();
    for error in [
        EngineError::NoAdapter("it allows 7 storage buffers in a kernel, and 8 are needed".into()),
        EngineError::NoAdapter("this browser or system offers none (No adapter)".into()),
        EngineError::NoAdapter("it refused to open a device (a: b)".into()),
        EngineError::DeviceLost("its queue is gone".into()),
        EngineError::WrongResult {
            adapter: "A (B, C)".into(),
            what: "the noise (noise.wgsl)".into(),
            difference: 1.5e-3,
        },
        EngineError::WrongResult { adapter: "A".into(), what: "the gradient of 7 (7)".into(), difference: f64::NAN },
        EngineError::TooLarge { what: "the envelope Ψ", needed: 12, limit: 3 },
        EngineError::OverBudget { needed: 12, limit: 3 },
        EngineError::OutOfMemory { what: "the run's buffers" },
    ] {
        // Names of kernels and messages of browsers are not translated.
        let text = error.to_string();
        german();
        assert_ne!(heard(&text), text);
        assert!(!heard(&text).contains(" the ") && !heard(&text).contains(" is "), "{}", heard(&text));
    }
    for error in [
        Unsupported::GridOnGpu,
        Unsupported::AugmentationOnGpu,
        Unsupported::SharingOnGpu,
        Unsupported::ScatteringOnSoftware,
        Unsupported::NoExtractor,
        Unsupported::LayersOnFeatures,
        Unsupported::SteepNoise,
        Unsupported::NoEnvelope,
        Unsupported::EnvelopeTooLong { parameters: 12, most: 3 },
        Unsupported::Length { what: "pixels", found: 1, expected: 2 },
        Unsupported::NoExamples,
        Unsupported::Label { label: 12, classes: 10 },
        Unsupported::Images { found: Picture { channels: 3, side: 32 }, expected: Picture::DIGIT },
        Unsupported::Classes { found: 100, expected: 10 },
        Unsupported::Example { index: 12, examples: 3 },
        Unsupported::Features { images: 12, bytes: 3 },
        Unsupported::Mechanism(MechanismError::EnvelopeDimension),
    ] {
        said.add(EngineError::from(error));
    }
    let refusals = [
        StoreError::Refused,
        StoreError::Full,
        StoreError::Silent(Duration::from_secs(20)),
        StoreError::Gone,
        StoreError::Busy,
    ];
    for error in refusals {
        said.add(&error);
        said.add(format!("the run is not deleted: {error}; close the other tab, or try again later"));
        said.add(format!("the runs before are not forgotten, because {error}; try again later"));
    }
    said.add("2 of the runs before still count, because another tab has them in hand; close it, and try again");
    for error in [
        RunLogError::Unreadable("they do not say what was released".into()),
        RunLogError::Fewer { books: 3, file: 12 },
        RunLogError::Otherwise,
    ] {
        said.add(format!("“labels: {{x}}”: {error}"));
    }
    said.check(25);
}
