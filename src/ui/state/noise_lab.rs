//! Whether the noise lab is open, and what it is asked.

use leptos::prelude::*;

use crate::ui::link::{Link, NoiseQuery};

/// The noise lab. Copied freely.
#[derive(Clone, Copy)]
pub struct NoiseLab {
    pub open: RwSignal<bool>,
    pub query: RwSignal<NoiseQuery>,
    /// Whether it is open and looks for answers, which change its height when they come.
    pub looks: RwSignal<bool>,
}

impl NoiseLab {
    /// The lab that a link describes.
    #[must_use]
    pub fn new(link: &Link) -> Self {
        Self { open: RwSignal::new(link.lab), query: RwSignal::new(link.query.clone()), looks: RwSignal::new(false) }
    }
}
