//! `hushgrad pretrain`: creates the parameters shipped with the program, from synthetic images.

use std::{
    error::Error,
    path::{Path, PathBuf},
};

use hushgrad::{
    data::{
        Dataset, Picture,
        synthetic::{self, colour},
    },
    engine::{Engine, EngineError, Performance, StepInput, Task, cpu::CpuEngine},
    mechanism::State,
    model::{Architecture, initial_parameters, pretrained, scattering},
};
use indicatif::{ProgressBar, ProgressStyle};

use crate::distort::distorted;

mod extractor;

/// The pre-trained model.
pub const MODEL: Architecture = Architecture::CnnTanh;
/// Seed of the file in the repository.
const SEED: u64 = 1;
/// Epochs; each draws new images.
const EPOCHS: u64 = 12;
const IMAGES: usize = 60_000;
const LOT: usize = 256;
/// Initial learning rate; it falls to zero along half a cosine.
const LEARNING_RATE: f64 = 0.1;
const MOMENTUM: f32 = 0.9;

#[derive(clap::Args)]
pub struct Arguments {
    /// What to create
    #[arg(long, value_enum, default_value_t = Made::CnnTanh)]
    made: Made,
    /// Output file [default: its place in the program's sources]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Seed of images and initial parameters
    #[arg(long, default_value_t = SEED)]
    seed: u64,
    /// CPU threads, which do not affect the result [default: all]
    #[arg(long)]
    threads: Option<u32>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Made {
    /// Parameters of the tanh CNN
    CnnTanh,
    /// Centre of each scattering feature; takes effect when the program is rebuilt
    Centres,
    /// The same for colour images
    ColourCentres,
    /// Layers that extract features of colour images
    Extractor,
    /// Parameters of the linear model on scattering features
    Scattering,
}

impl Made {
    const fn file(self) -> &'static str {
        match self {
            Self::CnnTanh => "crates/core/src/model/cnn_tanh.pretrained",
            Self::Centres => "crates/core/src/model/scattering.centres",
            Self::ColourCentres => "crates/core/src/model/scattering_colour.centres",
            Self::Extractor => "crates/core/src/model/extractor.pretrained",
            Self::Scattering => "crates/core/src/model/scattering.pretrained",
        }
    }
}

/// The recipe's numbers, to distinguish recipes.
pub fn recipe() -> String {
    format!("{MODEL}, {EPOCHS} × {IMAGES} digits, distorted, lot {LOT}, rate {LEARNING_RATE}, momentum {MOMENTUM}")
}

/// Trains and writes the file. The same seed gives the same file on processors with the same
/// instruction set; others round sums differently.
///
/// # Errors
/// If the engine does not start or the file cannot be written.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let Arguments { seed, threads, .. } = *arguments;
    let trained = |model| train(model, seed, threads).map(|parameters| pretrained::encode(model, &parameters));
    let bytes = match arguments.made {
        Made::CnnTanh => trained(MODEL)?,
        Made::Scattering => trained(Architecture::Scattering)?,
        Made::Centres => centres(Picture::DIGIT, seed, threads)?,
        Made::ColourCentres => centres(colour::PICTURE, seed, threads)?,
        Made::Extractor => extractor::made(seed, threads)?,
    };
    let path = arguments.out.as_deref().unwrap_or_else(|| Path::new(arguments.made.file()));
    let out = path.display();
    std::fs::write(path, &bytes).map_err(|e| format!("cannot write {out}: {e}"))?;
    eprintln!("{out}: {} bytes", bytes.len());
    Ok(())
}

/// Images `start..start + len` for pre-training: distorted digits, or colour shapes.
fn drawn(picture: Picture, seed: u64, start: u64, len: usize) -> Dataset {
    if picture.channels > 1 {
        return colour::dataset(seed, start, len);
    }
    distorted(&synthetic::dataset(seed, start, len), (seed << 32) | (start / len as u64))
}

/// Returns the parameters pre-trained on synthetic images, not yet rounded to the file's bytes.
///
/// # Errors
/// If the engine does not start.
pub fn train(model: Architecture, seed: u64, threads: Option<u32>) -> Result<Vec<f32>, Box<dyn Error>> {
    let task = Task { expected_lot: LOT as f32, momentum: MOMENTUM, ..Task::without_privacy(model) };
    let performance = Performance { chunk: None, threads };
    let steps = IMAGES / LOT;
    let bar = ProgressBar::new(EPOCHS * steps as u64);
    bar.set_style(ProgressStyle::with_template("pre-training {bar:40} {pos}/{len} {elapsed}/{duration} {msg}")?);
    let mut state = State::start(initial_parameters(model, seed), false);
    for epoch in 0..EPOCHS {
        let images = drawn(model.picture(), seed, epoch * IMAGES as u64, IMAGES);
        let mut engine = CpuEngine::new(task.clone(), images, &state.parameters, performance)?;
        let trained: Result<_, EngineError> = pollster::block_on(async {
            engine.set_state(&state).await?;
            for step in 0..steps {
                let lot: Vec<u32> = (step * LOT..(step + 1) * LOT).map(|i| i as u32).collect();
                let progress = (epoch as usize * steps + step) as f64 / (EPOCHS as usize * steps) as f64;
                let rate = LEARNING_RATE * 0.5 * (1.0 + (std::f64::consts::PI * progress).cos());
                // Without noise the key is unused.
                let noise_key = [0; 8];
                engine.step(StepInput::alone(&lot, noise_key, rate as f32)).await?;
                bar.inc(1);
            }
            engine.state().await
        });
        state = trained?;
    }
    bar.finish_and_clear();
    Ok(state.parameters)
}

/// Returns new feature centres: the current ones plus mean distances from them, in byte steps.
fn centres(picture: Picture, seed: u64, threads: Option<u32>) -> Result<Vec<u8>, Box<dyn Error>> {
    const IMAGES: usize = 10_000;
    let images = drawn(picture, seed, 0, IMAGES);
    let model = Architecture::Scattering.fitted(picture, images.classes.count())?;
    let Some(map) = model.features() else { return Err("this model has no fixed features".into()) };
    let performance = Performance { chunk: None, threads };
    let parameters = initial_parameters(model, seed);
    let mut engine = CpuEngine::new(Task::without_privacy(model), images.clone(), &parameters, performance)?;
    pollster::block_on(engine.prepare(IMAGES))?;
    let mut sums = vec![0.0; map.len()];
    for bytes in images.features().of(&images, map.kind).chunks_exact(map.len()) {
        sums.iter_mut().zip(bytes).for_each(|(sum, &byte)| *sum += f64::from(byte) - scattering::ZERO);
    }
    let middle = |(k, sum): (usize, &f64)| {
        (f64::from(scattering::centre(picture, k)) + sum / IMAGES as f64).round().clamp(-128.0, 127.0) as i8 as u8
    };
    Ok(sums.iter().enumerate().map(middle).collect())
}
