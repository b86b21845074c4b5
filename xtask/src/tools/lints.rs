//! Clippy in the compiler's place.
//!
//! `cargo clippy` checks every dependency once more than a build compiles it. Here cargo builds, and calls clippy instead of the
//! compiler for the workspace's own packages: it compiles as well.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::{error::Result, project::Project};

/// Makes cargo lint what it builds with this driver; warnings are errors.
pub fn build_with_clippy(command: &mut Command, driver: &Path) {
    command.env("RUSTC_WORKSPACE_WRAPPER", driver);
    // As `cargo clippy -- -D warnings` passes it on.
    command.env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
}

/// The default toolchain's.
pub fn clippy_driver(project: &Project) -> Result<PathBuf> {
    let sysroot = project.printed_by_rustc("sysroot")?;
    Ok(Path::new(&sysroot).join("bin").join(format!("clippy-driver{}", std::env::consts::EXE_SUFFIX)))
}
