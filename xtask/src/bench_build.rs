//! `cargo xtask bench build`: what a newcomer and a developer wait for, each in a clone of the last commit with folders of its own; the section in BENCHMARKS.md.
//!
//! Nothing that was compiled or installed before is seen; packages that cargo and npm have downloaded are.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::{
    benchmarks,
    error::{At, Error, Result},
    mnist::{self, Digits},
    project::{Project, remove},
    screen::{Screen, Step, clock},
};

/// Longer than any row may take: what takes longer hangs.
const LIMIT: Duration = Duration::from_secs(3 * 3600);
/// How often the watched page is asked for.
const POLL: Duration = Duration::from_millis(250);
/// The word that is changed in a panel, and the panel.
const PANEL: [&str; 2] = ["src/ui/noise_lab/panel.rs", "Noise lab"];
/// A file of the accountant whose change every test of accounting waits for.
const ACCOUNTING: &str = "crates/accounting/src/groups.rs";

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    Serve,
    Watch,
    Train,
    Accounting,
    TestCold,
    TestWarm,
}

impl Row {
    /// In the order in which they are measured: a row finds what the one before it left where its name says so.
    pub const ALL: [Self; 6] =
        [Self::Serve, Self::Watch, Self::Train, Self::Accounting, Self::TestCold, Self::TestWarm];

    /// Its name on the command line.
    fn word(self) -> &'static str {
        match self {
            Self::Serve => "serve",
            Self::Watch => "watch",
            Self::Train => "train",
            Self::Accounting => "line",
            Self::TestCold => "test",
            Self::TestWarm => "test-again",
        }
    }

    /// The row of this name on the command line.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|row| row.word() == word)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Serve => "`cargo xtask serve`, nothing compiled or installed, to the address",
            Self::Watch => "a word changed in a panel under `trunk serve`, to the page that has it",
            Self::Train => "`cargo run --release -- train --model cnn-tanh --epochs 15`, nothing compiled",
            Self::Accounting => "a line changed in `crates/accounting`, to the result of its unit tests",
            Self::TestCold => "`cargo xtask test`, nothing compiled or installed",
            Self::TestWarm => "`cargo xtask test` again, a line of the library changed",
        }
    }

    fn goal(self) -> Duration {
        Duration::from_secs(match self {
            Self::Serve => 9 * 60,
            Self::Watch => 40,
            Self::Train => 4 * 60,
            Self::Accounting => 30,
            Self::TestCold => 35 * 60,
            Self::TestWarm => 12 * 60,
        })
    }

    fn line(self, took: Duration) -> String {
        format!("| {} | {} | {} |", self.name(), clock(took), clock(self.goal()))
    }
}

/// Measures `rows`; the others stay in BENCHMARKS.md as they are.
pub fn run(project: &mut Project, screen: &Screen, rows: &[Row]) -> Result<()> {
    screen.say("Set-up");
    project.claim(screen)?;
    let digits = mnist::ensure(project, screen)?;
    project.release();
    let place = Place::new(project, &digits)?;
    screen.say("Builds");
    let mut lines = Vec::new();
    for row in Row::ALL.into_iter().filter(|row| rows.contains(row)) {
        let step = screen.step(row.name());
        let took = match row {
            Row::Serve => place.serve(&step)?,
            Row::Watch => place.watch(&step)?,
            Row::Train => place.train(&step)?,
            Row::Accounting => place.accounting(&step)?,
            Row::TestCold => place.test(&step, "")?,
            Row::TestWarm => place.test(&step, ACCOUNTING)?,
        };
        step.done(&clock(took));
        lines.push((row, row.line(took)));
    }
    remove(&place.folder)?;
    let kept = std::fs::read_to_string(project.root.join(benchmarks::FILE)).unwrap_or_default();
    benchmarks::write(project, screen, "build", "Builds", &section(&benchmarks::machine(), &lines, &kept))
}

/// The table: what was measured now, and what `before` says of the rest.
fn section(machine: &str, lines: &[(Row, String)], before: &str) -> String {
    let rows = Row::ALL.into_iter().filter_map(|row| {
        let now = lines.iter().find(|(measured, _)| *measured == row).map(|(_, line)| line.clone());
        now.or_else(|| {
            let start = format!("| {} |", row.name());
            before.lines().find(|line| line.starts_with(&start)).map(str::to_owned)
        })
    });
    let rows: Vec<String> = rows.collect();
    format!(
        "`cargo xtask bench build`: {machine}. Wall time, once, in a clone of its own; what cargo and npm have downloaded is there, and nothing \
         that was compiled or installed.\n\n| what | time | goal |\n| --- | ---: | ---: |\n{}\n",
        rows.join("\n")
    )
}

/// A clone, and what it compiles and installs.
struct Place {
    folder: PathBuf,
    checkout: PathBuf,
    cache: PathBuf,
    target: PathBuf,
    mnist: Option<PathBuf>,
}

impl Place {
    fn new(project: &Project, digits: &Digits) -> Result<Self> {
        let folder = project.cache.join("bench-build");
        remove(&folder)?;
        std::fs::create_dir_all(&folder).at("create the folder", &folder)?;
        let [checkout, cache, target] = ["checkout", "cache", "target"].map(|name| folder.join(name));
        let mut clone = Command::new("git");
        clone.args(["clone", "--quiet", "--local"]).arg(&project.root).arg(&checkout);
        let cloned = clone.status().map_err(|source| Error::Start { program: "git".into(), source })?;
        if !cloned.success() {
            return Err(Error::Wrong(format!("git could not clone {}", project.root.display())));
        }
        let mnist = match digits {
            Digits::Mnist(folder) => Some(folder.clone()),
            Digits::Synthetic => None,
        };
        Ok(Self { folder, checkout, cache, target, mnist })
    }

    /// Forgets what was compiled and installed.
    fn empty(&self) -> Result<()> {
        remove(&self.cache)?;
        remove(&self.target)?;
        remove(&self.checkout.join("tests").join("browser").join("node_modules"))
    }

    fn command(&self, program: impl AsRef<std::ffi::OsStr>, project: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(project).current_dir(&self.checkout);
        for (key, _) in std::env::vars_os() {
            let name = key.to_string_lossy();
            // What this run was told of itself.
            if name.starts_with("CARGO") && !["CARGO_HOME", "CARGO_NET_OFFLINE"].contains(&&*name) || name == "OUT_DIR"
            {
                command.env_remove(key);
            }
        }
        command.env("HUSHGRAD_CACHE", &self.cache).env("CARGO_TARGET_DIR", &self.target);
        command.env("CARGO_TERM_COLOR", "never").env("CARGO_TERM_PROGRESS_WHEN", "never");
        if let Some(mnist) = &self.mnist {
            command.env("MNIST_DIR", mnist);
        }
        command
    }

    fn serve(&self, step: &Step<'_>) -> Result<Duration> {
        self.empty()?;
        let port = free_port()?.to_string();
        let start = Instant::now();
        let mut server = Group::start(self.command("cargo", &["xtask", "serve", "--port", &port]))?;
        server.wait_for_line("hushgrad is at ", step)?;
        let page = get(port_of(&port)?, "/").unwrap_or_default();
        if !contains(&page, b"start.js") {
            return Err(Error::Wrong(format!("what 127.0.0.1:{port} serves is not the page")));
        }
        Ok(start.elapsed())
    }

    /// Finds the tools and packages that [`Self::serve`] has left, or makes them.
    fn watch(&self, step: &Step<'_>) -> Result<Duration> {
        let folders = std::fs::read_dir(self.cache.join("tools"));
        let mut tools: Vec<PathBuf> = folders.into_iter().flatten().flatten().map(|e| e.path().join("bin")).collect();
        if !tools.iter().any(|bin| bin.parent().is_some_and(|tool| tool.to_string_lossy().contains("trunk-"))) {
            self.serve(step)?;
            return self.watch(step);
        }
        tools.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        let path = std::env::join_paths(tools).map_err(|e| Error::Wrong(e.to_string()))?;
        let port = free_port()?;
        let mut command = self.command("trunk", &["serve", "--port", &port.to_string()]);
        // Trunk takes only these two words for its settings.
        command.env("PATH", path).env("NO_COLOR", "true").env("TRUNK_SKIP_VERSION_CHECK", "true");
        let mut server = Group::start(command)?;
        // What the page loads: its program has its content in its name.
        let program = |server: &mut Group| -> Result<Option<String>> {
            server.must_live()?;
            let page = String::from_utf8_lossy(&get(port, "/").unwrap_or_default()).into_owned();
            let mut names =
                page.split(['"', '=', '&', '/']).filter(|word| word.starts_with("app-") && word.ends_with(".wasm"));
            Ok(names.next_back().map(str::to_owned))
        };
        let first = until(step, || program(&mut server))?;
        let [file, word] = PANEL;
        let new = "Lab of noises";
        self.edit(file, |text| text.replacen(word, new, 1))?;
        let start = Instant::now();
        until(step, || {
            let Some(name) = program(&mut server)?.filter(|name| *name != first) else { return Ok(None) };
            let bytes = get(port, &format!("/{name}")).unwrap_or_default();
            Ok(contains(&bytes, new.as_bytes()).then_some(()))
        })?;
        let took = start.elapsed();
        self.edit(file, |text| text.replacen(new, word, 1))?;
        Ok(took)
    }

    fn train(&self, step: &Step<'_>) -> Result<Duration> {
        remove(&self.target)?;
        let words = ["run", "--release", "--", "train", "--model", "cnn-tanh", "--epochs", "15"];
        timed(step, self.command("cargo", &words))
    }

    fn accounting(&self, step: &Step<'_>) -> Result<Duration> {
        let tests = || self.command("cargo", &["test", "--quiet", "--package", "hushgrad-accounting", "--lib"]);
        timed(step, tests())?;
        self.change(ACCOUNTING)?;
        timed(step, tests())
    }

    /// All checks: from nothing, or after a change of a file.
    fn test(&self, step: &Step<'_>, changed: &str) -> Result<Duration> {
        if changed.is_empty() {
            self.empty()?;
        } else {
            self.change(changed)?;
        }
        timed(step, self.command("cargo", &["xtask", "test"]))
    }

    /// Adds code that no program has had: a change of a comment would leave programs as they were.
    fn change(&self, file: &str) -> Result<()> {
        self.edit(file, |text| {
            let count = text.matches("fn bench_of_builds_").count();
            format!("{text}\n/// Nothing: it makes this file another one.\npub const fn bench_of_builds_{count}() -> usize {{\n    {count}\n}}\n")
        })
    }

    fn edit(&self, file: &str, change: impl FnOnce(&str) -> String) -> Result<()> {
        let path = self.checkout.join(file);
        let before = std::fs::read_to_string(&path).at("read", &path)?;
        let after = change(&before);
        if after == before {
            return Err(Error::Wrong(format!("{file} no longer holds what is changed in it for this bench")));
        }
        std::fs::write(&path, after).at("write", &path)
    }
}

/// The time of a command that must go well.
fn timed(step: &Step<'_>, mut command: Command) -> Result<Duration> {
    let start = Instant::now();
    step.run(&mut command)?;
    Ok(start.elapsed())
}

/// Asks again and again, until there is an answer.
fn until<T>(step: &Step<'_>, mut ask: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let start = Instant::now();
    while start.elapsed() < LIMIT {
        if let Some(answer) = ask()? {
            return Ok(answer);
        }
        step.status("waits");
        std::thread::sleep(POLL);
    }
    Err(Error::Wrong(format!("no answer within {}", clock(LIMIT))))
}

/// A program that runs until it is ended, with all that it started.
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
        match self.0.try_wait().at("wait for", Path::new("the server"))? {
            None => Ok(()),
            Some(status) => Err(Error::Wrong(format!("the server ended: {status}"))),
        }
    }

    fn wait_for_line(&mut self, start: &str, step: &Step<'_>) -> Result<()> {
        let out = self.0.stdout.take().map(BufReader::new);
        for line in out.into_iter().flat_map(BufRead::lines).map_while(|line| line.ok()) {
            step.status(&line);
            if line.starts_with(start) {
                return Ok(());
            }
        }
        Err(Error::Wrong(format!("it ended without the line `{start}…`")))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let id = self.0.id();
        let mut end = if cfg!(windows) {
            let mut end = Command::new("taskkill");
            end.args(["/F", "/T", "/PID", &id.to_string()]);
            end
        } else {
            let mut end = Command::new("kill");
            end.args(["-TERM", "--", &format!("-{id}")]);
            end
        };
        if !end.stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
            let _ = self.0.kill();
        }
        let _ = self.0.wait();
    }
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).at("listen on", Path::new("127.0.0.1"))?;
    Ok(listener.local_addr().at("listen on", Path::new("127.0.0.1"))?.port())
}

fn port_of(text: &str) -> Result<u16> {
    text.parse().map_err(|_| Error::Wrong(format!("{text} is no port")))
}

/// The body of an answer, as it comes.
fn get(port: u16, path: &str) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    // In this version an answer ends with its connection.
    write!(stream, "GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let head = answer.windows(4).position(|end| end == b"\r\n\r\n").map_or(0, |at| at + 4);
    Ok(answer.split_off(head))
}

fn contains(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|part| part == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_measured_again_replaces_its_line_and_no_other() {
        let all: Vec<(Row, String)> = Row::ALL.map(|row| (row, row.line(Duration::from_secs(61)))).to_vec();
        let first = section("two cores", &all, "");
        assert_eq!(first.matches("| 1:01 min |").count(), 6, "{first}");
        let again = [(Row::Watch, Row::Watch.line(Duration::from_secs(30)))];
        let second = section("two cores", &again, &first);
        assert_eq!(second, first.replace(&all[1].1, &again[0].1));
        assert!(second.contains("| 30 s | 40 s |"), "{second}");
    }

    #[test]
    fn what_is_changed_for_the_bench_is_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let read = |file: &str| std::fs::read_to_string(root.join(file)).unwrap();
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
