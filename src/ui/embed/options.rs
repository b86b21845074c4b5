//! What the page around an embed asks to see: `controls=sigma,clip` and `hide=backend`.

use crate::ui::{link::encoding::pairs, settings::clipped, setup::layout::Control};

/// What can be hidden. Not ε: a private run always says what it costs.
const PARTS: [&str; 8] = ["speed", "step", "reset", "backend", "accuracy", "accuracy-chart", "epsilon-chart", "link"];

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// In the order of the link, each once.
    pub controls: Vec<Control>,
    /// Some of `PARTS`, with a space between.
    pub hide: String,
}

/// Reads both lists, and says in a sentence each what was wrong with them.
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
            _ => {}
        }
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
    }

    #[test]
    fn the_documented_names_are_known() {
        let page = include_str!("../../../docs/embedding.md");
        for key in ["controls", "hide"] {
            let row = page.lines().find_map(|line| line.strip_prefix(&format!("| `{key}` |"))).unwrap();
            // What stands between a pair of backticks, and is no mark of omission.
            let names: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
            assert!(names.len() > 6, "{names:?}");
            assert_eq!(read(&format!("{key}={}", names.join(","))).1, Vec::<String>::new());
        }
    }
}
