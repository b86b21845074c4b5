//! The open lesson, its set, and what the visitor had before it.

use std::sync::Arc;

use leptos::prelude::*;

use super::{
    appearance::Panel,
    lesson_set::{LessonSet, Until},
};
use crate::{
    train::{audit::InjectedBug, config::RunConfig},
    ui::{
        link::NoiseQuery,
        settings::{Settings, Speed},
    },
};

/// What the visitor had before the lesson.
#[derive(Clone)]
pub struct Before {
    pub settings: Settings,
    pub speed: Speed,
    pub panel: Panel,
    /// Whether the settings were open.
    pub sheet: bool,
    pub lab: bool,
    pub pay_once: bool,
    pub attacks: bool,
    pub query: NoiseQuery,
}

/// The state that the open step's text describes: its settings, how far its run must be, and the
/// runs to compare with.
#[derive(Clone, PartialEq)]
pub struct Staged {
    pub settings: Settings,
    pub until: Until,
    pub also: Vec<Settings>,
}

/// The outcome of a complete run, for steps to compare with.
#[derive(Clone, PartialEq)]
pub struct Compared {
    pub key: String,
    /// With the mutation that breaks its promise.
    pub config: (RunConfig, Option<InjectedBug>),
    pub train: u32,
    pub data: String,
    pub accuracy: Option<f64>,
    /// ε as the page shows it large; `None` without a guarantee.
    pub epsilon: Option<f64>,
    /// Value of `{found}`; `None` unless a step that states it was open.
    pub found: Option<f64>,
    /// Value of `{mu}`.
    pub mu: Option<f64>,
}

#[derive(Clone, Copy)]
pub struct Lessons {
    pub set: RwSignal<Option<Arc<LessonSet>>>,
    /// The open lesson and step.
    pub open: RwSignal<Option<(usize, usize)>>,
    /// What a link names, until the set is present.
    pub wanted: StoredValue<Option<String>>,
    pub before: StoredValue<Option<Before>>,
    pub staged: RwSignal<Option<Arc<Staged>>>,
    /// Whether the staged state was reached, or left by the visitor.
    pub done: RwSignal<bool>,
    /// The run that was last started for it.
    pub begun: StoredValue<Option<(RunConfig, Option<InjectedBug>)>>,
    pub compared: RwSignal<Vec<Compared>>,
}

impl Lessons {
    /// Creates the state without a lesson; `wanted` is what a link names.
    #[must_use]
    pub fn new(wanted: Option<String>) -> Self {
        Self {
            set: RwSignal::new(None),
            open: RwSignal::new(None),
            wanted: StoredValue::new(wanted),
            before: StoredValue::new(None),
            staged: RwSignal::new(None),
            done: RwSignal::new(false),
            begun: StoredValue::new(None),
            compared: RwSignal::new(vec![]),
        }
    }

    /// Returns the open step as named in links: `why-noise.2`; until the set is present, `wanted`.
    #[must_use]
    pub fn name(self) -> Option<String> {
        let (open, set) = (self.open.get(), self.set.get_untracked());
        let Some(set) = set else { return self.wanted.get_value() };
        open.map(|(at, step)| format!("{}.{}", set.lessons[at].key, step + 1))
    }

    /// Returns the step that a link calls `name`, if the set is present.
    #[must_use]
    pub fn place_of(self, name: Option<&str>) -> Option<(usize, usize)> {
        self.set.with_untracked(|set| set.as_ref()?.find(name?))
    }

    /// True if the open step points at the knob, which then changes the pictures and no setting.
    #[must_use]
    pub fn is_about_knob(self) -> bool {
        let (open, set) = (self.open.get_untracked(), self.set.get_untracked());
        open.zip(set)
            .is_some_and(|((lesson, step), set)| set.lessons[lesson].steps[step].point.as_deref() == Some("knob"))
    }

    /// Closes any lesson; `wanted` is what a link names.
    pub fn forget(self, wanted: Option<String>) {
        self.wanted.set_value(wanted);
        self.before.set_value(None);
        self.staged.set(None);
        self.done.set(false);
        self.open.set(None);
    }
}
