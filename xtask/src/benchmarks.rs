//! BENCHMARKS.md: one section a kind of bench, between marks, each written by the command that measured it.

use crate::{
    error::{At, Error, Result},
    project::Project,
    screen::Screen,
};

const FILE: &str = "BENCHMARKS.md";

/// Puts `text` between the marks of the section `name`; a new section goes to the end, under `heading`.
pub fn write(project: &Project, screen: &Screen, name: &str, heading: &str, text: &str) -> Result<()> {
    let path = project.root.join(FILE);
    let before = std::fs::read_to_string(&path).unwrap_or_else(|_| "# Benchmarks\n".to_owned());
    std::fs::write(&path, with_section(&before, name, heading, text)?).at("write", &path)?;
    screen.say(&format!("\nThe section \"{heading}\" of {FILE} is new."));
    Ok(())
}

fn with_section(text: &str, name: &str, heading: &str, section: &str) -> Result<String> {
    let (open, close) = (format!("<!-- {name} -->"), format!("<!-- /{name} -->"));
    let section = section.trim_end();
    match (text.find(&open), text.find(&close)) {
        (Some(start), Some(end)) if start < end => {
            let (before, after) = (&text[..start + open.len()], &text[end..]);
            Ok(format!("{before}\n{section}\n{after}"))
        }
        (None, None) => Ok(format!("{}\n\n## {heading}\n\n{open}\n{section}\n{close}\n", text.trim_end())),
        _ => Err(Error::Wrong(format!("{FILE} has one of the marks {open} and {close} without the other"))),
    }
}

/// The processor's name, where the system tells it, and how many threads it runs at once.
pub fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ")).map(|(_, name)| name);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{}, {threads} logical cores", name.unwrap_or(std::env::consts::ARCH))
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
        assert!(with_section("<!-- speed -->", "speed", "Speed", "x").is_err());
    }
}
