//! `cargo xtask deny`: licences, sources, duplicate bans and known vulnerabilities, by cargo-deny.
//!
//! Apart from `test`, because cargo-deny takes minutes to build and its list of vulnerabilities comes from the network.

use crate::{error::Result, project::Project, screen::Screen, tools};

const VERSION: &str = "0.20.2";

pub fn run(project: &mut Project, screen: &Screen) -> Result<()> {
    project.claim(screen)?;
    let program = tools::cargo_tool(project, screen, "cargo-deny", "cargo-deny", VERSION)?;
    project.release();
    for what in ["licenses", "bans", "sources", "advisories"] {
        let step = screen.step(&format!("cargo-deny {what}"));
        step.run(project.command(&program).args(["--color", "never", "check", what]))?;
        step.done("");
    }
    Ok(())
}
