//! System packages: only on Debian and its children, only as root, and named before they are installed.

use std::{path::Path, process::Command};

use crate::{
    error::{Error, Result},
    project::{Project, which},
    screen::Screen,
};

/// Whether packages may be installed here at all.
pub fn may_install() -> bool {
    Path::new("/etc/debian_version").is_file() && which("apt-get").is_some() && is_root()
}

fn is_root() -> bool {
    let out = Command::new("id").arg("-u").output();
    out.is_ok_and(|out| out.stdout.trim_ascii() == b"0")
}

pub fn is_installed(package: &str) -> bool {
    let out = Command::new("dpkg-query").args(["-W", "-f", "${Status}", package]).output();
    out.is_ok_and(|out| out.stdout.ends_with(b"ok installed"))
}

/// Installs those of `packages` that are not there; says which, and what for, before it does.
pub fn install(project: &Project, screen: &Screen, packages: &[&str], why: &str) -> Result<()> {
    let missing: Vec<&str> = packages.iter().copied().filter(|p| !is_installed(p)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing.join(" ");
    if !may_install() {
        return Err(Error::Missing {
            what: names.clone(),
            why: format!("{why}, and system packages are installed only on Debian as root"),
            how: format!("As root: apt-get install --no-install-recommends {names}"),
        });
    }
    screen.say(&format!("  Debian packages to install, {why}: {names}"));
    let step = screen.step(&format!("apt-get install {names}"));
    let apt = |arguments: &[&str]| {
        let mut command = project.command("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive").args(["-q", "-o", "Acquire::Retries=2"]).args(arguments);
        command
    };
    step.run(&mut apt(&["update"]))?;
    let mut arguments = vec!["install", "-y", "--no-install-recommends"];
    arguments.extend(&missing);
    step.run(&mut apt(&arguments))?;
    step.done("");
    Ok(())
}
