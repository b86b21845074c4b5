//! The books of the native tool: what all runs on the same digits cost together.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

#[path = "common/files.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod files;

use std::fs;

use files::{Files, hushgrad, reports, text};
use hushgrad::{
    accounting::{books::account, ledger::Ledger, sampling::Sampling},
    train::books::{AllRuns, Budget, Cost, DatasetBooks, SetName},
};

/// What the last line of a run reports about all runs.
fn all_runs(files: &Files, words: &str) -> AllRuns {
    let out = hushgrad(&format!("train --json --lot 32 {words}"), &files.0);
    reports(&out);
    let line: serde_json::Value = serde_json::from_str(text(&out.stdout).lines().last().unwrap()).unwrap();
    serde_json::from_value(line["all-runs"].clone()).unwrap()
}

fn epsilon(all: &AllRuns) -> f64 {
    let Cost::Bounded { epsilon, .. } = all.cost else { panic!("{all:?}") };
    epsilon
}

fn ledger(files: &Files, name: &str) -> Ledger {
    Ledger::from_json(&fs::read_to_string(files.0.join(name)).unwrap()).unwrap()
}

fn cost(ledger: &Ledger) -> f64 {
    account(ledger, 1e-5).unwrap().tight.unwrap().value
}

fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b
}

#[test]
fn runs_on_the_same_digits_add_up() {
    let files = Files::new("add-up");
    let one = all_runs(&files, "--data @ --books @books --steps 4 --ledger @1.json");
    assert!(one.runs == 1 && same(epsilon(&one), cost(&ledger(&files, "1.json"))));
    let two = all_runs(&files, "--data @ --books @books --steps 6 --sigma 2 --ledger @2.json");
    let both = ledger(&files, "1.json").compose(&ledger(&files, "2.json")).unwrap();
    assert!(two.runs == 2 && same(epsilon(&two), cost(&both)), "{two:?} {}", cost(&both));
    // Also as text, before and after the run.
    let out = hushgrad("train --data @ --lot 32 --steps 1 --books @books", &files.0);
    let said = text(&out.stderr);
    assert!(said.contains("before this run, all runs on these digits (2): ε ≤ "), "{said}");
    assert!(said.trim_end().lines().last().unwrap().starts_with("all runs on these digits (3): ε ≤ "), "{said}");

    // The same examples in reverse order.
    let other = Files::with("add-up-2", 2);
    let bytes = |name: &str| fs::read(files.0.join(name)).unwrap();
    let (images, labels) = (bytes("train-images-idx3-ubyte"), bytes("train-labels-idx1-ubyte"));
    let turned: Vec<u8> = images[16..].chunks(784).rev().flatten().copied().collect();
    fs::write(files.0.join("train-images-idx3-ubyte"), [&images[..16], &turned].concat()).unwrap();
    let turned: Vec<u8> = labels[8..].iter().rev().copied().collect();
    fs::write(files.0.join("train-labels-idx1-ubyte"), [&labels[..8], &turned].concat()).unwrap();
    assert_eq!(all_runs(&files, "--data @ --books @books --steps 1").runs, 4);
    // Other digits have their own books, in the same file.
    fs::copy(files.0.join("books"), other.0.join("books")).unwrap();
    let apart = all_runs(&other, "--data @ --books @books --steps 4 --ledger @1.json");
    assert!(apart.runs == 1 && same(epsilon(&apart), cost(&ledger(&other, "1.json"))));

    // After removal, new books begin.
    fs::remove_file(files.0.join("books")).unwrap();
    assert_eq!(all_runs(&files, "--data @ --books @books --steps 1").runs, 1);
}

#[test]
fn continued_runs_are_counted_once_and_unknown_ones_in_full() {
    let files = Files::new("once");
    all_runs(&files, "--data @ --books @books --steps 4 --out @run.json");
    fs::copy(files.0.join("run.json"), files.0.join("copy.json")).unwrap();
    // It does not continue without its books.
    let alone = hushgrad("train --data @ --resume @run.json --steps 10", &files.0);
    assert!(!alone.status.success() && text(&alone.stderr).contains("recorded in books"), "{}", text(&alone.stderr));
    let on = all_runs(&files, "--data @ --books @books --resume @run.json --steps 10 --ledger @l.json");
    assert!(same(epsilon(&on), cost(&ledger(&files, "l.json"))), "{on:?}");
    // Twice from one file: the common part is counted once, and so is each addition.
    let twice = all_runs(&files, "--data @ --books @books --resume @copy.json --steps 7");
    let mut thirteen = ledger(&files, "l.json");
    let id = thirteen.register(thirteen.releases()[0].clone()).unwrap();
    thirteen.record_many(id, 3);
    assert!(same(epsilon(&twice), cost(&thirteen)), "{twice:?} {}", cost(&thirteen));

    // From a run that is in no books, and on digits whose books do not have it.
    fs::remove_file(files.0.join("books")).unwrap();
    let unknown = all_runs(&files, "--data @ --books @books --resume @run.json --steps 11");
    let mut eleven = ledger(&files, "l.json");
    eleven.record_many(id, 1);
    assert!(unknown.runs == 1 && same(epsilon(&unknown), cost(&eleven)), "{unknown:?}");
    let other = Files::with("once-2", 2);
    for name in ["run.json", "books"] {
        fs::copy(files.0.join(name), other.0.join(name)).unwrap();
    }
    let moved = all_runs(&other, "--data @ --books @books --resume @run.json --steps 12 --ledger @l.json");
    assert!(moved.runs == 1 && same(epsilon(&moved), cost(&ledger(&other, "l.json"))), "{moved:?}");
    assert_eq!(ledger(&other, "l.json").steps(), 12);
}

/// Continuing in an epoch that a file left open costs no more, as one run or as two.
#[test]
fn a_shuffled_run_that_goes_on_costs_what_its_ledger_costs() {
    let files = Files::new("epochs");
    all_runs(&files, "--data @ --books @books --sampling shuffled --steps 3 --out @run.json");
    let on = all_runs(&files, "--data @ --books @books --resume @run.json --steps 13 --ledger @l.json");
    assert!(same(epsilon(&on), cost(&ledger(&files, "l.json"))), "{on:?} {}", cost(&ledger(&files, "l.json")));
}

/// Correlated noise continues with a new sequence, as the ledger says.
#[test]
fn a_run_with_correlated_noise_that_goes_on_costs_what_its_ledger_costs() {
    let files = Files::new("bands");
    all_runs(&files, "--data @ --books @books --bands 4 --steps 6 --out @run.json");
    let on = all_runs(&files, "--data @ --books @books --resume @run.json --steps 9 --ledger @l.json");
    let kept = ledger(&files, "l.json");
    // Two cycles of four, and the first three steps of the next.
    assert_eq!(kept.steps(), 11);
    assert!(matches!(kept.releases()[0].sampling, Sampling::CyclicPoisson { groups: 4, .. }), "{kept:?}");
    assert!(same(epsilon(&on), cost(&kept)), "{on:?} {}", cost(&kept));
}

#[test]
fn mixed_neighbours_and_missing_guarantees_are_reported() {
    let files = Files::new("mixed");
    let added = all_runs(&files, "--data @ --books @books --steps 4");
    let both = all_runs(&files, "--data @ --books @books --steps 4 --sampling fixed-size");
    let Cost::Bounded { neighbours, .. } = both.cost else { panic!("{both:?}") };
    assert_eq!(neighbours.to_string(), "replace one");
    assert!(epsilon(&both) > 2.0 * epsilon(&added));
    let none = all_runs(&files, "--data @ --books @books --steps 1 --replay 1");
    let Cost::NoGuarantee { reason } = none.cost else { panic!("{none:?}") };
    assert!(none.runs == 3 && reason.to_string() == "one of them has none", "{reason}");
    // Whatever follows.
    let after = all_runs(&files, "--data @ --books @books --steps 1");
    assert!(matches!(after.cost, Cost::NoGuarantee { .. }));
    assert_eq!(after.runs, 4);
}

/// A budget ends runs, whatever their settings, and stays as it was set.
#[test]
fn the_budget_of_the_books_is_kept() {
    let files = Files::new("budget");
    let one = all_runs(&files, "--data @ --books @books --books-budget 4 --steps 3 --sigma 4");
    let Some(Budget { epsilon: 4.0, spent, .. }) = one.budget else { panic!("{one:?}") };
    assert!(spent > 0.0 && spent < 0.9, "{spent}");
    let all = all_runs(&files, "--data @ --books @books --steps 100000 --sigma 2 --ledger @2.json");
    assert!(ledger(&files, "2.json").steps() > 3 && epsilon(&all) <= 4.0, "{all:?}");
    assert!(all.budget.is_some_and(|budget| budget.spent > 0.9 && budget.spent <= 1.0), "{all:?}");
    let out = hushgrad("train --data @ --lot 32 --steps 1 --sigma 2 --books @books", &files.0);
    let said = text(&out.stderr);
    assert!(out.status.success() && said.contains("ended after 0 of 1 step: another step would exceed"), "{said}");
    assert!(said.contains("whatever was chosen on the way: 100 % is spent"), "{said}");
    for (words, why) in [
        ("--books-budget 5", "have the budget ε ≤ 4"),
        ("--sampling fixed-size", "mixes releases"),
        ("--replay 1", "without a guarantee"),
    ] {
        let out = hushgrad(&format!("train --data @ --lot 32 --steps 1 --books @books {words}"), &files.0);
        assert!(!out.status.success() && text(&out.stderr).contains(why), "{words}: {}", text(&out.stderr));
    }
}

/// Concurrent runs do not lose each other's entries.
#[test]
fn several_programs_share_books() {
    let files = Files::new("share");
    let children: Vec<_> = (0..4)
        .map(|_| files::command("train --data @ --lot 32 --steps 30 --json --books @books", &files.0))
        .map(|mut command| command.stdout(std::process::Stdio::null()).spawn().unwrap())
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let books = DatasetBooks::from_json("books", &fs::read(files.0.join("books")).unwrap()).unwrap();
    let digits = SetName::of(&hushgrad::data::own_files::load(&files.0).unwrap().train);
    let steps: Vec<u64> = books.runs(&digits).map(|entry| entry.released.as_ref().unwrap().steps()).collect();
    assert_eq!(steps, [30; 4]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // They hold a name of private digits, against which a guess can be tested.
        let mode = fs::metadata(files.0.join("books")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
