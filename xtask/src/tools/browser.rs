//! Requirements of the tests: Chromium, Playwright, and a Vulkan adapter for the native tests.

use super::{debian, npm};
use crate::prelude::*;

/// Name of the Debian package and of its program.
const SHELL: &str = "chromium-headless-shell";
const MODULES: &str = "node_modules";
/// In `node_modules`: the lock file it was installed from.
const STAMP: &str = ".hushgrad-lock";

/// Two builds of Chromium, which may be the same.
pub struct Chromium {
    /// The full browser, as visitors use it.
    pub full: PathBuf,
    /// The headless shell, which opens a page in a tenth of the time.
    pub shell: PathBuf,
}

/// Finds Chromium: `CHROMIUM`, on PATH, Playwright's, Debian's package, Playwright's download.
/// Headless shell: `CHROMIUM_SHELL`, on PATH, Debian's package, else the full browser.
pub fn chromium(project: &Project) -> Result<Chromium> {
    let step = project.step("Chromium");
    let version = |path: &Path| first_line(path, "--version");
    let programs = |variable: &str, find: &dyn Fn() -> Option<(PathBuf, String)>| {
        let named = asked(variable, named(variable), |path| version(path).is_some())?;
        Ok::<_, Error>(named.and_then(|path| version(&path).map(|version| (path, version))).or_else(find))
    };
    let find_shell = || which(SHELL).and_then(|path| version(&path).map(|version| (path, version)));
    let both = || -> Result<_> {
        Ok((programs("CHROMIUM", &|| find_chromium(project))?, programs("CHROMIUM_SHELL", &find_shell)?))
    };
    let (mut full, mut shell) = both()?;
    let mut why = "no Chromium is installed".to_owned();
    // If the user names a browser, no other is installed.
    let wanted: Vec<&str> = [("chromium", full.is_none()), (SHELL, shell.is_none() && named("CHROMIUM").is_none())]
        .into_iter()
        .filter_map(|(package, missing)| missing.then_some(package))
        .collect();
    if !wanted.is_empty() && debian::may_install() {
        for package in wanted {
            // Debian may have only one of them.
            if let Err(error) = debian::install(project, &[package], "for the browser tests") {
                project.say(&format!("  {error}"));
                why = error.to_string();
            }
        }
        (full, shell) = both()?;
    }
    if full.is_none() {
        let step = project.step("Playwright's Chromium");
        let said =
            step.ask(playwrights(project, "install chromium").env("PLAYWRIGHT_BROWSERS_PATH", browsers(project)))?;
        if said.ok {
            step.done("");
        } else {
            why = format!("{why}, and Playwright could not download its own{}", said.tail());
            step.failed("");
        }
        full = find_chromium(project);
    }
    let how = "Install Chromium or Chrome, or name one in CHROMIUM.";
    let (full, version) = full.ok_or_else(|| Error::missing("Chromium", why, how))?;
    let (shell, kind) = shell.map_or_else(|| (full.clone(), "no headless shell"), |(path, _)| (path, "headless shell"));
    step.gives(Chromium { full, shell }, &format!("{version}, {kind}"))
}

/// On PATH, in usual places, or from Playwright (such as `chromium-1234/chrome-linux64/chrome`).
fn find_chromium(project: &Project) -> Option<(PathBuf, String)> {
    let on_path =
        ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"].into_iter().filter_map(which);
    let fixed = [
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
        "/Applications/Chromium.app/Contents/MacOS/Chromium",
        "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
    ];
    let fixed = fixed.into_iter().map(PathBuf::from).filter(|p| p.is_file());
    let names = ["chrome", "chrome.exe", "Chromium", "Google Chrome for Testing"];
    let downloaded = files(&browsers(project)).unwrap_or_default().into_iter();
    let downloaded = downloaded.filter(|p| p.file_name().is_some_and(|n| names.iter().any(|name| n == *name)));
    on_path.chain(fixed).chain(downloaded).find_map(|path| {
        // On Windows it opens a window instead of printing its version.
        let version = if cfg!(windows) { Some(path.display().to_string()) } else { first_line(&path, "--version") };
        Some((path, version?))
    })
}

fn browsers(project: &Project) -> PathBuf {
    project.tools().join("browsers")
}

/// Returns the folder of the browser tests.
fn tests(project: &Project) -> PathBuf {
    project.root.join("tests").join("browser")
}

fn playwrights(project: &Project, words: &str) -> Command {
    let npx = which("npx").unwrap_or_else(|| "npx".into());
    let mut command = project.command(npx, &format!("playwright {words}"));
    command.current_dir(tests(project));
    command
}

/// Returns Playwright's command for a site, in the folder of the browser tests.
pub fn playwright_test(project: &Project, chromium: &Chromium, site: &Path, words: &str) -> Command {
    let mut command = playwrights(project, &format!("test {words}"));
    command.env("CHROMIUM", &chromium.full).env("CHROMIUM_SHELL", &chromium.shell).env("HUSHGRAD_SITE", site);
    command.env("NO_COLOR", "1").env_remove("FORCE_COLOR");
    command
}

/// Installs Playwright and everything else in `tests/browser/package-lock.json`.
pub fn playwright(project: &Project) -> Result<()> {
    let step = project.step("Playwright");
    let folder = tests(project);
    let wanted = fs::read(folder.join("package-lock.json"))?;
    // A manual `npm ci` leaves no stamp.
    let modules = folder.join(MODULES);
    if fs::read(modules.join(STAMP)).is_ok_and(|there| there == wanted) {
        return step.gives((), "installed before");
    }
    let npm = npm::npm("the browser tests run on Node.js")?;
    project.install(&modules, |into| {
        npm::ci(project, &step, &npm, "", &folder, into)?;
        become_modules(into)?;
        Ok(fs::write(into.join(STAMP), wanted)?)
    })?;
    step.gives((), "installed")
}

/// Replaces an installation's folder by the `node_modules` in it. Relative links stay valid.
fn become_modules(folder: &Path) -> Result<()> {
    for file in ["package.json", "package-lock.json"] {
        remove(&folder.join(file))?;
    }
    let inner = folder.join(MODULES);
    for entry in fs::read_dir(&inner)? {
        let entry = entry?;
        fs::rename(entry.path(), folder.join(entry.file_name()))?;
    }
    remove(&inner)
}

/// Returns why the native tests have no adapter: none exists or can be installed, or the user opted
/// out. Linux needs a Vulkan driver (Debian's software one will do); Windows and macOS have one.
pub fn no_adapter(project: &Project) -> Option<String> {
    let step = project.step("GPU adapter for the native tests");
    if std::env::var_os("HUSHGRAD_NO_GPU").is_some_and(|v| v == "1") {
        step.done("HUSHGRAD_NO_GPU is set");
        return Some("HUSHGRAD_NO_GPU is set".into());
    }
    if !cfg!(target_os = "linux") || has_vulkan() {
        step.done(if cfg!(target_os = "linux") { "Vulkan" } else { "the system's" });
        return None;
    }
    step.done("none here yet");
    let packages = ["mesa-vulkan-drivers", "libvulkan1"];
    match debian::install(project, &packages, "a software GPU for the native tests") {
        Ok(()) if has_vulkan() => None,
        Ok(()) => Some("Mesa's Vulkan drivers were installed and name no adapter".into()),
        Err(error) => Some(error.to_string()),
    }
}

/// Finds a driver's manifest where the Vulkan loader looks.
fn has_vulkan() -> bool {
    let folders = ["/usr/share/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/etc/vulkan/icd.d"];
    let mut drivers = folders.iter().filter_map(|f| fs::read_dir(f).ok()).flatten().flatten();
    ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"].iter().any(|key| std::env::var_os(key).is_some())
        || drivers.any(|f| f.path().extension().is_some_and(|e| e == "json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installed_folder_becomes_node_modules() {
        let folder = tempfile::tempdir().unwrap();
        let package = folder.path().join(MODULES).join("@scope").join("package");
        fs::create_dir_all(&package).unwrap();
        fs::create_dir_all(folder.path().join(MODULES).join(".bin")).unwrap();
        for file in
            [&folder.path().join("package.json"), &folder.path().join("package-lock.json"), &package.join("index.js")]
        {
            fs::write(file, "x").unwrap();
        }
        become_modules(folder.path()).unwrap();
        let entries = fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        assert_eq!(names, [".bin", "@scope"]);
        assert!(folder.path().join("@scope").join("package").join("index.js").is_file());
    }
}
