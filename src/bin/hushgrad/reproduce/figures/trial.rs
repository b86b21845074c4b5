//! One training run of a figure: measured after each epoch, and kept on the way, so that it goes on after an interruption.

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
        report::Counted,
        session::{Progress, Session},
    },
};
use indicatif::ProgressBar;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::measured::hex;

/// Why a run failed, from any thread.
pub type Fault = Box<dyn std::error::Error + Send + Sync>;

/// Training images whose loss is followed.
const LOSS_IMAGES: usize = 1000;
/// Probabilities below this count as it.
const LEAST_PROBABILITY: f64 = 1e-12;
/// Time of training that an interruption may cost.
const BETWEEN_SAVES: Duration = Duration::from_secs(30);
/// One in so many training images is held out for tuning: 5,000 of MNIST's, whose order is public. What a run costs is told of the images that it trains on:
/// its guarantee begins after the split.
pub const HELD_OUT: usize = 12;

/// What trials train on and are measured by.
pub struct Data {
    /// The whole training set, and the test set.
    pub whole: Digits,
    /// The training set in two: what tuning trains on, and what it is measured by.
    split: (Dataset, Dataset),
    digest: String,
    /// Of the held-out images.
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

    /// What the trial trains on, and what it is measured by.
    pub fn of(&self, held_out: bool) -> (&Dataset, &Dataset) {
        if held_out { (&self.split.0, &self.split.1) } else { (&self.whole.train, &self.whole.test) }
    }

    /// A digest of all that decides a result.
    pub fn identity(&self, what: &str) -> String {
        hex(Sha256::digest(format!("{} {what}", self.digest)))
    }
}

/// A run.
#[derive(Clone)]
pub struct Trial {
    /// What people call it.
    pub name: String,
    /// With its steps, and replayed.
    pub config: RunConfig,
    /// Whether it trains without the held-out images and is measured by them, and not by the test set.
    pub held_out: bool,
}

/// What was measured after so many steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    pub step: u64,
    /// Share of the test or held-out images.
    pub accuracy: f64,
    /// Mean cross-entropy on the first training images.
    pub loss: f64,
    /// Kolmogorov–Smirnov factor of the last step.
    pub factor: f64,
}

/// Steps after which a run is measured: none, each epoch, the last.
pub fn stops(steps: u64, per_epoch: f64) -> Vec<u64> {
    let epochs = (0u32..).map(|epoch| (f64::from(epoch) * per_epoch).round() as u64);
    epochs.take_while(|&stop| stop < steps).chain([steps]).collect()
}

impl Trial {
    /// Digest of what differs from a default run, and of the images: an option that is added and off makes no run another one.
    pub fn identity(&self, data: &Data) -> String {
        let json = |config: &RunConfig| serde_json::to_value(config).unwrap_or_default();
        let (mut config, usual) = (json(&self.config), json(&RunConfig::default()));
        if let Some(fields) = config.as_object_mut() {
            fields.retain(|name, value| usual.get(name) != Some(value));
        }
        // Which images are held out decides what such a run comes to.
        let held_out = if self.held_out { &data.held_out } else { "false" };
        data.identity(&format!("{config} held out: {held_out}"))
    }

    pub fn steps(&self) -> u64 {
        self.config.steps.unwrap_or(1)
    }
}

/// What a run leaves behind on its way.
#[derive(Serialize, Deserialize)]
struct Saved {
    identity: String,
    step: u64,
    seconds: f64,
    points: Vec<Point>,
    parameters: Vec<f32>,
    momentum: Vec<f32>,
    average: Option<Vec<f32>>,
    counted: Counted,
    clips: Vec<f32>,
}

impl Saved {
    /// What was left at `path` by this run; what cannot be read is not there.
    fn read(path: &Path, identity: &str, parameters: usize) -> Option<Self> {
        let saved: Self = postcard::from_bytes(&std::fs::read(path).ok()?).ok()?;
        let average = saved.average.as_ref().map_or(parameters, Vec::len);
        let whole = [saved.parameters.len(), saved.momentum.len(), average] == [parameters; 3];
        let ordered = saved.points.last().is_some_and(|point| point.step == saved.step);
        (saved.identity == identity && whole && ordered && saved.seconds >= 0.0).then_some(saved)
    }
}

/// A run on its way.
pub struct Training {
    session: Session<CpuEngine>,
    test: Dataset,
    /// Those whose loss is followed.
    train: Dataset,
    stops: Vec<u64>,
    points: Vec<Point>,
    identity: String,
    /// Where it is kept on the way.
    path: Option<PathBuf>,
    saved: Instant,
}

impl Training {
    /// From the beginning, or from where it was left in `folder`; without one nothing is kept on the way.
    ///
    /// # Errors
    /// A configuration that cannot run.
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

    /// To where it is measured next; `None` at the end.
    ///
    /// # Errors
    /// Of the engine, or where what is kept on the way cannot be written.
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

    /// Mean cross-entropy on the first training images.
    async fn loss(&mut self) -> Result<f64, Fault> {
        let mut sum = 0.0;
        for (i, &label) in self.train.labels.iter().enumerate() {
            let probabilities = self.session.engine().predict(&pixels(self.train.image(i))).await?;
            // Also where a broken model gives no number.
            sum -= f64::from(probabilities[usize::from(label)]).max(LEAST_PROBABILITY).ln();
        }
        Ok(sum / self.train.len() as f64)
    }

    /// Keeps the run where it stands.
    ///
    /// # Errors
    /// Where the file cannot be written.
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
        // Written beside it first: an interruption now leaves the older one whole.
        let new = path.with_extension("new");
        std::fs::write(&new, postcard::to_stdvec(&saved)?).map_err(unwritten)?;
        std::fs::rename(&new, path).map_err(unwritten)?;
        self.saved = Instant::now();
        Ok(())
    }

    /// Steps after which it is measured.
    pub fn stops(&self) -> &[u64] {
        &self.stops
    }

    /// Parameters as they stand.
    ///
    /// # Errors
    /// Of the engine.
    pub fn parameters(&mut self) -> Result<Vec<f32>, Fault> {
        Ok(pollster::block_on(self.session.engine().state())?.parameters)
    }

    /// All that was measured and the seconds of training; what was kept on the way goes.
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
    fn an_interrupted_run_ends_as_if_it_had_not_been() {
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

        // Of another run, or half of one, nothing is read.
        std::fs::write(&path, [7; 20]).unwrap();
        assert!(Training::open(&trial, &data, Some(&folder)).unwrap().points.is_empty());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn whatever_decides_a_run_is_in_its_identity() {
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
