//! Reads criterion's results.

use serde::Deserialize;

use super::report::Samples;
use crate::prelude::*;

/// A bench measured by criterion.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    pub name: String,
    /// Its input; empty for a bench without one.
    pub input: String,
    /// Per iteration.
    pub seconds: Samples,
}

/// Reads all results in criterion's `folder`: `…/new/{benchmark,sample}.json`.
pub fn measured(folder: &Path) -> Vec<Measured> {
    let all = files(folder).unwrap_or_default().into_iter();
    all.filter(|path| path.ends_with("new/benchmark.json")).filter_map(|path| read_measured(&path)).collect()
}

fn read_measured(benchmark: &Path) -> Option<Measured> {
    #[derive(Deserialize)]
    struct Benchmark {
        function_id: String,
        value_str: Option<String>,
    }
    #[derive(Deserialize)]
    struct Sample {
        iters: Vec<f64>,
        times: Vec<f64>,
    }
    let Benchmark { function_id, value_str } = serde_json::from_str(&fs::read_to_string(benchmark).ok()?).ok()?;
    let sample = fs::read_to_string(benchmark.with_file_name("sample.json")).ok()?;
    let Sample { iters, times } = serde_json::from_str(&sample).ok()?;
    let seconds: Vec<f64> = times.iter().zip(&iters).map(|(nanoseconds, n)| nanoseconds / n * 1e-9).collect();
    Some(Measured { name: function_id, input: value_str.unwrap_or_default(), seconds: seconds.try_into().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn criterions_files_are_found_and_read() {
        let folder = tempfile::tempdir().unwrap();
        let new = folder.path().join("a bench").join("2").join("new");
        fs::create_dir_all(&new).unwrap();
        fs::write(new.join("benchmark.json"), r#"{ "function_id": "a bench", "value_str": "2" }"#).unwrap();
        assert_eq!(measured(folder.path()), []);
        fs::write(new.join("sample.json"), r#"{ "iters": [1.0, 2.0, 4.0], "times": [9e9, 8e9, 12e9] }"#).unwrap();
        let found = measured(folder.path());
        assert_eq!(found.len(), 1);
        let Measured { name, input, seconds } = &found[0];
        assert_eq!((name.as_str(), input.as_str()), ("a bench", "2"));
        assert!((seconds.median - 4.0).abs() < 1e-9 && (seconds.best - 3.0).abs() < 1e-9, "{found:?}");
    }
}
