//! What the benches are compared with, and how criterion's answers are read.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{
    error::{Error, Result},
    project::{Project, which},
    screen::Step,
};

/// A Python of the cache's own with these packages, each in the version that it names; a folder for each combination.
pub fn python(project: &Project, step: &Step<'_>, packages: &[(&str, &str)]) -> Result<PathBuf> {
    let name: Vec<String> = packages.iter().map(|(package, version)| format!("{package}-{version}")).collect();
    let folder = project.cache.join("peers").join(name.join("-"));
    let python = |folder: &Path| {
        if cfg!(windows) { folder.join("Scripts").join("python.exe") } else { folder.join("bin").join("python") }
    };
    if python(&folder).is_file() {
        return Ok(python(&folder));
    }
    let outer = which("python3").or_else(|| which("python")).ok_or_else(|| Error::Missing {
        what: "Python 3".into(),
        why: "no python3 on PATH, and the peer is a Python library".into(),
        how: "Install it with its venv module (python.org).".into(),
    })?;
    project.install(&folder, |into| {
        step.run(project.command(outer).args(["-m", "venv"]).arg(into))?;
        let mut pip = project.command(python(into));
        pip.args(["-m", "pip", "install", "--no-cache-dir", "--disable-pip-version-check"]);
        pip.args(packages.iter().map(|(package, version)| format!("{package}=={version}")));
        step.run(&mut pip).map(|_| ())
    })?;
    Ok(python(&folder))
}

/// A bench that criterion has run.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    pub name: String,
    /// What it was run with; empty for a bench without input.
    pub input: String,
    /// Median and best sample, seconds for each iteration.
    pub median: f64,
    pub best: f64,
}

/// All that lies under criterion's `folder`: `…/new/{benchmark,sample}.json`.
pub fn measured(folder: &Path) -> Vec<Measured> {
    let mut found = vec![];
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    for inner in entries.filter(|path| path.is_dir()) {
        let read = |name: &str| serde_json::from_str::<Value>(&fs::read_to_string(inner.join(name)).ok()?).ok();
        match (inner.ends_with("new"), read("benchmark.json"), read("sample.json")) {
            (true, Some(benchmark), Some(sample)) => found.extend(read_measured(&benchmark, &sample)),
            (true, ..) => {}
            _ => found.extend(measured(&inner)),
        }
    }
    found
}

fn read_measured(benchmark: &Value, sample: &Value) -> Option<Measured> {
    let numbers = |of: &Value| of.as_array().map(|all| all.iter().filter_map(Value::as_f64).collect::<Vec<_>>());
    let (iterations, nanoseconds) = (numbers(&sample["iters"])?, numbers(&sample["times"])?);
    let mut times: Vec<f64> = nanoseconds.iter().zip(&iterations).map(|(t, n)| t / n * 1e-9).collect();
    times.sort_unstable_by(f64::total_cmp);
    Some(Measured {
        name: benchmark["function_id"].as_str()?.to_owned(),
        input: benchmark["value_str"].as_str().unwrap_or_default().to_owned(),
        median: *times.get(times.len() / 2)?,
        best: *times.first()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn criterions_files_are_found_and_read() {
        let folder = std::env::temp_dir().join(format!("hushgrad-criterion-{}", std::process::id()));
        let new = folder.join("a bench").join("2").join("new");
        fs::create_dir_all(&new).unwrap();
        fs::write(new.join("benchmark.json"), r#"{ "function_id": "a bench", "value_str": "2" }"#).unwrap();
        fs::write(new.join("sample.json"), r#"{ "iters": [1.0, 2.0, 4.0], "times": [9e9, 8e9, 12e9] }"#).unwrap();
        let found = measured(&folder);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found.len(), 1);
        let Measured { name, input, median, best } = &found[0];
        assert_eq!((name.as_str(), input.as_str()), ("a bench", "2"));
        assert!((median - 4.0).abs() < 1e-9 && (best - 3.0).abs() < 1e-9, "{found:?}");
        assert_eq!(read_measured(&serde_json::json!({ "function_id": "other" }), &Value::Null), None);
    }
}
