//! Steps taken apart, as the tiles show them: not more often than eyes follow.

use std::sync::Arc;

use gloo::timers::callback::Timeout;
use leptos::prelude::*;

use super::run::Run;
use crate::{
    ui::{browser, settings::Speed, threads::training::TrainingClient},
    worker::{protocol::Request, snapshot::StepSnapshot},
};

/// Tiles are drawn anew at most this often; at full speed a step is looked into at most this often, too.
const TILES_MS: u32 = 250;
const LOOK_MS: u32 = 1000;

/// What no view depends on.
#[derive(Default)]
struct Inner {
    due: Option<Timeout>,
    /// The step that the tiles show next.
    next: Option<(u64, StepSnapshot)>,
    /// When a step was last looked into, and whether one is being waited for.
    looked_at: f64,
    looking: bool,
}

/// The step that is shown. Copied freely.
#[derive(Clone, Copy)]
pub struct Snapshots {
    trainer: TrainingClient,
    run: Run,
    pub shown: RwSignal<Option<(u64, Arc<StepSnapshot>)>>,
    inner: StoredValue<Inner, LocalStorage>,
}

impl Snapshots {
    /// No step yet.
    #[must_use]
    pub fn new(trainer: TrainingClient, run: Run) -> Self {
        Self { trainer, run, shown: RwSignal::new(None), inner: StoredValue::new_local(Inner::default()) }
    }

    /// Takes a step, which the tiles show soon.
    pub fn take(self, step: u64, pictures: StepSnapshot) {
        let end_look = self.inner.try_update_value(|inner| {
            inner.next = Some((step, pictures));
            inner.looked_at = browser::now();
            std::mem::take(&mut inner.looking)
        });
        if end_look == Some(true) {
            self.run.send_speed();
        }
        self.inner.update_value(|inner| {
            if inner.due.is_none() {
                // The first picture after a quiet time comes at once.
                let wait = if self.shown.with_untracked(Option::is_none) { 0 } else { TILES_MS };
                inner.due = Some(Timeout::new(wait, move || self.show()));
            }
        });
    }

    fn show(self) {
        let next = self.inner.try_update_value(|inner| {
            inner.due = None;
            inner.next.take()
        });
        if let Some(Some((step, pictures))) = next {
            self.shown.set(Some((step, Arc::new(pictures))));
        }
    }

    /// Asks for a look into a step now and then at full speed, where steps are not traced, so that the tiles live.
    pub fn look(self) {
        let now = browser::now();
        let look = self.run.playing.get_untracked()
            && self.run.speed.get_untracked() == Speed::Max
            && self.inner.with_value(|inner| !inner.looking && now - inner.looked_at > f64::from(LOOK_MS));
        if look {
            self.inner.update_value(|inner| inner.looking = true);
            self.trainer.send(Request::SlowMotion { milliseconds: 1 });
        }
    }

    /// Plays at the speed that is set: a look that is under way ends.
    pub fn follow_speed(self) {
        self.inner.update_value(|inner| inner.looking = false);
        self.run.send_speed();
    }

    /// Sets the speed.
    pub fn set_speed(self, speed: Speed) {
        self.run.speed.set(speed);
        self.follow_speed();
    }

    /// Shows no step any more.
    pub fn forget(self) {
        self.shown.set(None);
        self.inner.update_value(|inner| {
            inner.next = None;
            inner.looking = false;
        });
    }
}
