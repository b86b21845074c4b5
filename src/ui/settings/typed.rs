//! Numbers as people type them.

use crate::train::number::parse;

/// Parses a number as people type it: `0.5`, `.5`, `1e-5`, `1,000`, `0,5`, `60 000`.
pub fn read(typed: &str) -> Option<f64> {
    let mut text: String = typed.chars().filter(|c| !c.is_whitespace() && *c != '\u{202f}').collect();
    text = text.replace('−', "-");
    if let Some((whole, rest)) = text.split_once(',') {
        let groups = !whole.is_empty() && rest.split(',').all(|g| g.split('.').next().is_some_and(|g| g.len() == 3));
        if groups && !whole.trim_start_matches('-').starts_with('0') {
            text = text.replace(',', "");
        } else if !rest.contains([',', '.']) {
            text = format!("{whole}.{rest}");
        }
    }
    parse(&text).filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_people_type_them() {
        for (text, value) in [
            ("0.5", 0.5),
            (" .5 ", 0.5),
            ("1e-5", 1e-5),
            ("1,000", 1000.0),
            ("0,5", 0.5),
            ("60 000", 60_000.0),
            ("1,000.5", 1000.5),
            ("−3", -3.0),
            ("0,125", 0.125),
        ] {
            assert_eq!(read(text), Some(value), "{text}");
        }
        for text in ["", "NaN", "inf", "1e999", "abc", "1,2,3", "--1", "1.2.3"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
