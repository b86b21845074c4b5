//! `cargo xtask test`: set up, check, test, and count.

use std::{
    sync::{Mutex, MutexGuard, PoisonError, mpsc::channel},
    time::{Duration, Instant},
};

use super::{count::Count, suites};
use crate::{
    prelude::*,
    screen::clock,
    site::{Kind, build},
    tools::{TARGET, browser, engines, lints, mnist, wasm_target},
};

const BUILD: &str = "build, clippy, documentation";
const BROWSER: &str = "browser tests";
const ENGINES: &str = "browser tests, Firefox and WebKit";
const SHIPPED: &str = "browser tests, as shipped";

/// All checks; what fails is told at once and counted at the end.
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

    /// Does a part, and writes its word into the table; its error is one failure more.
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

    /// A part that has tests of its own.
    fn tests(&self, name: &str, part: impl FnOnce() -> Result<(Count, String)>) {
        if let Some(count) = self.part(name, part) {
            self.notes().count.add(count);
        }
    }

    /// A program that says yes or no.
    fn program(&self, name: &str, command: &mut Command) -> Option<()> {
        self.part(name, || self.project.run(name, command).map(|_| ((), "ok".to_owned())))
    }

    /// A wanted part whose set-up failed.
    fn impossible(&self, name: &str, why: &str) {
        self.tests(name, || Err(wrong!("could not run: {why}")));
    }

    /// The last word: a table of the parts, and the count alone on its line.
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

/// Whether everything passed. An error is one of the set-up, before there was anything to count.
pub fn run(project: &Project) -> Result<bool> {
    let start = Instant::now();
    project.say("Set-up");
    let _until_the_end = project.claim()?;
    suites::components(project)?;
    let wasm = wasm_target::ensure(project).and_then(|wasm| wasm.with_clippy(project));
    let chromium = browser::playwright(project).and_then(|()| browser::chromium(project));
    let engines = engines::ensure(project);
    let no_adapter = browser::no_adapter(project);
    let digits = mnist::ensure(project);

    project.say("Checks");
    let checks = &Checks { project, notes: Mutex::default() };
    checks.program("formatting", &mut project.cargo("fmt --all --check"));
    // Everything that is compiled for this machine, looked through by clippy and rustdoc.
    let mut native_build = project.cargo("build --locked --workspace --all-targets");
    lints::build_with_lints(project, &mut native_build)?;
    if let Some(why) = &no_adapter {
        let skipped = "the tests of the WebGPU engine on this machine are SKIPPED";
        project.say(&format!("\n  !!! NO GPU ADAPTER: {skipped}. {why}\n"));
        checks.notes().count.skipped += 1;
    }
    let needed = |error: &Error| wrong!("could not run: {error}");
    // Of no site: what the tests of its tags and of oEmbed compare.
    let address = "https://hushgrad.example/".parse().ok();
    let site = |kind: Kind| {
        let (wasm, digits) = (wasm.as_ref().map_err(needed)?, digits.as_ref().map_err(needed)?);
        let out = project.target()?.join(kind.folder());
        build::build(project, kind, wasm, digits, &out, address.as_ref()).map(|site| (site, out))
    };
    let browser = |site: &Path, which| {
        let (chromium, engines) = (chromium.as_ref().map_err(needed)?, engines.as_ref().map_err(needed)?);
        suites::browser_tests(project, chromium, engines, digits.as_ref().map_err(needed)?, site, which)
    };
    // Three lanes, since compilers and browsers seldom keep both of two cores busy. The browser waits for the native tool and the quick site,
    // not for the one that ships; what measures time waits for all of them.
    let (tool_is_there, tool) = channel();
    let (quick_is_there, quick) = channel::<PathBuf>();
    let (wasm, site, browser, no_adapter) = (&wasm, &site, &browser, no_adapter.is_some());
    // Nobody waits any more where a lane has ended.
    let native = move || {
        // What was not built is not tested, and is one failure.
        if checks.program(BUILD, &mut native_build).is_some() {
            let _ = tool_is_there.send(());
            checks.tests("native tests", || suites::native_tests(project, no_adapter));
        }
    };
    let sites = move || {
        checks.part("quick site, clippy", || {
            let _ = quick_is_there.send(site(Kind::Quick)?.1);
            Ok(((), "ok".to_owned()))
        });
        // No site carries it, so nothing else would tell that it does not compile; it takes what the training thread was compiled of.
        checks.part("bench of a browser, clippy", || {
            let words = "build --locked --profile quick --no-default-features --features gpu --example engine_bench";
            let mut cargo = project.cargo(&format!("{words} --target {TARGET}"));
            wasm.as_ref().map_err(needed)?.prepare(&mut cargo);
            project.run("compile the bench of a browser", &mut cargo).map(|_| ((), "ok".to_owned()))
        });
        checks.part("site that ships", || {
            let (site, out) = site(Kind::Shipped)?;
            project.say(&site.table());
            Ok((out, site.check()?.to_owned()))
        })
    };
    // A lane that fails says so itself, and sends nothing.
    let rest = move || {
        let there = (quick.recv(), tool.recv());
        for (name, which) in [(BROWSER, "rest"), (ENGINES, "engines")] {
            match &there {
                (Ok(quick), Ok(())) => checks.tests(name, || browser(quick, which)),
                _ => checks.impossible(name, "there is no quick site, or no native tool"),
            }
        }
    };
    let (native, shipped, rest) = std::thread::scope(|scope| {
        let (native, sites, rest) = (scope.spawn(native), scope.spawn(sites), scope.spawn(rest));
        (native.join(), sites.join(), rest.join())
    });
    for (name, broke_off) in [(BUILD, native.is_err()), ("sites", shipped.is_err()), (BROWSER, rest.is_err())] {
        if broke_off {
            checks.impossible(name, "it broke off");
        }
    }
    match shipped.ok().flatten() {
        Some(shipped) => checks.tests(SHIPPED, || browser(&shipped, "shipped")),
        None => checks.impossible(SHIPPED, "there is no site"),
    }
    Ok(checks.finish(start))
}
