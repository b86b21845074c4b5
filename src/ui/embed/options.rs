//! What the host page asks to show: `controls=sigma,clip` and `hide=backend`.

use crate::ui::{link::encoding::pairs, settings::clipped, setup::layout::Control};

/// Parts that can be hidden. Not ε: a private run always states its cost.
const PARTS: [&str; 8] = ["speed", "step", "reset", "backend", "accuracy", "accuracy-chart", "epsilon-chart", "link"];

/// What is shown below the bar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// Both curves.
    #[default]
    Run,
    /// One step in detail.
    Stage,
    /// All results.
    Results,
    /// The lesson that the address names, above the curves.
    Lesson,
    /// The noise lab.
    Lab,
    /// The attack on the run, and the demonstrations of attacks.
    Attack,
}

/// Names of views in addresses.
const VIEWS: [(&str, View); 6] = [
    ("run", View::Run),
    ("stage", View::Stage),
    ("results", View::Results),
    ("lesson", View::Lesson),
    ("lab", View::Lab),
    ("attack", View::Attack),
];

/// What an embed shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// In the order of the link, without duplicates.
    pub controls: Vec<Control>,
    /// Some of `PARTS`, each followed by a space.
    pub hide: String,
    pub view: View,
}

impl Options {
    /// True if images of a step's lot are shown: on the stage, and among those who pay for privacy.
    #[must_use]
    pub const fn shows_lots(&self) -> bool {
        matches!(self.view, View::Stage | View::Results)
    }
}

/// Reads the options of a query; returns a sentence for each problem.
#[must_use]
pub fn read(query: &str) -> (Options, Vec<String>) {
    let mut options = Options::default();
    let mut problems = vec![];
    for (key, value) in pairs(query) {
        let names = value.split(',').filter(|name| !name.is_empty());
        match key.as_str() {
            "controls" => {
                for name in names {
                    match Control::by_key(name) {
                        Some(control) if options.controls.contains(&control) => {}
                        Some(control) => options.controls.push(control),
                        None => problems.push(wrong("controls", name, &Control::keys().collect::<Vec<_>>())),
                    }
                }
            }
            "hide" => {
                for name in names {
                    match PARTS.iter().find(|part| **part == name) {
                        Some(part) => options.hide.push_str(&format!("{part} ")),
                        None => problems.push(wrong("hide", name, &PARTS)),
                    }
                }
            }
            "view" => match VIEWS.iter().find(|(name, _)| *name == value) {
                Some((_, view)) => options.view = *view,
                None => problems.push(wrong("view", &value, &VIEWS.map(|(name, _)| name))),
            },
            _ => {}
        }
    }
    if options.view == View::Lesson && pairs(query).iter().all(|(key, _)| key != "lesson") {
        problems
            .push("In the link, view=lesson shows the lesson that lesson names, such as lesson=why-noise.".to_owned());
    }
    (options, problems)
}

fn wrong(key: &str, name: &str, allowed: &[&str]) -> String {
    format!("In the link, {key} may name {}; “{}” is none of them.", allowed.join(", "), clipped(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::settings::{Number, Select};

    #[test]
    fn lists_are_read_in_order_and_mistakes_named() {
        let (options, problems) = read("?controls=sigma,noise,sigma,,clip&hide=backend,link&x=y");
        let expected =
            [Control::Number(Number::Scale), Control::Select(Select::Noise), Control::Number(Number::ClipNorm)];
        assert_eq!((options.controls.as_slice(), options.hide.as_str()), (&expected[..], "backend link "));
        assert_eq!(problems, Vec::<String>::new());
        let (options, problems) = read("controls=sigma,magic&hide=epsilon");
        assert_eq!(options.controls, [Control::Number(Number::Scale)]);
        assert!(problems[0].contains("“magic” is none of them") && problems[0].contains("preset, dataset"));
        assert!(problems[1].starts_with("In the link, hide may name speed, "), "ε cannot be hidden: {problems:?}");
        assert_eq!(read(""), (Options::default(), vec![]));
        assert_eq!(read("view=lab").0.view, View::Lab);
        assert!(read("view=lesson").1[0].contains("such as lesson=why-noise"));
        assert_eq!(read("view=attack"), (Options { view: View::Attack, ..Options::default() }, vec![]));
        let (options, problems) = read("view=x");
        assert_eq!(options.view, View::Run);
        assert!(problems[0].contains("view may name run, stage, results, lesson, lab, attack;"), "{problems:?}");
    }

    /// `<hush-grad>` refuses unknown keys; the known ones are listed in its script.
    #[test]
    fn the_element_knows_every_key_and_no_other() {
        let script = include_str!("../../../www/element.js");
        let list = |name: &str| -> Vec<&str> {
            let start = format!("const {name} = `");
            let rest = &script[script.find(&start).unwrap() + start.len()..];
            rest[..rest.find('`').unwrap()].split_whitespace().collect()
        };
        let mut known = list("SETTINGS");
        known.sort_unstable();
        let selects = Select::ALL.into_iter().map(|select| select.spec().key);
        let numbers = Number::ALL.into_iter().map(|number| number.spec().key);
        let mut keys: Vec<&str> = ["preset", "layers", "density", "phase-list", "layer-norms", "speed"]
            .into_iter()
            .chain(selects)
            .chain(numbers)
            .collect();
        keys.sort_unstable();
        assert_eq!(known, keys);
        let of_the_frame = list("FRAME");
        for key in ["backend", "cores", "theme", "controls", "hide", "view", "poster", "lesson", "lab", "v"] {
            assert!(of_the_frame.contains(&key), "{key}");
        }
    }

    #[test]
    fn the_documented_names_are_known() {
        let page = include_str!("../../../docs/embedding.md");
        for key in ["controls", "hide", "view"] {
            let row = page.lines().find_map(|line| line.strip_prefix(&format!("| `{key}` |"))).unwrap();
            // The names between pairs of backticks.
            let names: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
            assert!(names.len() > 4, "{names:?}");
            let lists = if key == "view" {
                names.iter().map(|name| format!("{name}&lesson=x")).collect()
            } else {
                vec![names.join(",")]
            };
            for list in lists {
                assert_eq!(read(&format!("{key}={list}")).1, Vec::<String>::new());
            }
        }
    }
}
