//! The helper thread: carries out orders, one at a time.

use std::sync::Arc;

use super::messages::{Answer, Ask, Order, Reply, Setup};
use crate::{
    EngineError, Performance,
    cpu::{
        models::Examples,
        prepared,
        simd::padded,
        threads::{Encoding, Kernels, Lot, Seen},
    },
    data::{Dataset, Shift},
    mechanism::{EncoderSpec, envelope::Envelope, exact_sum::SLOT},
    model::Architecture,
};

/// A helper, with the setups of the engines it works for.
#[derive(Default)]
pub struct Helper {
    engines: Vec<(u32, Known)>,
}

/// What is built from a setup.
struct Known {
    model: Architecture,
    encoding: Encoding,
    kernels: Box<dyn Kernels>,
}

impl Known {
    fn new(setup: &Setup, values: &[f32]) -> Result<Self, EngineError> {
        let model = setup.model;
        let envelope = match setup.encoder {
            EncoderSpec::Envelope { .. } => Some(Arc::new(Envelope::of_values(values, model.parameters())?)),
            _ => None,
        };
        let task = setup.task(envelope);
        let encoding = prepared::encoding(&task, task.layers()?.as_ref())?;
        let performance = Performance { threads: Some(1), ..Performance::default() };
        let kernels = prepared::kernels(&task, &encoding, performance)?;
        Ok(Self { model, encoding, kernels })
    }
}

impl Helper {
    /// Carries out an order. Failure is reported only if an answer is expected.
    pub fn take(&mut self, order: Order) -> Option<Answer> {
        let Order { ask, numbers, inputs, labels } = order;
        match ask {
            Ask::Know { engine, setup } => {
                self.engines.retain(|(other, _)| *other != engine);
                // If this fails, later orders of the engine are answered with `Reply::Unable`.
                if let Ok(known) = Known::new(&setup, &numbers) {
                    self.engines.push((engine, known));
                }
                None
            }
            Ask::Forget { engine } => {
                self.engines.retain(|(other, _)| *other != engine);
                None
            }
            Ask::Sum { engine, number, bounded, edges, shifts } => {
                let sums = self.known(engine).and_then(|known| {
                    let edges: Vec<usize> = edges.iter().map(|&edge| edge as usize).collect();
                    known.sums(&numbers, (inputs, labels), (&edges, &shifts), bounded)
                });
                Some(sums.map_or_else(
                    || Answer { told: Reply::Unable { number }, numbers: Vec::new() },
                    |(seen, numbers)| Answer { told: Reply::Sums { number, seen }, numbers },
                ))
            }
            Ask::Read { engine, number } => {
                let scores = self.known(engine).and_then(|known| known.scores(&numbers, (inputs, labels)));
                Some(scores.map_or_else(
                    || Answer { told: Reply::Unable { number }, numbers: Vec::new() },
                    |numbers| Answer { told: Reply::Scores { number }, numbers },
                ))
            }
        }
    }

    fn known(&mut self, engine: u32) -> Option<&mut Known> {
        self.engines.iter_mut().find(|(other, _)| *other == engine).map(|(_, known)| known)
    }
}

impl Known {
    fn sums(
        &mut self,
        parameters: &[f32],
        examples: (Vec<u8>, Vec<u8>),
        (edges, shifts): (&[usize], &[Shift]),
        bounded: bool,
    ) -> Option<(Seen, Vec<f64>)> {
        let (data, features) = self.examples(examples)?;
        let ascending = edges.windows(2).all(|pair| pair[0] <= pair[1]);
        let length = padded(self.model.parameters());
        if !ascending || edges.last().is_none_or(|&last| last != data.len()) || parameters.len() != length {
            return None;
        }
        let encoding = if bounded { &self.encoding } else { &Encoding::None };
        // An f32 sum of more than `SLOT` examples is not exact.
        if encoding.is_exact() && edges.windows(2).any(|pair| pair[1] - pair[0] > SLOT) {
            return None;
        }
        let sums = if encoding.is_exact() { 1 } else { edges.len() - 1 };
        let mut numbers = vec![0.0; sums * length];
        let lot: Vec<u32> = (0..).take(data.len()).collect();
        let examples = Examples { data: &data, features: &features };
        let pieces = (Lot::Alone(&lot), edges);
        let seen = self.kernels.sum_pieces(encoding, parameters, examples, pieces, shifts, &mut numbers);
        Some((seen, numbers))
    }

    fn scores(&mut self, parameters: &[f32], examples: (Vec<u8>, Vec<u8>)) -> Option<Vec<f64>> {
        let (data, features) = self.examples(examples)?;
        if parameters.len() != padded(self.model.parameters()) {
            return None;
        }
        let scores = self.kernels.scores(parameters, Examples { data: &data, features: &features });
        Some(scores.iter().map(|&score| score.into()).collect())
    }

    /// The examples of an order, given as pixels or as features.
    fn examples(&self, (inputs, labels): (Vec<u8>, Vec<u8>)) -> Option<(Dataset, Vec<u8>)> {
        let count = labels.len();
        let (images, features) = match self.model.features() {
            Some(map) if inputs.len() == count * map.len() => (Vec::new(), inputs),
            // Helpers do not have the file that these features are computed with.
            Some(map) if !map.are_there() => return None,
            _ if inputs.len() == count * self.model.picture().pixels() => (inputs, Vec::new()),
            _ => return None,
        };
        Some((self.model.dataset(images, labels), features))
    }
}
