//! The sweep in progress, and the runs of the last one.

use leptos::prelude::*;

use crate::{
    train::{config::RunConfig, projection::SweepPrice},
    ui::settings::{Number, sweep::Sweep, verdict::Outcome},
};

#[derive(Clone, Copy)]
pub struct Sweeps {
    pub current: RwSignal<Option<Sweep>>,
    /// Runs of the last sweep.
    pub runs: StoredValue<Vec<u32>>,
    /// Configurations and steps of the runs that have ended, and their joint cost.
    pub ended: StoredValue<Vec<(RunConfig, u64)>>,
    pub price: RwSignal<Option<SweepPrice>>,
    /// Outcomes of the last sweep's runs so far.
    pub outcomes: RwSignal<Option<(Number, Vec<Outcome>)>>,
}

impl Sweeps {
    #[must_use]
    pub fn new() -> Self {
        Self {
            current: RwSignal::new(None),
            runs: StoredValue::new(vec![]),
            ended: StoredValue::new(vec![]),
            price: RwSignal::new(None),
            outcomes: RwSignal::new(None),
        }
    }

    /// True if a sweep waits for its next run to start.
    #[must_use]
    pub fn awaits_run(self) -> bool {
        self.current.with_untracked(|sweep| sweep.as_ref().is_some_and(|sweep| sweep.run.is_none()))
    }

    /// True if this run is the sweep's.
    #[must_use]
    pub fn owns(self, run: Option<u32>) -> bool {
        self.current.with_untracked(|sweep| sweep.as_ref().is_some_and(|sweep| sweep.run == run))
    }

    /// Advances to the sweep's next run.
    pub fn advance(self) {
        self.current.update(|sweep| {
            if let Some(sweep) = sweep {
                sweep.at += 1;
                sweep.run = None;
            }
        });
    }
}
