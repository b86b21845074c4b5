//! What the browser tests need: Chromium, Playwright, and a Vulkan adapter for the native ones.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    debian,
    error::{At, Error, Result},
    project::{Project, first_line, remove, which},
    screen::Screen,
};

const MODULES: &str = "node_modules";
/// In `node_modules`: the lock file that they were installed from.
const STAMP: &str = ".hushgrad-lock";

/// A Chromium that runs: `CHROMIUM`, one on PATH, Playwright's own, Debian's package, Playwright's download.
pub fn chromium(project: &Project, screen: &Screen) -> Result<PathBuf> {
    let step = screen.step("Chromium");
    if let Some(named) = std::env::var_os("CHROMIUM").filter(|v| !v.is_empty()).map(PathBuf::from) {
        let version = first_line(&named, "--version").ok_or_else(|| {
            Error::Wrong(format!("CHROMIUM names {}, which does not run; unset it or name another", named.display()))
        })?;
        step.done(&version);
        return Ok(named);
    }
    if let Some((path, version)) = find_chromium(project) {
        step.done(&version);
        return Ok(path);
    }
    step.done("none here yet");
    let mut why = "no Chromium is installed".to_owned();
    let installed =
        debian::may_install().then(|| debian::install(project, screen, &["chromium"], "for the browser tests"));
    if let Some(Err(error)) = &installed {
        why = error.to_string();
    }
    if !matches!(installed, Some(Ok(()))) {
        let step = screen.step("Playwright's Chromium");
        let mut command = project.command(which("npx").unwrap_or_else(|| "npx".into()));
        command.current_dir(tests(project)).env("PLAYWRIGHT_BROWSERS_PATH", browsers(project));
        let said = step.ask(command.args(["playwright", "install", "chromium"]))?;
        if said.ok {
            step.done("");
        } else {
            why = format!("{why}, and Playwright could not download its own{}", said.tail());
            step.failed("");
        }
    }
    find_chromium(project).map(|(path, _)| path).ok_or_else(|| Error::Missing {
        what: "Chromium".into(),
        why,
        how: "Install Chromium or Chrome, or name one in CHROMIUM.".into(),
    })
}

fn find_chromium(project: &Project) -> Option<(PathBuf, String)> {
    let named = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"].into_iter().filter_map(which);
    let fixed = [
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
        "/Applications/Chromium.app/Contents/MacOS/Chromium",
        "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
    ];
    let fixed = fixed.into_iter().map(PathBuf::from).filter(|p| p.is_file());
    named.chain(fixed).chain(playwrights(project)).find_map(|path| {
        // On Windows it opens a window instead of saying its version.
        let version = if cfg!(windows) { Some(path.display().to_string()) } else { first_line(&path, "--version") };
        Some((path, version?))
    })
}

/// Browsers that Playwright downloaded: `chromium-1234/chrome-linux64/chrome` and the like.
fn playwrights(project: &Project) -> Vec<PathBuf> {
    let names = ["chrome", "chrome.exe", "Chromium", "Google Chrome for Testing"];
    let in_folder = |folder: &Path| crate::site::files(folder).unwrap_or_default();
    let found = in_folder(&browsers(project)).into_iter();
    found.filter(|p| p.file_name().is_some_and(|n| names.iter().any(|name| n == *name))).collect()
}

fn browsers(project: &Project) -> PathBuf {
    project.tools().join("browsers")
}

/// The folder of the browser tests.
pub fn tests(project: &Project) -> PathBuf {
    project.root.join("tests").join("browser")
}

/// Playwright on a site, in the folder of the browser tests.
pub fn playwright_test(project: &Project, chromium: &Path, site: &Path) -> Command {
    let mut command = project.command(which("npx").unwrap_or_else(|| "npx".into()));
    command
        .current_dir(tests(project))
        .args(["playwright", "test"])
        .env("CHROMIUM", chromium)
        .env("HUSHGRAD_SITE", site)
        .env("NO_COLOR", "1")
        .env_remove("FORCE_COLOR");
    command
}

/// Playwright and what else `tests/browser/package-lock.json` names.
pub fn playwright(project: &Project, screen: &Screen) -> Result<()> {
    let step = screen.step("Playwright");
    let folder = tests(project);
    let lock = folder.join("package-lock.json");
    let wanted = std::fs::read(&lock).at("read", &lock)?;
    // `npm ci` by hand leaves none.
    let modules = folder.join(MODULES);
    if std::fs::read(modules.join(STAMP)).is_ok_and(|there| there == wanted) {
        step.done("installed before");
        return Ok(());
    }
    let npm = which("npm").ok_or_else(|| Error::Missing {
        what: "npm".into(),
        why: "the browser tests run on Node.js".into(),
        how: "Install Node.js 20 or later (nodejs.org, or on Debian the packages nodejs and npm).".into(),
    })?;
    project.install(&modules, |into| {
        for file in ["package.json", "package-lock.json"] {
            std::fs::copy(folder.join(file), into.join(file)).at("copy", &folder.join(file))?;
        }
        let mut command = project.command(npm);
        command.current_dir(into).env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1");
        step.run(command.args(["ci", "--no-audit", "--no-fund"]))?;
        become_modules(into)?;
        std::fs::write(into.join(STAMP), wanted).at("write", into)
    })?;
    step.done("installed");
    Ok(())
}

/// A folder that npm installed into becomes the `node_modules` that it holds. Links between packages are relative, and stay right.
fn become_modules(folder: &Path) -> Result<()> {
    for file in ["package.json", "package-lock.json"] {
        remove(&folder.join(file))?;
    }
    let inner = folder.join(MODULES);
    for entry in std::fs::read_dir(&inner).at("list", &inner)? {
        let entry = entry.at("list", &inner)?;
        std::fs::rename(entry.path(), folder.join(entry.file_name())).at("move", &entry.path())?;
    }
    remove(&inner)
}

/// Whether the native tests have an adapter to run their kernels on.
pub enum Adapter {
    Here,
    /// There is none, and none could be had, or somebody said to do without.
    None(String),
}

/// A Vulkan driver on Linux; Windows and macOS bring their own. Debian's software adapter will do.
pub fn adapter(project: &Project, screen: &Screen) -> Result<Adapter> {
    let step = screen.step("GPU adapter for the native tests");
    if std::env::var_os("HUSHGRAD_NO_GPU").is_some_and(|v| v == "1") {
        step.done("HUSHGRAD_NO_GPU is set");
        return Ok(Adapter::None("HUSHGRAD_NO_GPU is set".into()));
    }
    if !cfg!(target_os = "linux") || has_vulkan() {
        step.done(if cfg!(target_os = "linux") { "Vulkan" } else { "the system's" });
        return Ok(Adapter::Here);
    }
    step.done("none here yet");
    match debian::install(
        project,
        screen,
        &["mesa-vulkan-drivers", "libvulkan1"],
        "a software GPU for the native tests",
    ) {
        Ok(()) if has_vulkan() => Ok(Adapter::Here),
        Ok(()) => Ok(Adapter::None("Mesa's Vulkan drivers were installed and name no adapter".into())),
        Err(error) => Ok(Adapter::None(error.to_string())),
    }
}

/// A driver's manifest in one of the places where the Vulkan loader looks.
fn has_vulkan() -> bool {
    let named = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"].iter().any(|key| std::env::var_os(key).is_some());
    let folders = ["/usr/share/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/etc/vulkan/icd.d"];
    let drivers = folders.iter().filter_map(|f| std::fs::read_dir(f).ok()).flatten().flatten();
    named || drivers.into_iter().any(|f| f.path().extension().is_some_and(|e| e == "json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_npm_installed_becomes_the_modules_themselves() {
        let folder = std::env::temp_dir().join(format!("hushgrad-modules-{}", std::process::id()));
        let package = folder.join(MODULES).join("@scope").join("package");
        std::fs::create_dir_all(&package).unwrap();
        std::fs::create_dir_all(folder.join(MODULES).join(".bin")).unwrap();
        for file in [folder.join("package.json"), folder.join("package-lock.json"), package.join("index.js")] {
            std::fs::write(file, "x").unwrap();
        }
        become_modules(&folder).unwrap();
        let mut names: Vec<_> = std::fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, [".bin", "@scope"]);
        assert!(folder.join("@scope").join("package").join("index.js").is_file());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
