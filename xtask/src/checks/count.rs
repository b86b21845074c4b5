//! Counts of tests over all runners.

use crate::prelude::*;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Count {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
}

impl Count {
    pub fn add(&mut self, more: Self) {
        self.passed += more.passed;
        self.failed += more.failed;
        self.skipped += more.skipped;
    }

    /// Sums cargo's closing lines: `test result: ok. 5 passed; 0 failed; 1 ignored; …`.
    pub fn of_cargo(lines: &[String]) -> Self {
        let mut total = Self::default();
        for line in lines.iter().filter_map(|l| l.trim().strip_prefix("test result: ")) {
            let of = |word: &str| {
                let before = line.split([';', '.']).find_map(|part| part.trim().strip_suffix(word));
                before.and_then(|n| n.trim().parse::<u64>().ok()).unwrap_or(0)
            };
            total.add(Self { passed: of("passed"), failed: of("failed"), skipped: of("ignored") });
        }
        total
    }

    /// Reads nextest's `Summary [ 1.2s] 9/9 tests run: 7 passed (1 slow), 1 failed, 2 skipped`.
    pub fn of_nextest(lines: &[String]) -> Self {
        let mut total = Self::default();
        let summary = lines.iter().rev().find_map(|line| line.trim().strip_prefix("Summary [")?.split_once("run: "));
        for part in summary.map_or("", |(_, counts)| counts).split(',') {
            let mut words = part.split_whitespace();
            let Some(number) = words.next().and_then(|word| word.parse::<u64>().ok()) else { continue };
            match words.next() {
                Some("passed") => total.passed += number,
                Some("skipped") => total.skipped += number,
                // Includes `exec failed` and `timed out`, but not the numbers in brackets.
                Some("failed" | "timed" | "exec") => total.failed += number,
                _ => {}
            }
        }
        total
    }

    /// Reads the closing lines of Node's runner: `# pass 5`, or `ℹ pass 5`.
    pub fn of_node(lines: &[String]) -> Self {
        let of = |word: &str| {
            let numbers = lines.iter().filter_map(|line| {
                let mut words = line.split_whitespace().skip_while(|word| ["#", "ℹ"].contains(word));
                (words.next() == Some(word)).then(|| words.next()?.parse::<u64>().ok()).flatten()
            });
            numbers.sum()
        };
        Self { passed: of("pass"), failed: of("fail") + of("cancelled"), skipped: of("skipped") + of("todo") }
    }

    /// Reads Playwright's JSON report; a test that passed only when tried again counts as failed.
    pub fn of_playwright(report: &str) -> Result<Self> {
        #[derive(serde::Deserialize)]
        struct Report {
            #[serde(default)]
            errors: Vec<serde_json::Value>,
            stats: Stats,
        }
        #[derive(serde::Deserialize)]
        struct Stats {
            expected: u64,
            unexpected: u64,
            #[serde(default)]
            flaky: u64,
            #[serde(default)]
            skipped: u64,
        }
        let Report { errors, stats } =
            serde_json::from_str(report).map_err(|e| wrong!("Playwright's report is no JSON with counts: {e}"))?;
        let failed = stats.unexpected + stats.flaky + errors.len() as u64;
        Ok(Self { passed: stats.expected, failed, skipped: stats.skipped })
    }
}

/// The failed and the skipped tests of Playwright's JSON report.
#[derive(Debug, Default, PartialEq)]
pub struct Named {
    /// Titles, also of tests that passed only when tried again.
    pub failed: Vec<String>,
    /// Titles, each with its reason.
    pub skipped: Vec<String>,
}

impl Named {
    /// Reads Playwright's JSON report.
    pub fn of_playwright(report: &str) -> Result<Self> {
        #[derive(Default, serde::Deserialize)]
        #[serde(default)]
        struct Suite {
            suites: Vec<Suite>,
            specs: Vec<Spec>,
        }
        #[derive(serde::Deserialize)]
        struct Spec {
            title: String,
            tests: Vec<Test>,
        }
        #[derive(serde::Deserialize)]
        struct Test {
            status: String,
            #[serde(default)]
            annotations: Vec<Annotation>,
        }
        #[derive(serde::Deserialize)]
        struct Annotation {
            #[serde(rename = "type")]
            kind: String,
            #[serde(default)]
            description: String,
        }
        fn walk(Suite { suites, specs }: Suite, found: &mut Named) {
            for Spec { title, tests } in specs {
                for test in tests {
                    match test.status.as_str() {
                        "unexpected" | "flaky" => found.failed.push(title.clone()),
                        "skipped" => {
                            let why = test.annotations.into_iter().find(|annotation| annotation.kind == "skip");
                            let why = why.map(|annotation| annotation.description).filter(|why| !why.is_empty());
                            found.skipped.push(format!("{title}: {}", why.as_deref().unwrap_or("nothing says why")));
                        }
                        _ => {}
                    }
                }
            }
            suites.into_iter().for_each(|suite| walk(suite, found));
        }
        let mut found = Self::default();
        walk(
            serde_json::from_str(report).map_err(|e| wrong!("Playwright's report is no JSON with suites: {e}"))?,
            &mut found,
        );
        Ok(found)
    }
}

/// Lists the tests that cargo's or nextest's output names as failed, each once.
pub fn failed(lines: &[String]) -> Vec<String> {
    let mut names: Vec<String> = vec![];
    for line in lines.iter().map(|line| line.trim()) {
        let of_cargo = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"));
        // `FAIL [   1.676s] ( 904/1094) hushgrad-train attack::a_test`, or `SIGABRT`, `TIMEOUT`, …
        let of_nextest = line.split_once(" [").filter(|(status, rest)| {
            let passes = ["PASS", "LEAK", "SLOW"].contains(status);
            !passes && status.len() > 3 && status.chars().all(|c| c.is_ascii_uppercase()) && rest.contains("s] (")
        });
        let of_nextest = of_nextest.and_then(|(_, rest)| rest.split_whitespace().last());
        if let Some(name) = of_cargo.or(of_nextest)
            && !names.iter().any(|known| known == name)
        {
            names.push(name.to_owned());
        }
    }
    names
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn closing_lines_of_all_test_programs_are_summed() {
        let lines = [
            "running 3 tests",
            "test a ... ok",
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.01s",
            "test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.50s",
        ]
        .map(str::to_owned);
        assert_eq!(Count::of_cargo(&lines), Count { passed: 16, failed: 2, skipped: 1 });
        assert_eq!(Count::of_cargo(&[]), Count::default());
    }

    #[test]
    fn other_runners_closing_lines_are_read() {
        let said = "  Summary [ 12.3s] 10/12 tests run: 7 passed (1 slow, 1 leaky), 2 failed, 1 timed out, 3 skipped\n  FAIL a";
        assert_eq!(Count::of_nextest(&lines(said)), Count { passed: 7, failed: 3, skipped: 3 });
        assert_eq!(Count::of_nextest(&lines("error: no test")), Count::default());
        for mark in ["#", "ℹ"] {
            let said = ["tests 6", "pass 4", "fail 1", "cancelled 0", "skipped 1", "todo 0"];
            let said = said.map(|line| format!("{mark} {line}"));
            assert_eq!(Count::of_node(&said), Count { passed: 4, failed: 1, skipped: 1 });
        }
    }

    #[test]
    fn the_browser_report_is_read_strictly() {
        let report = r#"{"errors":[],"stats":{"expected":7,"unexpected":1,"flaky":1,"skipped":2}}"#;
        assert_eq!(Count::of_playwright(report).unwrap(), Count { passed: 7, failed: 2, skipped: 2 });
        let broken = r#"{"errors":[{"message":"no tests"}],"stats":{"expected":0,"unexpected":0}}"#;
        assert_eq!(Count::of_playwright(broken).unwrap().failed, 1);
        assert!(Count::of_playwright("{}").is_err() && Count::of_playwright("").is_err());
    }

    #[test]
    fn failed_and_skipped_tests_of_a_browser_are_named() {
        let test = |status: &str, more: &str| format!(r#"{{"status":"{status}"{more}}}"#);
        let spec = |title: &str, tests: &str| format!(r#"{{"title":"{title}","tests":[{tests}]}}"#);
        let why = r#","annotations":[{"type":"slow"},{"type":"skip","description":"no adapter"}]"#;
        let (inner, outer) = (spec("a", &test("skipped", why)), spec("b", &test("skipped", r#","annotations":[]"#)));
        let report = format!(
            r#"{{"suites":[{{"specs":[{outer},{},{},{}],"suites":[{{"specs":[{inner}]}}]}}],"stats":{{}}}}"#,
            spec("c", &test("expected", "")),
            spec("d", &test("unexpected", "")),
            spec("e", &test("flaky", ""))
        );
        let Named { failed, skipped } = Named::of_playwright(&report).unwrap();
        assert_eq!((skipped, failed), (lines("b: nothing says why\na: no adapter"), lines("d\ne")));
        assert_eq!(Named::of_playwright("{}").unwrap(), Named::default());
        assert!(Named::of_playwright("").is_err());
    }

    #[test]
    fn failed_native_tests_are_named_once() {
        let said = "  FAIL [   1.676s] ( 904/1094) hushgrad-train attack::a_test\n  PASS [ 0.1s] (1/2) x good\n\
                    test attack::a_test ... FAILED\ntest b ... ok\n  SIGABRT [ 0.2s] (2/2) x aborts\n  SIGKILL [ 0.2s] (2/2) x dies\n\
                    SLOW [> 60.000s] (───) x slow\n LEAK [ 0.1s] (1/2) x leaks\n Summary [ 9.9s] 4 tests run: 1 passed";
        assert_eq!(failed(&lines(said)), ["attack::a_test", "aborts", "dies"]);
    }

    #[test]
    fn the_last_line_is_plain() {
        assert_eq!(Count { passed: 3, failed: 0, skipped: 0 }.to_string(), "3 passed, 0 failed");
        assert_eq!(Count { passed: 3, failed: 1, skipped: 2 }.to_string(), "3 passed, 1 failed");
    }
}
