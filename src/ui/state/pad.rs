//! The drawn digit, and what models say of it: the run's, and one of the other kind beside it.

use std::sync::Arc;

use leptos::prelude::*;

use super::run::Run;
use crate::{
    model::Architecture,
    ui::{browser, threads::training::TrainingClient},
    worker::protocol::Request,
};

/// A playing run is asked for its answer this often.
const PREDICT_MS: f64 = 400.0;

/// A model that outlives its run.
#[derive(Clone, Debug, PartialEq)]
pub struct OtherModel {
    pub model: Architecture,
    pub parameters: Vec<f32>,
    /// Whether its run had a guarantee.
    pub private: bool,
}

/// The pad. Copied freely.
#[derive(Clone, Copy)]
pub struct Pad {
    trainer: TrainingClient,
    run: Run,
    /// What is drawn, as the model sees it.
    pub drawing: RwSignal<Option<Vec<f32>>>,
    pub prediction: RwSignal<Option<Vec<f32>>>,
    /// The last model of the other kind (with a guarantee, without one), for answers side by side.
    pub other: RwSignal<Option<Arc<OtherModel>>>,
    /// Whether a non-private baseline of the run is being trained.
    pub training_baseline: RwSignal<bool>,
    predicted_at: StoredValue<f64>,
    /// The run beside which a baseline was trained last.
    beside: StoredValue<Option<u32>>,
}

impl Pad {
    /// Nothing is drawn.
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

    /// Takes a drawing, which the model answers; `None`: the pad was cleared.
    pub fn draw(self, pixels: Option<Vec<f32>>) {
        self.prediction.update(|prediction| {
            if pixels.is_none() {
                *prediction = None;
            }
        });
        self.drawing.set(pixels);
        self.predict();
    }

    /// Asks the run's model what is drawn.
    pub fn predict(self) {
        if let Some(pixels) = self.drawing.get_untracked()
            && self.run.info.with_untracked(Option::is_some)
        {
            self.predicted_at.set_value(browser::now());
            self.trainer.send(Request::Predict { pixels });
        }
    }

    /// Asks again, where the last answer is old.
    pub fn refresh(self) {
        if browser::now() - self.predicted_at.get_value() > PREDICT_MS {
            self.predict();
        }
    }

    /// Takes the model's answer, if something is still drawn.
    pub fn take_prediction(self, classes: Vec<f32>) {
        if self.drawing.with_untracked(Option::is_some) {
            self.prediction.set(Some(classes));
        }
    }

    /// Whether there is a run, and no baseline was trained beside it yet; from now on there was.
    pub fn first_beside(self, run: Option<u32>) -> bool {
        run.is_some() && self.beside.try_update_value(|beside| std::mem::replace(beside, run)) != Some(run)
    }

    /// Trains a non-private baseline of the run.
    pub fn train_baseline(self) {
        self.training_baseline.set(true);
        self.trainer.send(Request::TrainBaseline);
    }

    /// Takes the baseline's parameters after some of its steps.
    pub fn take_baseline(self, model: Architecture, parameters: Vec<f32>) {
        self.training_baseline.set(false);
        self.take_model(OtherModel { model, parameters, private: false });
    }

    /// Takes a model of the other kind.
    pub fn take_model(self, other: OtherModel) {
        if other.parameters.len() == other.model.parameters() {
            self.other.set(Some(Arc::new(other)));
        }
    }
}
