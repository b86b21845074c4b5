//! No file of the crate uses a file that uses it, however far round: what is read first can be read alone.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
use std::{collections::BTreeSet, path::Path};

#[path = "common/imports.rs"]
mod imports;

use imports::{circles, edges_of, paths};

#[test]
fn imports_have_no_circle() {
    let edges = edges_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(edges.values().map(BTreeSet::len).sum::<usize>() > 100, "edges are found: {edges:?}");
    let circles = circles(edges);
    assert!(circles.is_empty(), "these files use one another, round a circle: {circles:#?}");
}

#[test]
fn a_tree_of_imports_is_taken_apart() {
    let joined = |tree: &str| paths(tree).iter().map(|path| path.join("::")).collect::<Vec<_>>();
    assert_eq!(joined("super::{a::{self, B}, c, }"), ["super::a::self", "super::a::B", "super::c"]);
    assert_eq!(joined("crate::d::E as F"), ["crate::d::E"]);
}
