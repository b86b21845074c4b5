//! The drawn digit, and how two models classify it: the run's, and one of the other kind.

use std::sync::Arc;

use leptos::prelude::*;

use super::run::Run;
use crate::{
    model::Architecture,
    ui::{browser, threads::training::TrainingClient},
    worker::protocol::Request,
};

/// Minimum milliseconds between predictions of a playing run.
const PREDICT_MS: f64 = 400.0;

/// A model that outlives its run.
#[derive(Clone, Debug, PartialEq)]
pub struct OtherModel {
    pub model: Architecture,
    pub parameters: Vec<f32>,
    /// Whether its run had a guarantee.
    pub private: bool,
}

#[derive(Clone, Copy)]
pub struct Pad {
    trainer: TrainingClient,
    run: Run,
    /// The drawing, as the model sees it.
    pub drawing: RwSignal<Option<Vec<f32>>>,
    pub prediction: RwSignal<Option<Vec<f32>>>,
    /// The last model of the other kind (with or without a guarantee), for comparison.
    pub other: RwSignal<Option<Arc<OtherModel>>>,
    /// Whether a non-private baseline of the run is being trained.
    pub training_baseline: RwSignal<bool>,
    predicted_at: StoredValue<f64>,
    /// The run for which a baseline was last trained.
    beside: StoredValue<Option<u32>>,
}

impl Pad {
    /// Creates an empty pad.
    #[must_use]
    pub fn new(trainer: TrainingClient, run: Run) -> Self {
        Self {
            trainer,
            run,
            drawing: RwSignal::new(None),
            prediction: RwSignal::new(None),
            other: RwSignal::new(None),
            training_baseline: RwSignal::new(false),
            predicted_at: StoredValue::new(0.0),
            beside: StoredValue::new(None),
        }
    }

    /// Takes a drawing, and has it classified; `None` clears the pad.
    pub fn draw(self, pixels: Option<Vec<f32>>) {
        self.prediction.update(|prediction| {
            if pixels.is_none() {
                *prediction = None;
            }
        });
        self.drawing.set(pixels);
        self.predict();
    }

    /// Has the run's model classify the drawing.
    pub fn predict(self) {
        if let Some(pixels) = self.drawing.get_untracked()
            && self.run.info.with_untracked(Option::is_some)
        {
            self.predicted_at.set_value(browser::now());
            self.trainer.send(Request::Predict { pixels });
        }
    }

    /// Asks again if the last request is old.
    pub fn refresh(self) {
        if browser::now() - self.predicted_at.get_value() > PREDICT_MS {
            self.predict();
        }
    }

    /// Takes a prediction, if something is still drawn.
    pub fn take_prediction(self, classes: Vec<f32>) {
        if self.drawing.with_untracked(Option::is_some) {
            self.prediction.set(Some(classes));
        }
    }

    /// True if this run has no baseline yet; from now on it counts as having one.
    pub fn first_beside(self, run: Option<u32>) -> bool {
        run.is_some() && self.beside.try_update_value(|beside| std::mem::replace(beside, run)) != Some(run)
    }

    /// Trains a non-private baseline of the run.
    pub fn train_baseline(self) {
        self.training_baseline.set(true);
        self.trainer.send(Request::TrainBaseline);
    }

    /// Takes the parameters of the baseline in training.
    pub fn take_baseline(self, model: Architecture, parameters: Vec<f32>) {
        self.training_baseline.set(false);
        self.take_model(OtherModel { model, parameters, private: false });
    }

    /// Takes a model of the other kind, if its parameters are complete.
    pub fn take_model(self, other: OtherModel) {
        if other.parameters.len() == other.model.parameters() {
            self.other.set(Some(Arc::new(other)));
        }
    }
}
