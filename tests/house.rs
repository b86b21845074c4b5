//! Who may use whom: the arrows between modules, and no circle between the files of a room.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
use std::{collections::BTreeSet, path::Path};

#[path = "../crates/accounting/tests/common/imports.rs"]
mod imports;

use imports::{Module, circles, edges_of};

/// Each may use those before it.
const ROOMS: [&str; 10] = ["rng", "data", "mechanism", "model", "engine", "train", "attack", "plot", "worker", "ui"];

fn edges() -> Vec<(Module, Module)> {
    let edges = edges_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let one = |(module, used): (Module, BTreeSet<Module>)| used.into_iter().map(move |other| (module.clone(), other));
    edges.into_iter().flat_map(one).collect()
}

#[test]
fn no_module_uses_one_above_it() {
    let place = |module: &Module| ROOMS.iter().position(|room| module.first().is_some_and(|first| first == room));
    let mut between = 0;
    for (module, other) in edges() {
        // The programs (`bin`) use the library as anybody does.
        let (Some(from), Some(to)) = (place(&module), place(&other)) else { continue };
        assert!(to <= from, "{} uses {}", module.join("::"), other.join("::"));
        between += usize::from(to < from);
    }
    assert!(between > 200, "{between} edges between modules were found");
}

#[test]
fn files_of_a_room_have_no_circle() {
    let all = edges_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let of_room = |room: &'static str| {
        let within = move |module: &Module| module.first().is_some_and(|first| first == room);
        let own = all.iter().filter(|(module, _)| within(module));
        let own =
            own.map(|(module, used)| (module.clone(), used.iter().filter(|other| within(other)).cloned().collect()));
        circles(own.collect())
    };
    let found: Vec<String> = ROOMS
        .into_iter()
        .flat_map(of_room)
        .flat_map(|(module, used)| {
            used.into_iter().map(move |other| format!("{} → {}", module.join("::"), other.join("::")))
        })
        .collect();
    assert!(found.is_empty(), "these files use one another, round a circle:\n{}", found.join("\n"));
}
