//! Words for what is drawn into a lot.

use leptos::prelude::*;

use crate::{
    data::sharing::Sharing,
    ui::{settings::Settings, state::Page, text::t},
};

/// What contributes one bounded vector to a step.
#[derive(Clone, Copy)]
pub enum Unit {
    Image,
    MicroBatch,
    User,
}

impl Unit {
    /// Returns the unit under the page's settings.
    pub fn of(page: Page) -> Self {
        page.settings.with(Settings::sharing).into()
    }

    /// Returns the unit that ε protects: of micro-batches, either these or their images.
    pub fn protected(page: Page) -> Self {
        if page.settings.with(|settings| settings.whole().is_some()) { Self::of(page) } else { Self::Image }
    }

    pub fn is_image(self) -> bool {
        matches!(self, Self::Image)
    }

    /// Only for use as an object: translations have a single case.
    pub fn this(self) -> &'static str {
        match self {
            Self::Image => t!("this image"),
            Self::MicroBatch => t!("this micro-batch"),
            Self::User => t!("this user"),
        }
    }

    /// Only for use as an object.
    pub fn many(self) -> &'static str {
        match self {
            Self::Image => t!("images"),
            Self::MicroBatch => t!("micro-batches"),
            Self::User => t!("users"),
        }
    }
}

impl From<Sharing> for Unit {
    fn from(sharing: Sharing) -> Self {
        match sharing {
            Sharing::Alone => Self::Image,
            Sharing::MicroBatches { .. } => Self::MicroBatch,
            Sharing::Users { .. } | Sharing::UsersOfData { .. } => Self::User,
        }
    }
}
