//! Examples that are benches, compiled for the browser.

use crate::{
    prelude::*,
    site::PROFILE,
    tools::{TARGET, wasm_target::Wasm},
};

/// How an example gets into a page.
pub struct ToPage<'a> {
    pub wasm: &'a Wasm,
    pub wasm_bindgen: &'a Path,
    /// wasm-bindgen's word for the kind of page.
    pub kind: &'a str,
}

impl ToPage<'_> {
    /// Compiles what these words of cargo's name, and writes the module with its glue into the folder.
    pub fn write(&self, project: &Project, step: &Step<'_>, words: &str, example: &str, folder: &Path) -> Result<()> {
        let build = format!("build --locked --profile {PROFILE} --target {TARGET} {words} --example {example}");
        let mut build = project.cargo(&build);
        self.wasm.prepare(&mut build);
        step.run(&mut build)?;
        let module: PathBuf = [TARGET, PROFILE, "examples", &format!("{example}.wasm")].iter().collect();
        let bindgen = format!("--target {} --no-typescript --out-dir", self.kind);
        let mut bindgen = project.command(self.wasm_bindgen, &bindgen);
        step.run(bindgen.arg(folder).arg(project.target()?.join(module))).map(drop)
    }
}
