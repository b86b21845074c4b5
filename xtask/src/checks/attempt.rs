//! `cargo xtask try WORD`: builds and runs only the tests that match a word.

use super::{
    count::Count,
    run::{PACKAGES, SetUp},
    suites::{self, Suite},
};
use crate::{prelude::*, site::Kind, tools::browser};

/// Where the matching tests are.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    /// Files of browser tests, matched by name only.
    specs: Vec<String>,
    /// Targets for cargo: `--lib`, `--bin NAME`, `--test NAME`.
    targets: Vec<String>,
}

/// True if all tests pass whose name, module or file contains the word.
///
/// # Errors
/// If no test matches, or set-up or compilation fails.
pub fn run(project: &Project, word: &str) -> Result<bool> {
    let found = Found::of(&project.root, word)?;
    if found == Found::default() {
        return Err(Error::Usage(format!(
            "no test has “{word}” in its name, its module or its file: try a file of tests/browser (stage), or a part of a test's name"
        )));
    }
    project.say("Set-up");
    let _until_the_end = project.claim()?;
    let mut count = Count::default();
    if !found.specs.is_empty() {
        let set_up = SetUp::new(project)?;
        // Browser tests compare the page's ε with this program's; an older build serves as well.
        if !suites::native_tool(project)?.is_file() {
            project.run("the native tool", &mut project.cargo(&format!("build --locked {PACKAGES} --bin hushgrad")))?;
        }
        let (_, site) = set_up.site(Kind::Quick)?;
        count.add(set_up.browser(&site, Suite::Named(&found.specs))?.0);
    }
    if !found.targets.is_empty() {
        let no_adapter = browser::no_adapter(project).is_some();
        let words = format!("{PACKAGES} {} {word}", found.targets.join(" "));
        count.add(suites::native_tests_of(project, &words, no_adapter)?.0);
    }
    println!("\n{count}");
    Ok(count.failed == 0)
}

impl Found {
    fn of(root: &Path, word: &str) -> Result<Self> {
        let mut found = Self::default();
        let browser = root.join("tests").join("browser");
        for entry in fs::read_dir(&browser)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.strip_suffix(".spec.ts").is_some_and(|stem| stem.contains(word)) {
                found.specs.push(name);
            }
        }
        for folder in ["src", "tests", "crates", "xtask"] {
            found.look(root, &root.join(folder), word)?;
        }
        found.specs.sort();
        found.targets.sort();
        found.targets.dedup();
        Ok(found)
    }

    /// Searches the Rust files of a folder.
    fn look(&mut self, root: &Path, folder: &Path, word: &str) -> Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                if !path.ends_with("node_modules") && !path.ends_with("target") {
                    self.look(root, &path, word)?;
                }
                continue;
            }
            if path.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            let within = path.strip_prefix(root).unwrap_or(&path);
            let text = fs::read_to_string(&path)?;
            let tests = text.contains("#[test]") || text.contains("#[cfg(test)]") || within.starts_with("tests");
            let named = within.with_extension("").components().any(|part| part.as_os_str() == word)
                || text.lines().any(|line| {
                    line.trim_start().starts_with("fn ")
                        && line.split('(').next().is_some_and(|name| name.contains(word))
                });
            if tests && named {
                self.targets.push(target(within));
            }
        }
        Ok(())
    }
}

/// Returns the target of a file: `src/bin/NAME…`, `tests/NAME…`, else the library.
fn target(file: &Path) -> String {
    let file = file.with_extension("");
    let parts: Vec<&str> = file.iter().filter_map(|part| part.to_str()).collect();
    match parts[..] {
        ["xtask", ..] => "--bin xtask".to_owned(),
        ["src", "bin", name, ..] => format!("--bin {name}"),
        ["tests", name, ..] | ["crates", _, "tests", name, ..] => format!("--test {name}"),
        _ => "--lib".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_names_files_of_tests() {
        for (file, expected) in [
            ("crates/train/src/audit/tests/gpu_tests.rs", "--lib"),
            ("src/bin/hushgrad/reproduce/figures.rs", "--bin hushgrad"),
            ("tests/agent/books.rs", "--test agent"),
            ("tests/shaders.rs", "--test shaders"),
            ("crates/accounting/src/rdp.rs", "--lib"),
            ("crates/accounting/tests/accounting_range.rs", "--test accounting_range"),
            ("xtask/src/checks/count.rs", "--bin xtask"),
        ] {
            assert_eq!(target(Path::new(file)), expected, "{file}");
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let stage = Found::of(root, "stage").unwrap();
        assert!(stage.specs.contains(&"stage.spec.ts".to_owned()), "{stage:?}");
        let this = Found::of(root, "a_word_names_files_of_tests").unwrap();
        assert_eq!(this, Found { specs: vec![], targets: vec!["--bin xtask".to_owned()] });
        assert_eq!(Found::of(root, "no such word").unwrap(), Found::default());
    }
}
