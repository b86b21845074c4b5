//! The backend: the requested one, and the one in use.

use leptos::prelude::*;

use crate::{
    engine::{EngineInfo, Timings},
    ui::browser,
    worker::protocol::{BackendChoice, Fallback},
};

#[derive(Clone, Copy)]
pub struct Device {
    /// The backend that the address requests.
    pub choice: BackendChoice,
    /// The engine in use, and why it is not WebGPU if that was wanted.
    pub engine: RwSignal<Option<(EngineInfo, Option<Fallback>)>>,
    /// Time of a step on either engine, if that decided between them.
    pub timed: RwSignal<Option<Timings>>,
    /// Cores for the CPU; `None`: as many as the machine can spare.
    pub cores: RwSignal<Option<u32>>,
    /// Whether the training thread failed too often to be restarted.
    pub stopped: RwSignal<bool>,
}

impl Device {
    #[must_use]
    pub fn new(choice: BackendChoice, cores: Option<u32>) -> Self {
        let (engine, timed, cores) = (RwSignal::new(None), RwSignal::new(None), RwSignal::new(cores));
        Self { choice, engine, timed, cores, stopped: RwSignal::new(false) }
    }

    /// Returns the backend to request, the CPU if another embed has the GPU; links keep `choice`.
    #[must_use]
    pub fn wanted(self) -> BackendChoice {
        if browser::gpu_is_taken() { BackendChoice::Cpu } else { self.choice }
    }
}
