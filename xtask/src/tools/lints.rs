//! Clippy and rustdoc in the compiler's place.
//!
//! `cargo clippy` and `cargo doc` look through every dependency once more than a build does. Here cargo builds the tests, and
//! calls this program instead of the compiler for the workspace's own packages: it calls clippy, which compiles as well, and
//! then rustdoc, with the same arguments. Dependencies are compiled once for all three.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use crate::{error::Result, project::Project};

/// Names clippy's driver to this program where it stands in the compiler's place.
const DRIVER: &str = "HUSHGRAD_CLIPPY_DRIVER";

/// Makes cargo lint and document what it builds; warnings are errors.
pub fn build_with_lints(project: &Project, command: &mut Command) -> Result<()> {
    command.env("RUSTC_WORKSPACE_WRAPPER", &project.program).env(DRIVER, clippy_driver(project)?);
    deny_warnings(command);
    Ok(())
}

/// The default toolchain's.
pub fn clippy_driver(project: &Project) -> Result<PathBuf> {
    let sysroot = project.printed_by_rustc("sysroot")?;
    Ok(Path::new(&sysroot).join("bin").join(format!("clippy-driver{}", std::env::consts::EXE_SUFFIX)))
}

/// As `cargo clippy -- -D warnings` hands it on.
pub fn deny_warnings(command: &mut Command) {
    command.env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
}

/// Where cargo has called this program as a compiler: does what is asked.
pub fn stand_in() -> Option<ExitCode> {
    let driver = PathBuf::from(std::env::var_os(DRIVER)?);
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let (rustc, arguments) = arguments.split_first()?;
    if Path::new(rustc).file_stem()? != "rustc" {
        return None;
    }
    let run = |command: &mut Command| match command.status() {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("error: {}: {error}", command.get_program().display());
            false
        }
    };
    let mut fine = run(Command::new(&driver).arg(rustc).args(arguments));
    if let (true, Some(documented)) = (fine, to_document(arguments)) {
        fine = run(Command::new(driver.with_file_name("rustdoc")).args(documented));
    }
    Some(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What rustdoc takes of the compiler's arguments; `None` where nothing is to be documented.
fn to_document(arguments: &[OsString]) -> Option<Vec<OsString>> {
    let after = |name: &str| arguments.iter().skip_while(|word| *word != name).nth(1).map(OsString::as_os_str);
    // The programs say `doc = false`.
    if after("--crate-type") != Some(OsStr::new("lib")) || arguments.iter().any(|word| word == "--test") {
        return None;
    }
    let mut taken: Vec<OsString> =
        ["-D", "warnings", "--error-format=json", "--json=diagnostic-rendered-ansi"].map(OsString::from).into();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.to_str()? {
            "--crate-name" | "--crate-type" | "--cfg" | "--check-cfg" | "--extern" | "-L" => {
                taken.extend([word.clone(), words.next()?.clone()]);
            }
            "--out-dir" => {
                let folder = Path::new(words.next()?).parent()?.join("documentation");
                taken.extend(["--out-dir".into(), folder.into_os_string()]);
            }
            // Each with a value that is not for rustdoc.
            "-C" | "--target" | "--cap-lints" => drop(words.next()),
            text if text.starts_with("--edition") || text.ends_with(".rs") => taken.push(word.clone()),
            _ => {}
        }
    }
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rustdoc_gets_what_it_takes() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        let compiler = "--crate-name hushgrad --edition=2024 src/lib.rs --error-format=json --crate-type lib --emit=dep-info,link \
                        -C opt-level=2 --warn=clippy::unwrap_used --cfg feature=\"gpu\" --out-dir /t/debug/deps -L dependency=/t --extern a=/t/a.rlib";
        assert_eq!(
            to_document(&words(compiler)).unwrap(),
            words(
                "-D warnings --error-format=json --json=diagnostic-rendered-ansi --crate-name hushgrad --edition=2024 src/lib.rs \
                   --crate-type lib --cfg feature=\"gpu\" --out-dir /t/debug/documentation -L dependency=/t --extern a=/t/a.rlib"
            )
        );
        assert_eq!(to_document(&words(&format!("{compiler} --test"))), None);
        assert_eq!(to_document(&words("--crate-name app --crate-type bin src/bin/app.rs")), None);
        assert_eq!(to_document(&words("-vV")), None);
    }
}
