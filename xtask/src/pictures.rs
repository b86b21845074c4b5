//! `cargo xtask pictures`: the README's pictures, taken of the site in Chromium (`tests/browser/pictures.ts`).

use crate::{
    browser,
    error::Result,
    project::{Project, which},
    screen::Screen,
};

pub fn run(project: &mut Project, screen: &Screen) -> Result<()> {
    let site = project.target()?.join("site");
    crate::build_site(project, screen, &site)?;
    project.claim(screen)?;
    browser::playwright(project, screen)?;
    let chromium = browser::chromium(project, screen)?;
    project.release();
    let step = screen.step("pictures");
    let mut command = project.command(which("npx").unwrap_or_else(|| "npx".into()));
    command
        .current_dir(browser::tests(project))
        .args(["playwright", "test", "--config=pictures.config.ts", "--reporter=list"])
        .env("CHROMIUM", chromium)
        .env("HUSHGRAD_SITE", &site)
        .env("NO_COLOR", "1")
        .env_remove("FORCE_COLOR");
    step.run(&mut command)?;
    step.done("in docs/pictures");
    Ok(())
}
