//! BENCHMARKS.md: one section a kind of bench.

use crate::{
    error::{At, Error, Result},
    project::Project,
    screen::Screen,
    sections::with_section,
};

pub const FILE: &str = "BENCHMARKS.md";

/// Puts `text` between the marks of the section `name`; a new section goes to the end, under `heading`.
pub fn write(project: &Project, screen: &Screen, name: &str, heading: &str, text: &str) -> Result<()> {
    let path = project.root.join(FILE);
    let before = std::fs::read_to_string(&path).unwrap_or_else(|_| "# Benchmarks\n".to_owned());
    let after = with_section(&before, name, heading, text).map_err(|why| Error::Wrong(format!("{FILE}: {why}")))?;
    std::fs::write(&path, after).at("write", &path)?;
    screen.say(&format!("\nThe section \"{heading}\" of {FILE} is new."));
    Ok(())
}

/// The processor's name, where the system tells it, and how many threads it runs at once.
pub fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ")).map(|(_, name)| name);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{}, {threads} logical cores", name.unwrap_or(std::env::consts::ARCH))
}
