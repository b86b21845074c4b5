//! A compiler for wasm32-unknown-unknown: rustup's, else one put together in the cache from Debian's packages.
//!
//! The second is for machines that reach a package registry but not rustup's server. Debian's compiler for browsers comes
//! with the sources of its standard library; they are built once, and a folder of links to the compiler's own libraries
//! plus that build becomes a `--sysroot`. Nothing under /usr, and nothing of rustup's, is written.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    debian,
    error::{At, Error, Result},
    lints,
    project::{Project, first_line, remove, which},
    screen::{Screen, Step},
};

pub const TARGET: &str = "wasm32-unknown-unknown";
const PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "rust-web-clippy"];
/// Debian's compiler, by path: on PATH rustup's comes first.
const RUSTC: &str = "/usr/bin/rustc";
const CARGO: &str = "/usr/bin/cargo";
const CLIPPY: &str = "/usr/bin/clippy-driver";

/// How builds for the browser are run.
#[derive(Clone)]
pub struct Wasm {
    /// Folder of Debian's compiler as a sysroot; `None`: plain cargo does it.
    sysroot: Option<PathBuf>,
    /// Stands in the compiler's place for the project's own packages.
    clippy: Option<PathBuf>,
}

impl Wasm {
    fn new(sysroot: Option<PathBuf>) -> Self {
        Self { sysroot, clippy: None }
    }

    /// With clippy as the compiler of the project's own packages, warnings being errors: it compiles as well, so what it has
    /// looked through is the site that is built.
    pub fn with_clippy(self, project: &Project) -> Result<Self> {
        let clippy = match &self.sysroot {
            Some(_) => PathBuf::from(CLIPPY),
            None => lints::clippy_driver(project)?,
        };
        Ok(Self { clippy: Some(clippy), ..self })
    }

    /// The same compiler, alone.
    pub fn without_clippy(&self) -> Self {
        Self { clippy: None, ..self.clone() }
    }

    /// What makes cargo, or a program that calls it, compile for the browser.
    pub fn prepare(&self, command: &mut Command) {
        if let Some(sysroot) = &self.sysroot {
            // Debian's clippy asks for its sysroot in the second variable.
            command.env("RUSTC", sysroot.join("rustc")).env("SYSROOT", sysroot);
        }
        if let Some(clippy) = &self.clippy {
            command.env("RUSTC_WORKSPACE_WRAPPER", clippy);
            lints::deny_warnings(command);
        }
    }
}

pub fn ensure(project: &Project, screen: &Screen) -> Result<Wasm> {
    let step = screen.step("wasm32 target");
    let forced = std::env::var_os("HUSHGRAD_FORCE_WASM_FALLBACK").is_some_and(|v| v == "1");
    let mut why = "HUSHGRAD_FORCE_WASM_FALLBACK is set".to_owned();
    if !forced {
        if has_std(project) {
            step.done("of the default toolchain");
            return Ok(Wasm::new(None));
        }
        why = "there is no rustup on PATH".to_owned();
        if let Some(rustup) = which("rustup") {
            let said = step.ask(project.command(rustup).args(["target", "add", TARGET]))?;
            if said.ok && has_std(project) {
                step.done("installed by rustup");
                return Ok(Wasm::new(None));
            }
            let last = said.lines.iter().rev().find(|l| l.contains("error")).or(said.lines.last());
            why = format!("`rustup target add {TARGET}` failed ({})", last.map_or("no reason given", |l| l.trim()));
        }
    }
    step.done(&format!("not rustup's: {why}"));

    let usable = Path::new(RUSTC).is_file() && PACKAGES.iter().all(|p| debian::is_installed(p));
    if !usable && !debian::may_install() {
        return Err(Error::Missing {
            what: format!("the Rust target {TARGET}"),
            why,
            how: format!(
                "Run `rustup target add {TARGET}` where rustup's server can be reached, or install as root on Debian: {}",
                PACKAGES.join(" ")
            ),
        });
    }
    debian::install(project, screen, &PACKAGES, &format!("for {TARGET}"))?;

    let identity = identity(project)?;
    let sysroot = project.cache.join("wasm-sysroot");
    let stamp = sysroot.join("stamp");
    if std::fs::read_to_string(&stamp).is_ok_and(|text| text == identity) {
        screen.step("wasm32 standard library").done("of Debian's compiler, built before");
        return Ok(Wasm::new(Some(sysroot)));
    }
    let step = screen.step("wasm32 standard library");
    project.install(&sysroot, |folder| {
        build_std(project, &step, folder)?;
        write_wrapper(folder, &sysroot)?;
        // Last of all: a folder without it is not whole.
        std::fs::write(folder.join("stamp"), &identity).at("write", &stamp)
    })?;
    // cargo does not notice that a standard library of the same version was rebuilt.
    remove(&project.target()?.join(TARGET))?;
    step.done("of Debian's compiler");
    Ok(Wasm::new(Some(sysroot)))
}

/// Whether the compiler that cargo uses has a standard library for the browser.
fn has_std(project: &Project) -> bool {
    let out = project.command("rustc").args(["--print", "target-libdir", "--target", TARGET]).output();
    out.is_ok_and(|out| {
        let folder = PathBuf::from(String::from_utf8_lossy(&out.stdout).trim());
        std::fs::read_dir(folder)
            .is_ok_and(|files| files.flatten().any(|f| f.file_name().to_string_lossy().starts_with("libstd-")))
    })
}

/// Changes whenever the standard library must be built anew.
fn identity(project: &Project) -> Result<String> {
    let out = project
        .command(RUSTC)
        .arg("-vV")
        .output()
        .map_err(|source| Error::Start { program: RUSTC.to_owned(), source })?;
    let linker = linker(project)?;
    Ok(format!("{}linker: {}\n", String::from_utf8_lossy(&out.stdout), linker.display()))
}

/// rust-lld: rustup brings it, Debian's compiler does not; Debian's lld is the same program under another name.
fn linker(project: &Project) -> Result<PathBuf> {
    let libraries = project.printed_by_rustc("target-libdir").map(PathBuf::from);
    let beside = libraries.ok().and_then(|libraries| Some(libraries.parent()?.join("bin").join("rust-lld")));
    beside.filter(|lld| lld.is_file()).or_else(|| which("rust-lld")).or_else(|| which("wasm-ld")).ok_or_else(|| {
        Error::Missing {
            what: "a linker for WebAssembly".into(),
            why: "the default Rust toolchain carries no rust-lld".into(),
            how: "Install rustup's toolchain, or the package lld.".into(),
        }
    })
}

/// `folder` becomes a sysroot: links to the compiler's own, and a standard library for the browser built from source.
fn build_std(project: &Project, step: &Step<'_>, folder: &Path) -> Result<()> {
    let host = host()?;
    let theirs = Path::new("/usr/lib/rustlib");
    let ours = folder.join("lib").join("rustlib");
    let ours_host = ours.join(&host);
    std::fs::create_dir_all(ours_host.join("bin")).at("create the folder", &ours_host)?;
    for entry in std::fs::read_dir(theirs.join(&host)).at("list", theirs)?.flatten() {
        if entry.file_name() != "bin" {
            link(&entry.path(), &ours_host.join(entry.file_name()))?;
        }
    }
    link(&theirs.join("src"), &ours.join("src"))?;
    link(&linker(project)?, &ours_host.join("bin").join("rust-lld"))?;

    // An empty crate, because cargo builds the standard library only on somebody's behalf.
    let empty = folder.join("build");
    let source = empty.join("src");
    std::fs::create_dir_all(&source).at("create the folder", &source)?;
    let manifest = "[package]\nname = \"empty\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n";
    std::fs::write(empty.join("Cargo.toml"), manifest).at("write", &empty)?;
    std::fs::write(source.join("lib.rs"), "#![no_std]\n").at("write", &source)?;
    let mut command = project.command(CARGO);
    command
        .current_dir(&empty)
        .env("RUSTC", RUSTC)
        .env("RUSTC_BOOTSTRAP", "1")
        // Without the bitcode every later build with link-time optimisation fails.
        .env("RUSTFLAGS", "-Cembed-bitcode=yes")
        .env("CARGO_TARGET_DIR", empty.join("target"))
        .args(["build", "--release", "-Z", "build-std=std,panic_abort", "--target", TARGET]);
    step.run(&mut command)?;

    let libraries = ours.join(TARGET).join("lib");
    std::fs::create_dir_all(&libraries).at("create the folder", &libraries)?;
    let built = empty.join("target").join(TARGET).join("release").join("deps");
    for entry in std::fs::read_dir(&built).at("list", &built)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".rlib") && !name.starts_with("libempty-") {
            std::fs::copy(entry.path(), libraries.join(name)).at("copy", &entry.path())?;
        }
    }
    remove(&empty)
}

/// cargo takes the compiler from `RUSTC`; this one knows its sysroot.
fn write_wrapper(folder: &Path, sysroot: &Path) -> Result<()> {
    let path = folder.join("rustc");
    let script = format!("#!/bin/sh\nexec {RUSTC} --sysroot '{}' \"$@\"\n", sysroot.display());
    std::fs::write(&path, script).at("write", &path)?;
    make_executable(&path)
}

fn host() -> Result<String> {
    let version = Command::new(RUSTC).arg("-vV").output();
    let text = version.map(|out| String::from_utf8_lossy(&out.stdout).into_owned()).unwrap_or_default();
    let host = text.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned);
    host.ok_or_else(|| {
        let line = first_line(Path::new(RUSTC), "--version").unwrap_or_default();
        Error::Wrong(format!("{RUSTC} does not say for which machine it compiles ({line})"))
    })
}

#[cfg(unix)]
fn link(from: &Path, to: &Path) -> Result<()> {
    std::os::unix::fs::symlink(from, to).at("link", to)
}

#[cfg(unix)]
fn make_executable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).at("make executable", path)
}

// Debian is a Unix; elsewhere `ensure` has returned before these are called.
#[cfg(not(unix))]
fn link(_: &Path, to: &Path) -> Result<()> {
    Err(Error::Wrong(format!("no links here: {}", to.display())))
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> Result<()> {
    Ok(())
}
