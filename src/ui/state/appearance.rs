//! How the page looks.

use leptos::prelude::*;

use crate::ui::{browser, settings::Theme};

/// The ids of the buttons that open and close the set-up of a phone.
pub const SHEET_OPENER: &str = "set-up-open";
pub const SHEET_CLOSE: &str = "set-up-close";

/// Colours, size, and what a phone shows. Copied freely.
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
    /// Whether a phone shows the set-up, as a sheet over the stage; elsewhere it is always there.
    pub sheet: RwSignal<bool>,
    /// Whether the page is shown to a class: large, and without the set-up.
    pub present: RwSignal<bool>,
    /// Whether a phone shows what is seldom wanted of header and transport.
    pub more: RwSignal<bool>,
}

/// Panels of the page: tabs on a phone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Panel {
    Step,
    Results,
}

impl Appearance {
    /// The link's theme, or the one that the browser keeps; whether the link names a language, which is spoken already.
    #[must_use]
    pub fn new(theme: Option<Theme>, language_in_link: bool, present: bool) -> Self {
        Self {
            theme: RwSignal::new(theme.unwrap_or_else(browser::stored_theme)),
            theme_in_link: RwSignal::new(theme.is_some()),
            language: RwSignal::new(browser::language()),
            language_in_link: RwSignal::new(language_in_link),
            panel: RwSignal::new(Panel::Step),
            sheet: RwSignal::new(false),
            present: RwSignal::new(present),
            more: RwSignal::new(false),
        }
    }

    /// Shows a panel on a phone, and no set-up over it.
    pub fn show_panel(self, panel: Panel) {
        self.panel.set(panel);
        self.sheet.set(false);
    }

    /// Lays the set-up over the stage of a phone, of which the stations are seen above it; the keyboard goes on in it.
    pub fn open_sheet(self) {
        self.panel.set(Panel::Step);
        self.sheet.set(true);
        browser::focus_soon(SHEET_CLOSE, Some(".stations"));
    }

    /// Puts the set-up of a phone away; the keyboard goes on where it was opened.
    pub fn close_sheet(self) {
        self.sheet.set(false);
        browser::focus_soon(SHEET_OPENER, None);
    }

    /// Shows a link's theme, which the browser does not keep.
    pub fn take_theme(self, theme: Theme) {
        browser::show_theme(theme);
        self.theme.set(theme);
        self.theme_in_link.set(true);
    }

    /// Shows the theme that a link names, or the visitor's own again.
    pub fn take_link(self, theme: Option<Theme>) {
        match theme {
            Some(theme) => self.take_theme(theme),
            None if self.theme_in_link.get_untracked() => {
                self.theme_in_link.set(false);
                self.follow(browser::stored_theme());
            }
            None => {}
        }
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
