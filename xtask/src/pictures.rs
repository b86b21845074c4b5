//! `cargo xtask pictures`: the README's pictures, taken of the site in Chromium (`tests/browser/pictures.ts`).

use crate::{browser, error::Result, project::Project, screen::Screen, site::Kind};

pub fn run(project: &mut Project, screen: &Screen) -> Result<()> {
    let site = project.target()?.join(Kind::Quick.folder());
    crate::build_site(project, screen, Kind::Quick, &site)?;
    project.claim(screen)?;
    browser::playwright(project, screen)?;
    let chromium = browser::chromium(project, screen)?;
    project.release();
    let step = screen.step("pictures");
    let mut command = browser::playwright_test(project, &chromium, &site);
    step.run(command.args(["--config=pictures.config.ts", "--reporter=list"]))?;
    step.done("in docs/pictures");
    Ok(())
}
