//! Progress on the screen: one line a step, and while it runs, one status line that shows the latest word of its program.

use std::{
    fs::File,
    io::{BufRead, BufReader, IsTerminal, Read, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    time::{Duration, Instant},
};

use crate::error::{At, Error, Result};

/// Lines of a failed program that are repeated on the screen.
const TAIL: usize = 40;
/// Where nobody watches a status line, a long step says this often that it lives.
const HEARTBEAT: Duration = Duration::from_secs(60);

pub struct Screen {
    /// The status line is only drawn on a terminal.
    live: bool,
    logs: PathBuf,
}

/// What a program said.
pub struct Said {
    pub ok: bool,
    pub status: String,
    /// Standard output and standard error, in the order they came.
    pub lines: Vec<String>,
    pub log: PathBuf,
}

impl Said {
    /// The last lines, indented, for an error message.
    pub fn tail(&self) -> String {
        let from = self.lines.len().saturating_sub(TAIL);
        self.lines[from..].iter().map(|line| format!("\n    {line}")).collect()
    }
}

/// A step under way. Its line is finished by [`Step::done`], [`Step::failed`], or as failed when it is dropped.
pub struct Step<'a> {
    screen: &'a Screen,
    name: String,
    start: Instant,
    open: bool,
}

impl Screen {
    pub fn new(logs: PathBuf) -> Result<Self> {
        std::fs::create_dir_all(&logs).at("create the folder", &logs)?;
        Ok(Self { live: std::io::stderr().is_terminal(), logs })
    }

    pub fn step(&self, name: &str) -> Step<'_> {
        if !self.live {
            eprintln!("  · {name}");
        }
        Step { screen: self, name: name.to_owned(), start: Instant::now(), open: true }
    }

    /// A line of its own.
    pub fn say(&self, text: &str) {
        eprintln!("{text}");
    }

    fn status(&self, text: &str) {
        if self.live {
            let text: String = text.chars().filter(|c| !c.is_control()).collect();
            // Without automatic line breaks: a long line is cut at the edge, however wide the terminal is.
            eprint!("\r\x1b[2K\x1b[?7l{text}\x1b[?7h");
            let _ = std::io::stderr().flush();
        }
    }
}

impl Step<'_> {
    /// Runs a program to its end; its failure is an answer, not an error.
    pub fn ask(&self, command: &mut Command) -> Result<Said> {
        let program = command.get_program().to_string_lossy().into_owned();
        let log = self.screen.logs.join(format!("{}.log", file_name(&self.name)));
        let mut file = File::options().create(true).append(true).open(&log).at("write the log", &log)?;
        let _ = writeln!(file, "$ {}", shown(command));
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|source| Error::Start { program, source })?;
        let (sender, receiver) = channel();
        let readers = [
            read_lines(child.stdout.take().map(|s| Box::new(s) as Box<dyn Read + Send>), sender.clone()),
            read_lines(child.stderr.take().map(|s| Box::new(s) as Box<dyn Read + Send>), sender),
        ];

        let mut lines: Vec<String> = Vec::new();
        let mut beat = Instant::now();
        loop {
            match receiver.recv_timeout(Duration::from_millis(250)) {
                Ok(line) => {
                    let _ = writeln!(file, "{line}");
                    lines.push(line);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let last = lines.iter().rev().find(|l| !l.trim().is_empty()).map_or("", |l| l.trim());
            self.screen.status(&format!("  … {}  {}  {last}", self.name, clock(self.start.elapsed())));
            if !self.screen.live && beat.elapsed() > HEARTBEAT {
                beat = Instant::now();
                eprintln!("    {}  {}  {last}", self.name, clock(self.start.elapsed()));
            }
        }
        let status = child.wait().at("wait for", Path::new(command.get_program()))?;
        for reader in readers.into_iter().flatten() {
            let _ = reader.join();
        }
        let words =
            status.code().map_or_else(|| "was interrupted".to_owned(), |code| format!("ended with code {code}"));
        Ok(Said { ok: status.success(), status: words, lines, log })
    }

    /// Runs a program to its end; its failure is an error that repeats its last lines.
    pub fn run(&self, command: &mut Command) -> Result<Said> {
        let said = self.ask(command)?;
        if said.ok {
            return Ok(said);
        }
        Err(self.error(command, &said))
    }

    pub fn error(&self, command: &Command, said: &Said) -> Error {
        Error::Program {
            step: self.name.clone(),
            command: shown(command),
            status: said.status.clone(),
            log: said.log.clone(),
            tail: said.tail(),
        }
    }

    /// What goes on, for steps that are not one program's.
    pub fn status(&self, text: &str) {
        self.screen.status(&format!("  … {}  {}  {text}", self.name, clock(self.start.elapsed())));
    }

    pub fn say(&self, text: &str) {
        self.screen.status("");
        eprintln!("    {text}");
    }

    pub fn done(mut self, detail: &str) {
        self.close('✓', detail);
    }

    pub fn failed(mut self, detail: &str) {
        self.close('✗', detail);
    }

    fn close(&mut self, mark: char, detail: &str) {
        self.open = false;
        self.screen.status("");
        let gap = if detail.is_empty() { "" } else { "  " };
        eprintln!("  {mark} {}  {}{gap}{detail}", self.name, clock(self.start.elapsed()));
    }
}

impl Drop for Step<'_> {
    fn drop(&mut self) {
        if self.open {
            self.close('✗', "");
        }
    }
}

/// `0.4 s`, `31 s`, `4:07 min`.
pub fn clock(d: Duration) -> String {
    match d.as_secs() {
        0..10 => format!("{:.1} s", d.as_secs_f64()),
        s @ 10..60 => format!("{s} s"),
        s => format!("{}:{:02} min", s / 60, s % 60),
    }
}

fn read_lines(source: Option<Box<dyn Read + Send>>, to: Sender<String>) -> Option<std::thread::JoinHandle<()>> {
    let source = source?;
    Some(std::thread::spawn(move || {
        let mut reader = BufReader::new(source);
        let mut bytes = Vec::new();
        while matches!(reader.read_until(b'\n', &mut bytes), Ok(n) if n > 0) {
            let line = strip_colours(String::from_utf8_lossy(&bytes).trim_end());
            bytes.clear();
            if to.send(line).is_err() {
                break;
            }
        }
    }))
}

/// Removes terminal escape sequences (`ESC [ … letter`), which log files and matching do not want.
fn strip_colours(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\x1b' {
            out.push(c);
        } else if chars.next() == Some('[') {
            chars.by_ref().find(char::is_ascii_alphabetic);
        }
    }
    out
}

/// The command as a person would type it.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|w| w.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

fn file_name(step: &str) -> String {
    step.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_go_and_words_stay() {
        assert_eq!(strip_colours("\x1b[1m\x1b[32mok\x1b[0m: 3 passed"), "ok: 3 passed");
        assert_eq!(strip_colours("ε ≤ 1.30"), "ε ≤ 1.30");
    }

    #[test]
    fn times_read_well() {
        assert_eq!(clock(Duration::from_millis(420)), "0.4 s");
        assert_eq!(clock(Duration::from_secs(31)), "31 s");
        assert_eq!(clock(Duration::from_secs(247)), "4:07 min");
    }

    #[test]
    fn a_program_is_heard_on_both_streams_and_its_failure_names_it() {
        let logs = std::env::temp_dir().join(format!("hushgrad-screen-{}", std::process::id()));
        let screen = Screen::new(logs.clone()).unwrap();
        let step = screen.step("two streams");
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo err >&2; exit 3"]);
        let error = step.run(&mut command).err().unwrap().to_string();
        assert!(error.contains("code 3") && error.contains("out") && error.contains("err"), "{error}");
        drop(step);
        std::fs::remove_dir_all(logs).unwrap();
    }
}
