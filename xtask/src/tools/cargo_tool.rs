//! Programs from crates.io in exactly one version: from PATH where they are, else built into the cache.

use crate::prelude::*;

/// For `bench build` alone, which times `trunk serve`. Later versions want a newer compiler than this crate asks for.
pub fn trunk(project: &Project) -> Result<PathBuf> {
    install(project, "trunk", "trunk", "0.21.14")
}

/// In the library's version.
pub fn wasm_bindgen(project: &Project) -> Result<PathBuf> {
    install(project, "wasm-bindgen-cli", "wasm-bindgen", &project.locked("wasm-bindgen")?)
}

/// cargo-nextest of any version, since nothing but its summary is read; where it cannot be had, `cargo test` runs the tests.
pub fn nextest(project: &Project) -> Result<PathBuf> {
    which("cargo-nextest").map_or_else(|| install(project, "cargo-nextest", "cargo-nextest", "0.9.143"), Ok)
}

/// It builds the example book of the browser tests.
pub fn mdbook(project: &Project) -> Result<PathBuf> {
    install(project, "mdbook", "mdbook", "0.5.4")
}

pub fn cargo_deny(project: &Project) -> Result<PathBuf> {
    install(project, "cargo-deny", "cargo-deny", "0.20.2")
}

/// It gives generated input to the readers of files and texts.
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
        // The lock file that a package carries is tried first; a registry's mirror may lack a version that it names.
        let mut locked = command(project, into, package, program, version);
        if !step.ask(locked.arg("--locked"))?.ok {
            step.run(&mut command(project, into, package, program, version))?;
        }
        // The build is bigger than the tool.
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
        // Their other features are for the network and for search, which these need not have.
        command.arg(into).arg("--no-default-features");
    } else {
        command.arg(into);
    }
    // Away from the checkout, whose configuration is not meant for tools.
    command.current_dir(&project.cache).env("CARGO_TARGET_DIR", into.join("build")).env_remove("RUSTFLAGS");
    // These tools wait for the compiler and the disk: quick to build matters more than quick to run. wasm-bindgen alone works
    // through megabytes.
    command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", if small { "0" } else { "1" });
    command.env("CARGO_PROFILE_RELEASE_LTO", "off").env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    command
}
