//! `cargo xtask bench build`: waiting times of newcomers and developers, in a clone of the last
//! commit with its own folders (`build.md`).
//!
//! Uses nothing compiled or installed before, except packages that cargo and npm have downloaded.

use std::{
    io::{BufRead, BufReader},
    net::{Ipv4Addr, TcpListener},
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use clap::ValueEnum;
use serde_json::json;

use super::report::{self, Lines};
use crate::{
    prelude::*,
    screen::clock,
    tools::{
        TARGET, cargo_tool,
        mnist::{self, Digits},
    },
};

/// Longer than any row takes unless it hangs.
const LIMIT: Duration = Duration::from_secs(3 * 3600);
/// Interval of requests to the watched page.
const POLL: Duration = Duration::from_millis(250);
const TEST: &str = "xtask test";
const SHIPPED: &str = "xtask test --shipped";
/// A panel's source, and the word changed in it.
const PANEL: [&str; 2] = ["src/ui/noise_lab/panel.rs", "Noise lab"];
/// A file of the accountant; a change to it rebuilds all tests of accounting.
const ACCOUNTING: &str = "crates/accounting/src/groups.rs";

/// A row of the table, in the order in which they are measured: a row finds what the one before it left where its name says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Row {
    Serve,
    Watch,
    Train,
    #[value(name = "line")]
    Accounting,
    #[value(name = "test")]
    TestCold,
    #[value(name = "test-again")]
    TestWarm,
    Shipped,
}

impl Row {
    /// The row's label, and its goal in seconds.
    fn what_and_goal(self) -> (&'static str, u64) {
        match self {
            Self::Serve => ("`cargo xtask serve`, nothing compiled or installed, to the address", 9 * 60),
            Self::Watch => ("a word changed in a panel under `trunk serve`, to the page that has it", 40),
            Self::Train => ("`cargo run --release -- train --model cnn-tanh --epochs 15`, nothing compiled", 4 * 60),
            Self::Accounting => ("a line changed in `crates/accounting`, to the result of its unit tests", 30),
            Self::TestCold => ("`cargo xtask test`, nothing compiled or installed", 30 * 60),
            Self::TestWarm => ("`cargo xtask test` again, a line of the library changed", 16 * 60),
            Self::Shipped => ("`cargo xtask test --shipped` after it", 60 * 60),
        }
    }

    fn line(self, took: Duration) -> String {
        let (what, goal) = self.what_and_goal();
        format!("| {what} | {} | {} |", clock(took), clock(Duration::from_secs(goal)))
    }
}

/// Measures `rows`, or all; other rows in BENCHMARKS.md stay.
pub fn run(project: &Project, rows: &[Row]) -> Result<()> {
    project.say("Set-up");
    let claim = project.claim()?;
    let digits = mnist::ensure(project)?;
    drop(claim);
    let rows: Vec<Row> =
        Row::value_variants().iter().copied().filter(|row| rows.is_empty() || rows.contains(row)).collect();
    let mut place = Place::new(project, digits, matches!(rows.first(), Some(Row::TestWarm | Row::Shipped)))?;
    if rows.contains(&Row::Watch) {
        place.tools = vec![cargo_tool::trunk(project)?, cargo_tool::wasm_bindgen(project)?];
    }
    project.say("Builds");
    for row in rows {
        let step = project.step(row.what_and_goal().0);
        let took = place.measure(row, &step)?;
        step.done(&clock(took));
        // At once, so that a failing row does not lose earlier ones.
        let kept = fs::read_to_string(project.root.join(report::FILE)).unwrap_or_default();
        report::write(project, "build", "Builds", &section(&[(row, row.line(took))], &kept)?)?;
    }
    remove(&place.folder)
}

/// The table: new measurements, and rows of `before` for the rest.
fn section(lines: &[(Row, String)], before: &str) -> Result<String> {
    let rows = Row::value_variants().iter().filter_map(|row| {
        let now = lines.iter().find(|(measured, _)| measured == row).map(|(_, line)| line.as_str());
        let start = format!("| {} | ", row.what_and_goal().0);
        now.or_else(|| before.lines().find(|line| line.starts_with(&start)))
    });
    Lines::default().fill(include_str!("build.md"), json!({ "rows": rows.collect::<Vec<_>>() }))
}

/// A clone with its own cache and target folders.
struct Place {
    folder: PathBuf,
    checkout: PathBuf,
    cache: PathBuf,
    target: PathBuf,
    mnist: Digits,
    /// Tools that rebuild on a change, whose installation is not measured.
    tools: Vec<PathBuf>,
}

impl Place {
    /// With `again`, keeps an earlier bench's builds if they include a complete test run.
    fn new(project: &Project, mnist: Digits, again: bool) -> Result<Self> {
        let folder = project.cache.join("bench-build");
        let [checkout, cache, target] = ["checkout", "cache", "target"].map(|name| folder.join(name));
        let place = Self { folder, checkout, cache, target, mnist, tools: vec![] };
        if again && place.tested().is_file() {
            let git = |words: &str| {
                let mut command = project.command("git", words);
                command.current_dir(&place.checkout);
                command
            };
            project.run("the last commit", git("fetch --quiet").arg(&project.root).arg("HEAD"))?;
            project.run("a checkout of it", &mut git("checkout --quiet --force FETCH_HEAD"))?;
            return Ok(place);
        }
        make_empty(&place.folder)?;
        let mut clone = project.command("git", "clone --quiet --local");
        project.run("a clone of the last commit", clone.arg(&project.root).arg(&place.checkout))?;
        Ok(place)
    }

    /// The mark of a complete test run, removed together with its builds.
    fn tested(&self) -> PathBuf {
        self.target.join("bench-tested")
    }

    /// Runs and times the tests of a change or of a release.
    fn test(&self, step: &Step<'_>, words: &str) -> Result<Duration> {
        let start = Instant::now();
        step.run(&mut self.command("cargo", words))?;
        let took = start.elapsed();
        fs::write(self.tested(), "")?;
        Ok(took)
    }

    /// Removes everything compiled and installed.
    fn empty(&self) -> Result<()> {
        let modules = self.checkout.join("tests").join("browser").join("node_modules");
        [&self.cache, &self.target, &modules].into_iter().try_for_each(|folder| remove(folder))
    }

    fn command(&self, program: &str, words: &str) -> Command {
        let mut command = Command::new(program);
        command.args(words.split_whitespace()).current_dir(&self.checkout);
        for (key, _) in std::env::vars_os() {
            let name = key.to_string_lossy();
            // Variables set for this program.
            if name.starts_with("CARGO") && !["CARGO_HOME", "CARGO_NET_OFFLINE"].contains(&&*name) || name == "OUT_DIR"
            {
                command.env_remove(key);
            }
        }
        command.env("HUSHGRAD_CACHE", &self.cache).env("CARGO_TARGET_DIR", &self.target);
        command.env("CARGO_TERM_COLOR", "never").env("CARGO_TERM_PROGRESS_WHEN", "never");
        command.envs(self.mnist.iter().map(|mnist| ("MNIST_DIR", mnist)));
        command
    }

    fn measure(&self, row: Row, step: &Step<'_>) -> Result<Duration> {
        let cargo = |words| {
            let start = Instant::now();
            step.run(&mut self.command("cargo", words)).map(|_| start.elapsed())
        };
        match row {
            Row::Serve => self.serve(step),
            Row::Watch => self.watch(step),
            Row::Train => {
                remove(&self.target).and_then(|()| cargo("run --release -- train --model cnn-tanh --epochs 15"))
            }
            Row::Accounting => {
                let tests = "test --quiet --package hushgrad-accounting --lib";
                cargo(tests).and_then(|_| self.change(ACCOUNTING)).and_then(|()| cargo(tests))
            }
            Row::TestCold => self.empty().and_then(|()| self.test(step, TEST)),
            Row::TestWarm | Row::Shipped => {
                if !self.tested().is_file() {
                    self.test(step, TEST)?;
                }
                let words = if row == Row::Shipped { SHIPPED } else { TEST };
                self.change(ACCOUNTING).and_then(|()| self.test(step, words))
            }
        }
    }

    fn serve(&self, step: &Step<'_>) -> Result<Duration> {
        self.empty()?;
        let port = free_port()?;
        let start = Instant::now();
        let mut server = Group::start(self.command("cargo", &format!("xtask serve --port {port}")))?;
        server.wait_for_line("hushgrad is at ", step)?;
        if !get(port, "/")?.contains("start.js") {
            return Err(wrong!("what 127.0.0.1:{port} serves is not the page"));
        }
        Ok(start.elapsed())
    }

    /// Reuses compiler and packages from [`Self::serve`], or runs it first.
    fn watch(&self, step: &Step<'_>) -> Result<Duration> {
        if !self.target.join(TARGET).is_dir() {
            self.serve(step)?;
        }
        let others = std::env::var_os("PATH").unwrap_or_default();
        let ours = self.tools.iter().filter_map(|tool| tool.parent()).map(Path::to_owned);
        let path = ours.chain(std::env::split_paths(&others));
        let path = std::env::join_paths(path).map_err(|e| wrong!("{e}"))?;
        let port = free_port()?;
        let mut command = self.command("trunk", &format!("serve --port {port}"));
        // Trunk accepts only these two words.
        command.env("PATH", path).env("NO_COLOR", "true").env("TRUNK_SKIP_VERSION_CHECK", "true");
        let mut server = Group::start(command)?;
        // The page's program, named by its content.
        let program = |server: &mut Group| -> Result<Option<String>> {
            server.must_live()?;
            let page = get(port, "/")?;
            let mut words = page.split(['"', '=', '&', '/']);
            Ok(words.rfind(|word| word.starts_with("app-") && word.ends_with(".wasm")).map(str::to_owned))
        };
        let first = until(step, || program(&mut server))?;
        let [file, word] = PANEL;
        let new = "Lab of noises";
        self.edit(file, |text| text.replacen(word, new, 1))?;
        let start = Instant::now();
        until(step, || {
            let Some(name) = program(&mut server)?.filter(|name| *name != first) else { return Ok(None) };
            Ok(get(port, &format!("/{name}"))?.contains(new).then_some(()))
        })?;
        let took = start.elapsed();
        self.edit(file, |text| text.replacen(new, word, 1))?;
        Ok(took)
    }

    /// Adds new code, because changing a comment leaves programs unchanged.
    fn change(&self, file: &str) -> Result<()> {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.as_millis());
        self.edit(file, |text| {
            let code = format!("/// Nothing: it makes this file another one.\n#[must_use]\npub const fn bench_of_builds_{now}() -> u128 {{\n    {now}\n}}\n\n");
            // Lints require tests at the end of a file.
            let place = text.find("#[cfg(test)]").unwrap_or(text.len());
            let (before, tests) = text.split_at(place);
            format!("{before}{code}{tests}")
        })
    }

    fn edit(&self, file: &str, change: impl FnOnce(&str) -> String) -> Result<()> {
        let path = self.checkout.join(file);
        let before = fs::read_to_string(&path)?;
        let after = change(&before);
        if after == before {
            return Err(wrong!("{file} no longer holds what is changed in it for this bench"));
        }
        Ok(fs::write(&path, after)?)
    }
}

/// Repeats the question until there is an answer.
fn until<T>(step: &Step<'_>, mut ask: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let start = Instant::now();
    while start.elapsed() < LIMIT {
        if let Some(answer) = ask()? {
            return Ok(answer);
        }
        step.status("waits");
        std::thread::sleep(POLL);
    }
    Err(wrong!("no answer within {}", clock(LIMIT)))
}

/// A program that is killed together with its children.
struct Group(Child);

impl Group {
    fn start(mut command: Command) -> Result<Self> {
        let program = command.get_program().to_string_lossy().into_owned();
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        child.map(Self).map_err(|source| Error::Start { program, source })
    }

    fn must_live(&mut self) -> Result<()> {
        let ended = self.0.try_wait()?;
        ended.map_or(Ok(()), |status| Err(wrong!("the server ended: {status}")))
    }

    fn wait_for_line(&mut self, start: &str, step: &Step<'_>) -> Result<()> {
        let out = self.0.stdout.take().map(BufReader::new);
        let mut lines = out.into_iter().flat_map(BufRead::lines).map_while(|line| line.ok());
        let found = lines.any(|line| {
            step.status(&line);
            line.starts_with(start)
        });
        found.then_some(()).ok_or_else(|| wrong!("it ended without the line `{start}…`"))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let id = self.0.id().to_string();
        let (program, words) =
            if cfg!(windows) { ("taskkill", format!("/F /T /PID {id}")) } else { ("kill", format!("-TERM -- -{id}")) };
        let ended = Command::new(program).args(words.split(' ')).stderr(Stdio::null()).status();
        if !ended.is_ok_and(|status| status.success()) {
            let _ = self.0.kill();
        }
        let _ = self.0.wait();
    }
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// Returns a local server's response; empty if there is none.
fn get(port: u16, path: &str) -> Result<String> {
    let address = format!("http://127.0.0.1:{port}{path}");
    let out = Command::new("curl").args(["--silent", "--fail", "--max-time", "10", &address]).output();
    let out = out.map_err(|source| Error::Start { program: "curl".into(), source })?;
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_measured_again_replaces_its_line_and_no_other() {
        let all = Row::value_variants().iter().map(|row| (*row, row.line(Duration::from_secs(61)))).collect::<Vec<_>>();
        let first = section(&all, "").unwrap();
        assert_eq!(first.matches("| 1:01 min |").count(), 7, "{first}");
        let again = [(Row::Watch, Row::Watch.line(Duration::from_secs(30)))];
        let second = section(&again, &first).unwrap();
        assert_eq!(second, first.replace(&all[1].1, &again[0].1));
        assert!(second.contains("| 30 s | 40 s |"), "{second}");
    }

    #[test]
    fn files_changed_by_the_bench_exist() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let read = |file: &str| fs::read_to_string(root.join(file)).unwrap();
        assert!(read(PANEL[0]).contains(PANEL[1]));
        assert!(!read(ACCOUNTING).is_empty());
    }

    #[test]
    fn a_server_is_ended_with_what_it_started() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 600 & echo child $!; wait"]);
        let mut group = Group::start(command).unwrap();
        let mut line = String::new();
        BufReader::new(group.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let child = line.trim().strip_prefix("child ").unwrap().to_owned();
        drop(group);
        let alive = || Command::new("kill").args(["-0", &child]).stderr(Stdio::null()).status().unwrap().success();
        let start = Instant::now();
        while alive() && start.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(!alive());
    }
}
