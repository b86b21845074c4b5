//! Sections of a Markdown file between two comments, each written by the command that measured it.
//! Also included by `hushgrad reproduce`.

/// Why a section cannot be written.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SectionError {
    /// One mark is missing or misplaced.
    #[error("it has no pair of marks, {open} and after it {close}; mend or remove them")]
    Marks { open: String, close: String },
}

/// Replaces the section between the marks of `name`, or appends a new one under `heading`.
///
/// # Errors
/// If one of the two marks is present without the other after it.
pub fn with_section(text: &str, name: &str, heading: &str, section: &str) -> Result<String, SectionError> {
    update_section(text, name, heading, |_| section.to_owned())
}

/// The same, with a function of the old section, which may be empty.
///
/// # Errors
/// If one of the two marks is present without the other after it.
pub fn update_section(
    text: &str,
    name: &str,
    heading: &str,
    update: impl FnOnce(&str) -> String,
) -> Result<String, SectionError> {
    let (open, close) = (format!("<!-- {name} -->"), format!("<!-- /{name} -->"));
    match (text.find(&open), text.find(&close)) {
        (Some(start), Some(end)) if start < end => {
            let start = start + open.len();
            let section = update(text[start..end].trim());
            Ok(format!("{}\n{}\n{}", &text[..start], section.trim_end(), &text[end..]))
        }
        (None, None) => {
            let (text, section) = (text.trim_end(), update(""));
            Ok(format!("{text}\n\n## {heading}\n\n{open}\n{}\n{close}\n", section.trim_end()))
        }
        _ => Err(SectionError::Marks { open, close }),
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
        let third = update_section(&second, "speed", "Speed", |old| format!("{old}\n| c |"));
        assert_eq!(third, Ok(more.replace("| a |", "| b |\n| c |")));
        for torn in ["<!-- speed -->", "<!-- /speed -->", "<!-- /speed --><!-- speed -->"] {
            let marks = ["<!-- speed -->", "<!-- /speed -->"].map(str::to_owned);
            let [open, close] = marks;
            assert_eq!(with_section(torn, "speed", "Speed", "x"), Err(SectionError::Marks { open, close }), "{torn}");
        }
    }
}
