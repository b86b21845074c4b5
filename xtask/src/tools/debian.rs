//! System packages, installed only on Debian derivatives as root, and named beforehand.

use crate::prelude::*;

/// True if packages may be installed here.
pub fn may_install() -> bool {
    let root = || Command::new("id").arg("-u").output().is_ok_and(|out| out.stdout.trim_ascii() == b"0");
    Path::new("/etc/debian_version").is_file() && which("apt-get").is_some() && root()
}

pub fn is_installed(package: &str) -> bool {
    let out = Command::new("dpkg-query").args(["-W", "-f", "${Status}", package]).output();
    out.is_ok_and(|out| out.stdout.ends_with(b"ok installed"))
}

/// Installs missing `packages`, after stating which and why.
pub fn install(project: &Project, packages: &[&str], why: &str) -> Result<()> {
    let missing: Vec<&str> = packages.iter().copied().filter(|p| !is_installed(p)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing.join(" ");
    if !may_install() {
        let how = format!("As root: apt-get install --no-install-recommends {names}");
        let why = format!("{why}, and system packages are installed only on Debian as root");
        return Err(Error::missing(names, why, how));
    }
    project.say(&format!("  Debian packages to install, {why}: {names}"));
    let step = project.step(&format!("apt-get install {names}"));
    for words in ["update", &format!("install -y --no-install-recommends {names}")] {
        let mut apt = project.command("apt-get", &format!("-q -o Acquire::Retries=2 {words}"));
        step.run(apt.env("DEBIAN_FRONTEND", "noninteractive"))?;
    }
    step.gives((), "")
}
