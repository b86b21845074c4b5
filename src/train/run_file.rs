//! Runs as files: what was set, what it came to, what was released, and the model as it stood, so that a run can be
//! shown, accounted for anew, and continued.

use serde::{Deserialize, Serialize};

use super::{
    config::RunConfig,
    plan::{absolute_noise, grid_of_release},
    projection::Point,
    report::{Privacy, Report},
};
use crate::{
    engine::EngineInfo,
    mechanism::{EncoderSpec, State},
    privacy::{
        ledger::{Ledger, Release, Sensitivity, Unit},
        rdp,
    },
};

const FORMAT: &str = "hushgrad-run";
/// Version of [`RunFile`]; later ones are refused, since what they add may matter. The first knew Poisson sampling alone, the second no mean of iterates.
const VERSION: u32 = 3;
/// A larger file is not a run: four thousand envelope vectors in the ledger take 15 MB.
pub const LARGEST: usize = 64 << 20;
/// Relative difference that a stated ε may have from the one that its ledger gives.
const TOLERANCE: f64 = 1e-6;

/// A run as it is shown: all that lists and charts need.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RunCard {
    pub name: String,
    /// What changed from the run before.
    pub note: String,
    pub config: RunConfig,
    pub engine: EngineInfo,
    /// Name of the digits, and how many there are.
    pub data: String,
    pub train: u32,
    pub test: u32,
    pub report: Report,
    /// Test accuracy where it was measured last.
    pub accuracy: Option<f64>,
    /// Step and value.
    pub accuracy_curve: Vec<Point>,
    pub improved_curve: Vec<Point>,
    pub classic_curve: Vec<Point>,
}

/// A run whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RunFile {
    pub format: String,
    pub version: u32,
    pub run: RunCard,
    /// What was released; `None`: nothing can be claimed of the run.
    pub ledger: Option<Ledger>,
    /// θ, flat.
    pub parameters: Vec<f32>,
    /// Empty: all zero.
    pub momentum: Vec<f32>,
    /// The mean of the iterates, where one is kept.
    #[serde(default)]
    pub average: Option<Vec<f32>>,
}

/// Why a file is not a run that can be shown or continued.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunFileError {
    #[error("{name} is no run file: it has {bytes} bytes, more than any")]
    TooLarge { name: String, bytes: usize },
    #[error("{name} is no run file of this page: {reason}")]
    Unreadable { name: String, reason: String },
    #[error("{name} was written by a later version of this page ({version}; this one reads {VERSION}); open it there")]
    Later { name: String, version: u32 },
    #[error("{name}: {field} is {value}, which no run can have; the file was changed by hand or damaged")]
    Impossible { name: String, field: &'static str, value: String },
    #[error("{name} claims an ε and has no ledger to show for it; it was changed by hand, and is not opened")]
    Unaccounted { name: String },
    #[error(
        "{name} says ε ≤ {stated}, and its ledger costs ε ≤ {accounted}; it was changed by hand, and is not opened"
    )]
    Differs { name: String, stated: f64, accounted: f64 },
}

impl RunCard {
    /// Reads a card that this page has kept.
    ///
    /// # Errors
    /// What is wrong with it, by `name`.
    pub fn from_json(name: &str, bytes: &[u8]) -> Result<Self, RunFileError> {
        let name = clipped(name);
        let card: Self = serde_json::from_slice(bytes)
            .map_err(|error| RunFileError::Unreadable { name: name.clone(), reason: error.to_string() })?;
        card.check(&name)?;
        Ok(card)
    }

    #[must_use]
    pub fn to_json(&self) -> String {
        // Every field is a plain number, text or list, and none is a map with keys that JSON could refuse.
        serde_json::to_string(self).unwrap_or_default()
    }

    fn check(&self, name: &str) -> Result<(), RunFileError> {
        let fine = |field: &'static str, fine: bool, value: String| {
            if fine {
                Ok(())
            } else {
                Err(RunFileError::Impossible { name: name.to_owned(), field, value: clipped(&value) })
            }
        };
        if let Some(accuracy) = self.accuracy {
            fine("accuracy", (0.0..=1.0).contains(&accuracy), accuracy.to_string())?;
        }
        fine("train", self.train > 0, self.train.to_string())?;
        fine("lot", (1..=self.train).contains(&self.config.lot), self.config.lot.to_string())?;
        fine("step", self.report.step <= 1 << 53, self.report.step.to_string())?;
        for (field, curve, most) in [
            ("accuracy-curve", &self.accuracy_curve, 1.0),
            ("improved-curve", &self.improved_curve, f64::MAX),
            ("classic-curve", &self.classic_curve, f64::MAX),
        ] {
            let ordered = curve.windows(2).all(|w| w[0].0 < w[1].0);
            let inside = curve.iter().all(|p| p.0 >= 0.0 && (0.0..=most).contains(&p.1));
            fine(field, ordered && inside, "out of order or out of range".to_owned())?;
        }
        Ok(())
    }
}

impl RunFile {
    /// Stamps format and version on a run.
    #[must_use]
    pub fn new(run: RunCard, ledger: Option<Ledger>, state: State) -> Self {
        let State { parameters, momentum, average } = state;
        let momentum = if momentum.iter().all(|m| *m == 0.0) { Vec::new() } else { momentum };
        Self { format: FORMAT.to_owned(), version: VERSION, run, ledger, parameters, momentum, average }
    }

    #[must_use]
    pub fn to_json(&self) -> String {
        // As for the card.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a file of the name `name` and accounts for it anew: its report then says what its ledger costs.
    ///
    /// # Errors
    /// What is wrong with it, by name.
    pub fn from_json(name: &str, bytes: &[u8]) -> Result<Self, RunFileError> {
        #[derive(Deserialize)]
        struct Head {
            format: String,
            version: u32,
        }
        let name = clipped(name);
        let unreadable = |reason: String| RunFileError::Unreadable { name: name.clone(), reason };
        if bytes.len() > LARGEST {
            return Err(RunFileError::TooLarge { name, bytes: bytes.len() });
        }
        let head: Head = serde_json::from_slice(bytes).map_err(|error| unreadable(error.to_string()))?;
        if head.format != FORMAT {
            return Err(unreadable(format!("its format is “{}”", clipped(&head.format))));
        }
        if head.version > VERSION {
            return Err(RunFileError::Later { name, version: head.version });
        }
        let mut file: Self = serde_json::from_slice(bytes).map_err(|error| unreadable(error.to_string()))?;
        file.run.check(&name)?;
        file.check_model(&name)?;
        file.account(&name)?;
        Ok(file)
    }

    fn check_model(&mut self, name: &str) -> Result<(), RunFileError> {
        let wanted = self.run.config.model.parameters();
        if self.momentum.is_empty() {
            self.momentum = vec![0.0; wanted];
        }
        let all = [
            ("parameters", Some(&self.parameters)),
            ("momentum", Some(&self.momentum)),
            ("average", self.average.as_ref()),
        ];
        for (field, values) in all.into_iter().filter_map(|(field, values)| Some((field, values?))) {
            let value = match values.iter().find(|value| !value.is_finite()) {
                _ if values.len() != wanted => format!("{} numbers long", values.len()),
                Some(value) => value.to_string(),
                None => continue,
            };
            return Err(RunFileError::Impossible { name: name.to_owned(), field, value });
        }
        Ok(())
    }

    /// Puts what the ledger costs into the report, where it does not contradict it.
    fn account(&mut self, name: &str) -> Result<(), RunFileError> {
        let name = || name.to_owned();
        let RunCard { config, train, report, .. } = &mut self.run;
        let Some(ledger) = &self.ledger else {
            return match report.privacy {
                Privacy::Bounded(_) => Err(RunFileError::Unaccounted { name: name() }),
                Privacy::NoGuarantee { .. } => Ok(()),
            };
        };
        let impossible = |value: String| RunFileError::Impossible { name: name(), field: "ledger", value };
        ledger.validate().map_err(|error| impossible(format!("such that {error}")))?;
        if ledger.steps() < report.step {
            return Err(impossible(format!("of {} steps where the run took {}", ledger.steps(), report.step)));
        }
        let last = ledger.events().last().and_then(|event| ledger.releases().get(event.release as usize));
        if last.is_some_and(|release| !describes(release, config, *train)) {
            return Err(impossible("of another mechanism than the configuration's".to_owned()));
        }
        let accounted = Privacy::of(config.delta, rdp::epsilon_of(ledger, config.delta), ledger)
            .map_err(|error| impossible(format!("such that {error}")))?;
        if let Privacy::Bounded(stated) = &report.privacy {
            let now = if let Privacy::Bounded(now) = &accounted { now.improved.epsilon } else { f64::INFINITY };
            let stated = stated.improved.epsilon;
            // So put that a number that is none does not pass.
            let agree = now.is_finite() && (stated - now).abs() <= TOLERANCE * now;
            if !agree {
                return Err(RunFileError::Differs { name: name(), stated, accounted: now });
            }
        }
        report.privacy = accounted;
        Ok(())
    }
}

/// Whether a step of this configuration on `train` examples is such a release.
fn describes(release: &Release, config: &RunConfig, train: u32) -> bool {
    let bound = match (&release.sensitivity, &config.encoder) {
        (Sensitivity::L2 { norm }, EncoderSpec::Clip { norm: wanted }) => norm == wanted,
        (Sensitivity::Envelope { profile }, EncoderSpec::Envelope { vectors, .. }) => {
            profile.len() == *vectors as usize && profile.dimension() == config.model.parameters() as u64
        }
        _ => false,
    };
    bound
        && config.replay.is_none()
        && release.unit == Unit::Example
        && release.noise == absolute_noise(config)
        && grid_of_release(config) == Ok(release.grid)
        && release.sampling == config.sampling.over(train, config.lot)
}

/// What is quoted back of something that may be a novel.
#[must_use]
pub fn clipped(text: &str) -> String {
    let mut short: String = text.chars().filter(|c| !c.is_control()).take(24).collect();
    if text.chars().count() > 24 {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::TestSet,
        engine::Backend,
        privacy::ledger::Ledger,
        train::{plan::Plan, report::PrivacyBound},
    };

    fn run() -> RunFile {
        run_of(RunConfig::default())
    }

    fn run_of(config: RunConfig) -> RunFile {
        let plan = Plan::new(config.clone(), 60_000).unwrap();
        let mut ledger = Ledger::new();
        let id = ledger.register(plan.priced.unwrap().0).unwrap();
        ledger.record_many(id, 12);
        let epsilon = rdp::epsilon_of(&ledger, config.delta).unwrap();
        let report = Report {
            step: 12,
            epoch: 0.05,
            training_seconds: 0.1,
            learning_rate: 0.5,
            test_accuracy: None,
            test_set: Some(TestSet::HeldOut),
            denoise_factor: 1.0,
            privacy: Privacy::Bounded(PrivacyBound::new(config.delta, &epsilon, &ledger)),
            by_plan: true,
            complete: false,
        };
        let parameters: Vec<f32> = (0..config.model.parameters()).map(|i| (i as f32).sin() * 1e-3).collect();
        let card = RunCard {
            name: "a run".into(),
            note: String::new(),
            config,
            engine: EngineInfo { backend: Backend::Cpu, device: "test".into() },
            data: "MNIST".into(),
            train: 60_000,
            test: 10_000,
            report,
            accuracy: Some(0.8),
            accuracy_curve: vec![(0.0, 0.1), (12.0, 0.8)],
            improved_curve: vec![(12.0, 0.5)],
            classic_curve: vec![(12.0, 0.7)],
        };
        RunFile::new(card, Some(ledger), State::start(parameters, false))
    }

    fn read(text: &str) -> Result<RunFile, String> {
        RunFile::from_json("a.json", text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_run_survives_its_file_to_the_last_bit() {
        let file = run();
        let back = read(&file.to_json()).unwrap();
        assert_eq!(back.run, file.run);
        assert_eq!((&back.parameters, &back.ledger), (&file.parameters, &file.ledger));
        assert_eq!(back.momentum, vec![0.0; file.parameters.len()]);
        let averaged = RunFile { average: Some(vec![0.1; file.parameters.len()]), ..file.clone() };
        assert_eq!(read(&averaged.to_json()).unwrap().average, averaged.average);
        assert_eq!(RunCard::from_json("a card", file.run.to_json().as_bytes()), Ok(file.run));
    }

    #[test]
    fn a_file_from_before_there_were_sampling_policies_is_read() {
        let file = run();
        let json = file.to_json().replacen("\"version\":3", "\"version\":1", 1);
        let old = json.replacen("\"sampling\":\"poisson\",", "", 1).replacen("\"averaging\":\"none\",", "", 1);
        let old = old.replacen(",\"average\":null", "", 1);
        assert!(!old.contains("averag"));
        assert!(old.len() < json.len());
        assert_eq!(read(&old).unwrap().run, file.run);
        let other = json.replacen("\"sampling\":\"poisson\",", "\"sampling\":\"shuffled\",", 1);
        assert!(read(&other).unwrap_err().contains("another mechanism"));
    }

    /// How many examples were drawn, and how many of them had no gradient, is private.
    #[test]
    fn files_do_not_tell_what_was_drawn() {
        let file = run();
        let json = file.to_json();
        for secret in ["lot-size", "examples-per-second", "non-finite"] {
            assert!(!json.contains(secret), "{secret}");
        }
        // Files of earlier versions told it; they are read, and what is written of them does not.
        let old = json.replacen(
            "\"training-seconds\":0.1,",
            "\"lot-size\":250,\"training-seconds\":0.098765,\"examples-per-second\":31103.1,\"non-finite\":3,",
            1,
        );
        let old = old.replacen("\"test-set\":\"held-out\",", "", 1);
        assert!(old.len() > json.len());
        let read = read(&old).unwrap();
        assert_eq!((read.run.report.training_seconds, read.run.report.test_set), (0.099, None));
        let again = read.to_json();
        assert!(!again.contains("31103") && !again.contains("non-finite") && !again.contains("0.098765"), "{again}");
        assert!(file.run.report.tests_private_images() && !read.run.report.tests_private_images());
    }

    #[test]
    fn a_grid_is_kept_and_accounted_for() {
        let config = RunConfig { grid_bits: Some(10), ..RunConfig::default() };
        let file = run_of(config.clone());
        let back = read(&file.to_json()).unwrap();
        assert_eq!(back.run, file.run);
        let epsilon = |run: &RunFile| match &run.run.report.privacy {
            Privacy::Bounded(bound) => bound.improved.epsilon,
            Privacy::NoGuarantee { reason } => panic!("{reason}"),
        };
        let (with, without) = (epsilon(&back), epsilon(&run()));
        assert!(with > without && with < 1.01 * without, "{with} {without}");
        for grid_bits in [None, Some(9)] {
            let other = RunFile {
                run: RunCard { config: RunConfig { grid_bits, ..config.clone() }, ..file.run.clone() },
                ..file.clone()
            };
            assert!(read(&other.to_json()).unwrap_err().contains("another mechanism"));
        }
    }

    #[test]
    fn bad_files_are_named() {
        let json = run().to_json();
        let refused = |from: &str, to: &str| {
            assert!(json.contains(from), "{from}");
            read(&json.replacen(from, to, 1)).unwrap_err()
        };
        assert!(read("PK").unwrap_err().starts_with("a.json is no run file of this page: "));
        assert!(refused("hushgrad-run", "other").contains("its format is “other”"));
        assert!(refused("\"version\":3", "\"version\":7").contains("later version of this page (7; this one reads 3)"));
        assert!(refused("\"accuracy\":0.8", "\"accuracy\":1.8").contains("accuracy is 1.8, which no run can have"));
        assert!(refused("\"lot\":256", "\"lot\":0").contains("lot is 0"));
        assert!(refused("\"parameters\":[0.0,", "\"parameters\":[").contains("parameters is 7849 numbers long"));
        assert!(refused("\"average\":null", "\"average\":[0.5]").contains("average is 1 numbers long"));
        assert!(read(&json[..json.len() / 2]).unwrap_err().contains("is no run file of this page"));
        let large = vec![b' '; LARGEST + 1];
        assert!(RunFile::from_json("big", &large).unwrap_err().to_string().contains("more than any"));
    }

    #[test]
    fn a_smaller_epsilon_than_the_ledger_costs_is_refused() {
        let mut file = run();
        let Privacy::Bounded(bound) = &mut file.run.report.privacy else { unreachable!() };
        bound.improved.epsilon *= 0.9;
        assert!(read(&file.to_json()).unwrap_err().contains("its ledger costs"));

        let unaccounted = RunFile { ledger: None, ..run() };
        assert!(read(&unaccounted.to_json()).unwrap_err().contains("no ledger to show for it"));

        // Fewer steps in the books than the run took.
        let mut longer = run();
        longer.run.report.step = 13;
        assert!(read(&longer.to_json()).unwrap_err().contains("12 steps where the run took 13"));

        // Books of a mechanism with more noise than the run had.
        let mut quieter = run();
        quieter.run.config.noise = Some(crate::privacy::noise::NoiseSpec::Gaussian { sigma: 0.5 });
        assert!(read(&quieter.to_json()).unwrap_err().contains("another mechanism"));
        let mut replayed = run();
        replayed.run.config.replay = Some(1);
        assert!(read(&replayed.to_json()).unwrap_err().contains("another mechanism"));
    }
}
