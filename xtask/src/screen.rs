//! Progress output: one line per step, and a bar with the latest output of a running program.

use std::{
    fmt::Write as _,
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::{Command, Stdio},
    sync::mpsc::{RecvTimeoutError, channel},
    time::{Duration, Instant},
};

use fs_err as fs;
use indicatif::{MultiProgress, ProgressBar, ProgressState, ProgressStyle};

use crate::error::{Error, Result};

/// Lines of a failed program's output that are repeated.
const TAIL: usize = 40;
/// Interval at which a long step reports that it is alive, if no bar is shown.
const HEARTBEAT: Duration = Duration::from_secs(60);

pub struct Screen {
    bars: MultiProgress,
    logs: PathBuf,
}

/// A program's result and output.
pub struct Said {
    pub ok: bool,
    pub status: String,
    /// Standard output and standard error, interleaved.
    pub lines: Vec<String>,
    pub log: PathBuf,
}

impl Said {
    /// Returns the last lines, indented, for an error message.
    pub fn tail(&self) -> String {
        let from = self.lines.len().saturating_sub(TAIL);
        self.lines[from..].iter().map(|line| format!("\n    {line}")).collect()
    }
}

/// A running step, ended by [`Step::done`] or [`Step::failed`]; it fails if dropped before.
pub struct Step<'a> {
    screen: &'a Screen,
    name: String,
    bar: ProgressBar,
}

impl Screen {
    pub fn new(logs: PathBuf) -> Result<Self> {
        fs::create_dir_all(&logs)?;
        Ok(Self { bars: MultiProgress::new(), logs })
    }

    pub fn step(&self, name: &str) -> Step<'_> {
        let time = |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            let _ = out.write_str(&clock(state.elapsed()));
        };
        let style = ProgressStyle::with_template("  … {prefix}  {clock}  {wide_msg}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner()).with_key("clock", time);
        let bar = self.bars.add(ProgressBar::no_length().with_style(style).with_prefix(name.to_owned()));
        if self.bars.is_hidden() {
            eprintln!("  · {name}");
        } else {
            bar.enable_steady_tick(Duration::from_millis(250));
        }
        Step { screen: self, name: name.to_owned(), bar }
    }

    /// Prints a line of its own.
    pub fn say(&self, text: &str) {
        self.bars.suspend(|| eprintln!("{text}"));
    }
}

impl Step<'_> {
    /// Runs a program to its end; its failure is an answer, not an error.
    pub fn ask(&self, command: &mut Command) -> Result<Said> {
        let name: String =
            self.name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
        let log = self.screen.logs.join(format!("{name}.log"));
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&log)?;
        let _ = writeln!(file, "$ {}", shown(command));
        let (reader, writer) = std::io::pipe()?;
        command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command.spawn().map_err(|source| Error::Start { program, source });
        // Closes this side's writers, so that reading ends with the program.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = child?;
        let (sender, receiver) = channel();
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(reader).split(b'\n').map_while(|line| line.ok()) {
                let line = String::from_utf8_lossy(&line);
                if sender.send(console::strip_ansi_codes(line.trim_end()).into_owned()).is_err() {
                    break;
                }
            }
        });
        let mut lines: Vec<String> = Vec::new();
        let mut beat = Instant::now() + HEARTBEAT;
        loop {
            match receiver.recv_timeout(beat.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    let _ = writeln!(file, "{line}");
                    self.status(&line);
                    lines.push(line);
                }
                Err(RecvTimeoutError::Timeout) => {
                    beat += HEARTBEAT;
                    if self.screen.bars.is_hidden() {
                        let last =
                            lines.iter().rev().find(|line| !line.trim().is_empty()).map_or("", |line| line.trim());
                        eprintln!("    {}  {}  {last}", self.name, clock(self.bar.elapsed()));
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let status = child.wait()?;
        let _ = reader.join();
        let words = status.code().map_or("was interrupted".to_owned(), |code| format!("ended with code {code}"));
        Ok(Said { ok: status.success(), status: words, lines, log })
    }

    /// Runs a program to its end; its failure is an error that repeats its last lines.
    pub fn run(&self, command: &mut Command) -> Result<Said> {
        let said = self.ask(command)?;
        if said.ok { Ok(said) } else { Err(self.error(command, &said)) }
    }

    pub fn error(&self, command: &Command, said: &Said) -> Error {
        let (step, status, log) = (self.name.clone(), said.status.clone(), said.log.clone());
        Error::Program { step, command: shown(command), status, log, tail: said.tail() }
    }

    /// Shows the current activity.
    pub fn status(&self, text: &str) {
        let text: String = text.trim().chars().filter(|c| !c.is_control()).collect();
        if !text.is_empty() {
            self.bar.set_message(text);
        }
    }

    pub fn say(&self, text: &str) {
        self.screen.say(&format!("    {text}"));
    }

    pub fn done(self, detail: &str) {
        self.close('✓', detail);
    }

    /// Ends the step and returns `value`.
    pub fn gives<T>(self, value: T, detail: &str) -> Result<T> {
        self.done(detail);
        Ok(value)
    }

    pub fn failed(self, detail: &str) {
        self.close('✗', detail);
    }

    fn close(&self, mark: char, detail: &str) {
        self.bar.finish_and_clear();
        let gap = if detail.is_empty() { "" } else { "  " };
        self.screen.say(&format!("  {mark} {}  {}{gap}{detail}", self.name, clock(self.bar.elapsed())));
    }
}

impl Drop for Step<'_> {
    fn drop(&mut self) {
        if !self.bar.is_finished() {
            self.close('✗', "");
        }
    }
}

/// Formats a duration: `0.4 s`, `31 s`, `4:07 min`.
pub fn clock(d: Duration) -> String {
    match d.as_secs() {
        0..10 => format!("{:.1} s", d.as_secs_f64()),
        s @ 10..60 => format!("{s} s"),
        s => format!("{}:{:02} min", s / 60, s % 60),
    }
}

/// Formats the command as typed in a shell.
fn shown(command: &Command) -> String {
    command.get_args().fold(command.get_program().to_string_lossy().into_owned(), |mut line, word| {
        let _ = write!(line, " {}", word.to_string_lossy());
        line
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_well() {
        for (milliseconds, text) in [(420, "0.4 s"), (31_000, "31 s"), (247_000, "4:07 min")] {
            assert_eq!(clock(Duration::from_millis(milliseconds)), text);
        }
    }

    #[test]
    fn a_program_is_heard_on_both_streams_without_colours_and_its_failure_names_it() {
        let logs = tempfile::tempdir().unwrap();
        let screen = Screen::new(logs.path().to_owned()).unwrap();
        let step = screen.step("two streams");
        let mut command = Command::new("sh");
        command.args(["-c", r"printf '\033[1m\033[32mok\033[0m: ε ≤ 1.30\n'; echo err >&2; exit 3"]);
        let said = step.ask(&mut command).unwrap();
        assert_eq!(said.lines, ["ok: ε ≤ 1.30", "err"]);
        let error = step.run(&mut command).err().unwrap().to_string();
        assert!(error.contains("code 3") && error.contains("ok: ε") && error.contains("err"), "{error}");
        assert!(fs::read_to_string(logs.path().join("two-streams.log")).unwrap().contains("ok: ε ≤ 1.30\nerr\n"));
    }
}
