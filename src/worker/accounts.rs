//! What the page asks the accountant: prices, and runs as files. Each question has one answer, of the same name.

use serde::{Deserialize, Serialize};

use super::{
    lab::{self, Judged, Trial},
    protocol::Asked,
};
use crate::{
    accounting::noise::CustomDensity,
    train::{
        config::RunConfig,
        projection::{self, Point, Projection, Spent},
        run_file::{RunCard, RunFile, RunFileError},
    },
};

/// What the page asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Question {
    /// ε by step of `steps` steps on `train` examples.
    Projection { config: RunConfig, train: u32, steps: u64 },
    /// The least noise scale with which `steps` steps stay within ε `budget`.
    Scale { config: RunConfig, train: u32, steps: u64, budget: f64 },
    /// Tight ε after each of these numbers of steps.
    Tight { config: RunConfig, train: u32, steps: Vec<u64> },
    /// What a run that stands at this step gave away, by tight accounting.
    Spent { config: RunConfig, train: u32, steps: u64 },
    /// The privacy curve of such a run about its tight ε.
    Curve { config: RunConfig, train: u32, steps: u64, epsilon: f64 },
    /// A noise at the scale that spends a budget.
    Judge(Trial),
    /// A density of the visitor's own, by formula.
    Density(String),
    /// What K steps leak whose models stay hidden, or do not.
    HiddenStates,
    /// A run file's name and bytes: read, checked, and accounted for anew.
    OpenRun { name: String, bytes: Vec<u8> },
    /// What this thread asked of the network.
    Requests,
}

/// What the accountant says; an error is one phrase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    Projection(Result<Projection, String>),
    Scale(Result<f64, String>),
    Tight(Result<Vec<Point>, String>),
    Spent(Result<Spent, String>),
    Curve(Result<Vec<Point>, String>),
    Judge(Box<Result<Judged, String>>),
    Density(Result<CustomDensity, String>),
    HiddenStates([Vec<Point>; 3]),
    /// The run's card, and the same as JSON, to be kept.
    OpenRun(Result<(Box<RunCard>, String), String>),
    Requests(Vec<Asked>),
}

/// Answers one question.
#[must_use]
pub fn answer(question: Question) -> Answer {
    match question {
        Question::Projection { config, train, steps } => Answer::Projection(projection::project(&config, train, steps)),
        Question::Scale { config, train, steps, budget } => {
            Answer::Scale(projection::scale_for(&config, train, steps, budget))
        }
        Question::Tight { config, train, steps } => Answer::Tight(projection::tight(&config, train, &steps)),
        Question::Spent { config, train, steps } => Answer::Spent(projection::spent_tightly(&config, train, steps)),
        Question::Curve { config, train, steps, epsilon } => {
            Answer::Curve(projection::spent_curve(&config, train, steps, epsilon))
        }
        Question::Judge(trial) => Answer::Judge(Box::new(lab::compare(&trial))),
        Question::Density(formula) => Answer::Density(lab::read(&formula)),
        Question::HiddenStates => Answer::HiddenStates(lab::hidden_states()),
        Question::OpenRun { name, bytes } => {
            let opened = |file: RunFile| (Box::new(file.run.clone()), file.run.to_json());
            Answer::OpenRun(in_words(RunFile::to_show(&name, &bytes).map(opened)))
        }
        // What a browser has noted; without one there is no network.
        Question::Requests => Answer::Requests(vec![]),
    }
}

fn in_words<T>(read: Result<T, RunFileError>) -> Result<T, String> {
    read.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_gets_its_answer() {
        let config = RunConfig::default();
        let asked = |question| answer(question);
        let projection = asked(Question::Projection { config: config.clone(), train: 60_000, steps: 100 });
        assert!(matches!(projection, Answer::Projection(Ok(p)) if p.steps == 100));
        let scale = asked(Question::Scale { config: config.clone(), train: 60_000, steps: 100, budget: 1.0 });
        assert!(matches!(scale, Answer::Scale(Ok(scale)) if scale > 0.3 && scale < 3.0));
        let tight = asked(Question::Tight { config: config.clone(), train: 60_000, steps: vec![50, 100] });
        assert!(matches!(tight, Answer::Tight(Ok(points)) if points.len() == 2));
        let spent = asked(Question::Spent { config: config.clone(), train: 60_000, steps: 100 });
        assert!(matches!(spent, Answer::Spent(Ok(Spent { epsilon, numerical: None })) if epsilon > 0.0));
        let curve = asked(Question::Curve { config: config.clone(), train: 60_000, steps: 100, epsilon: 0.2 });
        assert!(matches!(curve, Answer::Curve(Ok(points)) if points[0] == (0.2, 1e-5) && points.len() > 4));
        assert!(matches!(asked(Question::Density("1+x".into())), Answer::Density(Err(_))));
        assert!(matches!(asked(Question::HiddenStates), Answer::HiddenStates([a, ..]) if !a.is_empty()));
        let none = asked(Question::Projection { config: RunConfig { noise: None, ..config }, train: 1000, steps: 1 });
        assert!(matches!(none, Answer::Projection(Err(reason)) if reason.contains("no noise")));
        let opened = asked(Question::OpenRun { name: "x.json".to_owned(), bytes: b"PK".to_vec() });
        assert!(matches!(opened, Answer::OpenRun(Err(reason)) if reason.starts_with("x.json is no run file")));
    }
}
