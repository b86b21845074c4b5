//! `cargo xtask deny`: checks licences, sources, bans and known vulnerabilities with cargo-deny.
//!
//! Separate from `test`: cargo-deny takes minutes to build, and loads advisories from the network.

use crate::{prelude::*, tools::cargo_tool};

pub fn run(project: &Project) -> Result<()> {
    let claim = project.claim()?;
    let program = cargo_tool::cargo_deny(project)?;
    drop(claim);
    for what in ["licenses", "bans", "sources", "advisories"] {
        let words = format!("--color never check {what}");
        project.run(&format!("cargo-deny {what}"), &mut project.command(&program, &words))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    /// Advisory and crate of each unmaintained dependency in use.
    const KNOWN: [[&str; 2]; 2] = [["RUSTSEC-2025-0141", "bincode"], ["RUSTSEC-2024-0436", "paste"]];

    #[test]
    fn what_nobody_maintains_is_listed_with_a_reason_and_a_way_out_for_as_long_as_it_is_used() {
        let (rules, lock) = (include_str!("../../../deny.toml"), include_str!("../../../Cargo.lock"));
        assert!(rules.contains("unmaintained = \"all\""));
        let listed: Vec<&str> = rules.lines().filter(|line| line.contains("id = \"RUSTSEC-")).collect();
        assert_eq!(listed.len(), KNOWN.len(), "{listed:?}");
        for [id, name] in KNOWN {
            let line = listed.iter().find(|line| line.contains(id)).unwrap();
            assert!(line.contains(name) && line.contains("reason = ") && line.contains("Way out: "), "{line}");
            assert!(lock.contains(&format!("name = \"{name}\"\n")), "{name} is used no more: take {id} off the list");
        }
    }
}
