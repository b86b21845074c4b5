//! The compiler for wasm32-unknown-unknown: rustup's, else one built from Debian's packages.

use super::{TARGET, debian_rust, lints};
use crate::prelude::*;

/// Settings of builds for the browser.
pub struct Wasm {
    /// Sysroot of Debian's compiler; `None` for the default one.
    pub sysroot: Option<PathBuf>,
    /// Replaces the compiler for the project's own packages.
    clippy: Option<PathBuf>,
}

impl Wasm {
    /// Compiles the project's own packages with clippy, with warnings as errors. Clippy compiles,
    /// too, so the linted build is the site.
    pub fn with_clippy(self, project: &Project) -> Result<Self> {
        let clippy = match &self.sysroot {
            Some(_) => PathBuf::from(debian_rust::CLIPPY),
            None => lints::clippy_driver(project)?,
        };
        Ok(Self { clippy: Some(clippy), ..self })
    }

    /// Makes cargo, or a program that calls it, compile for the browser.
    pub fn prepare(&self, command: &mut Command) {
        if let Some(sysroot) = &self.sysroot {
            // Debian's clippy reads its sysroot from the second variable.
            command.env("RUSTC", sysroot.join("rustc")).env("SYSROOT", sysroot);
        }
        if let Some(clippy) = &self.clippy {
            lints::build_with_clippy(command, clippy);
        }
    }
}

pub fn ensure(project: &Project) -> Result<Wasm> {
    let rustups = Wasm { sysroot: None, clippy: None };
    let step = project.step("wasm32 target");
    let forced = std::env::var_os("HUSHGRAD_FORCE_WASM_FALLBACK").is_some_and(|v| v == "1");
    let mut why = "HUSHGRAD_FORCE_WASM_FALLBACK is set".to_owned();
    if !forced {
        if has_std(project) {
            return step.gives(rustups, "of the default toolchain");
        }
        why = "there is no rustup on PATH".to_owned();
        if let Some(rustup) = which("rustup") {
            let said = step.ask(&mut project.command(rustup, &format!("target add {TARGET}")))?;
            if said.ok && has_std(project) {
                return step.gives(rustups, "installed by rustup");
            }
            let last = said.lines.iter().rev().find(|l| l.contains("error")).or(said.lines.last());
            why = format!("`rustup target add {TARGET}` failed ({})", last.map_or("no reason given", |l| l.trim()));
        }
    }
    step.done(&format!("not rustup's: {why}"));
    Ok(Wasm { sysroot: Some(debian_rust::sysroot(project, why)?), clippy: None })
}

/// True if cargo's compiler has a standard library for the browser.
fn has_std(project: &Project) -> bool {
    let folder = project.printed_by_rustc(&format!("target-libdir --target {TARGET}")).unwrap_or_default();
    let mut files = fs_err::read_dir(folder).into_iter().flatten().flatten();
    files.any(|file| file.file_name().to_string_lossy().starts_with("libstd-"))
}
