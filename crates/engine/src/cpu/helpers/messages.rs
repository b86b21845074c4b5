//! What a helper is ordered, and answers.

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

/// What gradients and logits of an engine's tasks follow from, besides parameters and examples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    pub model: Architecture,
    pub encoder: EncoderSpec,
    /// Whether encoded coordinates stand on a grid ([`Task::sum_grid`]).
    pub on_grid: bool,
    pub copies: u32,
}

impl Setup {
    pub fn of(task: &Task) -> Self {
        let (model, encoder, copies) = (task.model, task.encoder.clone(), task.copies);
        Self { model, encoder, on_grid: task.sum_grid().is_some(), copies }
    }

    /// A task of this setup; of its noise nothing matters but whether there is some.
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

/// An order's first part. `engine` is the number of an engine, `number` that of the order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Ask {
    /// Be ready for this engine's orders; [`Order::numbers`] are the vectors of its envelope, where it has one.
    Know { engine: u32, setup: Setup },
    /// This engine is no more.
    Forget { engine: u32 },
    /// The encoded gradients of all examples (as they are, where they are not to be `bounded`), added up: on a grid in one sum, else in one for each piece. Pieces begin and
    /// end at `edges`. Answered by [`Told::Sums`].
    Sum { engine: u32, number: u64, bounded: bool, edges: Vec<u32>, shifts: Vec<Shift> },
    /// Logits of all examples. Answered by [`Told::Scores`].
    Read { engine: u32, number: u64 },
}

/// An order: what is asked, and the arrays that it is asked of.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    pub ask: Ask,
    /// Parameters.
    pub numbers: Arc<[f32]>,
    /// Of each example the pixels or, where the model takes features and none is moved, those.
    pub inputs: Vec<u8>,
    /// A digit for each example.
    pub labels: Vec<u8>,
}

impl Order {
    /// One without arrays.
    pub fn plain(ask: Ask) -> Self {
        Self { ask, numbers: Arc::default(), inputs: Vec::new(), labels: Vec::new() }
    }
}

/// An answer's first part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Told {
    /// Sums, one after the other, and what else the examples had.
    Sums { number: u64, seen: Seen },
    /// Ten numbers for each example.
    Scores { number: u64 },
    /// The order was none that this helper can carry out.
    Unable { number: u64 },
}

impl Told {
    /// The order that this answers.
    pub const fn number(&self) -> u64 {
        match self {
            Self::Sums { number, .. } | Self::Scores { number } | Self::Unable { number } => *number,
        }
    }
}

/// A helper's answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub told: Told,
    pub numbers: Vec<f64>,
}
