//! `cargo xtask test`: sets up, checks, tests and counts.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::{
    count::Count,
    suites::{self, Suite},
};
use crate::{
    prelude::*,
    screen::clock,
    site::{Kind, build},
    tools::{
        TARGET,
        browser::{self, Chromium},
        lints, mnist,
        mnist::Digits,
        wasm_target::{self, Wasm},
    },
};

/// All packages but the engine over Burn, which is slow to compile; `--shipped` checks that one.
pub const PACKAGES: &str = "--workspace --exclude burn-engine --exclude hushgrad-burn";

const NATIVE: &str = "build, clippy";
const BROWSER: &str = "browser tests";
const BROWSER_WANTS: &str = "there is no quick site, or no native tool";

/// All checks. Failures are reported at once and counted at the end.
struct Checks<'a> {
    project: &'a Project,
    notes: Mutex<Notes>,
}

#[derive(Default)]
struct Notes {
    count: Count,
    table: Vec<(String, Duration, String)>,
}

impl Checks<'_> {
    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a part and records its result in the table; an error counts as one failure.
    fn part<T>(&self, name: &str, part: impl FnOnce() -> Result<(T, String)>) -> Option<T> {
        let start = Instant::now();
        let done = part();
        let time = start.elapsed();
        let mut notes = self.notes();
        match done {
            Ok((value, word)) => {
                notes.table.push((name.to_owned(), time, word));
                Some(value)
            }
            Err(error) => {
                self.project.say(&format!("\n{name}: {error}\n"));
                notes.count.failed += 1;
                notes.table.push((name.to_owned(), time, "FAILED".to_owned()));
                None
            }
        }
    }

    /// Runs a part that has tests of its own.
    fn tests(&self, name: &str, part: impl FnOnce() -> Result<(Count, String)>) {
        if let Some(count) = self.part(name, part) {
            self.notes().count.add(count);
        }
    }

    /// Runs a program that passes or fails.
    fn program(&self, name: &str, command: &mut Command) -> Option<()> {
        self.part(name, || self.project.run(name, command).map(|_| ((), "ok".to_owned())))
    }

    /// Records a part that could not run.
    fn impossible(&self, name: &str, why: &str) {
        self.tests(name, || Err(wrong!("could not run: {why}")));
    }

    /// Prints the table of parts, and the count alone on the last line.
    fn finish(&self, start: Instant) -> bool {
        let Notes { count, table } = &*self.notes();
        self.project.say("\nSummary");
        for (name, time, word) in table {
            self.project.say(&format!("  {name:<34} {:>10}  {word}", clock(*time)));
        }
        self.project.say(&format!("  {:<34} {:>10}\n", "all, with set-up", clock(start.elapsed())));
        if count.skipped > 0 {
            self.project.say(&format!("  !!! {} SKIPPED: what is missing is said above\n", count.skipped));
        }
        println!("{count}");
        count.failed == 0
    }
}

/// Set-up common to both kinds of run; each part may have failed.
pub(super) struct SetUp<'a> {
    project: &'a Project,
    wasm: Result<Wasm>,
    chromium: Result<Chromium>,
    digits: Result<Digits>,
}

impl<'a> SetUp<'a> {
    pub fn new(project: &'a Project) -> Result<Self> {
        suites::components(project)?;
        Ok(Self {
            project,
            wasm: wasm_target::ensure(project).and_then(|wasm| wasm.with_clippy(project)),
            chromium: browser::playwright(project).and_then(|()| browser::chromium(project)),
            digits: mnist::ensure(project),
        })
    }

    /// Compiles the browser bench with clippy, with the training thread's features.
    fn bench_of_a_browser(&self) -> Result<((), String)> {
        let words = "build --locked --profile quick --no-default-features --features gpu --example engine_bench";
        let mut cargo = self.project.cargo(&format!("{words} --target {TARGET}"));
        needed(&self.wasm)?.prepare(&mut cargo);
        self.project.run("compile the bench of a browser", &mut cargo).map(|_| ((), "ok".to_owned()))
    }

    pub fn site(&self, kind: Kind) -> Result<(build::Site, PathBuf)> {
        let out = self.project.target()?.join(kind.folder());
        // Not a real site: for the tests of link tags and oEmbed.
        let address = "https://hushgrad.example/".parse().ok();
        let (wasm, digits) = (needed(&self.wasm)?, needed(&self.digits)?);
        build::build(self.project, kind, wasm, digits, &out, address.as_ref()).map(|site| (site, out))
    }

    pub fn browser(&self, site: &Path, suite: Suite) -> Result<(Count, String)> {
        suites::browser_tests(self.project, needed(&self.chromium)?, needed(&self.digits)?, site, suite)
    }
}

/// Returns the part, or an error for the check that needs it.
fn needed<T>(part: &Result<T>) -> Result<&T> {
    part.as_ref().map_err(|error| wrong!("could not run: {error}"))
}

/// True if everything passed. An error means that set-up failed before any check.
pub fn run(project: &Project, shipped: bool) -> Result<bool> {
    let start = Instant::now();
    project.say("Set-up");
    let _until_the_end = project.claim()?;
    let set_up = &SetUp::new(project)?;
    let checks = &Checks { project, notes: Mutex::default() };
    if shipped {
        what_ships(set_up, checks)?
    } else {
        what_changes(set_up, checks)?
    }
    Ok(checks.finish(start))
}

/// Checks needed for every change.
fn what_changes(set_up: &SetUp, checks: &Checks) -> Result<()> {
    let project = set_up.project;
    let no_adapter = browser::no_adapter(project);
    let runner = suites::Runner::find(project);
    project.say("Checks");
    checks.program("formatting", &mut project.cargo("fmt --all --check"));
    if let Some(why) = &no_adapter {
        let skipped = "the tests of the WebGPU engine on this machine are SKIPPED";
        project.say(&format!("\n  !!! NO GPU ADAPTER: {skipped}. {why}\n"));
        checks.notes().count.skipped += 1;
    }
    // Everything compiled for this machine, except benches.
    let mut native_build = project.cargo(&format!("build --locked {PACKAGES} --lib --bins --examples --tests"));
    lints::build_with_clippy(&mut native_build, &lints::clippy_driver(project)?);
    // Builds run in parallel. Test runners run in turn: each uses two cores, and tests that wait
    // for a page would wait longer.
    let (built, site) = std::thread::scope(|scope| {
        let native = scope.spawn(|| checks.program(NATIVE, &mut native_build));
        let site = scope.spawn(|| {
            checks.part("quick site, clippy", || set_up.site(Kind::Quick).map(|(_, out)| (out, "ok".to_owned())))
        });
        (native.join(), site.join())
    });
    for (name, broke_off) in [(NATIVE, built.is_err()), ("quick site", site.is_err())] {
        if broke_off {
            checks.impossible(name, "it broke off");
        }
    }
    let built = built.ok().flatten();
    match (site.ok().flatten(), built) {
        (Some(site), Some(())) => checks.tests(BROWSER, || set_up.browser(&site, Suite::Page)),
        _ => checks.impossible(BROWSER, BROWSER_WANTS),
    }
    // A failed build is already counted.
    if built.is_some() {
        checks.tests("native tests", || suites::native_tests(project, &runner, no_adapter.is_some()));
    }
    Ok(())
}

/// Checks needed for a release besides [`what_changes`], in turn, because some measure time.
fn what_ships(set_up: &SetUp, checks: &Checks) -> Result<()> {
    let project = set_up.project;
    let extras = suites::Extras::set_up(project)?;
    project.say("Checks");
    let driver = lints::clippy_driver(project)?;
    let mut benches = project.cargo("build --locked --workspace --benches --bins");
    lints::build_with_clippy(&mut benches, &driver);
    let tool = checks.program("native tool, benches, clippy", &mut benches);
    let mut documentation = project.cargo("doc --locked --workspace --no-deps");
    checks.program("documentation", documentation.env("RUSTDOCFLAGS", "-D warnings"));
    checks.tests("engines, every combination", || suites::full_product(project));
    checks.tests("tests of the engine over Burn", || suites::burn_tests(project, &driver));
    checks.tests("what strangers hand in, fuzzed", || suites::fuzz(project));
    checks.part("bench of a browser, clippy", || set_up.bench_of_a_browser());
    let site = checks.part("site that ships", || {
        let (site, out) = set_up.site(Kind::Shipped)?;
        project.say(&site.table());
        Ok((out, site.check()?.to_owned()))
    });
    checks.tests("the npm packages by themselves", || suites::npm_packages(project));
    for (name, suite) in [
        ("browser tests, as shipped", Suite::Shipped),
        ("browser tests, long", Suite::Long),
        ("browser tests, packages", Suite::Packages(&extras)),
        ("browser tests, Firefox and WebKit", Suite::Engines(&extras)),
    ] {
        match (&site, tool) {
            (Some(site), Some(())) => checks.tests(name, || set_up.browser(site, suite)),
            _ => checks.impossible(name, "there is no site, or no native tool"),
        }
    }
    Ok(())
}
