//! BENCHMARKS.md, one section a kind of bench: its tables, and the numbers in them.

use fs_err as fs;
use serde::{Deserialize, de::DeserializeOwned};

use super::sections::with_section;
use crate::{
    error::{Error, Result},
    project::Project,
};

pub const FILE: &str = "BENCHMARKS.md";

/// Puts `text` between the marks of the section `name`; a new section goes to the end, under `heading`.
pub fn write(project: &Project, name: &str, heading: &str, text: &str) -> Result<()> {
    let path = project.root.join(FILE);
    let before = fs::read_to_string(&path).unwrap_or_else(|_| "# Benchmarks\n".to_owned());
    fs::write(
        &path,
        with_section(&before, name, heading, text).map_err(|why| Error::wrong(format!("{FILE}: {why}")))?,
    )?;
    project.say(&format!("\nThe section \"{heading}\" of {FILE} is new."));
    Ok(())
}

/// The processor's name, where the system tells it, and how many threads it runs at once.
pub fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ")).map(|(_, name)| name);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{}, {threads} logical cores", name.unwrap_or(std::env::consts::ARCH))
}

/// A table. `columns` and rows have `|` between their cells; the first `words` columns are words, the others numbers.
pub fn table(columns: &str, words: usize, rows: impl IntoIterator<Item = Result<String>>) -> Result<String> {
    let columns: Vec<&str> = columns.split('|').map(str::trim).collect();
    let rule: String = (0..columns.len()).map(|at| if at < words { " --- |" } else { " ---: |" }).collect();
    let head: String =
        columns.iter().map(|cell| if cell.is_empty() { " |".into() } else { format!(" {cell} |") }).collect();
    rows.into_iter().try_fold(format!("|{head}\n|{rule}\n"), |table, row| Ok(format!("{table}| {} |\n", row?)))
}

/// Of a number with a goal that it has not met.
pub fn missed(missed: bool) -> &'static str {
    if missed { " (missed)" } else { "" }
}

/// What a program said in lines of JSON; other lines are passed over.
pub fn read<T: DeserializeOwned>(lines: &[String]) -> impl Iterator<Item = T> {
    lines.iter().filter_map(|line| serde_json::from_str(line.trim()).ok())
}

/// How long something takes; other work on the machine disturbs the median more than the best sample. Written as `1.23 (4.56)`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Time {
    pub best: f64,
    pub median: f64,
}

impl std::ops::Mul<f64> for Time {
    type Output = Self;

    fn mul(self, by: f64) -> Self {
        Self { best: self.best * by, median: self.median * by }
    }
}

impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = f.precision().unwrap_or(2);
        write!(f, "{:.digits$} ({:.digits$})", self.best, self.median)
    }
}

/// What came of one time and again.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Vec<f64>")]
pub struct Samples {
    pub time: Time,
    pub worst: f64,
}

impl TryFrom<Vec<f64>> for Samples {
    type Error = &'static str;

    fn try_from(mut all: Vec<f64>) -> std::result::Result<Self, &'static str> {
        all.sort_unstable_by(f64::total_cmp);
        let (&[best, ..], &[.., worst]) = (&all[..], &all[..]) else { return Err("there is no sample") };
        Ok(Self { time: Time { best, median: all[all.len() / 2] }, worst })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_its_numbers_on_the_right_and_a_time_its_median_in_brackets() {
        let samples = Samples::try_from(vec![9.0, 2.0, 3.0]).unwrap();
        assert_eq!((samples.time, samples.worst), (Time { best: 2.0, median: 3.0 }, 9.0));
        assert!(Samples::try_from(vec![]).is_err());
        let rows = [Ok(format!("a | {}", samples.time)), Ok(format!("b | {:.0}", samples.time * 10.0))];
        let text = "| | ms |\n| --- | ---: |\n| a | 2.00 (3.00) |\n| b | 20 (30) |\n";
        assert_eq!(table("|ms", 1, rows).unwrap(), text);
        assert!(table("|ms", 1, [Err(Error::wrong("none"))]).is_err());
    }
}
