//! Benches that are examples, compiled for the browser.

use crate::{
    prelude::*,
    site::{
        PROFILE,
        bundle::{To, bind},
    },
    tools::{TARGET, wasm_target::Wasm},
};

/// How an example is put into a page.
pub struct ToPage<'a> {
    pub wasm: &'a Wasm,
    pub to: To,
}

impl ToPage<'_> {
    /// Compiles an example with these cargo arguments, and writes module and glue into the folder.
    pub fn write(&self, project: &Project, step: &Step<'_>, words: &str, example: &str, folder: &Path) -> Result<()> {
        let build = format!("build --locked --profile {PROFILE} --target {TARGET} {words} --example {example}");
        let mut build = project.cargo(&build);
        self.wasm.prepare(&mut build);
        step.run(&mut build)?;
        let module: PathBuf = [TARGET, PROFILE, "examples", &format!("{example}.wasm")].iter().collect();
        bind(&project.target()?.join(module), example, self.to, folder)
    }
}
