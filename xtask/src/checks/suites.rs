//! Runs and counts the test suites, each by its runner.

use super::{
    count::{Count, Named, failed},
    run::PACKAGES,
};
use crate::{
    prelude::*,
    screen::Said,
    tools::{
        browser::{self, Chromium},
        cargo_tool,
        engines::{self, Engines},
        lints,
        mnist::Digits,
        npm, python,
    },
};

/// Installs rustfmt and clippy if they are missing, as in a minimal toolchain.
pub fn components(project: &Project) -> Result<()> {
    let step = project.step("rustfmt and clippy");
    let there = |tool: &str| project.cargo(tool).arg("--version").output().is_ok_and(|out| out.status.success());
    let missing = [("fmt", "rustfmt"), ("clippy", "clippy")].into_iter().filter(|(tool, _)| !there(tool));
    let missing: Vec<&str> = missing.map(|(_, component)| component).collect();
    if missing.is_empty() {
        return step.gives((), "of the default toolchain");
    }
    let command = format!("component add {}", missing.join(" "));
    if !step.ask(&mut project.command("rustup", &command)).is_ok_and(|said| said.ok) {
        let why = "the default Rust toolchain was installed without, and rustup could not add it";
        return Err(Error::missing(missing.join(" and "), why, format!("Run: rustup {command}")));
    }
    step.gives((), "installed by rustup")
}

/// Tells the tests that there is no adapter, so that tests of the WebGPU engine do not run.
const NO_ADAPTER: (&str, &str) = ("HUSHGRAD_NO_GPU", "1");

/// The program that runs the native tests.
pub enum Runner {
    /// One queue for all test programs.
    Nextest(PathBuf),
    /// One test program after another.
    Cargo,
}

impl Runner {
    pub fn find(project: &Project) -> Self {
        cargo_tool::nextest(project).map_or_else(
            |error| {
                project.say(&format!("  cargo test runs the tests one program after the other: {error}"));
                Self::Cargo
            },
            Self::Nextest,
        )
    }

    /// Returns the command for the tests of these cargo arguments, without documentation tests.
    fn command(&self, project: &Project, words: &str) -> Command {
        match self {
            Self::Nextest(program) => {
                project.command(program, &format!("nextest run --locked --no-fail-fast --failure-output final {words}"))
            }
            Self::Cargo => project.cargo(&format!("test --locked --no-fail-fast {words}")),
        }
    }

    fn count(&self, said: &Said) -> Count {
        match self {
            Self::Nextest(_) => Count::of_nextest(&said.lines),
            Self::Cargo => Count::of_cargo(&said.lines),
        }
    }
}

/// Runs unit, integration, shader and documentation tests.
pub fn native_tests(project: &Project, runner: &Runner, no_adapter: bool) -> Result<(Count, String)> {
    let all = format!("{PACKAGES} --lib --bins --examples --tests");
    rust_tests(
        project,
        runner,
        &all,
        Some(&format!("test --locked --no-fail-fast --doc {PACKAGES}")),
        no_adapter.then_some(NO_ADAPTER).as_slice(),
    )
}

/// Runs the tests of these cargo arguments.
pub fn native_tests_of(project: &Project, words: &str, no_adapter: bool) -> Result<(Count, String)> {
    rust_tests(project, &Runner::find(project), words, None, no_adapter.then_some(NO_ADAPTER).as_slice())
}

fn rust_tests(
    project: &Project,
    runner: &Runner,
    words: &str,
    documentation: Option<&str>,
    variables: &[(&str, &str)],
) -> Result<(Count, String)> {
    let step = project.step("native tests");
    let driver = lints::clippy_driver(project)?;
    let run = |mut command: Command| -> Result<(Command, Said)> {
        // With clippy, so that the existing build is used.
        lints::build_with_clippy(&mut command, &driver);
        let said = step.ask(command.envs(variables.iter().copied()))?;
        Ok((command, said))
    };
    let (command, said) = run(runner.command(project, words))?;
    let (mut count, mut failures) = (runner.count(&said), failed(&said.lines));
    if said.ok && count.passed == 0 {
        return Err(wrong!("{command:?} ran no test"));
    }
    if let Some(words) = documentation {
        let (command, examples) = run(project.cargo(words))?;
        let of_examples = Count::of_cargo(&examples.lines);
        if !examples.ok {
            step.say(&examples.tail());
            if of_examples.failed == 0 {
                return Err(step.error(&command, &examples));
            }
        }
        count.add(of_examples);
        failures.extend(failed(&examples.lines));
    }
    for line in said.lines.iter().filter(|l| l.ends_with("... FAILED") || l.contains("panicked at")) {
        step.say(line);
    }
    let story = said.tail();
    verdict(step, &command, &said, count, &failures, &story)
}

/// Tests that try a part, as all pairs of parameter values, or all of it under `HUSHGRAD_FULL=1`.
const COMBINING: [&str; 10] = [
    "every_combination_takes_the_same_step",
    "performance_flags_change_nothing",
    "layers_keep_their_norms",
    "any_number_of_helpers_computes_the_same_bits",
    "whatever_becomes_of_a_helper_the_run_is_the_same",
    "neighbours_differ_by_one_rounded_gradient",
    "units_differ_by_one_rounded_vector",
    "honest_runs_exceed_their_claim_as_seldom_as_is_stated",
    "any_list_is_as_the_reference_has_it",
    "every_kernel_that_computes_wrongly_is_found_and_named",
];

/// Runs the tests of [`COMBINING`] over all combinations.
pub fn full_product(project: &Project) -> Result<(Count, String)> {
    let no_adapter = browser::no_adapter(project).is_some();
    let mut variables = vec![("HUSHGRAD_FULL", "1")];
    variables.extend(no_adapter.then_some(NO_ADAPTER));
    let packages =
        "--package hushgrad --package hushgrad-engine --package hushgrad-train --lib --test engines --test gpu_check";
    let words = format!("{packages} -- {}", COMBINING.join(" "));
    let (count, _) = rust_tests(project, &Runner::find(project), &words, None, &variables)?;
    // nextest counts tests that do not match the names as skipped.
    let count = Count { skipped: 0, ..count };
    Ok((count, count.to_string()))
}

/// Runs the tests of the engine over Burn, a dependency that nothing else needs.
pub fn burn_tests(project: &Project, driver: &Path) -> Result<(Count, String)> {
    let step = project.step("tests of the engine over Burn");
    let mut command = project.cargo("test --locked --no-fail-fast --package burn-engine --package hushgrad-burn");
    lints::build_with_clippy(&mut command, driver);
    let said = step.ask(&mut command)?;
    let (count, story) = (Count::of_cargo(&said.lines), said.tail());
    verdict(step, &command, &said, count, &failed(&said.lines), &story)
}

/// Fuzzes every target of `fuzz/` for a minute, starting from the stored corpus of earlier runs.
pub fn fuzz(project: &Project) -> Result<(Count, String)> {
    let program = cargo_tool::cargo_fuzz(project)?;
    let (folder, kept) = (project.root.join("fuzz"), project.cache.join("fuzz"));
    let mut total = Count::default();
    for target in files(&folder.join("fuzz_targets"))? {
        let name = target.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let step = project.step(&format!("fuzz {name}, a minute"));
        let [corpus, found] = ["corpus", "found"].map(|kind| kept.join(kind).join(&name));
        for folder in [&corpus, &found] {
            fs::create_dir_all(folder)?;
        }
        let mut command = project.command(&program, "fuzz run --sanitizer none --fuzz-dir");
        command.arg(&folder).arg("--target-dir").arg(kept.join("target")).arg(&name).arg(&corpus);
        let seeds = folder.join("seeds").join(&name);
        command.args(seeds.is_dir().then_some(seeds));
        command.args(["--", "-max_total_time=60", "-timeout=20", "-rss_limit_mb=3000"]);
        command.arg(format!("-artifact_prefix={}/", found.display()));
        // Coverage flags need a nightly compiler; this lets the stable one accept them.
        let said = step.ask(command.env("RUSTC_BOOTSTRAP", "1"))?;
        let count =
            if said.ok { Count { passed: 1, ..Count::default() } } else { Count { failed: 1, ..Count::default() } };
        total.add(verdict(step, &command, &said, count, &[], &said.tail())?.0);
    }
    Ok((total, total.to_string()))
}

/// Installs, builds and tests the npm packages.
pub fn npm_packages(project: &Project) -> Result<(Count, String)> {
    let npm = npm::npm("the packages for npm are tested with it")?;
    let mut total = Count::default();
    for package in ["accountant", "element"] {
        let step = project.step(&format!("packages/{package}"));
        let folder = project.root.join("packages").join(package);
        let command = |words: &str| {
            let mut command = project.command(&npm, words);
            command.current_dir(&folder);
            command
        };
        step.run(&mut command("ci --no-audit --no-fund"))?;
        step.run(&mut command("run build"))?;
        let mut tests = command("test");
        let said = step.ask(&mut tests)?;
        let (count, story) = (Count::of_node(&said.lines), said.tail());
        total.add(verdict(step, &tests, &said, count, &[], &story)?.0);
    }
    Ok((total, total.to_string()))
}

/// A suite of Playwright tests over a site.
#[derive(Clone, Copy)]
pub enum Suite<'a> {
    /// Over the quick site: pages in Chromium's headless shell, journeys in the full browser.
    Page,
    /// Over the shipped site: waiting times of visitors, and training.
    Shipped,
    /// Long tests.
    Long,
    /// Examples and packages built by their own tools.
    Packages(&'a Extras),
    /// In browsers other than Chromium.
    Engines(&'a Extras),
    /// Only these files, over the quick site.
    Named(&'a [String]),
}

impl Suite<'_> {
    /// The suite's projects in Playwright's configuration.
    const fn projects(self) -> &'static [&'static str] {
        match self {
            Self::Page | Self::Named(_) => &["page", "journeys"],
            Self::Shipped => &["shipped"],
            Self::Long => &["long"],
            Self::Packages(_) => &["packages"],
            Self::Engines(_) => &["engines"],
        }
    }
}

/// Tools for [`Suite::Packages`] and [`Suite::Engines`]. Tests that lack one are skipped or fail.
pub struct Extras {
    engines: Engines,
    mdbook: Option<PathBuf>,
    python: Option<PathBuf>,
}

impl Extras {
    pub fn set_up(project: &Project) -> Result<Self> {
        let said = |error: Error| project.say(&error.to_string());
        Ok(Self {
            engines: engines::ensure(project)?,
            mdbook: cargo_tool::mdbook(project).map_err(said).ok(),
            python: python::documents(project).map_err(said).ok(),
        })
    }
}

/// Path of the native program, as the tests build it.
pub fn native_tool(project: &Project) -> Result<PathBuf> {
    Ok(project.target()?.join("debug").join(format!("hushgrad{}", std::env::consts::EXE_SUFFIX)))
}

/// Runs a suite of browser tests, two at a time unless it measures time.
pub fn browser_tests(
    project: &Project,
    chromium: &Chromium,
    digits: &Digits,
    site: &Path,
    suite: Suite,
) -> Result<(Count, String)> {
    let name = suite.projects()[0];
    let step = project.step(&format!("browser tests, {name}"));
    // Tests compare the page's ε with this program's.
    let native = native_tool(project)?;
    let report = project.cache.join("logs").join(format!("browser-tests-{name}.json"));
    remove(&report)?;
    let projects: String = suite.projects().iter().map(|name| format!("--project={name} ")).collect();
    let files = if let Suite::Named(files) = suite { files.join(" ") } else { String::new() };
    let words = format!("{projects} --reporter=list,json {files}");
    let mut command = browser::playwright_test(project, chromium, site, &words);
    command.env("PLAYWRIGHT_JSON_OUTPUT_NAME", &report).env("HUSHGRAD_NATIVE", native);
    command.env("HUSHGRAD_DATA", if digits.is_some() { "mnist" } else { "synthetic" });
    if let Suite::Packages(extras) | Suite::Engines(extras) = suite {
        extras.engines.tell(&mut command);
        command.envs(extras.mdbook.iter().map(|mdbook| ("HUSHGRAD_MDBOOK", mdbook)));
        command.envs(extras.python.iter().map(|python| ("HUSHGRAD_PYTHON", python)));
    }
    let said = step.ask(&mut command)?;
    // Each test with its duration.
    said.lines.iter().filter(|line| line.contains(".spec.ts:") && line.contains(" › ")).for_each(|line| step.say(line));
    let Ok(text) = fs::read_to_string(&report) else { return Err(step.error(&command, &said)) };
    let count = Count::of_playwright(&text)?;
    let named = Named::of_playwright(&text)?;
    named.skipped.iter().for_each(|test| step.say(&format!("!!! SKIPPED: {test}")));
    // Without other browsers no test of theirs passes; skipped tests are counted and reported.
    if count.failed == 0 && count.passed + count.skipped == 0 {
        return Err(step.error(&command, &said));
    }
    // Output from the first failure on.
    let from = said.lines.iter().position(|line| line.trim_start().starts_with("1) ")).unwrap_or(0);
    let story = said.lines[from..].join("\n    ");
    verdict(step, &command, &said, count, &named.failed, &story)
}

/// Ends the step with the count. A runner that failed without a failed test is an error.
///
/// The summary names the `failed` tests, as far as the runner does: often it alone is kept.
fn verdict(
    step: Step<'_>,
    command: &Command,
    said: &Said,
    count: Count,
    failed: &[String],
    story: &str,
) -> Result<(Count, String)> {
    if count.failed > 0 {
        step.say(story);
        step.failed(&count.to_string());
        let names: String = failed.iter().map(|name| format!("\n    ✗ {name}")).collect();
        return Ok((count, format!("{count}; see {}{names}", said.log.display())));
    }
    if !said.ok {
        return Err(step.error(command, said));
    }
    step.gives((count, count.to_string()), &count.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_that_combines_has_a_test_that_is_run_in_full() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let folders = ["tests/common", "crates/engine/src", "crates/train/src"];
        let sources: Vec<String> = folders
            .iter()
            .flat_map(|folder| files(&root.join(folder)).unwrap())
            .chain([root.join("tests/gpu_check.rs")])
            .map(|path| fs::read_to_string(path).unwrap())
            .collect();
        let combining: Vec<&String> = sources
            .iter()
            .filter(|text| ["hushgrad_testkit::full", " rows(["].iter().any(|call| text.contains(call)))
            .collect();
        assert!(combining.len() >= 5, "{}", combining.len());
        for text in &combining {
            let run = COMBINING.iter().any(|name| text.contains(&format!("fn {name}")));
            assert!(run, "none of the tests that combine is in this file:\n{text}");
        }
        for name in COMBINING {
            assert!(combining.iter().any(|text| text.contains(&format!("fn {name}"))), "{name}");
        }
    }
}
