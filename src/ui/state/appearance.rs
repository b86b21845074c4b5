//! The page's appearance.

use leptos::prelude::*;

use crate::ui::{browser, settings::Theme};

/// Ids of the buttons that open the settings, on a phone and on wider screens, and of the one that
/// closes them.
pub const SHEET_OPENER: &str = "set-up-open";
pub const SETTINGS: &str = "settings";
pub const SHEET_CLOSE: &str = "set-up-close";
/// Id of the verdict of the attack on the run.
pub const ATTACK_VERDICT: &str = "attack-verdict";

/// Width in pixels below which the settings lie over the stage's lower half, as `style.css` has it.
const PHONE: f64 = 720.0;
/// And from which they are beside the stage.
const WIDE: f64 = 1000.0;

/// Theme, language, and what a phone shows.
#[derive(Clone, Copy)]
pub struct Appearance {
    pub theme: RwSignal<Theme>,
    /// Whether a link named the theme; links then go on naming it.
    pub theme_in_link: RwSignal<bool>,
    /// The page's language; a change rebuilds the page.
    pub language: RwSignal<String>,
    /// Whether a link named the language.
    pub language_in_link: RwSignal<bool>,
    pub panel: RwSignal<Panel>,
    /// Whether the settings are open: a sheet over the stage on a phone, else a drawer beside it.
    pub sheet: RwSignal<bool>,
    /// Presentation mode: large, and without the set-up.
    pub present: RwSignal<bool>,
    /// Whether the rarely used parts of the header are shown; on a phone, those of the transport, too.
    pub more: RwSignal<bool>,
}

/// Panels of the page that are tabs on a phone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Panel {
    Step,
    Results,
}

impl Appearance {
    /// Takes the link's theme or else the stored one, and whether the link names the language.
    #[must_use]
    pub fn new(theme: Option<Theme>, language_in_link: bool, present: bool) -> Self {
        Self {
            theme: RwSignal::new(theme.unwrap_or_else(browser::stored_theme)),
            theme_in_link: RwSignal::new(theme.is_some()),
            language: RwSignal::new(browser::language()),
            language_in_link: RwSignal::new(language_in_link),
            panel: RwSignal::new(Panel::Step),
            sheet: RwSignal::new(browser::width() >= PHONE && browser::settings_were_open()),
            present: RwSignal::new(present),
            more: RwSignal::new(false),
        }
    }

    /// Shows a panel on a phone, closing the settings.
    pub fn show_panel(self, panel: Panel) {
        self.panel.set(panel);
        if browser::width() < PHONE {
            self.sheet.set(false);
        }
    }

    /// Opens the settings, on a phone below the stage's stations, and moves the focus into them.
    pub fn open_sheet(self) {
        self.panel.set(Panel::Step);
        self.sheet.set(true);
        browser::focus_soon(SHEET_CLOSE, (browser::width() < PHONE).then_some(".stations"));
    }

    /// Opens the settings where they cover nothing else.
    pub fn show_settings(self) {
        if browser::width() >= WIDE {
            self.sheet.set(true);
        }
    }

    /// Closes the settings, and returns the focus to the button that opened them.
    pub fn close_sheet(self) {
        self.sheet.set(false);
        browser::focus_soon(if browser::width() < PHONE { SHEET_OPENER } else { SETTINGS }, None);
    }

    /// Opens the settings, or closes them.
    pub fn turn_sheet(self) {
        if self.sheet.get_untracked() { self.close_sheet() } else { self.open_sheet() }
    }

    /// Shows a link's theme without storing it.
    pub fn take_theme(self, theme: Theme) {
        browser::show_theme(theme);
        self.theme.set(theme);
        self.theme_in_link.set(true);
    }

    /// Shows the link's theme, or else the visitor's own again.
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

    /// Shows the host page's theme, unless the link names one; neither links nor storage keep it.
    pub fn follow(self, theme: Theme) {
        if !self.theme_in_link.get_untracked() {
            browser::show_theme(theme);
            self.theme.set(theme);
        }
    }

    /// Shows and stores the visitor's theme.
    pub fn choose_theme(self, theme: Theme) {
        browser::apply_theme(theme);
        self.theme.set(theme);
    }
}
