//! Other browsers for tests: Firefox, and WebKitGTK by its driver on a virtual screen.

use super::debian;
use crate::prelude::*;

/// The browsers that are installed.
#[derive(Debug, Default)]
pub struct Engines {
    firefox: Option<PathBuf>,
    /// WebKit's driver, and Xvfb, because it has no headless mode.
    webkit: Option<(PathBuf, PathBuf)>,
}

/// Finds browsers by `FIREFOX`, `WEBKIT_DRIVER` or PATH, else installs Debian's; warns if missing.
pub fn ensure(project: &Project) -> Result<Engines> {
    let step = project.step("Firefox and WebKit");
    let found = Engines::find(named, which)?;
    let (_, packages) = found.missing();
    if packages.is_empty() {
        return step.gives(found, "");
    }
    step.done("not all here yet");
    let why = match debian::install(project, &packages, "for the tests in other browsers than Chromium") {
        Ok(()) => "Debian's packages were installed, and do not run".to_owned(),
        Err(error) => error.to_string(),
    };
    let found = Engines::find(named, which)?;
    for engine in found.missing().0 {
        project.say(&format!("\n  !!! NO {engine}: its browser tests are SKIPPED. {why}\n"));
    }
    Ok(found)
}

impl Engines {
    /// A browser named by the user must run; one on PATH that does not run is ignored.
    fn find(named: impl Fn(&str) -> Option<PathBuf>, on_path: impl Fn(&str) -> Option<PathBuf>) -> Result<Self> {
        // On Windows it opens a window instead of printing its version.
        let runs = |path: &Path| if cfg!(windows) { path.is_file() } else { first_line(path, "--version").is_some() };
        let fixed =
            ["/Applications/Firefox.app/Contents/MacOS/firefox", "C:\\Program Files\\Mozilla Firefox\\firefox.exe"];
        let fixed = fixed.into_iter().map(PathBuf::from).filter(|p| p.is_file());
        let mut others = ["firefox-esr", "firefox"].into_iter().filter_map(&on_path).chain(fixed);
        let firefox = asked("FIREFOX", named("FIREFOX"), runs)?.or_else(|| others.find(|path| runs(path)));
        let driver =
            asked("WEBKIT_DRIVER", named("WEBKIT_DRIVER"), Path::is_file)?.or_else(|| on_path("WebKitWebDriver"));
        Ok(Self { firefox, webkit: driver.zip(on_path("Xvfb")) })
    }

    /// Names of missing browsers, and their Debian packages.
    fn missing(&self) -> (Vec<&'static str>, Vec<&'static str>) {
        let firefox = self.firefox.is_none().then_some(("FIREFOX", &["firefox-esr"][..]));
        let webkit = self.webkit.is_none().then_some(("WEBKIT", &["webkit2gtk-driver", "xvfb"][..]));
        let (names, packages): (_, Vec<_>) = firefox.into_iter().chain(webkit).unzip();
        (names, packages.concat())
    }

    /// Passes the paths to Playwright's tests; tests of browsers without one are skipped.
    pub fn tell(&self, command: &mut Command) {
        let (driver, xvfb) = self.webkit.clone().unwrap_or_default();
        command.env("FIREFOX", self.firefox.clone().unwrap_or_default()).env("WEBKIT_DRIVER", driver).env("XVFB", xvfb);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nowhere(_: &str) -> Option<PathBuf> {
        None
    }

    #[test]
    fn missing_browsers_are_named_with_their_packages() {
        let packages = vec!["firefox-esr", "webkit2gtk-driver", "xvfb"];
        assert_eq!(Engines::default().missing(), (vec!["FIREFOX", "WEBKIT"], packages.clone()));
        let firefox = Engines { firefox: Some("firefox".into()), webkit: None };
        assert_eq!(firefox.missing(), (vec!["WEBKIT"], packages[1..].to_vec()));
    }

    #[test]
    fn browser_named_by_the_user_must_run() {
        for wrong in ["FIREFOX", "WEBKIT_DRIVER"] {
            let named = |key: &str| (key == wrong).then(|| PathBuf::from("/no/such/browser"));
            assert!(Engines::find(named, nowhere).unwrap_err().to_string().contains(wrong));
        }
    }

    /// Uses this test's program in place of both.
    #[test]
    fn webkit_needs_a_screen() {
        let this = std::env::current_exe().unwrap();
        let named = |key: &str| (key == "WEBKIT_DRIVER").then(|| this.clone());
        let without = Engines::find(named, nowhere).unwrap();
        assert!(without.missing().0.contains(&"WEBKIT"));
        let with = Engines::find(named, |program| (program == "Xvfb").then(|| this.clone())).unwrap();
        assert!(!with.missing().0.contains(&"WEBKIT"));
        let mut command = Command::new("test");
        with.tell(&mut command);
        let value = |key: &str| command.get_envs().find(|(name, _)| *name == key).and_then(|(_, value)| value);
        assert_eq!([value("WEBKIT_DRIVER"), value("XVFB")], [Some(this.as_os_str()); 2]);
    }
}
