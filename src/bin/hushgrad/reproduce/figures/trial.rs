//! A figure's training run: measured after each epoch, and saved so that it survives interruptions.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use hushgrad::{
    data::{Dataset, Digits},
    engine::{Engine, Performance, cpu::CpuEngine, reference::pixels},
    mechanism::State,
    train::{
        config::RunConfig,
        plan::Plan,
        report::ReleasedMetrics,
        session::{Progress, Session},
    },
};
use indicatif::ProgressBar;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::measured::hex;

/// Why a run failed, on any thread.
pub type Fault = Box<dyn std::error::Error + Send + Sync>;

/// Number of training images on which the loss is computed.
const LOSS_IMAGES: usize = 1000;
/// Lower limit of probabilities in the loss.
const LEAST_PROBABILITY: f64 = 1e-12;
/// Training time between saves.
const BETWEEN_SAVES: Duration = Duration::from_secs(30);
/// One training image of this many is held out for tuning, 5,000 of MNIST, by public position. The
/// guarantee begins after the split: ε covers only images trained on.
pub const HELD_OUT: usize = 12;

/// Training and evaluation data of trials.
pub struct Data {
    /// The complete training and test sets.
    pub whole: Digits,
    /// The training set's parts for tuning: to train on and to evaluate on.
    split: (Dataset, Dataset),
    digest: String,
    /// Digest of the held-out images.
    held_out: String,
}

impl Data {
    pub fn new(whole: Digits) -> Self {
        let split = whole.train.hold_out_by_place(HELD_OUT);
        let digest = |sets: &[&Dataset]| {
            let mut digest = Sha256::new();
            for set in sets {
                digest.update(&*set.images);
                digest.update(&set.labels);
            }
            hex(digest.finalize())
        };
        let (held_out, digest) = (digest(&[&split.1]), digest(&[&whole.train, &whole.test]));
        Self { whole, split, digest, held_out }
    }

    /// Returns the sets to train on and to evaluate on.
    pub fn of(&self, held_out: bool) -> (&Dataset, &Dataset) {
        if held_out { (&self.split.0, &self.split.1) } else { (&self.whole.train, &self.whole.test) }
    }

    /// Digest of the data and `what`.
    pub fn identity(&self, what: &str) -> String {
        hex(Sha256::digest(format!("{} {what}", self.digest)))
    }
}

#[derive(Clone)]
pub struct Trial {
    /// A name for display.
    pub name: String,
    /// With a number of steps, and replayed.
    pub config: RunConfig,
    /// True if the held-out images replace the test set and are not trained on.
    pub held_out: bool,
}

/// Measurements after `step` steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    pub step: u64,
    /// On the test or held-out images.
    pub accuracy: f64,
    /// Mean cross-entropy on the first training images.
    pub loss: f64,
    /// The last step's Kolmogorov–Smirnov factor.
    pub factor: f64,
}

/// Steps at which a run is measured: 0, after each epoch, and the last.
pub fn stops(steps: u64, per_epoch: f64) -> Vec<u64> {
    let epochs = (0u32..).map(|epoch| (f64::from(epoch) * per_epoch).round() as u64);
    epochs.take_while(|&stop| stop < steps).chain([steps]).collect()
}

impl Trial {
    /// Digest of the images and non-default settings; a new option that is off does not change it.
    pub fn identity(&self, data: &Data) -> String {
        let json = |config: &RunConfig| serde_json::to_value(config).unwrap_or_default();
        let (mut config, usual) = (json(&self.config), json(&RunConfig::default()));
        if let Some(fields) = config.as_object_mut() {
            fields.retain(|name, value| usual.get(name) != Some(value));
        }
        // The choice of held-out images affects the result.
        let held_out = if self.held_out { &data.held_out } else { "false" };
        data.identity(&format!("{config} held out: {held_out}"))
    }

    pub fn steps(&self) -> u64 {
        self.config.steps.unwrap_or(1)
    }
}

/// The state of an unfinished run.
#[derive(Serialize, Deserialize)]
struct Saved {
    identity: String,
    step: u64,
    seconds: f64,
    points: Vec<Point>,
    parameters: Vec<f32>,
    momentum: Vec<f32>,
    average: Option<Vec<f32>>,
    counted: ReleasedMetrics,
    clips: Vec<f32>,
}

impl Saved {
    /// Reads this run's state at `path`; `None` if absent or invalid.
    fn read(path: &Path, identity: &str, parameters: usize) -> Option<Self> {
        let saved: Self = postcard::from_bytes(&std::fs::read(path).ok()?).ok()?;
        let average = saved.average.as_ref().map_or(parameters, Vec::len);
        let whole = [saved.parameters.len(), saved.momentum.len(), average] == [parameters; 3];
        let ordered = saved.points.last().is_some_and(|point| point.step == saved.step);
        (saved.identity == identity && whole && ordered && saved.seconds >= 0.0).then_some(saved)
    }
}

/// A run in progress.
pub struct Training {
    session: Session<CpuEngine>,
    test: Dataset,
    /// Images on which the loss is computed.
    train: Dataset,
    stops: Vec<u64>,
    points: Vec<Point>,
    identity: String,
    /// Where the run's state is saved.
    path: Option<PathBuf>,
    saved: Instant,
}

impl Training {
    /// Starts a run, or continues the one saved in `folder`; without a folder nothing is saved.
    ///
    /// # Errors
    /// If the configuration cannot run.
    pub fn open(trial: &Trial, data: &Data, folder: Option<&Path>) -> Result<Self, Fault> {
        let (train, test) = data.of(trial.held_out);
        let identity = trial.identity(data);
        let path = folder.map(|folder| folder.join(format!("{identity}.unfinished")));
        let plan = Plan::new(trial.config.clone(), train.len() as u32)?;
        let stops = stops(trial.steps(), plan.steps_per_epoch());
        let performance = Performance { chunk: None, threads: Some(1) };
        let parameters = plan.initial_parameters();
        let mut engine = CpuEngine::new(plan.task.clone(), train.clone(), &parameters, performance)?;
        let (session, points) = match path.as_deref().and_then(|path| Saved::read(path, &identity, parameters.len())) {
            Some(saved) => {
                let Saved { parameters, momentum, average, .. } = saved;
                pollster::block_on(engine.set_state(&State { parameters, momentum, average }))?;
                let progress = Progress {
                    step: saved.step,
                    ledger: None,
                    training: Duration::try_from_secs_f64(saved.seconds).unwrap_or_default(),
                    non_finite: 0,
                    counted: saved.counted,
                    clips: saved.clips,
                };
                (Session::resume(plan, engine, progress)?, saved.points)
            }
            None => (Session::new(plan, engine)?, vec![]),
        };
        let (test, train) = (test.clone(), train.slice(0..LOSS_IMAGES));
        Ok(Self { session, test, train, stops, points, identity, path, saved: Instant::now() })
    }

    /// Trains to the next measurement; `None` at the end.
    ///
    /// # Errors
    /// If the engine fails or the state cannot be saved.
    pub fn advance(&mut self, bar: &ProgressBar) -> Result<Option<Point>, Fault> {
        let Some(&stop) = self.stops.get(self.points.len()) else { return Ok(None) };
        bar.set_position(self.session.step_count());
        let point = pollster::block_on(async {
            while self.session.step_count() < stop {
                self.session.step().await?;
                bar.inc(1);
            }
            let accuracy = self.session.accuracy(&self.test).await?;
            let factor = self.session.settle().await?.denoise_factor.into();
            let loss = self.loss().await?;
            Ok::<_, Fault>(Point { step: stop, accuracy, loss, factor })
        })?;
        self.points.push(point);
        if self.saved.elapsed() >= BETWEEN_SAVES {
            self.save()?;
        }
        Ok(Some(point))
    }

    async fn loss(&mut self) -> Result<f64, Fault> {
        let mut sum = 0.0;
        for (i, &label) in self.train.labels.iter().enumerate() {
            let probabilities = self.session.engine().predict(&pixels(self.train.image(i))).await?;
            // `max` also replaces NaN, from a broken model.
            sum -= f64::from(probabilities[usize::from(label)]).max(LEAST_PROBABILITY).ln();
        }
        Ok(sum / self.train.len() as f64)
    }

    /// Saves the run's state.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&mut self) -> Result<(), Fault> {
        let Some(path) = &self.path else { return Ok(()) };
        let State { parameters, momentum, average } = pollster::block_on(self.session.engine().state())?;
        let progress = self.session.progress();
        let saved = Saved {
            identity: self.identity.clone(),
            step: progress.step,
            seconds: progress.training.as_secs_f64(),
            points: self.points.clone(),
            parameters,
            momentum,
            average,
            counted: progress.counted,
            clips: progress.clips,
        };
        let unwritten = |e: std::io::Error| format!("cannot write {}: {e}", path.display());
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(unwritten)?;
        }
        // Replaced atomically, so that an interruption leaves the old file whole.
        let new = path.with_extension("new");
        std::fs::write(&new, postcard::to_stdvec(&saved)?).map_err(unwritten)?;
        std::fs::rename(&new, path).map_err(unwritten)?;
        self.saved = Instant::now();
        Ok(())
    }

    /// Steps at which the run is measured.
    pub fn stops(&self) -> &[u64] {
        &self.stops
    }

    /// Returns the current parameters.
    ///
    /// # Errors
    /// If the engine fails.
    pub fn parameters(&mut self) -> Result<Vec<f32>, Fault> {
        Ok(pollster::block_on(self.session.engine().state())?.parameters)
    }

    /// Returns all measurements and the seconds of training; removes the saved state.
    pub fn finish(self) -> (Vec<Point>, f64) {
        if let Some(path) = &self.path {
            let _ = std::fs::remove_file(path);
        }
        (self.points, self.session.progress().training.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hushgrad::data::synthetic;

    pub fn trial(seed: u64, steps: u64) -> Trial {
        let config =
            RunConfig { lot: 40, steps: Some(steps), init_seed: seed, replay: Some(seed), ..RunConfig::default() };
        Trial { name: "test".to_owned(), config, held_out: false }
    }

    #[test]
    fn a_run_is_measured_at_its_beginning_each_epoch_and_its_end() {
        assert_eq!(stops(14_063, 234.375)[..4], [0, 234, 469, 703]);
        assert_eq!(stops(14_063, 234.375).len(), 61);
        assert_eq!(stops(14_062, 234.375).last(), Some(&14_062));
        assert_eq!(stops(10, 20.0), [0, 10]);
        assert_eq!(stops(40, 20.0), [0, 20, 40]);
    }

    #[test]
    fn interrupted_run_gives_the_same_result() {
        let folder = std::env::temp_dir().join(format!("hushgrad-trial-{}", std::process::id()));
        let data = Data::new(synthetic::digits(1, 120, 50));
        let (trial, bar) = (trial(3, 9), ProgressBar::hidden());
        let whole = {
            let mut training = Training::open(&trial, &data, Some(&folder)).unwrap();
            while training.advance(&bar).unwrap().is_some() {}
            (training.parameters().unwrap(), training.finish().0)
        };
        assert_eq!(whole.1.iter().map(|point| point.step).collect::<Vec<_>>(), [0, 3, 6, 9]);
        assert!(whole.1[3].loss < whole.1[0].loss && whole.1[0].loss > 1.0);

        let mut first = Training::open(&trial, &data, Some(&folder)).unwrap();
        first.advance(&bar).unwrap();
        first.advance(&bar).unwrap();
        first.save().unwrap();
        drop(first);
        let mut second = Training::open(&trial, &data, Some(&folder)).unwrap();
        assert_eq!(second.points.len(), 2);
        while second.advance(&bar).unwrap().is_some() {}
        let path = second.path.clone().unwrap();
        assert!(path.exists());
        assert_eq!((second.parameters().unwrap(), second.finish().0), whole);
        assert!(!path.exists(), "nothing stays of a finished run");

        // States of other runs and invalid files are ignored.
        std::fs::write(&path, [7; 20]).unwrap();
        assert!(Training::open(&trial, &data, Some(&folder)).unwrap().points.is_empty());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn identity_depends_on_everything_that_affects_a_run() {
        let data = Data::new(synthetic::digits(1, 120, 50));
        let other = Data::new(synthetic::digits(2, 120, 50));
        let held_out = Trial { held_out: true, ..trial(1, 9) };
        let all = [
            trial(1, 9).identity(&data),
            trial(2, 9).identity(&data),
            trial(1, 10).identity(&data),
            trial(1, 9).identity(&other),
            held_out.identity(&data),
        ];
        assert_eq!(all[0], trial(1, 9).identity(&data));
        for (k, one) in all.iter().enumerate() {
            assert!(all[k + 1..].iter().all(|two| two != one), "{k}");
        }
        assert_eq!((data.of(true).0.len(), data.of(true).1.len()), (110, 10));
    }
}
