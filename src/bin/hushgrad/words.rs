//! Preprocesses the command line so that negative numbers are accepted as values.

use std::ffi::OsString;

/// Joins `--sigma -1e-3` to `--sigma=-1e-3`. Otherwise clap takes `-1e-3` for an unknown option,
/// and its message does not name the value's range.
pub fn joined(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut all: Vec<OsString> = Vec::new();
    let (mut is_option, mut ended) = (false, false);
    for word in words {
        let text = word.to_str().unwrap_or_default();
        let is_negative = text.starts_with('-') && text.parse::<f64>().is_ok();
        if let (true, true, Some(option)) = (is_negative, is_option, all.last_mut()) {
            option.push("=");
            option.push(&word);
            is_option = false;
            continue;
        }
        ended |= text == "--";
        is_option = !ended && text.starts_with("--") && !text.contains('=');
        all.push(word);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_numbers_are_values_of_the_preceding_option() {
        for (words, wanted) in [
            ("train --sigma -1e-3 --json", "train --sigma=-1e-3 --json"),
            ("train --lot -5 -5", "train --lot=-5 -5"),
            ("train --lr=-1 -2", "train --lr=-1 -2"),
            ("train --nu -inf --delta -NaN", "train --nu=-inf --delta=-NaN"),
            ("train --out -x --data -", "train --out -x --data -"),
            ("account -- -1", "account -- -1"),
            ("train --sigma 1", "train --sigma 1"),
        ] {
            let joined = joined(words.split(' ').map(OsString::from));
            assert_eq!(joined.join(&OsString::from(" ")), wanted);
        }
    }
}
