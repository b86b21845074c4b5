//! Programs from crates.io in fixed versions, found on PATH or built into the cache.

use crate::prelude::*;

/// For `bench build`, which times `trunk serve`. Later ones need a newer compiler than this crate.
pub fn trunk(project: &Project) -> Result<PathBuf> {
    install(project, "trunk", "trunk", "0.21.14")
}

/// For `bench build`: Trunk calls it. In the library's version.
pub fn wasm_bindgen(project: &Project) -> Result<PathBuf> {
    install(project, "wasm-bindgen-cli", "wasm-bindgen", &project.locked("wasm-bindgen")?)
}

/// cargo-nextest in any version, because only its summary is read. The fallback is `cargo test`.
pub fn nextest(project: &Project) -> Result<PathBuf> {
    which("cargo-nextest").map_or_else(|| install(project, "cargo-nextest", "cargo-nextest", "0.9.143"), Ok)
}

/// Builds the example book of the browser tests.
pub fn mdbook(project: &Project) -> Result<PathBuf> {
    install(project, "mdbook", "mdbook", "0.5.4")
}

pub fn cargo_deny(project: &Project) -> Result<PathBuf> {
    install(project, "cargo-deny", "cargo-deny", "0.20.2")
}

/// Fuzzes the parsers of files and texts.
pub fn cargo_fuzz(project: &Project) -> Result<PathBuf> {
    install(project, "cargo-fuzz", "cargo-fuzz", "0.13.1")
}

fn install(project: &Project, package: &str, program: &str, version: &str) -> Result<PathBuf> {
    let step = project.step(&format!("{program} {version}"));
    let is_it = |path: &PathBuf| {
        first_line(path, "--version").is_some_and(|line| line.split(' ').any(|w| w.trim_start_matches('v') == version))
    };
    let folder = project.tools().join(format!("{program}-{version}"));
    let ours = folder.join("bin").join(format!("{program}{}", std::env::consts::EXE_SUFFIX));
    if let Some(path) = [Some(ours.clone()), which(program)].into_iter().flatten().find(is_it) {
        let where_from = if path == ours { "installed before" } else { "found on PATH" };
        return step.gives(path, where_from);
    }
    project.install(&folder, |into| {
        // The package's lock file first; a registry mirror may lack a version that it names.
        let mut locked = command(project, into, package, program, version);
        if !step.ask(locked.arg("--locked"))?.ok {
            step.run(&mut command(project, into, package, program, version))?;
        }
        // The build is larger than the tool.
        remove(&into.join("build"))
    })?;
    if !is_it(&ours) {
        return Err(wrong!("{} does not run as version {version}", ours.display()));
    }
    step.gives(ours, "installed")
}

fn command(project: &Project, into: &Path, package: &str, program: &str, version: &str) -> Command {
    let mut command = project.cargo(&format!("install {package} --version {version} --bin {program} --root"));
    let small = matches!(program, "trunk" | "mdbook");
    if small || program == "wasm-bindgen" {
        // Their other features, for the network and for search, are not needed.
        command.arg(into).arg("--no-default-features");
    } else {
        command.arg(into);
    }
    // Outside the checkout, whose configuration is not meant for tools.
    command.current_dir(&project.cache).env("CARGO_TARGET_DIR", into.join("build")).env_remove("RUSTFLAGS");
    // Fast builds matter more than fast tools, which wait for compiler and disk; only wasm-bindgen
    // processes megabytes.
    command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", if small { "0" } else { "1" });
    command.env("CARGO_PROFILE_RELEASE_LTO", "off").env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    command
}
