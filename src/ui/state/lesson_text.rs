//! The text of lessons and formulas: names in braces, and emphasis.

use crate::ui::text;

/// Replaces each `{name}` in a text by its value; an unknown one becomes a dash.
#[must_use]
pub fn fill(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
    text::fill(text, &|name| value(name).unwrap_or_else(|| "–".to_owned()))
}

/// Returns the names in braces.
pub fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name)
}

/// Splits a text into pieces, each with whether it is emphasised: `*so*`. An asterisk after a
/// letter, a digit or `)`, as in `0.1*x`, is a product.
#[must_use]
pub fn emphasis(text: &str) -> Vec<(bool, &str)> {
    let mut pieces = vec![];
    let mut rest = text;
    let mut from = 0;
    while let Some(found) = rest[from..].find('*') {
        let start = from + found;
        let opens = !rest[..start].ends_with(|before: char| before.is_alphanumeric() || before == ')');
        match rest[start + 1..].find('*').filter(|_| opens) {
            Some(length) => {
                pieces.push((false, &rest[..start]));
                pieces.push((true, &rest[start + 1..start + 1 + length]));
                rest = &rest[start + length + 2..];
                from = 0;
            }
            None => from = start + 1,
        }
    }
    pieces.push((false, rest));
    pieces.retain(|(_, piece)| !piece.is_empty());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_filled_in() {
        let value = |name: &str| (name == "sigma").then(|| "1.1".to_owned());
        assert_eq!(fill("σ = {sigma}, {x}; {open", value), "σ = 1.1, –; open");
        assert_eq!(names("σ = {sigma}, {x}; {open").collect::<Vec<_>>(), ["sigma", "x"]);
    }

    #[test]
    fn emphasis_is_told_from_a_product() {
        assert_eq!(emphasis("of *other* shapes"), [(false, "of "), (true, "other"), (false, " shapes")]);
        assert_eq!(emphasis("*all*"), [(true, "all")]);
        for product in ["exp(-abs(x)^1.5)+0.1*exp(-x^2/9)", "2*x*y", "(a)*b"] {
            assert_eq!(emphasis(product), [(false, product)]);
        }
        assert_eq!(emphasis("0.1*x, *so*"), [(false, "0.1*x, "), (true, "so")]);
    }
}
