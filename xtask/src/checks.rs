//! `cargo xtask test`: set up, check, test, and count.

use std::{
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use crate::{
    browser::{self, Adapter},
    engines::{self, Engines},
    error::{At, Error, Result},
    lints,
    mnist::{self, Digits},
    project::Project,
    screen::{Said, Screen, Step, clock},
    site::{self, Kind},
    tools, wasm_target,
};

const BROWSER: &str = "browser tests";
const ENGINES: &str = "browser tests, Firefox and WebKit";

/// Tests that ran, of all runners together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Count {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
}

impl Count {
    fn add(&mut self, more: Self) {
        self.passed += more.passed;
        self.failed += more.failed;
        self.skipped += more.skipped;
    }
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

/// All checks, one after the other; what fails is told at once and counted at the end.
struct Checks<'a> {
    screen: &'a Screen,
    count: Count,
    table: Vec<(String, Duration, String)>,
}

/// What came of one part: its name, its time, and its word for the table.
struct Part<T>(String, Duration, Result<(T, String)>);

impl<T> Part<T> {
    fn of(name: &str, part: impl FnOnce() -> Result<(T, String)>) -> Self {
        let start = Instant::now();
        let result = part();
        Self(name.to_owned(), start.elapsed(), result)
    }

    /// A wanted part whose set-up failed.
    fn impossible(name: &str, why: &str) -> Self {
        Self::of(name, || Err(Error::Wrong(format!("could not run: {why}"))))
    }
}

impl Part<()> {
    /// A program that says yes or no.
    fn check(screen: &Screen, name: &str, mut command: Command) -> Self {
        Self::of(name, || {
            let step = screen.step(name);
            step.run(&mut command)?;
            step.done("");
            Ok(((), "ok".to_owned()))
        })
    }
}

impl Checks<'_> {
    /// Notes a part that has tests of its own.
    fn count_in(&mut self, part: Part<Count>) {
        if let Some(count) = self.note(part) {
            self.count.add(count);
        }
    }

    /// Writes a part into the table; its error is one failure more.
    fn note<T>(&mut self, Part(name, time, result): Part<T>) -> Option<T> {
        match result {
            Ok((value, word)) => {
                self.table.push((name, time, word));
                Some(value)
            }
            Err(error) => {
                eprintln!("\n{name}: {error}\n");
                self.count.failed += 1;
                self.table.push((name, time, "FAILED".to_owned()));
                None
            }
        }
    }
}

/// Whether everything passed. An error is one of the set-up, before there was anything to count.
pub fn run(project: &mut Project, screen: &Screen) -> Result<bool> {
    let start = Instant::now();
    screen.say("Set-up");
    project.claim(screen)?;
    components(project, screen)?;
    let wasm = wasm_target::ensure(project, screen).and_then(|wasm| wasm.with_clippy(project));
    let chromium = browser::playwright(project, screen).and_then(|()| browser::chromium(project, screen));
    let engines = engines::ensure(project, screen);
    let adapter = browser::adapter(project, screen)?;
    let digits = mnist::ensure(project, screen);

    screen.say("Checks");
    let mut checks = Checks { screen, count: Count::default(), table: Vec::new() };
    let mut formatting = project.cargo();
    formatting.args(["fmt", "--all", "--check"]);
    checks.note(Part::check(screen, "formatting", formatting));
    let build = native_build(project)?;
    let name = "build, clippy, documentation";
    if let Adapter::None(why) = &adapter {
        screen.say(&format!(
            "\n  !!! NO GPU ADAPTER: the tests of the WebGPU engine on this machine are SKIPPED. {why}\n"
        ));
        checks.count.skipped += 1;
    }
    let needed = |error: &Error| Error::Wrong(format!("could not run: {error}"));
    let site = |kind: Kind| {
        let (wasm, digits) = (wasm.as_ref().map_err(needed)?, digits.as_ref().map_err(needed)?);
        let out = project.target()?.join(kind.folder());
        site::build(project, screen, kind, wasm, digits, &out).map(|site| (site, out))
    };
    let browser = |site: &Path, which| {
        let (chromium, digits) = (chromium.as_ref().map_err(needed)?, digits.as_ref().map_err(needed)?);
        browser_tests(project, screen, (chromium, engines.as_ref().map_err(needed)?), digits, site, which)
    };
    let (project, site, browser, adapter) = (&*project, &site, &browser, &adapter);
    // Three lanes, since compilers and browsers seldom keep both of two cores busy. The browser waits for the native tool and the quick site,
    // not for the one that ships; what measures time waits for all of them.
    let (tool_is_there, tool) = std::sync::mpsc::channel();
    let (quick_is_there, quick) = std::sync::mpsc::channel();
    let (native, sites, rest) = std::thread::scope(|scope| {
        let native = scope.spawn(move || {
            let build = Part::check(screen, name, build);
            // What was not built is not tested, and is one failure.
            if build.2.is_err() {
                return (build, None);
            }
            // Nobody waits any more when the site was not built.
            let _ = tool_is_there.send(());
            (build, Some(native_tests(project, screen, adapter)))
        });
        let sites = scope.spawn(move || {
            let quick = Part::of("quick site, clippy", || {
                let (_, out) = site(Kind::Quick)?;
                let _ = quick_is_there.send(out);
                Ok(((), "ok".to_owned()))
            });
            let shipped = Part::of("site that ships", || {
                let (site, out) = site(Kind::Shipped)?;
                screen.say(&site.table());
                let word = site.check()?.to_owned();
                Ok((out, word))
            });
            (quick, shipped)
        });
        let rest = scope.spawn(move || {
            // A lane that fails says so itself, and sends nothing.
            let (Ok(quick), Ok(())) = (quick.recv(), tool.recv()) else {
                return [BROWSER, ENGINES]
                    .map(|name| Part::impossible(name, "there is no quick site, or no native tool"));
            };
            [Part::of(BROWSER, || browser(&quick, "rest")), Part::of(ENGINES, || browser(&quick, "engines"))]
        });
        let broke_off = "it broke off";
        (
            native.join().unwrap_or_else(|_| (Part::impossible(name, broke_off), None)),
            sites.join().unwrap_or_else(|_| {
                (Part::impossible("quick site, clippy", broke_off), Part::impossible("site that ships", broke_off))
            }),
            rest.join().unwrap_or_else(|_| [BROWSER, ENGINES].map(|name| Part::impossible(name, broke_off))),
        )
    });
    checks.note(native.0);
    if let Some(tests) = native.1 {
        checks.count_in(tests);
    }
    checks.note(sites.0);
    for part in rest {
        checks.count_in(part);
    }
    let name = "browser tests, as shipped";
    let shipped = match checks.note(sites.1) {
        Some(shipped) => Part::of(name, || browser(&shipped, "shipped")),
        None => Part::impossible(name, "there is no site"),
    };
    checks.count_in(shipped);
    Ok(finish(&checks, start))
}

/// The last word: a table of the parts, and the count alone on its line.
fn finish(checks: &Checks<'_>, start: Instant) -> bool {
    checks.screen.say("\nSummary");
    for (name, time, word) in &checks.table {
        checks.screen.say(&format!("  {name:<34} {:>10}  {word}", clock(*time)));
    }
    checks.screen.say(&format!("  {:<34} {:>10}\n", "all, with set-up", clock(start.elapsed())));
    if checks.count.skipped > 0 {
        checks.screen.say(&format!("  !!! {} SKIPPED: what is missing is said above\n", checks.count.skipped));
    }
    println!("{}", checks.count);
    checks.count.failed == 0
}

/// rustfmt and clippy, which a minimal toolchain lacks.
fn components(project: &Project, screen: &Screen) -> Result<()> {
    let step = screen.step("rustfmt and clippy");
    let there = |tool: &str| project.cargo().args([tool, "--version"]).output().is_ok_and(|out| out.status.success());
    let missing: Vec<&str> = [("fmt", "rustfmt"), ("clippy", "clippy")]
        .into_iter()
        .filter(|(tool, _)| !there(tool))
        .map(|(_, component)| component)
        .collect();
    if missing.is_empty() {
        step.done("of the default toolchain");
        return Ok(());
    }
    let mut command = project.command("rustup");
    let said = step.ask(command.args(["component", "add"]).args(&missing));
    match said {
        Ok(said) if said.ok => {
            step.done("installed by rustup");
            Ok(())
        }
        _ => Err(Error::Missing {
            what: missing.join(" and "),
            why: "the default Rust toolchain was installed without, and rustup could not add it".into(),
            how: format!("Run: rustup component add {}", missing.join(" ")),
        }),
    }
}

/// Everything that is compiled for this machine, looked through by clippy and rustdoc.
fn native_build(project: &Project) -> Result<Command> {
    let mut build = project.cargo();
    build.args(["build", "--locked", "--workspace", "--all-targets"]);
    lints::build_with_lints(project, &mut build)?;
    Ok(build)
}

/// Unit, integration, shader and documentation tests.
fn native_tests(project: &Project, screen: &Screen, adapter: &Adapter) -> Part<Count> {
    Part::of("native tests", || {
        let step = screen.step("native tests");
        let mut command = project.cargo();
        command.args(["test", "--locked", "--workspace", "--no-fail-fast"]);
        // What has been built is tested.
        lints::build_with_lints(project, &mut command)?;
        if matches!(adapter, Adapter::None(_)) {
            command.env("HUSHGRAD_NO_GPU", "1");
        }
        let said = step.ask(&mut command)?;
        let count = count_cargo(&said.lines);
        for line in said.lines.iter().filter(|l| l.ends_with("... FAILED") || l.contains("panicked at")) {
            step.say(line);
        }
        match (said.ok, count.failed) {
            (true, _) if count.passed == 0 => Err(Error::Wrong("cargo ran no test".into())),
            (true, _) => {
                step.done(&count.to_string());
                Ok((count, count.to_string()))
            }
            // Not a test, but the build or a whole test program failed; its error is counted by the caller.
            (false, 0) => Err(step.error(&command, &said)),
            (false, _) => {
                step.say(&said.tail());
                step.failed(&count.to_string());
                Ok((count, format!("{count}; see {}", said.log.display())))
            }
        }
    })
}

/// Playwright's tests of one project over one site: `rest` over the quick one, and `engines`, in other browsers than Chromium; `shipped` over
/// the one that ships, of what visitors wait for and of training.
fn browser_tests(
    project: &Project,
    screen: &Screen,
    (chromium, engines): (&Path, &Engines),
    digits: &Digits,
    site: &Path,
    which: &str,
) -> Result<(Count, String)> {
    let mdbook = tools::mdbook(project, screen);
    if let Err(error) = &mdbook {
        // One test misses it, and fails.
        screen.say(&error.to_string());
    }
    let step = screen.step(&format!("browser tests, {which}"));
    // The page's ε is compared with this program's.
    let native = project.target()?.join("debug").join(format!("hushgrad{}", std::env::consts::EXE_SUFFIX));
    let report = project.cache.join("logs").join(format!("browser-tests-{which}.json"));
    crate::project::remove(&report)?;
    let mut command = browser::playwright_test(project, chromium, site);
    engines.tell(&mut command);
    command
        .args([format!("--project={which}"), "--reporter=list,json".to_owned()])
        .env("PLAYWRIGHT_JSON_OUTPUT_NAME", &report)
        .env("HUSHGRAD_NATIVE", native)
        .env("HUSHGRAD_DATA", if matches!(digits, Digits::Mnist(_)) { "mnist" } else { "synthetic" });
    if let Ok(mdbook) = &mdbook {
        command.env("HUSHGRAD_MDBOOK", mdbook);
    }
    let said = step.ask(&mut command)?;
    // Each test with its time.
    said.lines.iter().filter(|line| line.contains(".spec.ts:") && line.contains(" › ")).for_each(|line| step.say(line));
    let text = std::fs::read_to_string(&report).at("read the report", &report);
    let Ok(text) = text else { return Err(step.error(&command, &said)) };
    let count = count_playwright(&text)?;
    Ok((count, verdict(&said, count, &command, step)?))
}

fn verdict(said: &Said, count: Count, command: &Command, step: Step<'_>) -> Result<String> {
    // Where a machine has none of the other browsers, nothing passes; what is skipped is counted, and said at the end.
    if said.ok && count.failed == 0 && count.passed + count.skipped > 0 {
        step.done(&count.to_string());
        return Ok(count.to_string());
    }
    if count.failed == 0 {
        return Err(step.error(command, said));
    }
    // What failed, from the first failure's story on.
    let from = said.lines.iter().position(|line| line.trim_start().starts_with("1) ")).unwrap_or(0);
    said.lines[from..].iter().for_each(|line| step.say(line));
    step.failed(&count.to_string());
    Ok(format!("{count}; see {}", said.log.display()))
}

/// Sums cargo's closing lines: `test result: ok. 5 passed; 0 failed; 1 ignored; …`.
fn count_cargo(lines: &[String]) -> Count {
    let mut total = Count::default();
    for line in lines.iter().filter_map(|l| l.trim().strip_prefix("test result: ")) {
        let of = |word: &str| {
            let before = line.split([';', '.']).find_map(|part| part.trim().strip_suffix(word));
            before.and_then(|n| n.trim().parse::<u64>().ok()).unwrap_or(0)
        };
        total.add(Count { passed: of("passed"), failed: of("failed"), skipped: of("ignored") });
    }
    total
}

/// Reads Playwright's JSON report; a test that passed only when tried again counts as failed.
fn count_playwright(report: &str) -> Result<Count> {
    let json: serde_json::Value =
        serde_json::from_str(report).map_err(|e| Error::Wrong(format!("Playwright's report is no JSON: {e}")))?;
    let of = |key: &str| json["stats"][key].as_u64();
    let missing = || Error::Wrong("Playwright's report has no counts".into());
    let errors = json["errors"].as_array().map_or(0, Vec::len) as u64;
    Ok(Count {
        passed: of("expected").ok_or_else(missing)?,
        failed: of("unexpected").ok_or_else(missing)? + of("flaky").unwrap_or(0) + errors,
        skipped: of("skipped").unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_of_all_test_programs_are_summed() {
        let lines = [
            "running 3 tests",
            "test a ... ok",
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.01s",
            "test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.50s",
        ]
        .map(str::to_owned);
        assert_eq!(count_cargo(&lines), Count { passed: 16, failed: 2, skipped: 1 });
        assert_eq!(count_cargo(&[]), Count::default());
    }

    #[test]
    fn the_browser_report_is_read_strictly() {
        let report = r#"{"errors":[],"stats":{"expected":7,"unexpected":1,"flaky":1,"skipped":2}}"#;
        assert_eq!(count_playwright(report).unwrap(), Count { passed: 7, failed: 2, skipped: 2 });
        let broken = r#"{"errors":[{"message":"no tests"}],"stats":{"expected":0,"unexpected":0}}"#;
        assert_eq!(count_playwright(broken).unwrap().failed, 1);
        assert!(count_playwright("{}").is_err() && count_playwright("").is_err());
    }

    #[test]
    fn the_last_line_is_plain() {
        assert_eq!(Count { passed: 3, failed: 0, skipped: 0 }.to_string(), "3 passed, 0 failed");
        assert_eq!(Count { passed: 3, failed: 1, skipped: 2 }.to_string(), "3 passed, 1 failed");
    }
}
