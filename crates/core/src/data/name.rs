//! Names given by strangers: of files, entries, classes, runs. Hidden characters, which could
//! reorder the page's own text, are removed or replaced.

/// True for controls, line breaks, direction marks (Unicode Standard Annex 9, table 2) and U+FEFF.
#[must_use]
pub fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// True for letters of right-to-left scripts.
const fn is_right_to_left(letter: char) -> bool {
    matches!(letter, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

/// Quotes a name: at most `most` characters, then "…" if cut; hidden ones become "�". A name with
/// right-to-left letters is isolated (FSI … PDI), so that the sentence around it keeps its order.
#[must_use]
pub fn quoted(name: &str, most: usize) -> String {
    let plain = name.chars().take(most).map(|letter| if is_hidden(letter) { '\u{fffd}' } else { letter });
    let cut = if name.chars().nth(most).is_some() { "…" } else { "" };
    isolated(plain.chain(cut.chars()).collect())
}

fn isolated(name: String) -> String {
    if name.chars().any(is_right_to_left) { format!("\u{2068}{name}\u{2069}") } else { name }
}

/// A name to store: at most `most` characters, without hidden ones; isolated as in [`quoted`].
#[must_use]
pub fn kept(name: &str, most: usize) -> String {
    let shown: String = name.chars().filter(|letter| !is_hidden(*letter)).collect();
    let kept: String = shown.trim().chars().take(most).collect();
    isolated(kept.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_reorder_the_text_around_them() {
        let turned = "evil\u{202e}gnp.exe\n\u{2067}";
        assert_eq!(quoted(turned, 80), "evil\u{fffd}gnp.exe\u{fffd}\u{fffd}");
        assert_eq!(kept(turned, 80), "evilgnp.exe");
        assert_eq!((quoted("abcdef", 3).as_str(), quoted("abc", 3).as_str()), ("abc…", "abc"));
        for name in [quoted("שלום", 80), kept("שלום", 80), kept(&kept("שלום", 80), 4)] {
            assert_eq!(name, "\u{2068}שלום\u{2069}");
        }
        // What is kept is kept again as it is.
        for name in ["\0 \0a ", "a \u{202e}", " \u{2068}\u{a0}b", "a b c"] {
            assert_eq!(kept(&kept(name, 2), 2), kept(name, 2), "{name:?}");
        }
        // Joiners belong to letters, and stay.
        assert_eq!(kept(" 👩\u{200d}🔬 ", 9), "👩\u{200d}🔬");
    }
}
