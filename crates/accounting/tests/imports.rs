//! No file of the crate uses a file that uses it, however far round: what is read first can be read alone.
//!
//! Edges are `use` lines outside tests. An item that a `mod.rs` only passes on counts for the file that it comes from.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// A module's path below the crate.
type Module = Vec<String>;

/// Each module's text without comments and tests.
fn read(folder: &Path, at: &Module, into: &mut BTreeMap<Module, String>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        let below = |name: &str| at.iter().cloned().chain([name.to_owned()]).collect::<Module>();
        if entry.path().is_dir() {
            read(&entry.path(), &below(&name), into);
        } else if let Some(stem) = name.strip_suffix(".rs").filter(|stem| *stem != "tests") {
            let module = if matches!(stem, "mod" | "lib") { at.clone() } else { below(stem) };
            let text = fs::read_to_string(entry.path()).unwrap();
            let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            let code = |line: &str| line.split("//").next().unwrap_or_default().to_owned();
            into.insert(module, text.lines().map(code).collect::<Vec<_>>().join(" "));
        }
    }
}

/// The paths of a tree `a::{b, c::{d, e}}`.
fn paths(tree: &str) -> Vec<Vec<String>> {
    let tree = tree.trim();
    let Some((start, rest)) = tree.split_once('{') else {
        let item = tree.split(" as ").next().unwrap_or_default();
        return vec![item.split("::").map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()];
    };
    let (mut depth, mut part, mut parts) = (0, String::new(), Vec::new());
    for letter in rest.trim_end().strip_suffix('}').unwrap_or(rest).chars() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(std::mem::take(&mut part));
                continue;
            }
            _ => {}
        }
        part.push(letter);
    }
    parts.push(part);
    let parts = parts.iter().filter(|part| !part.trim().is_empty());
    parts.flat_map(|part| paths(&format!("{start}{part}"))).collect()
}

/// What `text` imports, and what it passes on.
fn uses(text: &str) -> (Vec<Vec<String>>, Vec<Vec<String>>) {
    let (mut own, mut passed_on) = (Vec::new(), Vec::new());
    for statement in text.split(';') {
        let Some(place) = statement.rfind("use ").filter(|place| !statement[*place..].contains('"')) else { continue };
        let (before, tree) = statement.split_at(place);
        let is_public = before.trim_end().rsplit(' ').next().is_some_and(|word| word.starts_with("pub"));
        let to = if is_public { &mut passed_on } else { &mut own };
        to.extend(paths(&tree["use ".len()..]));
    }
    (own, passed_on)
}

/// The module in which `path`, as `from` writes it, is defined. `None`: not of this crate.
fn resolve(
    from: &Module,
    path: &[String],
    modules: &BTreeMap<Module, String>,
    passed_on: &BTreeMap<Module, Vec<Vec<String>>>,
) -> Option<Module> {
    let (mut at, mut rest) = match path.first()?.as_str() {
        "crate" => (Vec::new(), &path[1..]),
        "self" => (from.clone(), &path[1..]),
        "super" => (from.clone(), path),
        first if modules.contains_key(&[from.as_slice(), &[first.to_owned()]].concat()) => (from.clone(), path),
        _ => return None,
    };
    while rest.first().is_some_and(|part| part == "super") {
        at.pop();
        rest = &rest[1..];
    }
    while let Some(next) = rest.first().map(|part| [at.as_slice(), std::slice::from_ref(part)].concat()) {
        if !modules.contains_key(&next) {
            break;
        }
        at = next;
        rest = &rest[1..];
    }
    let source = rest.first().and_then(|item| passed_on.get(&at)?.iter().find(|path| path.last() == Some(item)));
    source.and_then(|path| resolve(&at, path, modules, passed_on)).or(Some(at))
}

#[test]
fn imports_have_no_circle() {
    let mut modules = BTreeMap::new();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &Vec::new(), &mut modules);
    let all: BTreeMap<Module, _> = modules.iter().map(|(module, text)| (module.clone(), uses(text))).collect();
    let passed_on = all.iter().map(|(module, (_, passed_on))| (module.clone(), passed_on.clone())).collect();
    let mut edges: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
    for (module, (own, _)) in &all {
        let used = own.iter().filter_map(|path| resolve(module, path, &modules, &passed_on));
        edges.insert(module.clone(), used.filter(|other| other != module).collect());
    }
    assert!(edges.values().map(BTreeSet::len).sum::<usize>() > 100, "edges are found: {edges:?}");
    // Whatever uses nothing that is left is taken away; what stays goes round.
    while let Some(module) = edges.iter().find(|(_, used)| used.is_empty()).map(|(module, _)| module.clone()) {
        edges.remove(&module);
        edges.values_mut().for_each(|used| {
            used.remove(&module);
        });
    }
    assert!(edges.is_empty(), "these files use one another, round a circle: {edges:#?}");
}

#[test]
fn a_tree_of_imports_is_taken_apart() {
    let joined = |tree: &str| paths(tree).iter().map(|path| path.join("::")).collect::<Vec<_>>();
    assert_eq!(joined("super::{a::{self, B}, c, }"), ["super::a::self", "super::a::B", "super::c"]);
    assert_eq!(joined("crate::d::E as F"), ["crate::d::E"]);
}
