//! What trains: the backend that was asked for, and the one that runs.

use leptos::prelude::*;

use crate::{
    engine::{EngineInfo, Timings},
    ui::browser,
    worker::protocol::{BackendChoice, Fallback},
};

/// The backend. Copied freely.
#[derive(Clone, Copy)]
pub struct Device {
    /// What the address asks for.
    pub choice: BackendChoice,
    /// What runs, and why not WebGPU, where it was wanted.
    pub engine: RwSignal<Option<(EngineInfo, Option<Fallback>)>>,
    /// How long a step of the run takes on either engine, where that decided.
    pub timed: RwSignal<Option<Timings>>,
    /// On how many cores the CPU is to compute; `None`: as many as the machine can spare.
    pub cores: RwSignal<Option<u32>>,
    /// Whether the training thread failed so often that no other is started.
    pub stopped: RwSignal<bool>,
}

impl Device {
    /// No engine yet.
    #[must_use]
    pub fn new(choice: BackendChoice, cores: Option<u32>) -> Self {
        let (engine, timed, cores) = (RwSignal::new(None), RwSignal::new(None), RwSignal::new(cores));
        Self { choice, engine, timed, cores, stopped: RwSignal::new(false) }
    }

    /// What the training thread is asked for. Where another embed has the GPU it is the CPU; links go on saying what the address said.
    #[must_use]
    pub fn wanted(self) -> BackendChoice {
        if browser::gpu_is_taken() { BackendChoice::Cpu } else { self.choice }
    }
}
