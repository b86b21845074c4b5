//! `cargo xtask pictures`: takes the README's pictures in Chromium (`tests/browser/pictures.ts`);
//! `--film` takes the first half minute of a visit (`tests/browser/film.ts`).

use super::{Kind, build};
use crate::{prelude::*, tools::browser};

pub fn run(project: &Project, film: bool) -> Result<()> {
    let site = project.target()?.join(Kind::Quick.folder());
    build::with_set_up(project, Kind::Quick, &site, None)?;
    let claim = project.claim()?;
    browser::playwright(project)?;
    let chromium = browser::chromium(project)?;
    drop(claim);
    let (what, script) = if film { ("film", "film.ts") } else { ("pictures", "pictures.ts") };
    let step = project.step(what);
    let words = format!("--config=pictures.config.ts --reporter=list {script}");
    step.run(&mut browser::playwright_test(project, &chromium, &site, &words))?;
    step.gives((), &format!("in docs/{what}"))
}
