//! Packages from npm in locked versions: wasm-opt and esbuild (`xtask/npm`), and the tests' tools.

use crate::prelude::*;

/// Finds npm, or fails with `why` it is needed.
pub fn npm(why: &str) -> Result<PathBuf> {
    which("npm").ok_or_else(|| {
        let how = "Install Node.js 20 or later (nodejs.org, or on Debian the packages nodejs and npm).";
        Error::missing("npm", why, how)
    })
}

/// Installs the packages of the lock file in `from` into a folder.
pub fn ci(project: &Project, step: &Step<'_>, npm: &Path, words: &str, from: &Path, into: &Path) -> Result<()> {
    copy_into(into, &from.join("package.json"))?;
    copy_into(into, &from.join("package-lock.json"))?;
    let mut command = project.command(npm, "ci --no-audit --no-fund");
    command.args(words.split_whitespace()).env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1");
    step.run(command.current_dir(into)).map(drop)
}

/// Node scripts that shrink programs and texts.
pub struct Shrinkers {
    pub wasm_opt: PathBuf,
    pub esbuild: PathBuf,
}

/// wasm-opt is part of npm's `binaryen`. `None` if npm is missing or fails: the site is larger.
pub fn shrinkers(project: &Project) -> Result<Option<Shrinkers>> {
    let lock = project.root.join("xtask").join("npm");
    let text = fs::read_to_string(lock.join("package.json"))?;
    let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let version = |package: &str| json["dependencies"][package].as_str().unwrap_or_default().to_owned();
    let (binaryen, esbuild) = (version("binaryen"), version("esbuild"));
    let step = project.step(&format!("wasm-opt {binaryen}, esbuild {esbuild}"));
    let folder = project.tools().join(format!("binaryen-{binaryen}-esbuild-{esbuild}"));
    let script = |package: &str, name: &str| folder.join("node_modules").join(package).join("bin").join(name);
    let there = Shrinkers { wasm_opt: script("binaryen", "wasm-opt"), esbuild: script("esbuild", "esbuild") };
    let major = binaryen.split('.').next().unwrap_or_default();
    // Run by node, because the file system may not allow executing them.
    let says = |script: &Path, word: &str| {
        let out = Command::new("node").arg(script).arg("--version").output();
        out.is_ok_and(|out| String::from_utf8_lossy(&out.stdout).contains(word))
    };
    let run = || says(&there.wasm_opt, &format!("version {major}")) && says(&there.esbuild, &esbuild);
    if there.wasm_opt.is_file() && run() {
        return step.gives(Some(there), "installed before");
    }
    let Some(npm) = which("npm") else {
        return step
            .gives(None, "not here: they need Node.js (nodejs.org); the site will be about twice as big as with them");
    };
    let installed = project.install(&folder, |into| ci(project, &step, &npm, "--ignore-scripts", &lock, into));
    if let Err(Error::Program { status, log, .. }) = &installed {
        let log = log.display();
        return step.gives(
            None,
            &format!("not to be had (npm {status}; see {log}): the site will be about twice as big as with them"),
        );
    }
    installed?;
    if !run() {
        return Err(wrong!("{} does not hold what it should", folder.display()));
    }
    step.gives(Some(there), "installed")
}
