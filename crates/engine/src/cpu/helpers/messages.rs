//! Orders to helpers, and their answers.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    Task,
    accounting::noise::NoiseSpec,
    cpu::threads::Seen,
    data::Shift,
    mechanism::{EncoderSpec, envelope::Envelope},
    model::Architecture,
};

/// What gradients and logits depend on, besides parameters and examples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    pub model: Architecture,
    pub encoder: EncoderSpec,
    /// True if encoded coordinates lie on a grid ([`Task::sum_grid`]).
    pub on_grid: bool,
    pub copies: u32,
}

impl Setup {
    pub fn of(task: &Task) -> Self {
        let (model, encoder, copies) = (task.model, task.encoder.clone(), task.copies);
        Self { model, encoder, on_grid: task.sum_grid().is_some(), copies }
    }

    /// A task with this setup. Only the presence of its noise matters.
    pub fn task(&self, envelope: Option<Arc<Envelope>>) -> Task {
        Task {
            encoder: self.encoder.clone(),
            envelope,
            noise: self.on_grid.then_some(NoiseSpec::Gaussian { sigma: 1.0 }),
            copies: self.copies,
            ..Task::without_privacy(self.model)
        }
    }
}

/// The head of an order: `engine` is the number of an engine, `number` that of the order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Ask {
    /// Prepare for this engine's orders. [`Order::numbers`] holds its envelope's vectors, if any.
    Know { engine: u32, setup: Setup },
    /// Forget this engine.
    Forget { engine: u32 },
    /// Sum the gradients of all examples, encoded if `bounded`: in one sum on a grid, else one per
    /// piece. Pieces begin and end at `edges`. Answered by [`Reply::Sums`].
    Sum { engine: u32, number: u64, bounded: bool, edges: Vec<u32>, shifts: Vec<Shift> },
    /// Compute the logits of all examples. Answered by [`Reply::Scores`].
    Read { engine: u32, number: u64 },
}

/// An order: a request and its arrays.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    pub ask: Ask,
    /// Parameters, or an envelope's vectors.
    pub numbers: Arc<[f32]>,
    /// Pixels of each example, or its features if the model takes them and no image is shifted.
    pub inputs: Vec<u8>,
    /// The label of each example.
    pub labels: Vec<u8>,
}

impl Order {
    /// An order without arrays.
    pub fn plain(ask: Ask) -> Self {
        Self { ask, numbers: Arc::default(), inputs: Vec::new(), labels: Vec::new() }
    }
}

/// The head of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// One or more sums, concatenated, and the counts of the examples.
    Sums { number: u64, seen: Seen },
    /// Logits: for each example, one number per class.
    Scores { number: u64 },
    /// The helper cannot carry out the order.
    Unable { number: u64 },
}

impl Reply {
    /// The number of the order that this answers.
    pub const fn number(&self) -> u64 {
        match self {
            Self::Sums { number, .. } | Self::Scores { number } | Self::Unable { number } => *number,
        }
    }
}

/// A helper's answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub told: Reply,
    pub numbers: Vec<f64>,
}
