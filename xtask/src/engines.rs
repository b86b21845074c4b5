//! Browsers beside Chromium, for the tests of what every engine must do: Firefox, and WebKitGTK by its driver, on a screen that nobody sees.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    debian,
    error::{Error, Result},
    project::{Project, first_line, which},
    screen::Screen,
};

/// Those that are here.
#[derive(Debug, Default)]
pub struct Engines {
    firefox: Option<PathBuf>,
    webkit: Option<WebKit>,
}

/// It has no mode without a screen.
#[derive(Debug)]
struct WebKit {
    driver: PathBuf,
    xvfb: PathBuf,
}

/// `FIREFOX` and `WEBKIT_DRIVER`, those on PATH, Debian's packages; for one that cannot be had a loud word, and its tests are skipped.
pub fn ensure(project: &Project, screen: &Screen) -> Result<Engines> {
    let step = screen.step("Firefox and WebKit");
    let named = |key: &str| std::env::var_os(key).filter(|v| !v.is_empty()).map(PathBuf::from);
    let found = Engines::find(named, which)?;
    let packages = found.packages();
    if packages.is_empty() {
        step.done("");
        return Ok(found);
    }
    step.done("not all here yet");
    let why = match debian::install(project, screen, &packages, "for the tests in other browsers than Chromium") {
        Ok(()) => "Debian's packages were installed, and do not run".to_owned(),
        Err(error) => error.to_string(),
    };
    let found = Engines::find(named, which)?;
    for engine in found.missing() {
        screen.say(&format!("\n  !!! NO {engine}: its browser tests are SKIPPED. {why}\n"));
    }
    Ok(found)
}

impl Engines {
    /// A browser that somebody named must run; one on PATH that does not is none.
    fn find(named: impl Fn(&str) -> Option<PathBuf>, on_path: impl Fn(&str) -> Option<PathBuf>) -> Result<Self> {
        let wrong = |key: &str, path: &Path| {
            Error::Wrong(format!("{key} names {}, which does not run; unset it or name another", path.display()))
        };
        // On Windows it opens a window instead of saying its version.
        let runs =
            |path: &PathBuf| if cfg!(windows) { path.is_file() } else { first_line(path, "--version").is_some() };
        let firefox = match named("FIREFOX") {
            Some(path) if runs(&path) => Some(path),
            Some(path) => return Err(wrong("FIREFOX", &path)),
            None => {
                let fixed = [
                    "/Applications/Firefox.app/Contents/MacOS/firefox",
                    "C:\\Program Files\\Mozilla Firefox\\firefox.exe",
                ];
                let fixed = fixed.into_iter().map(PathBuf::from).filter(|p| p.is_file());
                ["firefox-esr", "firefox"].into_iter().filter_map(&on_path).chain(fixed).find(runs)
            }
        };
        let driver = match named("WEBKIT_DRIVER") {
            Some(path) if path.is_file() => Some(path),
            Some(path) => return Err(wrong("WEBKIT_DRIVER", &path)),
            None => on_path("WebKitWebDriver"),
        };
        let webkit = driver.zip(on_path("Xvfb")).map(|(driver, xvfb)| WebKit { driver, xvfb });
        Ok(Self { firefox, webkit })
    }

    /// Debian's names of what is missing.
    fn packages(&self) -> Vec<&'static str> {
        let mut packages = Vec::new();
        if self.firefox.is_none() {
            packages.push("firefox-esr");
        }
        if self.webkit.is_none() {
            packages.extend(["webkit2gtk-driver", "xvfb"]);
        }
        packages
    }

    fn missing(&self) -> Vec<&'static str> {
        let (firefox, webkit) = (self.firefox.is_none(), self.webkit.is_none());
        [("FIREFOX", firefox), ("WEBKIT", webkit)]
            .into_iter()
            .filter_map(|(name, missing)| missing.then_some(name))
            .collect()
    }

    /// Names them to Playwright's tests; those that are named none are skipped.
    pub fn tell(&self, command: &mut Command) {
        let path = |path: Option<&PathBuf>| path.cloned().unwrap_or_default();
        command
            .env("FIREFOX", path(self.firefox.as_ref()))
            .env("WEBKIT_DRIVER", path(self.webkit.as_ref().map(|webkit| &webkit.driver)))
            .env("XVFB", path(self.webkit.as_ref().map(|webkit| &webkit.xvfb)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nowhere(_: &str) -> Option<PathBuf> {
        None
    }

    #[test]
    fn what_is_missing_is_installed_in_one_go_and_named() {
        let none = Engines { firefox: None, webkit: None };
        assert_eq!(none.packages(), ["firefox-esr", "webkit2gtk-driver", "xvfb"]);
        assert_eq!(none.missing(), ["FIREFOX", "WEBKIT"]);
        let firefox = Engines { firefox: Some("firefox".into()), webkit: None };
        assert_eq!((firefox.packages(), firefox.missing()), (vec!["webkit2gtk-driver", "xvfb"], vec!["WEBKIT"]));
    }

    #[test]
    fn a_browser_that_somebody_named_must_run() {
        for wrong in ["FIREFOX", "WEBKIT_DRIVER"] {
            let named = |key: &str| (key == wrong).then(|| PathBuf::from("/no/such/browser"));
            assert!(Engines::find(named, nowhere).unwrap_err().to_string().contains(wrong));
        }
    }

    /// This test's program stands for both.
    #[test]
    fn webkit_needs_a_screen() {
        let this = std::env::current_exe().unwrap();
        let named = |key: &str| (key == "WEBKIT_DRIVER").then(|| this.clone());
        let without = Engines::find(named, nowhere).unwrap();
        assert_eq!(
            without.missing(),
            Vec::from(["FIREFOX", "WEBKIT"]).split_off(usize::from(without.firefox.is_some()))
        );
        let with = Engines::find(named, |program| (program == "Xvfb").then(|| this.clone())).unwrap();
        assert!(with.webkit.is_some());
        let mut command = Command::new("test");
        with.tell(&mut command);
        let value = |key: &str| {
            command.get_envs().find(|(name, _)| *name == key).and_then(|(_, value)| value).map(PathBuf::from)
        };
        assert_eq!((value("WEBKIT_DRIVER"), value("XVFB")), (Some(this.clone()), Some(this.clone())));
    }
}
