//! The lesson that is open, the set that it is of, and what the visitor had before it.

use std::sync::Arc;

use leptos::prelude::*;

use super::{
    appearance::Panel,
    lesson_set::{LessonSet, Until},
};
use crate::{
    train::{audit::Mutation, config::RunConfig},
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
    pub lab: bool,
    pub pay_once: bool,
    pub attacks: bool,
    pub query: NoiseQuery,
}

/// What the open step's text is true of: its settings, how far its run is, and the runs to compare with.
#[derive(Clone, PartialEq)]
pub struct Staged {
    pub settings: Settings,
    pub until: Until,
    pub also: Vec<Settings>,
}

/// What a run came to that is over, for steps to compare with.
#[derive(Clone, PartialEq)]
pub struct Compared {
    pub key: String,
    /// With the promise that it breaks.
    pub config: (RunConfig, Option<Mutation>),
    pub train: u32,
    pub data: String,
    pub accuracy: Option<f64>,
    /// What the page showed large; none of a run without a guarantee.
    pub epsilon: Option<f64>,
    /// As `{found}`; none unless a step that says so was open.
    pub found: Option<f64>,
    /// As `{mu}`.
    pub mu: Option<f64>,
}

/// The lessons. Copied freely.
#[derive(Clone, Copy)]
pub struct Lessons {
    pub set: RwSignal<Option<Arc<LessonSet>>>,
    /// Lesson and step that are open.
    pub open: RwSignal<Option<(usize, usize)>>,
    /// What a link asked for, until the set is there.
    pub wanted: StoredValue<Option<String>>,
    pub before: StoredValue<Option<Before>>,
    pub staged: RwSignal<Option<Arc<Staged>>>,
    /// Whether it was brought about, or is the visitor's own affair by now.
    pub done: RwSignal<bool>,
    /// The run of it that was begun last.
    pub begun: StoredValue<Option<(RunConfig, Option<Mutation>)>>,
    pub compared: RwSignal<Vec<Compared>>,
}

impl Lessons {
    /// No lesson yet; `wanted` is the one that a link names.
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

    /// The open step as links name it: `why-noise.2`; what a link asked for until the set is there.
    #[must_use]
    pub fn name(self) -> Option<String> {
        let (open, set) = (self.open.get(), self.set.get_untracked());
        let Some(set) = set else { return self.wanted.get_value() };
        open.map(|(at, step)| format!("{}.{}", set.lessons[at].key, step + 1))
    }

    /// The step that a link calls `name`, once the set is there.
    #[must_use]
    pub fn place_of(self, name: Option<&str>) -> Option<(usize, usize)> {
        self.set.with_untracked(|set| set.as_ref()?.find(name?))
    }

    /// No lesson is open; `wanted` is the one that a link names.
    pub fn forget(self, wanted: Option<String>) {
        self.wanted.set_value(wanted);
        self.before.set_value(None);
        self.staged.set(None);
        self.done.set(false);
        self.open.set(None);
    }
}
