//! Sections of a Markdown file between two comments, each written by the command that measured it. `hushgrad reproduce` has
//! this file, too.

/// `text` with `section` between the marks of `name`; a new section goes to the end, under `heading`.
///
/// # Errors
/// In words, when one of the two marks is there without the other after it.
pub fn with_section(text: &str, name: &str, heading: &str, section: &str) -> Result<String, String> {
    let (open, close) = (format!("<!-- {name} -->"), format!("<!-- /{name} -->"));
    let section = section.trim_end();
    match (text.find(&open), text.find(&close)) {
        (Some(start), Some(end)) if start < end => {
            let (before, after) = (&text[..start + open.len()], &text[end..]);
            Ok(format!("{before}\n{section}\n{after}"))
        }
        (None, None) => Ok(format!("{}\n\n## {heading}\n\n{open}\n{section}\n{close}\n", text.trim_end())),
        _ => Err(format!("it has no pair of marks, {open} and after it {close}; mend or remove them")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_added_then_replaced_and_nothing_else_changes() {
        let first = with_section("# Benchmarks\n", "speed", "Speed", "| a |\n").unwrap();
        assert_eq!(first, "# Benchmarks\n\n## Speed\n\n<!-- speed -->\n| a |\n<!-- /speed -->\n");
        let more = with_section(&format!("{first}\nmore\n"), "accounting", "Accounting", "numbers").unwrap();
        let second = with_section(&more, "speed", "Speed", "| b |").unwrap();
        assert_eq!(second, more.replace("| a |", "| b |"));
        for torn in ["<!-- speed -->", "<!-- /speed -->", "<!-- /speed --><!-- speed -->"] {
            assert!(with_section(torn, "speed", "Speed", "x").is_err(), "{torn}");
        }
    }
}
