//! Builds with clippy in place of the compiler.
//!
//! `cargo clippy` checks every dependency in addition to compiling it. Here cargo builds, with
//! clippy as the compiler of the workspace's own packages: it compiles, too.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::{error::Result, project::Project};

/// Makes cargo lint what it builds with this driver, with warnings as errors.
pub fn build_with_clippy(command: &mut Command, driver: &Path) {
    command.env("RUSTC_WORKSPACE_WRAPPER", driver);
    // As passed on by `cargo clippy -- -D warnings`.
    command.env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
}

/// Returns the default toolchain's clippy driver.
pub fn clippy_driver(project: &Project) -> Result<PathBuf> {
    let sysroot = project.printed_by_rustc("sysroot")?;
    Ok(Path::new(&sysroot).join("bin").join(format!("clippy-driver{}", std::env::consts::EXE_SUFFIX)))
}
