//! The lesson that is open, and the set that it is of.

use std::sync::Arc;

use leptos::prelude::*;

use super::lesson_set::LessonSet;

/// The lessons. Copied freely.
#[derive(Clone, Copy)]
pub struct Lessons {
    pub set: RwSignal<Option<Arc<LessonSet>>>,
    /// Lesson and step that are open.
    pub open: RwSignal<Option<(usize, usize)>>,
    /// What a link asked for, until the set is there.
    pub wanted: StoredValue<Option<String>>,
}

impl Lessons {
    /// No lesson yet; `wanted` is the one that a link names.
    #[must_use]
    pub fn new(wanted: Option<String>) -> Self {
        Self { set: RwSignal::new(None), open: RwSignal::new(None), wanted: StoredValue::new(wanted) }
    }

    /// The open step as links name it: `why-noise.2`.
    #[must_use]
    pub fn name(self) -> Option<String> {
        let (at, step) = self.open.get()?;
        let set = self.set.get_untracked()?;
        Some(format!("{}.{}", set.lessons[at].key, step + 1))
    }
}
