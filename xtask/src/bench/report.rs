//! Results in BENCHMARKS.md: measurements, and sections rendered from templates.

use minijinja::{Environment, ErrorKind, UndefinedBehavior, value::Kwargs};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::sections::with_section;
use crate::prelude::*;

pub const FILE: &str = "BENCHMARKS.md";
/// Fields that identify a case.
const CASE: [&str; 8] = ["who", "backend", "model", "encoder", "envelope", "denoiser", "lot", "threads"];

/// The timed denoisers, named as in the benches (`benches/engine/tasks.rs`).
pub const DENOISERS: [&str; 7] = [
    "Kolmogorov–Smirnov",
    "Laplacian smoothing",
    "James–Stein",
    "linear",
    "soft threshold",
    "low-pass filter",
    "Kalman filter",
];

/// Repeated measurements. Other load on the machine disturbs the median more than the best.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "Vec<f64>")]
pub struct Samples {
    pub best: f64,
    pub median: f64,
    pub worst: f64,
}

impl TryFrom<Vec<f64>> for Samples {
    type Error = &'static str;

    fn try_from(mut all: Vec<f64>) -> std::result::Result<Self, &'static str> {
        all.sort_unstable_by(f64::total_cmp);
        let (&[best, ..], &[.., worst]) = (&all[..], &all[..]) else { return Err("there is no sample") };
        Ok(Self { best, median: all[all.len() / 2], worst })
    }
}

/// Measurements as JSON objects, in which lists of numbers become [`Samples`].
#[derive(Default)]
pub struct Lines(Vec<Value>);

impl Lines {
    /// Adds the JSON lines of a program's output; lines with samples take defaults from `usual`.
    pub fn read(&mut self, said: &[String], usual: &Value) {
        for mut line in said.iter().filter_map(|line| serde_json::from_str::<Value>(line.trim()).ok()) {
            for (key, value) in usual.as_object().into_iter().flatten() {
                if line["samples"].is_array() && line[key].is_null() {
                    line[key] = value.clone();
                }
            }
            self.add(line);
        }
    }

    /// Adds an object. Of measurements of one case the better best stays; empty ones are ignored.
    pub fn add(&mut self, mut line: Value) {
        for value in
            line.as_object_mut().into_iter().flat_map(|line| line.values_mut()).filter(|value| value.is_array())
        {
            *value = serde_json::from_value::<Samples>(value.clone()).map_or(value.take(), |samples| json!(samples));
        }
        let best = |line: &Value| line["samples"]["best"].as_f64();
        let same = |known: &&mut Value| best(known).is_some() && CASE.iter().all(|key| known[key] == line[key]);
        match (best(&line), self.0.iter_mut().find(same)) {
            (Some(new), Some(known)) if best(known) > Some(new) => *known = line,
            (Some(_), None) => self.0.push(line),
            (None, _) if line.is_object() && !line["samples"].is_array() => self.0.push(line),
            _ => {}
        }
    }

    /// Yields the lines that have this field.
    pub fn with<'a>(&'a self, field: &'a str) -> impl DoubleEndedIterator<Item = &'a Value> {
        self.0.iter().filter(move |line| !line[field].is_null())
    }

    /// Renders the template with these lines, `machine`, and `more`. `find(field=value, …)` returns
    /// the line with these fields, or fails.
    pub fn fill(&self, template: &str, more: Value) -> Result<String> {
        let lines: Vec<_> = self.0.iter().map(minijinja::Value::from_serialize).collect();
        let find = move |case: Kwargs| {
            let value = |key| case.get::<minijinja::Value>(key).unwrap_or_default();
            let is =
                |line: &&minijinja::Value| case.args().all(|key| line.get_attr(key).is_ok_and(|is| is == value(key)));
            lines.iter().find(is).cloned().ok_or_else(|| {
                let words: Vec<String> = case.args().map(|key| format!("{key} {}", value(key))).collect();
                let text = format!("nothing was measured of {}", words.join(", "));
                minijinja::Error::new(ErrorKind::InvalidOperation, text)
            })
        };
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_trim_blocks(true);
        environment.set_lstrip_blocks(true);
        environment.add_function("find", find);
        environment.add_filter("fixed", |number: f64, digits: usize| format!("{number:.digits$}"));
        environment.add_filter("missed", |missed: bool| if missed { " (missed)" } else { "" });
        environment.add_filter("duration", duration);
        // `1.23 (4.56)`: the best sample, then the median.
        environment.add_filter("time", |samples: minijinja::Value, digits: Option<usize>| {
            let [best, median] = ["best", "median"].map(|key| f64::try_from(samples.get_attr(key)?));
            let digits = digits.unwrap_or(2);
            Ok::<_, minijinja::Error>(format!("{:.digits$} ({:.digits$})", best?, median?))
        });
        environment.add_global("machine", machine());
        environment.add_global("denoisers", DENOISERS.to_vec());
        Ok(environment.render_str(template, more)?)
    }
}

/// Formats a duration with up to three digits and a unit.
fn duration(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s if s >= 1e-6 => (s * 1e6, "µs"),
        s => (s * 1e9, "ns"),
    };
    let digits = if value >= 99.95 { 0 } else { usize::from(value.fract() != 0.0) };
    format!("{value:.digits$} {unit}")
}

/// Replaces the section `name`; a new section is added at the end, under `heading`.
pub fn write(project: &Project, name: &str, heading: &str, text: &str) -> Result<()> {
    let path = project.root.join(FILE);
    let before = fs::read_to_string(&path).unwrap_or_else(|_| "# Benchmarks\n".to_owned());
    fs::write(&path, with_section(&before, name, heading, text).map_err(|why| wrong!("{FILE}: {why}"))?)?;
    project.say(&format!("\nThe section \"{heading}\" of {FILE} is new."));
    Ok(())
}

/// Returns the processor's name, if known, and its number of logical cores.
fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ")).map(|(_, name)| name);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{}, {threads} logical cores", name.unwrap_or(std::env::consts::ARCH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits() {
        for (seconds, text) in
            [(0.04, "40 ms"), (1e-6, "1 µs"), (2.345, "2.3 s"), (0.1234, "123 ms"), (2.3e-9, "2.3 ns")]
        {
            assert_eq!(duration(seconds), text);
        }
    }

    #[test]
    fn of_two_measurements_the_better_stays() {
        let line = |samples: &[f64]| {
            json!({ "model": "Mlp", "lot": 256, "samples": samples, "calling": [0.2, 0.1] }).to_string()
        };
        let mut lines = Lines::default();
        let said = [line(&[3.0, 2.0, 9.0]), "Running 1 test".to_owned(), line(&[1.0, 1.5]), line(&[4.0]), line(&[])];
        lines.read(&said, &json!({ "who": "this" }));
        assert_eq!(lines.with("samples").count(), 1);
        let text = lines.fill("{% set found = find(who='this', lot=256) %}{{ found.samples|time }}, {{ found.samples.worst }}, {{ found.calling|time(1) }}", Value::Null);
        assert_eq!(text.unwrap(), "1.00 (1.50), 1.5, 0.1 (0.2)");
        let error = lines.fill("{{ find(who='that', lot=256) }}", Value::Null).unwrap_err().to_string();
        assert!(error.contains("lot 256") && error.contains("who that"), "{error}");
    }
}
