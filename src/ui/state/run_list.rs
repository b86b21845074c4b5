//! The list of earlier runs. The training thread keeps them and says what it has; here they are listed, named, pinned and deleted.

use std::sync::Arc;

use gloo::timers::callback::Interval;
use leptos::prelude::*;

use super::charts::{Charts, Curves};
use crate::{
    plot::series::Curve,
    train::{
        projection::Point,
        report::{Privacy, Report},
    },
    ui::{
        browser,
        settings::{Digits, Settings},
        threads::training::TrainingClient,
    },
    worker::protocol::{KeptRun, Label, Request, RunInfo},
};

/// So many earlier runs are listed, and more only where they are pinned.
const MOST_PAST: usize = 100;
/// A run that was deleted can be had back for so long, in milliseconds, and again as long where the pointer or the focus is on the way back then.
const UNDO_MS: u32 = 10_000;
/// Colours of pinned runs, in the order of pinning.
const PINNED: [&str; 4] = ["line-pin-0", "line-pin-1", "line-pin-2", "line-pin-3"];

/// A run that is over; the charts show it as a shadow.
#[derive(Clone, Debug, PartialEq)]
pub struct Past {
    pub run: u32,
    pub name: String,
    /// What changed from the run before.
    pub note: String,
    /// Drawn in a colour of its own, and never deleted by itself.
    pub pinned: bool,
    pub settings: Settings,
    pub info: RunInfo,
    pub curves: Arc<Curves>,
    pub last: Report,
    pub accuracy: Option<f64>,
}

impl Past {
    /// The least ε that is known of it, and whether that is by tight accounting; `None`: no guarantee.
    #[must_use]
    pub fn epsilon(&self) -> Option<(f64, bool)> {
        let Privacy::Bounded(bound) = &self.last.privacy else { return None };
        let (renyi, step) = (bound.improved.epsilon, self.last.step as f64);
        let tight = self.curves.tight.last().filter(|(at, tight)| *at == step && *tight < renyi);
        Some(tight.map_or((renyi, false), |(_, tight)| (tight, true)))
    }
}

/// What the page calls the run that stands.
#[derive(Clone, Default)]
pub struct Current {
    pub name: String,
    pub pinned: bool,
    /// Nothing is kept of this visit's runs but in the thread's memory.
    pub in_memory_only: bool,
}

/// The list. Copied freely.
#[derive(Clone, Copy)]
pub struct RunList {
    trainer: TrainingClient,
    charts: Charts,
    pub past: RwSignal<Vec<Past>>,
    pub current: StoredValue<Current>,
    /// The run that was deleted last, and its place, while it can be had back.
    pub deleted: RwSignal<Option<(usize, Past)>>,
    undo: StoredValue<Option<Interval>, LocalStorage>,
    /// What all runs on these digits cost together, as of when the run stood still last.
    pub together: RwSignal<String>,
}

impl RunList {
    /// No run yet.
    #[must_use]
    pub fn new(trainer: TrainingClient, charts: Charts) -> Self {
        Self {
            trainer,
            charts,
            past: RwSignal::new(vec![]),
            current: StoredValue::new(Current::default()),
            deleted: RwSignal::new(None),
            undo: StoredValue::new_local(None),
            together: RwSignal::new(String::new()),
        }
    }

    /// Takes a run that is kept, as its run log says: in place of what the page knew of it, else among those of other visits.
    pub fn take(self, kept: KeptRun, digits: Digits) {
        self.past.update(|all| {
            let known = all.iter().position(|past| past.info.key == kept.key);
            // Runs of other visits count down from the top, runs of the training thread up from 1.
            let others = || all.iter().map(|past| past.run).filter(|run| *run > u32::MAX / 2).min();
            let run = known.map_or_else(|| others().map_or(u32::MAX, |run| run - 1), |place| all[place].run);
            let mut past = past_of(run, Settings::of_config(&kept.card.config, digits), kept);
            match known {
                Some(place) => {
                    // Tight ε is in no card.
                    Arc::make_mut(&mut past.curves).tight = all[place].curves.tight.clone();
                    all[place] = past;
                }
                // Those of this visit stay the last.
                None => {
                    let place = all.iter().position(|other| other.run <= u32::MAX / 2).unwrap_or(all.len());
                    all.insert(place, past);
                }
            }
        });
        self.charts.refresh();
    }

    /// Names or pins an earlier run, here and where it is kept.
    pub fn label(self, run: u32, edit: impl FnOnce(&mut Past)) {
        let changed = self.past.try_update(|all| {
            let past = all.iter_mut().find(|past| past.run == run)?;
            edit(past);
            let label = Label { name: past.name.clone(), note: past.note.clone(), pinned: past.pinned };
            Some((past.info.key.clone(), label))
        });
        self.charts.refresh();
        if let Some(Some((key, label))) = changed {
            self.trainer.send(Request::Label { key, label });
        }
    }

    /// Deletes an earlier run, here and where it is kept. For a while it can be had back.
    pub fn delete(self, run: u32) {
        let gone = self.past.try_update(|all| {
            let place = all.iter().position(|past| past.run == run)?;
            Some((place, all.remove(place)))
        });
        self.charts.refresh();
        if let Some(Some((place, past))) = gone {
            self.trainer.send(Request::Delete { key: past.info.key.clone() });
            self.deleted.set(Some((place, past)));
            let over = Interval::new(UNDO_MS, move || {
                if !browser::is_there("[data-testid=undo]:is(:hover, :focus-within)") {
                    self.end_undo();
                }
            });
            self.undo.set_value(Some(over));
        }
    }

    /// Brings back the run that was deleted last, here and where it was kept.
    pub fn undelete(self) {
        let Some((place, past)) = self.deleted.try_update(Option::take).flatten() else { return };
        self.trainer.send(Request::Restore { key: past.info.key.clone() });
        self.past.update(|all| all.insert(place.min(all.len()), past));
        self.charts.refresh();
    }

    /// What was deleted stays deleted.
    pub fn end_undo(self) {
        if self.deleted.with_untracked(Option::is_some) {
            self.deleted.set(None);
        }
    }

    /// Lists a run that ends. Where there are too many, the oldest before it that is not pinned is deleted: its name.
    #[must_use]
    pub fn push(self, ended: Past) -> Option<String> {
        let gone = self.past.try_update(|past| {
            let oldest = past.iter().position(|past| !past.pinned).filter(|_| past.len() >= MOST_PAST);
            let gone = oldest.map(|oldest| past.remove(oldest));
            past.push(ended);
            gone
        });
        let Past { info, name, .. } = gone??;
        self.trainer.send(Request::Delete { key: info.key });
        Some(name)
    }

    /// A run stands: a new one gets a name, and one that goes on is no earlier one any more.
    #[must_use]
    pub fn begin(self, info: &RunInfo) -> Option<Past> {
        self.current.update_value(|current| current.in_memory_only = false);
        self.end_undo();
        let continued = self.past.try_update(|all| {
            let place = all.iter().position(|past| Some(&past.info.key) == info.continues.as_ref())?;
            Some(all.remove(place))
        });
        let continued = continued.flatten();
        let (name, pinned) = continued.as_ref().map_or_else(
            || (format!("Run {}", self.highest_number().saturating_add(1)), false),
            |past| (past.name.clone(), past.pinned),
        );
        self.name_current(name, pinned);
        continued
    }

    /// The highest number in the names of earlier runs.
    fn highest_number(self) -> u32 {
        self.past.with_untracked(|all| {
            let number = |past: &Past| past.name.strip_prefix("Run ").and_then(|n| n.parse::<u32>().ok());
            all.iter().filter_map(number).max().unwrap_or(0)
        })
    }

    /// Names the run that stands.
    pub fn name_current(self, name: String, pinned: bool) {
        self.current.update_value(|current| (current.name, current.pinned) = (name, pinned));
    }

    /// Tells the training thread what the run that stands is called.
    pub fn label_current(self, info: &RunInfo, settings: &Settings) {
        let Current { name, pinned, .. } = self.current.get_value();
        let label = Label { name, note: self.note(settings), pinned };
        self.trainer.send(Request::Label { key: info.key.clone(), label });
    }

    /// What changed from the run before.
    #[must_use]
    pub fn note(self, settings: &Settings) -> String {
        let before = self.past.with_untracked(|past| past.last().map(|past| past.settings.clone()));
        before.map_or_else(String::new, |before| settings.changes_since(&before))
    }
}

/// The class of a pinned run's curves.
#[must_use]
pub fn pin_class(past: &[Past], run: u32) -> Option<&'static str> {
    past.iter().filter(|past| past.pinned).position(|past| past.run == run).map(|place| PINNED[place % PINNED.len()])
}

fn past_of(run: u32, settings: Settings, kept: KeptRun) -> Past {
    let KeptRun { key, pinned, beyond, card } = kept;
    let curve = |points: Vec<Point>| {
        let mut curve = Curve::default();
        points.into_iter().for_each(|point| curve.push(point));
        curve
    };
    Past {
        run,
        name: card.name,
        note: card.note,
        pinned,
        settings,
        info: RunInfo {
            run,
            key,
            continues: None,
            beyond,
            parameters: card.config.model.parameters() as u32,
            // Nothing is kept of one that breaks a promise.
            broken: None,
            config: card.config,
            engine: card.engine,
            train: card.train,
            test: card.test,
            data: card.data,
        },
        curves: Arc::new(Curves {
            accuracy: curve(card.accuracy_curve),
            improved: curve(card.improved_curve),
            classic: curve(card.classic_curve),
            tight: Curve::default(),
            baseline: Curve::default(),
        }),
        last: card.report,
        accuracy: card.accuracy,
    }
}
