//! `hushgrad train`, run as from a shell.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use hushgrad::{
    accounting::ledger::Ledger,
    data::idx::{self, Kind, PIXELS},
};

/// A folder with 60 training and 20 test images, all blank.
fn digits() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("hushgrad-train-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (name, kind, count, bytes) in [
        ("train-images-idx3-ubyte", Kind::Images, 60, PIXELS),
        ("train-labels-idx1-ubyte", Kind::Labels, 60, 1),
        ("t10k-images-idx3-ubyte", Kind::Images, 20, PIXELS),
        ("t10k-labels-idx1-ubyte", Kind::Labels, 20, 1),
    ] {
        let mut file = idx::header(kind, count);
        file.resize(file.len() + count as usize * bytes, 0);
        std::fs::write(folder.join(name), file).unwrap();
    }
    folder
}

/// Three steps, each with a report, and a ledger.
fn train(folder: &Path, ledger: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hushgrad"));
    command.args(["train", "--json", "--threads", "1", "--lot", "10", "--steps", "3", "--evaluate-every", "1"]);
    command.arg("--data").arg(folder).arg("--ledger").arg(ledger);
    command
}

#[test]
fn the_ledger_is_written_whatever_becomes_of_the_run() {
    let folder = digits();
    let steps = |ledger: &Path| Ledger::from_json(&std::fs::read_to_string(ledger).unwrap()).unwrap().steps();
    let whole = folder.join("whole.json");
    assert!(train(&folder, &whole).stdout(Stdio::null()).status().unwrap().success());
    assert_eq!(steps(&whole), 3);

    // Nobody reads the first report, as with `| head`: the run ends silently after a released step.
    let broken = folder.join("broken.json");
    let mut child = train(&folder, &broken).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    assert!(!String::from_utf8_lossy(&ended.stderr).contains("hushgrad: "), "{ended:?}");
    assert_eq!(steps(&broken), 1);
    std::fs::remove_dir_all(folder).unwrap();
}
