//! The list of earlier runs: stored by the training thread, labelled and deleted here.

use std::sync::Arc;

use gloo::timers::callback::Interval;
use hushgrad_message::Message;
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

/// Maximum number of listed runs, which only pinned runs exceed.
const MOST_PAST: usize = 100;
/// Milliseconds until a deletion is final; repeated while pointer or focus is on the undo button.
const UNDO_MS: u32 = 10_000;
/// CSS classes of pinned runs, in the order of the list.
const PINNED: [&str; 4] = ["line-pin-0", "line-pin-1", "line-pin-2", "line-pin-3"];

/// A run that is over, drawn as a shadow in charts.
#[derive(Clone, Debug, PartialEq)]
pub struct Past {
    pub run: u32,
    pub name: String,
    /// Changes from the run before.
    pub note: String,
    /// Drawn in a colour of its own, and never deleted automatically.
    pub pinned: bool,
    pub settings: Settings,
    pub info: RunInfo,
    pub curves: Arc<Curves>,
    pub last: Report,
    pub accuracy: Option<f64>,
}

impl Past {
    /// Returns the least known ε, and whether it is by tight accounting; `None`: no guarantee.
    #[must_use]
    pub fn epsilon(&self) -> Option<(f64, bool)> {
        let Privacy::Bounded(bound) = &self.last.privacy else { return None };
        let (renyi, step) = (bound.improved.epsilon, self.last.step as f64);
        let tight = self.curves.tight.last().filter(|(at, tight)| *at == step && *tight < renyi);
        Some(tight.map_or((renyi, false), |(_, tight)| (tight, true)))
    }
}

/// How the page labels the current run.
#[derive(Clone, Default)]
pub struct Current {
    pub name: String,
    pub pinned: bool,
    /// This visit's runs are kept in the thread's memory only.
    pub in_memory_only: bool,
}

#[derive(Clone, Copy)]
pub struct RunList {
    trainer: TrainingClient,
    charts: Charts,
    pub past: RwSignal<Vec<Past>>,
    pub current: StoredValue<Current>,
    /// The run deleted last and its index, while it can be restored.
    pub deleted: RwSignal<Option<(usize, Past)>>,
    undo: StoredValue<Option<Interval>, LocalStorage>,
    /// What all runs on these digits cost together, as of the last pause.
    pub together: RwSignal<Message>,
}

impl RunList {
    #[must_use]
    pub fn new(trainer: TrainingClient, charts: Charts) -> Self {
        Self {
            trainer,
            charts,
            past: RwSignal::new(vec![]),
            current: StoredValue::new(Current::default()),
            deleted: RwSignal::new(None),
            undo: StoredValue::new_local(None),
            together: RwSignal::new(Message::default()),
        }
    }

    /// Takes a stored run from its run log: replaces what the page knew of it, or lists it among
    /// those of other visits.
    pub fn take(self, kept: KeptRun, digits: Digits) {
        self.past.update(|all| {
            let known = all.iter().position(|past| past.info.key == kept.key);
            // Runs of other visits are numbered down from the top, the training thread's up from 1.
            let others = || all.iter().map(|past| past.run).filter(|run| *run > u32::MAX / 2).min();
            let run = known.map_or_else(|| others().map_or(u32::MAX, |run| run - 1), |place| all[place].run);
            let mut past = past_of(run, Settings::of_config(&kept.card.config, digits), kept);
            match known {
                Some(place) => {
                    // Cards hold no tight ε.
                    Arc::make_mut(&mut past.curves).tight = all[place].curves.tight.clone();
                    all[place] = past;
                }
                // Runs of this visit stay last.
                None => {
                    let place = all.iter().position(|other| other.run <= u32::MAX / 2).unwrap_or(all.len());
                    all.insert(place, past);
                }
            }
        });
        self.charts.refresh();
    }

    /// Names or pins an earlier run, here and in storage.
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

    /// Deletes an earlier run, here and in storage. For a while it can be restored.
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

    /// Restores the run deleted last, here and in storage.
    pub fn undelete(self) {
        let Some((place, past)) = self.deleted.try_update(Option::take).flatten() else { return };
        self.trainer.send(Request::Restore { key: past.info.key.clone() });
        self.past.update(|all| all.insert(place.min(all.len()), past));
        self.charts.refresh();
    }

    /// Makes a deletion final.
    pub fn end_undo(self) {
        if self.deleted.with_untracked(Option::is_some) {
            self.deleted.set(None);
        }
    }

    /// Lists a run that ends. Deletes the oldest unpinned run of a full list, and returns its name.
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

    /// Takes the start of a run: names a new one, or unlists and returns the one that it continues.
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

    /// Returns the highest number in the names of earlier runs.
    fn highest_number(self) -> u32 {
        self.past.with_untracked(|all| {
            let number = |past: &Past| past.name.strip_prefix("Run ").and_then(|n| n.parse::<u32>().ok());
            all.iter().filter_map(number).max().unwrap_or(0)
        })
    }

    pub fn name_current(self, name: String, pinned: bool) {
        self.current.update_value(|current| (current.name, current.pinned) = (name, pinned));
    }

    /// Tells the training thread the current run's label.
    pub fn label_current(self, info: &RunInfo, settings: &Settings) {
        let Current { name, pinned, .. } = self.current.get_value();
        let label = Label { name, note: self.note(settings), pinned };
        self.trainer.send(Request::Label { key: info.key.clone(), label });
    }

    /// Returns the changes from the run before.
    #[must_use]
    pub fn note(self, settings: &Settings) -> String {
        let before = self.past.with_untracked(|past| past.last().map(|past| past.settings.clone()));
        before.map_or_else(String::new, |before| settings.changes_since(&before))
    }
}

/// Returns the CSS class of a pinned run's curves.
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
            // Runs that break a promise are not stored.
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
