//! What the native tool keeps of a run: no existing file is lost, no release is forgotten, and a
//! run can be continued.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

#[path = "common/files.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod files;

use std::{
    fs,
    io::BufReader,
    process::{Child, Stdio},
};

use files::{Files, command, hushgrad, reports, text};
use hushgrad::{
    accounting::{ledger::Ledger, rdp::epsilon_of},
    train::{
        report::{Privacy, Report},
        run_file::RunFile,
    },
};

fn ledger(files: &Files, name: &str) -> Ledger {
    Ledger::from_json(&fs::read_to_string(files.0.join(name)).unwrap()).unwrap()
}

fn run_file(files: &Files, name: &str) -> RunFile {
    RunFile::from_json(name, &fs::read(files.0.join(name)).unwrap()).unwrap_or_else(|error| panic!("{error}"))
}

fn epsilon(privacy: &Privacy) -> f64 {
    let Privacy::Bounded(bound) = privacy else { panic!("{privacy:?}") };
    bound.improved.epsilon
}

/// All files in the folder, without the digits.
fn kept(files: &Files) -> Vec<String> {
    let names = fs::read_dir(&files.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| !name.ends_with("ubyte")).collect();
    names.sort();
    names
}

/// Starts a run that prints a line per step, and returns its standard output.
fn start(words: &str, files: &Files) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut command = command(&format!("{words} --data @ --json --lot 32 --evaluate-every 1"), &files.0);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    (child, out)
}

/// The next line; `None` when the program has ended.
fn next(out: &mut impl std::io::BufRead) -> Option<Report> {
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    // A killed program may leave half a line.
    line.ends_with('\n').then(|| serde_json::from_str(&line).unwrap())
}

#[test]
fn a_run_is_kept_whole_and_goes_on() {
    let files = Files::new("whole");
    let first = "train --data @ --json --lot 32 --steps 6 --momentum 0.5 --average --evaluate-every 3 --out @run.json --ledger @l.json --weights @w.st";
    let told = reports(&hushgrad(first, &files.0));
    assert_eq!(kept(&files), ["l.json", "run.json", "w.st"]);
    let run = run_file(&files, "run.json");
    assert_eq!((run.run.report.step, run.run.report.complete), (6, true));
    assert_eq!(run.ledger.as_ref().unwrap().steps(), 6);
    assert_eq!(run.run.report.privacy, told[1].privacy);
    assert_eq!((run.run.name.as_str(), run.run.train, run.run.test), ("run", 300, 100));
    assert_eq!(run.run.accuracy, told[1].test_accuracy);
    assert_eq!(run.run.accuracy_curve.iter().map(|point| point.0).collect::<Vec<_>>(), [3.0, 6.0]);
    assert_eq!(run.ledger, Some(ledger(&files, "l.json")));
    assert!(run.momentum.iter().any(|m| *m != 0.0));
    // The parameters that images are read with.
    let weights = fs::read(files.0.join("w.st")).unwrap();
    let weights = safetensors::SafeTensors::deserialize(&weights).unwrap();
    let (name, tensor) = weights.iter().find(|(name, _)| name.ends_with("bias")).unwrap();
    let layer =
        run.run.config.model.layers().iter().find(|layer| format!("{}.bias", layer.name) == name).unwrap().biases();
    let bytes: Vec<u8> = run.average.as_ref().unwrap()[layer].iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_eq!(tensor.data(), bytes);

    let on = "train --data @ --json --resume @run.json --steps 10 --ledger @l.json --evaluate-every 2";
    let told = reports(&hushgrad(on, &files.0));
    assert_eq!(told.iter().map(|report| report.step).collect::<Vec<_>>(), [8, 10]);
    let whole = ledger(&files, "l.json");
    assert_eq!(whole.steps(), 10);
    let cost = epsilon_of(&whole, 1e-5).unwrap().improved.epsilon;
    assert!((epsilon(&told[1].privacy) - cost).abs() <= 1e-9 * cost);
    let run = run_file(&files, "run.json");
    assert_eq!((run.run.report.step, run.ledger.unwrap().steps()), (10, 10));
    assert_eq!(run.run.accuracy_curve.iter().map(|point| point.0).collect::<Vec<_>>(), [3.0, 6.0, 8.0, 10.0]);
    assert_eq!(kept(&files), ["l.json", "run.json", "w.st"]);

    // To another file; the first one stays as it is.
    let before = fs::read(files.0.join("run.json")).unwrap();
    let fork = "train --data @ --json --resume @run.json --steps 11 --out @fork.json";
    assert_eq!(reports(&hushgrad(fork, &files.0)).last().unwrap().step, 11);
    assert_eq!(run_file(&files, "fork.json").ledger.unwrap().steps(), 11);
    assert_eq!(fs::read(files.0.join("run.json")).unwrap(), before);
}

/// In one piece and in two, the same run has the same parameters to the last bit, as a replayed
/// stream is wound forward.
#[test]
fn a_resumed_run_equals_an_uninterrupted_one() {
    let files = Files::new("pieces");
    let of = |words: &str| {
        let out = hushgrad(&format!("train --data @ --json --lot 32 {words}"), &files.0);
        assert!(out.status.success(), "{}", text(&out.stderr));
    };
    of("--replay 5 --momentum 0.9 --steps 9 --out @whole.json");
    of("--replay 5 --momentum 0.9 --steps 4 --out @half.json");
    let out = hushgrad("train --data @ --json --resume @half.json --steps 9", &files.0);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let (whole, half) = (run_file(&files, "whole.json"), run_file(&files, "half.json"));
    assert_eq!((whole.parameters, whole.momentum), (half.parameters, half.momentum));
    assert!(matches!(half.run.report.privacy, Privacy::NoGuarantee { .. }));
}

#[test]
fn existing_files_are_refused_before_anything_is_read() {
    let files = Files::new("there");
    let first = "train --data @ --lot 32 --steps 3 --json --ledger @l.json --out @run.json --weights @w.st";
    assert!(hushgrad(first, &files.0).status.success());
    let all = || ["l.json", "run.json", "w.st"].map(|name| fs::read(files.0.join(name)).unwrap());
    let before = all();
    fs::write(files.0.join("other.json"), Ledger::new().to_json().replace("\"events\": []", "\"events\": [ ]"))
        .unwrap();
    for (words, sentence) in [
        ("--ledger @l.json", "the ledger"),
        ("--out @run.json", "the run"),
        ("--weights @w.st", "the weights"),
        ("--resume @run.json --weights @w.st", "the weights"),
        ("--resume @run.json --out @l.json", "the run"),
    ] {
        // Refused before any digits are looked for.
        let out = hushgrad(&format!("train --data @nowhere --steps 4 {words}"), &files.0);
        let said = text(&out.stderr);
        assert!(
            !out.status.success() && said.contains(sentence) && said.contains("already exists; "),
            "{words}: {said}"
        );
        assert!(said.contains("--force replaces"), "{words}: {said}");
    }
    for (words, sentence) in [
        ("--ledger @no/such/l.json", "cannot write the ledger"),
        ("--out @l.json/run.json", "cannot write the run"),
        ("--weights @", "cannot write the weights"),
        ("--books @no/such/books.json", "cannot write the books"),
        ("--books @l.json", "does not hold this program's books"),
        ("--out @new.json --ledger @new.json", "are the same file"),
        ("--resume @absent.json", "cannot read"),
        ("--resume @l.json", "is not a run file"),
    ] {
        let out = hushgrad(&format!("train --data @nowhere --steps 4 {words}"), &files.0);
        assert!(!out.status.success() && text(&out.stderr).contains(sentence), "{words}: {}", text(&out.stderr));
    }
    // A run keeps its settings, and must have steps left.
    for (words, sentence) in [
        ("--resume @run.json", "the run has taken 3 steps already"),
        ("--resume @run.json --steps 3", "the run has taken 3 steps already"),
        ("--resume @run.json --steps 4 --sigma 9", "a resumed run keeps its settings"),
        ("--resume @run.json --steps 4 --preset best-1", "cannot be used with"),
    ] {
        let out = hushgrad(&format!("train --data @ {words}"), &files.0);
        assert!(!out.status.success() && text(&out.stderr).contains(sentence), "{words}: {}", text(&out.stderr));
    }
    assert_eq!(all(), before);
    let forced = hushgrad(&format!("{first} --force"), &files.0);
    assert!(forced.status.success(), "{}", text(&forced.stderr));
    assert_ne!(all()[2], before[2]);
}

/// A ledger ahead of its run file was written by a program that ended between the two.
#[test]
fn a_ledger_beside_a_run_is_compared_with_it() {
    let files = Files::new("beside");
    let of = |words: &str| hushgrad(&format!("train --data @ --json --lot 32 {words}"), &files.0);
    assert!(of("--steps 3 --out @run.json --ledger @l.json").status.success());
    assert!(of("--steps 2 --sigma 3 --ledger @other.json").status.success());
    let mut ahead = ledger(&files, "l.json");
    let id = ahead.register(ahead.releases()[0].clone()).unwrap();
    ahead.record_many(id, 4);
    fs::write(files.0.join("ahead.json"), ahead.to_json()).unwrap();
    let out = of("--resume @run.json --steps 5 --ledger @other.json");
    assert!(
        !out.status.success() && text(&out.stderr).contains("is not that of the resumed run"),
        "{}",
        text(&out.stderr)
    );
    let out = of("--resume @run.json --steps 5 --ledger @ahead.json");
    assert!(out.status.success() && text(&out.stderr).contains("counts 7 releases"), "{}", text(&out.stderr));
    assert_eq!((ledger(&files, "ahead.json").steps(), run_file(&files, "run.json").ledger.unwrap().steps()), (9, 9));
    assert_eq!(run_file(&files, "run.json").run.report.step, 5);
    // A ledger that is behind is brought up to date.
    assert!(of("--resume @run.json --steps 6 --ledger @l.json").status.success());
    assert_eq!(ledger(&files, "l.json").steps(), 10);
}

#[test]
fn no_ledger_of_another_run_stays_beside_one_without_a_guarantee() {
    let files = Files::new("stale");
    let of = |words: &str| hushgrad(&format!("train --data @ --lot 32 --steps 2 --ledger @l.json {words}"), &files.0);
    assert!(of("").status.success());
    let out = of("--noise none");
    assert!(!out.status.success() && text(&out.stderr).contains("already exists"), "{}", text(&out.stderr));
    assert_eq!(kept(&files), ["l.json"]);
    let out = of("--noise none --force");
    assert!(out.status.success() && text(&out.stderr).contains("no ledger is written: "), "{}", text(&out.stderr));
    assert!(kept(&files).is_empty());
    assert!(of("--replay 1").status.success());
    assert!(kept(&files).is_empty());
}

#[test]
fn two_programs_do_not_write_one_ledger() {
    let files = Files::new("two");
    let (mut first, mut out) = start("train --steps 1000000 --ledger @l.json --out @run.json", &files);
    let printed = next(&mut out).unwrap().step;
    for words in ["--ledger @l.json", "--out @run.json", "--resume @run.json --steps 9000000"] {
        let second = hushgrad(&format!("train --data @ --lot 32 --force {words}"), &files.0);
        let said = text(&second.stderr);
        assert!(!second.status.success() && said.contains("is being written by another run"), "{words}: {said}");
    }
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(ledger(&files, "l.json").steps() >= printed);
    // A killed program holds no lock.
    let second = hushgrad("train --data @ --lot 32 --steps 3 --force --ledger @l.json", &files.0);
    assert!(second.status.success(), "{}", text(&second.stderr));
    assert_eq!(ledger(&files, "l.json").steps(), 3);
}

#[cfg(unix)]
mod signals {
    use std::process::Command;

    use hushgrad::{
        accounting::{books::account, pld::TOLERANCE},
        rng::NotPrivateReplay,
        train::books::{Cost, DatasetBooks, SetName},
    };

    use super::*;

    fn send(signal: &str, child: &Child) {
        let sent = Command::new("kill").arg(format!("-{signal}")).arg(child.id().to_string()).status().unwrap();
        assert!(sent.success());
    }

    /// The program inherits ignored signals, and would never end: this says so at once.
    #[cfg(target_os = "linux")]
    fn nothing_is_ignored() {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
        // HUP is 1, INT 2, TERM 15.
        let ours = u64::from_str_radix(ignored, 16).unwrap() & ((1 << 0) | (1 << 1) | (1 << 14));
        assert_eq!(
            ours, 0,
            "run these tests where SIGHUP, SIGINT and SIGTERM are not ignored: without nohup, and not behind a script's &"
        );
    }

    #[cfg(not(target_os = "linux"))]
    fn nothing_is_ignored() {}

    /// Reads all remaining lines, and returns the last step.
    fn drain(out: &mut impl std::io::BufRead) -> u64 {
        std::iter::from_fn(|| next(out)).last().map_or(0, |report| report.step)
    }

    #[test]
    fn a_signal_ends_a_run_after_its_step_with_its_books_in_order() {
        nothing_is_ignored();
        let files = Files::new("signals");
        for (signal, status) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
            let words = "train --steps 1000000 --ledger @l.json --out @run.json --weights @w.st --force";
            let (child, mut out) = start(words, &files);
            let printed = next(&mut out).unwrap().step;
            send(signal, &child);
            let printed = printed.max(drain(&mut out));
            let ended = child.wait_with_output().unwrap();
            let said = text(&ended.stderr);
            assert_eq!(ended.status.code(), Some(status), "{signal}: {said}");
            assert!(said.contains(&format!("ended by SIG{signal} after ")), "{said}");
            let run = run_file(&files, "run.json");
            let steps = ledger(&files, "l.json").steps();
            // Everything that ran is recorded.
            assert!(steps >= printed && run.run.report.step == steps, "{signal}: {steps} {printed}");
            assert_eq!(kept(&files), ["l.json", "run.json", "w.st"], "{signal}");
        }
    }

    /// During a step that shifts all 300 images sixteen times: the first signal waits for its end,
    /// the second does not.
    #[test]
    fn a_second_signal_ends_a_run_at_once() {
        nothing_is_ignored();
        let files = Files::new("second");
        let words = "train --data @ --json --model cnn-tanh --lot 300 --copies 16 --reach 4 --threads 1 --steps 1000 --evaluate-every 1 --ledger @l.json";
        let mut command = command(words, &files.0);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let printed = next(&mut out).unwrap().step;
        let both = format!("kill -INT {0}; kill -TERM {0}", child.id());
        assert!(Command::new("sh").args(["-c", &both]).status().unwrap().success());
        let printed = printed.max(drain(&mut out));
        let ended = child.wait_with_output().unwrap();
        let said = text(&ended.stderr);
        // By whichever signal came last, and without a message about the end of the step.
        assert!(
            matches!(ended.status.code(), Some(130 | 143)) && !said.contains("ended by"),
            "{}: {said}",
            ended.status
        );
        assert!(ledger(&files, "l.json").steps() >= printed);
    }

    #[test]
    fn a_lost_terminal_does_not_prevent_a_clean_end() {
        nothing_is_ignored();
        let files = Files::new("gone");
        let (mut child, mut out) = start("train --steps 1000000 --ledger @l.json", &files);
        let printed = next(&mut out).unwrap().step;
        drop(child.stderr.take());
        send("HUP", &child);
        let printed = printed.max(drain(&mut out));
        assert_eq!(child.wait().unwrap().code(), Some(129));
        assert!(ledger(&files, "l.json").steps() >= printed);
    }

    /// As `nohup` starts it.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_signal_that_was_to_be_ignored_is_ignored() {
        let files = Files::new("nohup");
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_hushgrad")]);
        command.args("train --json --lot 32 --evaluate-every 1 --steps 40 --data".split(' ')).arg(&files.0);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        assert_eq!(next(&mut out).unwrap().step, 1);
        send("HUP", &child);
        assert_eq!(drain(&mut out), 40);
        assert!(child.wait().unwrap().success());
    }

    /// A run is ended in every way at random moments, and continued each time: what it has shown
    /// never exceeds what its ledger, its run file and the books record. `HUSHGRAD_KILLS` times,
    /// from the seed `HUSHGRAD_SEED`.
    #[test]
    fn no_shown_release_is_forgotten_however_a_run_ends() {
        nothing_is_ignored();
        let number = |name: &str, usual: u64| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(usual);
        let (kills, seed) = (number("HUSHGRAD_KILLS", 8), number("HUSHGRAD_SEED", 1));
        let files = Files::new("kills");
        let mut random = NotPrivateReplay::new(seed);
        let (mut shown, mut standing, mut ends) = (0, None::<u64>, std::collections::BTreeMap::new());
        for kill in 0..kills {
            let place = format!("kill {kill} of {kills}, seed {seed}");
            let from = if standing.is_some() { "--resume @run.json --force" } else { "--out @run.json" };
            let words = format!("train --steps 1000000 --books @books.json --ledger @l.json --weights @w.st {from}");
            let (mut child, mut out) = start(&words, &files);
            let signal = ["KILL", "KILL", "TERM", "INT", "HUP"][random.below(5) as usize];
            // Some are ended before they print anything, wherever they are then.
            let wait = random.below(4) > 0;
            let mut last = 0;
            if wait {
                for _ in 0..=random.below(30) {
                    last = next(&mut out).unwrap().step;
                }
            } else {
                std::thread::sleep(std::time::Duration::from_millis(random.below(300).into()));
            }
            send(signal, &child);
            last = last.max(drain(&mut out));
            let status = child.wait().unwrap();
            *ends.entry(format!("{signal}: {status}")).or_insert(0) += 1;
            if !files.0.join("run.json").exists() {
                assert_eq!(last, 0, "{place}");
                // Any other files belong to a run that cannot be continued.
                for name in ["l.json", "w.st"] {
                    let _ = fs::remove_file(files.0.join(name));
                }
                continue;
            }
            shown += last.saturating_sub(standing.unwrap_or(0));
            let run = run_file(&files, "run.json");
            let step = run.run.report.step;
            let released = run.ledger.unwrap();
            let in_run = released.steps();
            let in_ledger = ledger(&files, "l.json").steps();
            assert!(in_run >= shown && in_ledger >= shown, "{place}: {shown} shown, {in_run} {in_ledger} written");
            assert!(in_run >= step && standing.is_none_or(|standing| step >= standing), "{place}: {step} {standing:?}");
            let books = DatasetBooks::from_json("books", &fs::read(files.0.join("books.json")).unwrap()).unwrap();
            let digits = SetName::of(&hushgrad::data::own_files::load(&files.0).unwrap().train);
            let in_books: u64 = books.runs(&digits).map(|entry| entry.released.as_ref().unwrap().steps()).sum();
            assert!(in_books >= in_run.min(in_ledger) && in_books >= shown, "{place}: {in_books} {in_run} {shown}");
            let Cost::Bounded { epsilon: all, .. } = books.all_runs(&digits, 1e-5).cost else { panic!("{place}") };
            let own = account(&released, 1e-5).unwrap().tight.unwrap().value;
            assert!(all >= own * (1.0 - TOLERANCE), "{place}: {all} {own}");
            standing = Some(step);
        }
        eprintln!("{kills} ends, seed {seed}: {ends:?}; {shown} steps were shown");
    }
}
