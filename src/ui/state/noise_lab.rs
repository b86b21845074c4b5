//! Whether the noise lab is open, and its query.

use leptos::prelude::*;

use crate::ui::link::{Link, NoiseQuery};

#[derive(Clone, Copy)]
pub struct NoiseLab {
    pub open: RwSignal<bool>,
    pub query: RwSignal<NoiseQuery>,
    /// Whether it is open and awaits answers, which change its height.
    pub looks: RwSignal<bool>,
}

impl NoiseLab {
    /// Creates the state that a link describes.
    #[must_use]
    pub fn new(link: &Link) -> Self {
        Self { open: RwSignal::new(link.lab), query: RwSignal::new(link.query.clone()), looks: RwSignal::new(false) }
    }
}
