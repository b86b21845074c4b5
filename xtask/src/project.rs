//! Where things are: the checkout, the project's own cache, the target folder; and the atomic way into the cache.

use std::{
    ffi::OsStr,
    fs::File,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    error::{At, Error, Result},
    mnist_files,
    screen::Screen,
};

pub struct Project {
    /// The checkout.
    pub root: PathBuf,
    /// Tools, MNIST, logs: `HUSHGRAD_CACHE`, else `hushgrad` in the user's cache folder.
    pub cache: PathBuf,
    /// Known from the start: once cargo has built this program anew, the system knows the running one no more.
    program: PathBuf,
    /// Held while something is installed or put in place, so that two runs at once do not do it twice.
    lock: Option<File>,
}

impl Project {
    pub fn find() -> Result<Self> {
        let root = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let root = root.as_deref().and_then(Path::parent).filter(|r| r.join("Trunk.toml").is_file());
        let root = root.ok_or_else(|| Error::Usage("run this as `cargo xtask …` inside the checkout".into()))?;
        let cache = mnist_files::cache_folder(|key| std::env::var_os(key)).ok_or_else(|| Error::Missing {
            what: "a cache folder".into(),
            why: "neither HOME nor XDG_CACHE_HOME is set".into(),
            how: "Set HUSHGRAD_CACHE to a folder that may hold about 1 GB.".into(),
        })?;
        // `cache_folder` names the folder for MNIST inside the cache.
        let cache = cache.parent().map_or_else(|| cache.clone(), Path::to_owned);
        std::fs::create_dir_all(cache.join("tools")).at("create the folder", &cache)?;
        let cache = std::path::absolute(&cache).at("find", &cache)?;
        let program = std::env::current_exe().at("find", Path::new("this program"))?;
        Ok(Self { root: root.to_owned(), cache, program, lock: None })
    }

    /// Waits until no other run installs or builds a site, then clears what an interrupted one left.
    pub fn claim(&mut self, screen: &Screen) -> Result<()> {
        let path = self.cache.join("tools").join("lock");
        let file = File::create(&path).at("open", &path)?;
        if file.try_lock().is_err() {
            screen.say("  waiting for another run of xtask that installs or builds");
            file.lock().at("lock", &path)?;
        }
        self.lock = Some(file);
        let modules = self.root.join("tests").join("browser");
        for folder in [self.cache.clone(), self.tools(), self.cache.join("mnist"), modules] {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.file_name().to_string_lossy().starts_with(".unfinished-") {
                    remove(&entry.path())?;
                }
            }
        }
        Ok(())
    }

    /// The path of this program.
    pub fn this_program(&self) -> &Path {
        &self.program
    }

    pub fn release(&mut self) {
        self.lock = None;
    }

    pub fn tools(&self) -> PathBuf {
        self.cache.join("tools")
    }

    /// Fills a folder in one go: `fill` writes beside it, and only a whole one gets the name.
    pub fn install(&self, folder: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let parent = folder.parent().unwrap_or(&self.cache);
        let name = folder.file_name().unwrap_or(OsStr::new("x")).to_string_lossy();
        let unfinished = parent.join(format!(".unfinished-{name}"));
        remove(&unfinished)?;
        std::fs::create_dir_all(&unfinished).at("create the folder", &unfinished)?;
        let filled = fill(&unfinished);
        if let Err(error) = filled {
            remove(&unfinished)?;
            return Err(error);
        }
        remove(folder)?;
        std::fs::rename(&unfinished, folder).at("put in place", folder)
    }

    /// cargo in the checkout, free of what the outer cargo told this program about itself.
    pub fn cargo(&self) -> Command {
        self.command("cargo")
    }

    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root).env("CARGO_TERM_COLOR", "never").env("CARGO_TERM_PROGRESS_WHEN", "never");
        for (key, _) in std::env::vars_os() {
            let name = key.to_string_lossy();
            let own = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"];
            if own.iter().any(|prefix| name.starts_with(prefix)) || matches!(&*name, "CARGO" | "OUT_DIR") {
                command.env_remove(key);
            }
        }
        command
    }

    /// What the default compiler says to `--print`.
    pub fn printed_by_rustc(&self, what: &str) -> Result<String> {
        let out = self.command("rustc").args(["--print", what]).output();
        let out = out.map_err(|source| Error::Start { program: "rustc".into(), source })?;
        let said = String::from_utf8_lossy(&out.stdout).trim().to_owned();
        if said.is_empty() { Err(Error::Wrong(format!("rustc --print {what} says nothing"))) } else { Ok(said) }
    }

    /// cargo's target folder, as cargo itself sees it.
    pub fn target(&self) -> Result<PathBuf> {
        let mut command = self.cargo();
        command.args(["metadata", "--format-version", "1", "--no-deps"]);
        let out = command.output().map_err(|source| Error::Start { program: "cargo".into(), source })?;
        let metadata: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap_or_default();
        metadata["target_directory"].as_str().map(PathBuf::from).ok_or_else(|| {
            Error::Wrong(format!("cargo cannot read the project: {}", String::from_utf8_lossy(&out.stderr).trim()))
        })
    }

    /// The version of a package in Cargo.lock.
    pub fn locked(&self, package: &str) -> Result<String> {
        let path = self.root.join("Cargo.lock");
        let text = std::fs::read_to_string(&path).at("read", &path)?;
        locked_version(&text, package).ok_or_else(|| Error::Wrong(format!("Cargo.lock names no package `{package}`")))
    }
}

fn locked_version(lock: &str, package: &str) -> Option<String> {
    let mut lines = lock.lines().skip_while(|line| *line != format!("name = \"{package}\""));
    lines.nth(1)?.strip_prefix("version = \"")?.strip_suffix('"').map(str::to_owned)
}

/// Removes a file or a folder; nothing there is fine.
pub fn remove(path: &Path) -> Result<()> {
    let gone = match std::fs::symlink_metadata(path) {
        Err(_) => return Ok(()),
        Ok(what) if what.is_dir() => std::fs::remove_dir_all(path),
        Ok(_) => std::fs::remove_file(path),
    };
    gone.at("remove", path)
}

/// A program on PATH, or at the path given.
pub fn which(program: &str) -> Option<PathBuf> {
    let names = if cfg!(windows) {
        vec![format!("{program}.exe"), format!("{program}.cmd"), program.to_owned()]
    } else {
        vec![program.to_owned()]
    };
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).flat_map(|f| names.iter().map(move |n| f.join(n))).find(|p| p.is_file())
}

/// First line that a program prints, when it runs and succeeds.
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
        let cache = std::env::temp_dir().join(format!("hushgrad-install-{}", std::process::id()));
        let project = Project { root: cache.clone(), cache: cache.clone(), program: cache.clone(), lock: None };
        let tool = cache.join("tool");
        let failed = project.install(&tool, |into| {
            std::fs::write(into.join("half"), "x").unwrap();
            Err(Error::Wrong("no".into()))
        });
        assert!(failed.is_err() && std::fs::read_dir(&cache).unwrap().next().is_none());
        project.install(&tool, |into| std::fs::write(into.join("whole"), "x").at("write", into)).unwrap();
        assert!(tool.join("whole").is_file());
        std::fs::remove_dir_all(cache).unwrap();
    }
}
