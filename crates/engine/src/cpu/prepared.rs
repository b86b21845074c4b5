//! Prepares a task: how gradients are encoded, and kernels for this machine's vectors.

use std::sync::Arc;

use super::{
    kernels::envelope::{Psi, Ranker},
    simd::{Dispatch, Simd, dispatch},
    threads::{Encoding, Kernels, WorkerPool},
};
use crate::{
    EngineError, Performance, Task, Unsupported, check_length,
    mechanism::{EncoderSpec, layers::Layers},
};
use hushgrad_message::word;

/// Returns how gradients of `task` are encoded; `layers` are its clipped layers, if any.
///
/// # Errors
/// If the encoder is invalid, or its envelope does not fit the model.
pub fn encoding(task: &Task, layers: Option<&Layers>) -> Result<Encoding, EngineError> {
    task.encoder.validate()?;
    let grid = task.sum_grid();
    match (&task.encoder, &task.envelope) {
        (EncoderSpec::Layers(_), _) => {
            Ok(layers.map_or(Encoding::None, |layers| Encoding::Layers { factors: layers.factors(grid), grid }))
        }
        (EncoderSpec::None, _) => Ok(Encoding::None),
        (EncoderSpec::Clip { norm }, _) => Ok(Encoding::clip(*norm, task.model.parameters(), grid)),
        (EncoderSpec::Envelope { .. }, None) => Err(Unsupported::NoEnvelope.into()),
        (EncoderSpec::Envelope { pre_scale, .. }, Some(envelope)) => {
            let p = task.model.parameters();
            check_length(word!("entries of an envelope's vector"), envelope.dimension(), p)?;
            if p > Ranker::MOST {
                return Err(Unsupported::EnvelopeTooLong { parameters: p, most: Ranker::MOST }.into());
            }
            let pre_scale = *pre_scale as f32;
            let psi = Psi::new(Arc::clone(envelope), pre_scale);
            Ok(Encoding::Envelope { psi, pre_scale, grid })
        }
    }
}

/// Creates the kernels for a task, on threads of their own where available.
///
/// # Errors
/// If threads do not start.
pub fn kernels(task: &Task, encoding: &Encoding, performance: Performance) -> Result<Box<dyn Kernels>, EngineError> {
    dispatch(BuildPool { task, encoding, performance })
}

struct BuildPool<'a> {
    task: &'a Task,
    encoding: &'a Encoding,
    performance: Performance,
}

impl Dispatch for BuildPool<'_> {
    type Output = Result<Box<dyn Kernels>, EngineError>;

    fn with<S: Simd>(self, simd: S) -> Self::Output {
        Ok(Box::new(WorkerPool::new(simd, self.task.model, self.encoding, self.task.copies, self.performance)?))
    }
}
