//! Shared by tests of the native tool: digits as files, and the program run as a user runs it.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use hushgrad::{
    data::{idx, synthetic},
    train::report::Report,
};

/// The program with the arguments `words`, in which `@` stands for the folder.
pub fn command(words: &str, files: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hushgrad"));
    command.args(words.split_whitespace().map(|word| word.replace("@", &format!("{}/", files.display()))));
    // No mirror is contacted: every test names its digits.
    command
}

pub fn hushgrad(words: &str, files: &Path) -> Output {
    command(words, files).output().unwrap()
}

/// A folder for one test, with 300 training and 100 test digits as IDX files.
pub struct Files(pub PathBuf);

impl Files {
    pub fn new(name: &str) -> Self {
        Self::with(name, 1)
    }

    /// With digits drawn from `seed`.
    pub fn with(name: &str, seed: u64) -> Self {
        let folder = std::env::temp_dir().join(format!("hushgrad-tool-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let digits = synthetic::digits(seed, 300, 100);
        for (set, name) in [(&digits.train, "train"), (&digits.test, "t10k")] {
            let count = set.len() as u32;
            for (kind, bytes, file) in [
                (idx::Kind::Images, &*set.images, "images-idx3-ubyte"),
                (idx::Kind::Labels, &*set.labels, "labels-idx1-ubyte"),
            ] {
                let mut file_bytes = idx::header(kind, count);
                file_bytes.extend_from_slice(bytes);
                std::fs::write(folder.join(format!("{name}-{file}")), file_bytes).unwrap();
            }
        }
        Self(folder)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub fn reports(out: &Output) -> Vec<Report> {
    assert!(out.status.success(), "{}", text(&out.stderr));
    text(&out.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
