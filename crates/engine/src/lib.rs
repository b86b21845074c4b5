//! The [`Engine`] trait and its CPU and WebGPU implementations. A [`Task`] fixes what an engine
//! computes; [`Performance`] changes only its speed and memory.

use hushgrad_accounting as accounting;
use hushgrad_core::{data, mechanism, model};

#[cfg(feature = "gpu")]
mod check;
pub mod cpu;
mod error;
mod factory;
#[cfg(feature = "gpu")]
pub mod gpu;
mod interface;
mod made_up;
mod outside;
pub mod reading;
pub mod reference;
mod scores;
mod task;
#[cfg(feature = "gpu")]
mod timing;
mod timings;

pub use self::{
    error::{EngineError, Unsupported},
    factory::{AnyEngine, Builder, EngineFactory},
    interface::{
        Backend, Engine, EngineInfo, Metrics, StepInput, StepTrace, check_canaries, check_dataset, check_length,
        check_state, check_training,
    },
    outside::Outside,
    reading::{Confusion, Reading},
    scores::{Probabilities, Scores, cross_entropy, softmax},
    task::{LocalSteps, Performance, Task},
    timings::Timings,
};
