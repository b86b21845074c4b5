//! A task: `controls=sigma,clip` leaves these settings free and fixes all others. An embed reads
//! the same key as the list of controls to show. `task=1` to `task=6` add the sentence of a task of
//! `teach.html`, `limit=0.5` an ε that the planned steps may cost, `goal=88` a test accuracy in percent.

use super::encoding::pairs;
use crate::{
    plot::format,
    train::number::parse,
    ui::{
        settings::{
            Number, Select, Settings, clipped,
            keys::{PRESET, keys},
            presets::Preset,
        },
        text::{Text, t, text},
    },
};

/// The keys in links.
pub const KEY: &str = "controls";
const TASK: &str = "task";
const LIMIT: &str = "limit";
const GOAL: &str = "goal";
pub const KEYS: [&str; 4] = [KEY, TASK, LIMIT, GOAL];

/// Sentences of the tasks of `teach.html`, in their order.
const TASKS: [Text; 6] = [
    text!("Read as many test digits as you can, while ε of the whole run stays at 0.5 or below."),
    text!("Train with the clip norms 0.1, 1 and 10. What happens to the accuracy, and what to ε?"),
    text!("Guess first: with a lot half as large, does ε go up or down? Then measure with 256, 512 and 1,024."),
    text!("ε ≤ 0.5 is fixed. With which noise are most digits read: Gaussian, Laplace or Student-t?"),
    text!(
        "Choose the denoiser Kolmogorov–Smirnov. What happens to ε, and what to the accuracy? Then look for the best rate, with it and without it."
    ),
    text!("How many planned steps does it take until the odds say “at most 10” of 100? How many until they say 11?"),
];

/// A task: the settings that it leaves free, and what it asks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lock {
    /// Keys, in the order of the link, without duplicates.
    free: Vec<&'static str>,
    /// Index into [`TASKS`].
    task: Option<usize>,
    /// ε that the planned steps may cost.
    pub limit: Option<f64>,
    /// Test accuracy to reach, in percent.
    pub goal: Option<f64>,
}

/// Reads the task of a link, if any; returns a sentence for each problem.
#[must_use]
pub fn read(query: &str) -> (Option<Lock>, Vec<String>) {
    let (mut lock, mut problems) = (None::<Lock>, vec![]);
    let pairs = pairs(query);
    let of = |wanted: &'static str| pairs.iter().filter(move |(key, _)| key == wanted).map(|(_, value)| value.as_str());
    for list in of(KEY) {
        let free = &mut lock.get_or_insert_default().free;
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
    // An embed shows controls without a task; there the other keys say nothing either.
    if let Some(lock) = &mut lock {
        for text in of(TASK) {
            match text.parse::<usize>().ok().filter(|number| (1..=TASKS.len()).contains(number)) {
                Some(number) => lock.task = Some(number - 1),
                None => problems.push(t!(
                    "In the link, {key} must be a whole number from 1 to {most}, not “{name}”.",
                    key = TASK,
                    most = TASKS.len(),
                    name = clipped(text)
                )),
            }
        }
        for (key, most, field) in [(LIMIT, 1000.0, &mut lock.limit), (GOAL, 100.0, &mut lock.goal)] {
            for text in of(key) {
                match parse(text).filter(|value| *value > 0.0 && *value <= most) {
                    Some(value) => *field = Some(value),
                    None => problems.push(t!(
                        "In the link, {key} must be a number above 0, at most {most}, not “{name}”.",
                        key = key,
                        most = format::integer(most as u64),
                        name = clipped(text)
                    )),
                }
            }
        }
    } else if let Some(key) = [TASK, LIMIT, GOAL].into_iter().find(|key| of(key).next().is_some()) {
        problems.push(t!(
            "In the link, {key} is of a task, which lists the settings that it leaves free: {controls}=.",
            key = key,
            controls = KEY
        ));
    }
    (lock, problems)
}

impl Lock {
    /// Returns what the task asks, if it is one of `teach.html`.
    #[must_use]
    pub fn asks(&self) -> Option<&'static str> {
        self.task.map(|task| TASKS[task].get())
    }

    /// True if the setting of this key may be changed.
    #[must_use]
    pub fn leaves(&self, key: &str) -> bool {
        self.free.contains(&key)
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
        self.free.iter().map(|key| {
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
        let number = |key: &str, value: Option<f64>| value.map(|value| format!("&{key}={}", format::exact(value)));
        let task = self.task.map(|task| format!("&{TASK}={}", task + 1));
        let more = [task, number(LIMIT, self.limit), number(GOAL, self.goal)];
        more.into_iter().flatten().fold(format!("{KEY}={}", self.free.join(",")), |link, part| link + &part)
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
    fn what_a_task_asks_is_read_and_written_and_mistakes_are_named() {
        let (task, problems) = super::read("goal=88.5&controls=sigma&task=1&limit=0.5");
        let task = task.unwrap();
        assert_eq!((task.limit, task.goal, problems), (Some(0.5), Some(88.5), vec![]));
        assert!(task.asks().unwrap().starts_with("Read as many test digits"));
        assert_eq!(task.write(), "controls=sigma&task=1&limit=0.5&goal=88.5");
        for wrong in
            ["task=0", "task=7", "task=-1", "limit=0", "limit=NaN", "limit=inf", "limit=1e9", "goal=101", "goal="]
        {
            let (task, problems) = super::read(&format!("controls=sigma&{wrong}"));
            assert_eq!((task, problems.len()), (Some(lock("sigma")), 1), "{wrong}: {problems:?}");
            assert!(super::read(wrong).1[0].contains("controls="), "{wrong} alone");
        }
        let page = include_str!("../../../www/teach.html");
        assert_eq!(page.matches("class=\"task\"").count(), TASKS.len());
        for number in 1..=TASKS.len() {
            assert_eq!(page.matches(&format!("&amp;task={number}&amp;")).count(), 1, "{number}");
        }
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
