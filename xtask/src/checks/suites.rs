//! The tests that are run, each by its runner, and counted.

use super::count::{Count, skipped};
use crate::{
    prelude::*,
    screen::Said,
    tools::{browser, cargo_tool, engines::Engines, lints, mnist::Digits, python},
};

/// rustfmt and clippy, which a minimal toolchain lacks.
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

/// Unit, integration, shader and documentation tests.
pub fn native_tests(project: &Project, no_adapter: bool) -> Result<(Count, String)> {
    let step = project.step("native tests");
    let mut command = project.cargo("test --locked --workspace --no-fail-fast");
    // What has been built is tested.
    lints::build_with_lints(project, &mut command)?;
    if no_adapter {
        command.env("HUSHGRAD_NO_GPU", "1");
    }
    let said = step.ask(&mut command)?;
    let count = Count::of_cargo(&said.lines);
    for line in said.lines.iter().filter(|l| l.ends_with("... FAILED") || l.contains("panicked at")) {
        step.say(line);
    }
    if said.ok && count.passed == 0 {
        return Err(wrong!("cargo ran no test"));
    }
    let story = said.tail();
    verdict(step, &command, &said, count, &story)
}

/// Playwright's tests of one project over one site: `rest` over the quick one, and `engines`, in other browsers than Chromium; `shipped` over
/// the one that ships, of what visitors wait for and of training.
pub fn browser_tests(
    project: &Project,
    chromium: &Path,
    engines: &Engines,
    digits: &Digits,
    site: &Path,
    which: &str,
) -> Result<(Count, String)> {
    let mdbook = cargo_tool::mdbook(project);
    if let Err(error) = &mdbook {
        // One test misses it, and fails.
        project.say(&error.to_string());
    }
    // Without it tests are skipped, and counted so.
    let python = python::documents(project).map_err(|error| project.say(&error.to_string()));
    let step = project.step(&format!("browser tests, {which}"));
    // The page's ε is compared with this program's.
    let native = project.target()?.join("debug").join(format!("hushgrad{}", std::env::consts::EXE_SUFFIX));
    let report = project.cache.join("logs").join(format!("browser-tests-{which}.json"));
    remove(&report)?;
    let words = format!("--project={which} --reporter=list,json");
    let mut command = browser::playwright_test(project, chromium, site, &words);
    engines.tell(&mut command);
    command.env("PLAYWRIGHT_JSON_OUTPUT_NAME", &report).env("HUSHGRAD_NATIVE", native);
    command.env("HUSHGRAD_DATA", if digits.is_some() { "mnist" } else { "synthetic" });
    if let Ok(mdbook) = &mdbook {
        command.env("HUSHGRAD_MDBOOK", mdbook);
    }
    if let Ok(python) = &python {
        command.env("HUSHGRAD_PYTHON", python);
    }
    let said = step.ask(&mut command)?;
    // Each test with its time.
    said.lines.iter().filter(|line| line.contains(".spec.ts:") && line.contains(" › ")).for_each(|line| step.say(line));
    let Ok(text) = fs::read_to_string(&report) else { return Err(step.error(&command, &said)) };
    let count = Count::of_playwright(&text)?;
    skipped(&text)?.iter().for_each(|test| step.say(&format!("!!! SKIPPED: {test}")));
    // Where a machine has none of the other browsers, nothing passes; what is skipped is counted, and said at the end.
    if count.failed == 0 && count.passed + count.skipped == 0 {
        return Err(step.error(&command, &said));
    }
    // What failed, from the first failure's story on.
    let from = said.lines.iter().position(|line| line.trim_start().starts_with("1) ")).unwrap_or(0);
    let story = said.lines[from..].join("\n    ");
    verdict(step, &command, &said, count, &story)
}

/// The count; of a runner that failed without a test that did, its error, which the caller counts.
fn verdict(step: Step<'_>, command: &Command, said: &Said, count: Count, story: &str) -> Result<(Count, String)> {
    if count.failed > 0 {
        step.say(story);
        step.failed(&count.to_string());
        return Ok((count, format!("{count}; see {}", said.log.display())));
    }
    if !said.ok {
        return Err(step.error(command, said));
    }
    step.gives((count, count.to_string()), &count.to_string())
}
