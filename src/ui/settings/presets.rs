//! The table of ready-made runs ([`presets`]) as settings of the page.

use super::values::Settings;
use crate::train::presets;

/// What the page opens with, where a link names no setting: the first preset on MNIST.
#[must_use]
pub fn first_settings() -> Settings {
    let ground = Settings::default();
    Preset::by_key(presets::FIRST).map_or_else(|| ground.clone(), |first| first.settings(&ground))
}

/// One entry of the list.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    pub key: &'static str,
    pub label: &'static str,
    /// What it shows, in a sentence.
    pub note: &'static str,
    entry: presets::Preset,
}

impl PartialEq for Preset {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

/// All of them, in the order of the list.
pub fn all() -> impl Iterator<Item = Preset> {
    presets::ALL.into_iter().map(|entry| Preset { key: entry.key, label: entry.label, note: entry.note, entry })
}

impl Preset {
    /// The preset whose name in links is `key`.
    #[must_use]
    pub fn by_key(key: &str) -> Option<Self> {
        all().find(|preset| preset.key == key)
    }

    /// Its settings, with the digits that are chosen already.
    #[must_use]
    pub fn settings(self, now: &Settings) -> Settings {
        Settings::of_config(&self.entry.config(), now.digits)
    }

    /// The preset that these settings are, whatever the digits.
    #[must_use]
    pub fn of(settings: &Settings) -> Option<Self> {
        all().find(|preset| preset.entry.config() == settings.config())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::settings::numbers::Number;

    #[test]
    fn presets_can_be_set_and_are_recognised() {
        for preset in all() {
            let settings = preset.settings(&Settings::default());
            assert_eq!(Preset::of(&settings), Some(preset));
            assert_eq!(Preset::by_key(preset.key), Some(preset));
            for number in Number::ALL {
                if let Some(value) = settings.number(number) {
                    assert!(number.spec().allows(value), "{}: {number:?}", preset.key);
                }
            }
        }
        assert!(Preset::by_key("").is_none());
    }
}
