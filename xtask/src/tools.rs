//! Trunk, wasm-bindgen, wasm-opt, esbuild: the right versions, from PATH where they are, else in the cache.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    error::{At, Error, Result},
    project::{Project, first_line, which},
    screen::Screen,
};

/// Later ones want a newer compiler than this crate asks for.
const TRUNK: &str = "0.21.14";
/// Builds the example book of the browser tests.
const MDBOOK: &str = "0.5.4";

/// Folders that go in front of PATH for Trunk.
pub struct Tools {
    pub trunk: PathBuf,
    pub wasm_bindgen: PathBuf,
    /// `None`: no npm; the site works, and is bigger than it need be.
    pub shrinkers: Option<Shrinkers>,
}

/// Scripts for node.
pub struct Shrinkers {
    pub wasm_opt: PathBuf,
    pub esbuild: PathBuf,
}

pub fn ensure(project: &Project, screen: &Screen) -> Result<Tools> {
    let trunk = cargo_tool(project, screen, "trunk", "trunk", TRUNK)?;
    let bindgen = project.locked("wasm-bindgen")?;
    let wasm_bindgen = cargo_tool(project, screen, "wasm-bindgen-cli", "wasm-bindgen", &bindgen)?;
    Ok(Tools { trunk, wasm_bindgen, shrinkers: shrinkers(project, screen)? })
}

/// mdBook, for the tests alone.
pub fn mdbook(project: &Project, screen: &Screen) -> Result<PathBuf> {
    cargo_tool(project, screen, "mdbook", "mdbook", MDBOOK)
}

/// A program from crates.io in exactly this version.
pub fn cargo_tool(project: &Project, screen: &Screen, package: &str, program: &str, version: &str) -> Result<PathBuf> {
    let step = screen.step(&format!("{program} {version}"));
    let is_it = |path: &PathBuf| {
        first_line(path, "--version").is_some_and(|line| line.split(' ').any(|w| w.trim_start_matches('v') == version))
    };
    let name = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    let folder = project.tools().join(format!("{program}-{version}"));
    let ours = folder.join("bin").join(&name);
    let there = [Some(ours.clone()), which(program)];
    if let Some(path) = there.into_iter().flatten().find(is_it) {
        step.done(if path == ours { "installed before" } else { "found on PATH" });
        return Ok(path);
    }
    project.install(&folder, |into| {
        // The lock file that a package carries is tried first; a registry's mirror may lack a version that it names.
        let mut said = None;
        for locked in [true, false] {
            let mut command = install_command(project, into, package, program, version);
            if locked {
                command.arg("--locked");
            }
            let answer = step.ask(&mut command)?;
            if answer.ok {
                // The build is bigger than the tool.
                return crate::project::remove(&into.join("build"));
            }
            said = Some(step.error(&command, &answer));
        }
        Err(said.unwrap_or_else(|| Error::Wrong(format!("{package} was not installed"))))
    })?;
    if !is_it(&ours) {
        return Err(Error::Wrong(format!("{} does not run as version {version}", ours.display())));
    }
    step.done("installed");
    Ok(ours)
}

fn install_command(project: &Project, into: &Path, package: &str, program: &str, version: &str) -> Command {
    let mut command = project.cargo();
    command
        // Away from the checkout, whose configuration is not meant for tools.
        .current_dir(&project.cache)
        .env("CARGO_TARGET_DIR", into.join("build"))
        // These tools wait for the compiler and the disk: quick to build matters more than quick to run. wasm-bindgen alone
        // works through megabytes.
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", if matches!(program, "trunk" | "mdbook") { "0" } else { "1" })
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
        .env_remove("RUSTFLAGS")
        .args(["install", package, "--version", version, "--bin", program, "--root"])
        .arg(into);
    if matches!(program, "trunk" | "wasm-bindgen" | "mdbook") {
        // Their other features are for the network and for search, which these need not have.
        command.arg("--no-default-features");
    }
    command
}

/// wasm-opt comes with npm's `binaryen`; both in the versions that `xtask/npm` locks.
fn shrinkers(project: &Project, screen: &Screen) -> Result<Option<Shrinkers>> {
    let lock = project.root.join("xtask").join("npm");
    let manifest = lock.join("package.json");
    let text = std::fs::read_to_string(&manifest).at("read", &manifest)?;
    let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let version = |package: &str| json["dependencies"][package].as_str().unwrap_or_default().to_owned();
    let (binaryen, esbuild) = (version("binaryen"), version("esbuild"));
    let step = screen.step(&format!("wasm-opt {binaryen}, esbuild {esbuild}"));
    let folder = project.tools().join(format!("binaryen-{binaryen}-esbuild-{esbuild}"));
    let script = |package: &str, name: &str| folder.join("node_modules").join(package).join("bin").join(name);
    let there = Shrinkers { wasm_opt: script("binaryen", "wasm-opt"), esbuild: script("esbuild", "esbuild") };
    let major = binaryen.split('.').next().unwrap_or_default();
    // Scripts in JavaScript: node runs them, whatever the file system says about them.
    let says = |script: &Path, word: &str| {
        let out = Command::new("node").arg(script).arg("--version").output();
        out.is_ok_and(|out| String::from_utf8_lossy(&out.stdout).contains(word))
    };
    let run = || says(&there.wasm_opt, &format!("version {major}")) && says(&there.esbuild, &esbuild);
    if there.wasm_opt.is_file() && run() {
        step.done("installed before");
        return Ok(Some(there));
    }
    let Some(npm) = which("npm") else {
        step.done("not here: they need Node.js (nodejs.org); the site will be about twice as big as with them");
        return Ok(None);
    };
    let installed = project.install(&folder, |into| {
        for file in ["package.json", "package-lock.json"] {
            std::fs::copy(lock.join(file), into.join(file)).at("copy", &lock.join(file))?;
        }
        let mut command = project.command(npm);
        command.current_dir(into).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
        step.run(&mut command).map(|_| ())
    });
    if let Err(Error::Program { status, log, .. }) = &installed {
        let log = log.display();
        step.done(&format!(
            "not to be had (npm {status}; see {log}): the site will be about twice as big as with them"
        ));
        return Ok(None);
    }
    installed?;
    if !run() {
        return Err(Error::Wrong(format!("{} does not hold what it should", folder.display())));
    }
    step.done("installed");
    Ok(Some(there))
}
