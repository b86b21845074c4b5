//! Python environments: for benches of Python libraries, and for tests of examples and packages.

use crate::prelude::*;

/// Packages that build and test `examples/embed` and `packages/python`.
const DOCUMENTS: [(&str, &str); 7] = [
    ("mkdocs", "1.6.1"),
    ("nbconvert", "7.17.2"),
    ("ipykernel", "7.4.0"),
    ("anywidget", "0.11.0"),
    ("pytest", "9.2.0"),
    ("build", "1.6.1"),
    ("hatchling", "1.33.0"),
];

/// Returns a Python with these packages; each combination has a folder in the cache's `kind`.
pub fn with(project: &Project, step: &Step<'_>, kind: &str, packages: &[(&str, &str)]) -> Result<PathBuf> {
    let name: Vec<String> = packages.iter().map(|(package, version)| format!("{package}-{version}")).collect();
    let folder = project.cache.join(kind).join(name.join("-"));
    let python = |folder: &Path| folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if python(&folder).is_file() {
        return Ok(python(&folder));
    }
    let outer = which("python3").or_else(|| which("python")).ok_or_else(|| {
        let why = "no python3 on PATH, and what is wanted is a Python library";
        Error::missing("Python 3", why, "Install it with its venv module (python.org).")
    })?;
    project.install(&folder, |into| {
        step.run(project.command(outer, "-m venv").arg(into))?;
        let mut pip = project.command(python(into), "-m pip install --no-cache-dir --disable-pip-version-check");
        step.run(pip.args(packages.iter().map(|(package, version)| format!("{package}=={version}")))).map(drop)
    })?;
    Ok(python(&folder))
}

/// Returns the Python named by `HUSHGRAD_PYTHON`, else one in the cache.
pub fn documents(project: &Project) -> Result<PathBuf> {
    let step = project.step("MkDocs, nbconvert, anywidget");
    let runs = |python: &Path| first_line(python, "--version").is_some();
    if let Some(python) = asked("HUSHGRAD_PYTHON", named("HUSHGRAD_PYTHON"), runs)? {
        return step.gives(python, "named by HUSHGRAD_PYTHON");
    }
    let python = with(project, &step, "pythons", &DOCUMENTS)?;
    step.gives(python, "installed")
}
