//! A label as Markdown.

use super::{
    facts::PrivacyLabel,
    text::{headline, odds, sections},
};
use crate::data::name::is_hidden;

pub fn page(label: &PrivacyLabel) -> String {
    let mut out = format!(
        "# Privacy label: {}\n\n**{}**\n\n{}\n",
        one_line(&label.name),
        headline(label),
        one_line(&odds(label))
    );
    for (heading, rows) in sections(label) {
        out.push_str(&format!("\n## {heading}\n\n| | |\n| --- | --- |\n"));
        for (name, value) in rows {
            out.push_str(&format!("| {} | {} |\n", one_line(&name), one_line(&value)));
        }
    }
    for (heading, lines) in [("It rests on", &label.assumptions), ("Not covered", &label.uncovered)] {
        if !lines.is_empty() {
            out.push_str(&format!("\n## {heading}\n\n"));
            lines.iter().for_each(|line| out.push_str(&format!("- {}\n", one_line(line))));
        }
    }
    out
}

/// Keeps foreign text, such as a name, in its cell and escapes all markup.
fn one_line(text: &str) -> String {
    text.chars().filter(|c| !is_hidden(*c)).fold(String::new(), |mut out, c| {
        if matches!(c, '\\' | '|' | '*' | '_' | '`' | '<' | '>' | '[' | ']' | '#') {
            out.push('\\');
        }
        out.push(c);
        out
    })
}
