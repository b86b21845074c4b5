//! How the page looks.

use leptos::prelude::*;

use crate::ui::{browser, settings::Theme};

/// Colours, and which panel a phone shows. Copied freely.
#[derive(Clone, Copy)]
pub struct Appearance {
    pub theme: RwSignal<Theme>,
    /// Whether the link names a theme: then it goes on with the link, and is not the visitor's own affair.
    pub theme_in_link: RwSignal<bool>,
    /// What the page speaks: all of it is built again for another.
    pub language: RwSignal<String>,
    /// Whether the link names it.
    pub language_in_link: RwSignal<bool>,
    pub panel: RwSignal<Panel>,
    /// Whether a phone shows what is seldom wanted of header and transport.
    pub more: RwSignal<bool>,
}

/// Panels of the page: tabs on a phone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Panel {
    Setup,
    Step,
    Results,
}

impl Appearance {
    /// The link's theme, or the one that the browser keeps; whether the link names a language, which is spoken already.
    #[must_use]
    pub fn new(theme: Option<Theme>, language_in_link: bool) -> Self {
        Self {
            theme: RwSignal::new(theme.unwrap_or_else(browser::stored_theme)),
            theme_in_link: RwSignal::new(theme.is_some()),
            language: RwSignal::new(browser::language()),
            language_in_link: RwSignal::new(language_in_link),
            panel: RwSignal::new(Panel::Step),
            more: RwSignal::new(false),
        }
    }

    /// Shows a link's theme, which the browser does not keep.
    pub fn take_theme(self, theme: Theme) {
        browser::show_theme(theme);
        self.theme.set(theme);
        self.theme_in_link.set(true);
    }

    /// Shows the theme of the page around this one, unless the link names one. It goes on with no link, and the browser does not keep it.
    pub fn follow(self, theme: Theme) {
        if !self.theme_in_link.get_untracked() {
            browser::show_theme(theme);
            self.theme.set(theme);
        }
    }

    /// Shows the visitor's theme, and keeps it.
    pub fn choose_theme(self, theme: Theme) {
        browser::apply_theme(theme);
        self.theme.set(theme);
    }
}
