//! What trains: the backend that was asked for, and the one that runs.

use leptos::prelude::*;

use crate::{
    engine::EngineInfo,
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
    /// Whether the training thread failed so often that no other is started.
    pub stopped: RwSignal<bool>,
}

impl Device {
    /// No engine yet.
    #[must_use]
    pub fn new(choice: BackendChoice) -> Self {
        Self { choice, engine: RwSignal::new(None), stopped: RwSignal::new(false) }
    }

    /// What the training thread is asked for. Where another embed has the GPU it is the CPU; links go on saying what the address said.
    #[must_use]
    pub fn wanted(self) -> BackendChoice {
        if browser::gpu_is_taken() { BackendChoice::Cpu } else { self.choice }
    }
}
