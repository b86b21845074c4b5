//! `cargo xtask pictures`: the README's pictures, taken of the site in Chromium (`tests/browser/pictures.ts`).

use super::{Kind, build};
use crate::{prelude::*, tools::browser};

pub fn run(project: &Project) -> Result<()> {
    let site = project.target()?.join(Kind::Quick.folder());
    build::with_set_up(project, Kind::Quick, &site, None)?;
    let claim = project.claim()?;
    browser::playwright(project)?;
    let chromium = browser::chromium(project)?;
    drop(claim);
    let step = project.step("pictures");
    let words = "--config=pictures.config.ts --reporter=list";
    step.run(&mut browser::playwright_test(project, &chromium, &site, words))?;
    step.gives((), "in docs/pictures")
}
