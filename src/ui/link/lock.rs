//! A task: `controls=sigma,clip` leaves these settings free and fixes all others. An embed reads
//! the same key as the list of controls to show.

use super::encoding::pairs;
use crate::ui::{
    settings::{
        Number, Select, Settings, clipped,
        keys::{PRESET, keys},
        presets::Preset,
    },
    text::{t, text},
};

/// The key in links.
pub const KEY: &str = "controls";

/// The settings that a task leaves free.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock(
    /// Keys, in the order of the link, without duplicates.
    Vec<&'static str>,
);

/// Reads the task of a link, if any; returns a sentence for each problem.
#[must_use]
pub fn read(query: &str) -> (Option<Lock>, Vec<String>) {
    let (mut lock, mut problems) = (None::<Lock>, vec![]);
    for (_, list) in pairs(query).into_iter().filter(|(key, _)| key == KEY) {
        let free = &mut lock.get_or_insert_default().0;
        for name in list.split(',').filter(|name| !name.is_empty()) {
            match keys(false).find(|key| *key == name) {
                Some(key) if free.contains(&key) => {}
                Some(key) => free.push(key),
                None => problems.push(t!(
                    "In the link, {key} must list the settings to leave free, such as sigma, clip, rate, lot, noise or preset; “{name}” is not a setting.",
                    key = KEY,
                    name = clipped(name)
                )),
            }
        }
    }
    (lock, problems)
}

impl Lock {
    /// True if the setting of this key may be changed.
    #[must_use]
    pub fn leaves(&self, key: &str) -> bool {
        self.0.contains(&key)
    }

    /// True if only free settings differ.
    #[must_use]
    pub fn allows(&self, before: &Settings, after: &Settings) -> bool {
        // If presets are free, everything that a preset sets may change.
        if self.leaves(PRESET) && Preset::of(after).is_some() && before.digits == after.digits {
            return true;
        }
        let layers = before.model == after.model || self.leaves(Select::Model.spec().key);
        let density = before.formula == after.formula || self.leaves(Select::Noise.spec().key);
        let phases = before.phase_list == after.phase_list || self.leaves(Select::Phases.spec().key);
        let norms = before.layer_norms == after.layer_norms || self.leaves(Select::Clipping.spec().key);
        // Typing a scale ends the budget that determined it.
        let follows = |number: Number| number == Number::Budget && self.leaves(Number::Scale.spec().key);
        let select = |select: &Select| (select.spec().get)(before) == (select.spec().get)(after);
        let number = |number: &Number| before.number(*number) == after.number(*number) || follows(*number);
        layers
            && density
            && phases
            && norms
            && Select::ALL.iter().all(|each| self.leaves(each.spec().key) || select(each))
            && Number::ALL.iter().all(|each| self.leaves(each.spec().key) || number(each))
    }

    /// Returns the label of each free setting, and the id of its field.
    pub fn free(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.0.iter().map(|key| {
            let number = Number::by_key(key).map(|number| (number.spec().label, format!("number-{key}")));
            let select = || Select::by_key(key).map(|select| (select.spec().label, select.spec().id.to_owned()));
            let (label, id) = number.or_else(select).unwrap_or((text!("Preset"), PRESET.to_owned()));
            (label.get(), id)
        })
    }

    /// States in a sentence what is free.
    #[must_use]
    pub fn sentence(&self) -> String {
        let names: Vec<&str> = self.free().map(|(label, _)| label).collect();
        match names.is_empty() {
            true => t!("This task fixes every setting.").to_owned(),
            false => t!("This task lets you change: {names}. All else is fixed.", names = names.join(", ")),
        }
    }

    /// Writes the task for a link.
    #[must_use]
    pub fn write(&self) -> String {
        format!("{KEY}={}", self.0.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::settings::{Family, presets};

    fn lock(list: &str) -> Lock {
        read(&format!("controls={list}")).0.unwrap()
    }

    #[test]
    fn a_task_is_read_and_written_and_mistakes_are_named() {
        assert_eq!(read("?sigma=2"), (None, vec![]));
        for (list, sentence) in [
            ("", "This task fixes every setting."),
            ("sigma", "This task lets you change: Noise scale. All else is fixed."),
            ("sigma,clip", "This task lets you change: Noise scale, Clip norm. All else is fixed."),
            ("preset,dataset,delta", "This task lets you change: Preset, Images, δ. All else is fixed."),
        ] {
            assert_eq!(lock(list).sentence(), sentence);
            assert_eq!(lock(list).write(), format!("controls={list}"));
            assert_eq!(read(&lock(list).write()), (Some(lock(list)), vec![]));
        }
        let (read, problems) = read("controls=sigma,magic,sigma");
        assert_eq!(read, Some(lock("sigma")));
        assert!(problems.len() == 1 && problems[0].contains("“magic” is not a setting"), "{problems:?}");
        for key in keys(false) {
            assert!(lock(key).leaves(key) && !lock("").leaves(key), "{key}");
        }
        assert_eq!(keys(false).count(), 1 + Select::ALL.len() + Number::ALL.len());
    }

    #[test]
    fn only_free_settings_may_differ() {
        let before = presets::first_settings();
        let other_scale = Settings { scale: 3.0, ..before.clone() };
        assert!(lock("sigma").allows(&before, &other_scale) && !lock("clip,rate").allows(&before, &other_scale));
        assert!(lock("").allows(&before, &before));
        let budget = Settings { budget: Some(1.0), ..before.clone() };
        assert!(lock("sigma").allows(&budget, &other_scale), "a scale ends its budget");
        assert!(!lock("noise").allows(&before, &budget));
        let density = Settings { family: Family::Custom, formula: "exp(-x^2)".to_owned(), ..before.clone() };
        assert!(lock("noise").allows(&before, &density) && !lock("sigma").allows(&before, &density));
        let preset = Preset::by_key("cpu").unwrap().settings(&before);
        assert!(lock("preset").allows(&before, &preset) && !lock("sigma,lot").allows(&before, &preset));
        assert!(!lock("preset").allows(&before, &other_scale));
    }
}
