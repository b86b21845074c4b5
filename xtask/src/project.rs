//! Paths of checkout, cache and target folder, commands in the checkout, and installs in the cache.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Command,
};

use fs_err as fs;

use crate::{
    error::{Error, Result, wrong},
    mnist_files,
    screen::{Said, Screen, Step},
};

pub struct Project {
    pub root: PathBuf,
    /// Holds tools, MNIST and logs: `HUSHGRAD_CACHE`, else `hushgrad` in the user's cache folder.
    pub cache: PathBuf,
    screen: Screen,
}

impl Project {
    pub fn find() -> Result<Self> {
        let root = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let root = root.as_deref().and_then(Path::parent).filter(|r| r.join("Trunk.toml").is_file());
        let root = root.ok_or_else(|| Error::Usage("run this as `cargo xtask …` inside the checkout".into()))?;
        let cache = mnist_files::cache_folder(|key| std::env::var_os(key)).ok_or_else(|| {
            let how = "Set HUSHGRAD_CACHE to a folder that may hold about 1 GB.";
            Error::missing("a cache folder", "neither HOME nor XDG_CACHE_HOME is set", how)
        })?;
        // `cache_folder` names the folder for MNIST inside the cache.
        let cache = std::path::absolute(cache.parent().unwrap_or(&cache))?;
        fs::create_dir_all(cache.join("tools"))?;
        let screen = Screen::new(cache.join("logs"))?;
        Ok(Self { root: root.to_owned(), cache, screen })
    }

    pub fn say(&self, text: &str) {
        self.screen.say(text);
    }

    pub fn step(&self, name: &str) -> Step<'_> {
        self.screen.step(name)
    }

    /// Runs a program as a step; its failure is an error.
    pub fn run(&self, step: &str, command: &mut Command) -> Result<Said> {
        let step = self.step(step);
        let said = step.run(command)?;
        step.gives(said, "")
    }

    /// Waits until no other run installs or builds a site, then clears what an interrupted one
    /// left. Other runs wait while the returned file is open.
    pub fn claim(&self) -> Result<fs::File> {
        let file = fs::File::create(self.tools().join("lock"))?;
        if file.try_lock().is_err() {
            self.say("  waiting for another run of xtask that installs or builds");
            file.lock()?;
        }
        let modules = self.root.join("tests").join("browser");
        for folder in [self.cache.clone(), self.tools(), self.cache.join("mnist"), modules] {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.file_name().to_string_lossy().starts_with(".unfinished-") {
                    remove(&entry.path())?;
                }
            }
        }
        Ok(file)
    }

    pub fn tools(&self) -> PathBuf {
        self.cache.join("tools")
    }

    /// Installs a folder: `fill` writes beside it, and only a complete result is put in place.
    pub fn install(&self, folder: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let unfinished = folder.with_file_name(format!(".unfinished-{name}"));
        make_empty(&unfinished)?;
        if let Err(error) = fill(&unfinished) {
            remove(&unfinished)?;
            return Err(error);
        }
        remove(folder)?;
        Ok(fs::rename(&unfinished, folder)?)
    }

    /// Returns cargo with these words as arguments, in the checkout.
    pub fn cargo(&self, words: &str) -> Command {
        self.command("cargo", words)
    }

    /// As [`Self::cargo`], for any program. Removes the outer cargo's variables about this program.
    pub fn command(&self, program: impl AsRef<OsStr>, words: &str) -> Command {
        let mut command = Command::new(program);
        command.args(words.split_whitespace()).current_dir(&self.root);
        command.env("CARGO_TERM_COLOR", "never").env("CARGO_TERM_PROGRESS_WHEN", "never");
        for (key, _) in std::env::vars_os() {
            let name = key.to_string_lossy();
            let own = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"];
            if own.iter().any(|prefix| name.starts_with(prefix)) || matches!(&*name, "CARGO" | "OUT_DIR") {
                command.env_remove(key);
            }
        }
        command
    }

    /// Returns the default compiler's answer to `--print`.
    pub fn printed_by_rustc(&self, what: &str) -> Result<String> {
        let out = self.command("rustc", &format!("--print {what}")).output();
        let out = out.map_err(|source| Error::Start { program: "rustc".into(), source })?;
        let said = String::from_utf8_lossy(&out.stdout).trim().to_owned();
        if said.is_empty() { Err(wrong!("rustc --print {what} says nothing")) } else { Ok(said) }
    }

    /// Returns cargo's target folder, as reported by cargo.
    pub fn target(&self) -> Result<PathBuf> {
        let out = self.cargo("metadata --format-version 1 --no-deps").output();
        let out = out.map_err(|source| Error::Start { program: "cargo".into(), source })?;
        let metadata: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap_or_default();
        metadata["target_directory"]
            .as_str()
            .map(PathBuf::from)
            .ok_or_else(|| wrong!("cargo cannot read the project: {}", String::from_utf8_lossy(&out.stderr).trim()))
    }

    /// Returns a package's version in Cargo.lock.
    pub fn locked(&self, package: &str) -> Result<String> {
        let text = fs::read_to_string(self.root.join("Cargo.lock"))?;
        locked_version(&text, package).ok_or_else(|| wrong!("Cargo.lock names no package `{package}`"))
    }
}

fn locked_version(lock: &str, package: &str) -> Option<String> {
    let mut lines = lock.lines().skip_while(|line| *line != format!("name = \"{package}\""));
    lines.nth(1)?.strip_prefix("version = \"")?.strip_suffix('"').map(str::to_owned)
}

/// Removes a file or a folder, if it exists.
pub fn remove(path: &Path) -> Result<()> {
    let Ok(what) = fs::symlink_metadata(path) else { return Ok(()) };
    Ok(if what.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }?)
}

/// Creates an empty folder, removing previous contents.
pub fn make_empty(folder: &Path) -> Result<()> {
    remove(folder)?;
    Ok(fs::create_dir_all(folder)?)
}

/// Lists all files below a folder, sorted.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let all = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter();
    let all = all.filter(|entry| entry.as_ref().map_or(true, |entry| !entry.file_type().is_dir()));
    all.map(|entry| Ok(entry.map_err(std::io::Error::from)?.into_path())).collect()
}

/// Copies a file into a folder, under the same name.
pub fn copy_into(folder: &Path, file: &Path) -> Result<()> {
    fs::copy(file, folder.join(file.file_name().unwrap_or_default()))?;
    Ok(())
}

/// Finds a program on PATH, or at the given path.
pub fn which(program: &str) -> Option<PathBuf> {
    which::which(program).ok()
}

/// Returns the path in an environment variable, if it is set and not empty.
pub fn named(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Checks that the program named by an environment variable runs.
pub fn asked(variable: &str, named: Option<PathBuf>, runs: impl Fn(&Path) -> bool) -> Result<Option<PathBuf>> {
    match named {
        Some(path) if !runs(&path) => {
            Err(wrong!("{variable} names {}, which does not run; unset it or name another", path.display()))
        }
        path => Ok(path),
    }
}

/// Returns the first line that a program prints, if it succeeds.
pub fn first_line(program: &Path, argument: &str) -> Option<String> {
    let out = Command::new(program).arg(argument).output().ok().filter(|out| out.status.success())?;
    String::from_utf8_lossy(&out.stdout).lines().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_come_from_the_lock_file() {
        let lock = "[[package]]\nname = \"wasm-bindgen-futures\"\nversion = \"0.4.80\"\n\n[[package]]\nname = \"wasm-bindgen\"\nversion = \"0.2.130\"\n";
        assert_eq!(locked_version(lock, "wasm-bindgen").as_deref(), Some("0.2.130"));
        assert_eq!(locked_version(lock, "wasm"), None);
    }

    #[test]
    fn a_failed_installation_leaves_neither_the_folder_nor_a_part_of_it() {
        let [folder, logs] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let [root, cache] = [(); 2].map(|()| folder.path().to_owned());
        let screen = Screen::new(logs.path().to_owned()).unwrap();
        let (tool, project) = (cache.join("tool"), Project { root, cache, screen });
        let failed = project.install(&tool, |into| {
            fs::write(into.join("half"), "x").unwrap();
            Err(wrong!("no"))
        });
        assert!(failed.is_err() && fs::read_dir(&project.cache).unwrap().next().is_none());
        project.install(&tool, |into| Ok(fs::write(into.join("whole"), "x")?)).unwrap();
        assert!(tool.join("whole").is_file());
    }
}
