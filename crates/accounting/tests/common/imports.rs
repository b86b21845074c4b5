//! Which file of a folder of sources uses which. Edges are `use` lines outside tests; an item that a `mod.rs` only passes on counts for the file that it
//! comes from.

#![allow(dead_code, reason = "each test uses a part")]
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// A module's path below the crate.
pub type Module = Vec<String>;

/// Each module's text without comments and tests.
pub fn read(folder: &Path, at: &Module, into: &mut BTreeMap<Module, String>) {
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
pub fn paths(tree: &str) -> Vec<Vec<String>> {
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
pub fn uses(text: &str) -> (Vec<Vec<String>>, Vec<Vec<String>>) {
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
pub fn resolve(
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

/// Each module of a folder of sources, and what of the same folder it uses.
pub fn edges_of(sources: &Path) -> BTreeMap<Module, BTreeSet<Module>> {
    let mut modules = BTreeMap::new();
    read(sources, &Vec::new(), &mut modules);
    let all: BTreeMap<Module, _> = modules.iter().map(|(module, text)| (module.clone(), uses(text))).collect();
    let passed_on = all.iter().map(|(module, (_, passed_on))| (module.clone(), passed_on.clone())).collect();
    let used = |(module, (own, _)): (&Module, &(Vec<Vec<String>>, _))| {
        let used = own.iter().filter_map(|path| resolve(module, path, &modules, &passed_on));
        (module.clone(), used.filter(|other| other != module).collect())
    };
    all.iter().map(used).collect()
}

/// The modules that use one another, round a circle, or are used by none but those.
pub fn circles(mut edges: BTreeMap<Module, BTreeSet<Module>>) -> BTreeMap<Module, BTreeSet<Module>> {
    // Whatever uses nothing that is left is taken away, and whatever nothing that is left uses; what stays goes round.
    loop {
        let is_used = |module: &Module| edges.values().any(|used| used.contains(module));
        let end =
            edges.iter().find(|(module, used)| used.is_empty() || !is_used(module)).map(|(module, _)| module.clone());
        let Some(module) = end else { return edges };
        edges.remove(&module);
        edges.values_mut().for_each(|used| {
            used.remove(&module);
        });
    }
}
