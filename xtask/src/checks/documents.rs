//! Checks that links in documents lead to existing files.

use std::path::{Path, PathBuf};

/// Yields a Markdown text's links and pictures within the checkout, without anchors.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    let all = text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
    all.filter(|target| !target.contains("://")).map(|target| target.split('#').next().unwrap_or(target))
}

fn documents(root: &Path) -> Vec<PathBuf> {
    let docs = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let docs = docs.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let at_root = ["README.md", "BENCHMARKS.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"];
    let of_crate = ["crates", "accounting", "README.md"].iter().collect::<PathBuf>();
    let packages = ["element", "accountant", "python"].map(|name| root.join("packages").join(name).join("README.md"));
    docs.chain(at_root.map(|name| root.join(name))).chain([root.join(of_crate)]).chain(packages).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn targets_are_found_with_and_without_anchors() {
    let text = "![a](b.png) and [c](docs/d.md#e), [f](https://g.h), [i](#j)";
    assert_eq!(targets(text).collect::<Vec<_>>(), ["b.png", "docs/d.md", ""]);
}

#[test]
fn links_and_pictures_lead_somewhere() {
    let mut absent = Vec::new();
    for document in documents(&root()) {
        let text = std::fs::read_to_string(&document).unwrap();
        let folder = document.parent().unwrap_or(&document);
        absent.extend(targets(&text).map(|target| folder.join(target)).filter(|path| !path.exists()));
    }
    assert!(absent.is_empty(), "not there: {absent:?}; pictures are taken by `cargo xtask pictures`");
}

#[test]
fn the_map_of_modules_has_every_module() {
    let map = std::fs::read_to_string(root().join("docs").join("architecture.md")).unwrap();
    let library = std::fs::read_to_string(root().join("src").join("lib.rs")).unwrap();
    let rows = library.lines().filter_map(|line| line.strip_prefix("//! | [`")?.split_once("`] |"));
    let modules: Vec<&str> = rows.map(|(module, _)| module).collect();
    assert_eq!(modules.len(), 11);
    for module in modules {
        assert!(map.contains(&format!("\n| `{module}` |")), "the map has no row for `{module}`");
    }
}

/// The README's minutes are those of `cargo xtask bench build`, from ten on rounded up to fives.
#[test]
fn the_readmes_minutes_were_measured() {
    let read = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    let (readme, table) = (read("README.md"), read("BENCHMARKS.md"));
    for (row, says) in [
        ("`cargo xtask serve`,", "about {} minutes on two cores"),
        ("`cargo xtask test`,", "about {} minutes the first time"),
    ] {
        let line = table.lines().find_map(|line| line.strip_prefix("| ")?.strip_prefix(row)).unwrap();
        let (minutes, seconds) =
            line.split('|').nth(1).unwrap().trim().trim_end_matches(" min").split_once(':').unwrap();
        let up = minutes.parse::<u32>().unwrap() + u32::from(seconds != "00");
        let up = if up < 10 { up } else { up.next_multiple_of(5) };
        let says = says.replace("{}", &up.to_string());
        assert!(readme.contains(&says), "{row} {says}");
    }
}
