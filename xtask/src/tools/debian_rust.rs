//! Debian's compiler for wasm32-unknown-unknown, for machines without access to rustup's server.
//! Debian ships the source of the standard library for browsers. It is built once; the result and
//! links to the compiler's own libraries form a `--sysroot`. Building it writes nothing under /usr
//! or to rustup.

use super::{TARGET, debian};
use crate::prelude::*;

const PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "rust-web-clippy"];
/// Debian's compiler, by path because rustup's comes first on PATH.
const RUSTC: &str = "/usr/bin/rustc";
const CARGO: &str = "/usr/bin/cargo";
pub const CLIPPY: &str = "/usr/bin/clippy-driver";

/// Returns the sysroot, built if missing for this compiler. `why`: why rustup's is not used.
pub fn sysroot(project: &Project, why: String) -> Result<PathBuf> {
    let usable = Path::new(RUSTC).is_file() && PACKAGES.iter().all(|p| debian::is_installed(p));
    if !usable && !debian::may_install() {
        let install = "where rustup's server can be reached, or install as root on Debian";
        let how = format!("Run `rustup target add {TARGET}` {install}: {}", PACKAGES.join(" "));
        return Err(Error::missing(format!("the Rust target {TARGET}"), why, how));
    }
    debian::install(project, &PACKAGES, &format!("for {TARGET}"))?;

    // Changes whenever the standard library must be rebuilt.
    let out = project.command(RUSTC, "-vV").output();
    let out = out.map_err(|source| Error::Start { program: RUSTC.into(), source })?;
    let compiler = String::from_utf8_lossy(&out.stdout);
    let linker = linker(project)?;
    let identity = format!("{compiler}linker: {}\n", linker.display());
    let sysroot = project.cache.join("wasm-sysroot");
    let step = project.step("wasm32 standard library");
    if fs::read_to_string(sysroot.join("stamp")).is_ok_and(|text| text == identity) {
        return step.gives(sysroot, "of Debian's compiler, built before");
    }
    let host = compiler.lines().find_map(|line| line.strip_prefix("host: ")).ok_or_else(|| {
        let line = first_line(Path::new(RUSTC), "--version").unwrap_or_default();
        wrong!("{RUSTC} does not say for which machine it compiles ({line})")
    })?;
    project.install(&sysroot, |folder| {
        build_std(project, &step, host, &linker, folder)?;
        // cargo runs the compiler in `RUSTC`; this wrapper sets its sysroot.
        let wrapper = folder.join("rustc");
        fs::write(&wrapper, format!("#!/bin/sh\nexec {RUSTC} --sysroot '{}' \"$@\"\n", sysroot.display()))?;
        step.run(project.command("chmod", "755").arg(&wrapper))?;
        // Last, as it marks the folder as complete.
        Ok(fs::write(folder.join("stamp"), &identity)?)
    })?;
    // cargo does not notice a rebuilt standard library of the same version.
    remove(&project.target()?.join(TARGET))?;
    step.gives(sysroot, "of Debian's compiler")
}

/// Finds rust-lld, which Debian's compiler lacks; Debian's lld is the same program.
fn linker(project: &Project) -> Result<PathBuf> {
    let libraries = project.printed_by_rustc("target-libdir").map(PathBuf::from);
    let beside = libraries.ok().and_then(|libraries| Some(libraries.parent()?.join("bin").join("rust-lld")));
    beside.filter(|lld| lld.is_file()).or_else(|| which("rust-lld")).or_else(|| which("wasm-ld")).ok_or_else(|| {
        let how = "Install rustup's toolchain, or the package lld.";
        Error::missing("a linker for WebAssembly", "the default Rust toolchain carries no rust-lld", how)
    })
}

/// Makes `folder` a sysroot: links to the compiler's files, and a standard library from source.
fn build_std(project: &Project, step: &Step<'_>, host: &str, linker: &Path, folder: &Path) -> Result<()> {
    let theirs = Path::new("/usr/lib/rustlib");
    let ours = folder.join("lib").join("rustlib");
    let ours_host = ours.join(host);
    fs::create_dir_all(ours_host.join("bin"))?;
    let link = |from: &Path, to: &Path| step.run(project.command("ln", "-s").arg(from).arg(to));
    for entry in fs::read_dir(theirs.join(host))?.flatten().filter(|entry| entry.file_name() != "bin") {
        link(&entry.path(), &ours_host)?;
    }
    link(&theirs.join("src"), &ours)?;
    link(linker, &ours_host.join("bin").join("rust-lld"))?;

    // An empty crate, because cargo builds the standard library only for a crate.
    let empty = folder.join("build");
    fs::create_dir_all(empty.join("src"))?;
    let manifest = "[package]\nname = \"empty\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n";
    fs::write(empty.join("Cargo.toml"), manifest)?;
    fs::write(empty.join("src").join("lib.rs"), "#![no_std]\n")?;
    let mut build = project.command(CARGO, &format!("build --release -Z build-std=std,panic_abort --target {TARGET}"));
    build.current_dir(&empty).env("RUSTC", RUSTC).env("RUSTC_BOOTSTRAP", "1");
    // Without bitcode, later builds with link-time optimisation fail.
    build.env("RUSTFLAGS", "-Cembed-bitcode=yes").env("CARGO_TARGET_DIR", empty.join("target"));
    step.run(&mut build)?;

    let libraries = ours.join(TARGET).join("lib");
    fs::create_dir_all(&libraries)?;
    for entry in fs::read_dir(empty.join("target").join(TARGET).join("release").join("deps"))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".rlib") && !name.starts_with("libempty-") {
            fs::copy(entry.path(), libraries.join(name))?;
        }
    }
    remove(&empty)
}
