//! Builds the site: compile, bundle, shrink, rename by content, add digits, measure, install.

use super::{
    Kind, PROFILE, bundle, pages,
    sharing::{self, Address},
    shrink,
    sizes::{self, Sizes},
    threads::{self, RELAXED},
};
use crate::{
    prelude::*,
    tools::{
        TARGET,
        mnist::{self, Digits},
        npm,
        wasm_target::{self, Wasm},
    },
};

const RELAXED_NAME: &str = "training thread with relaxed SIMD";

pub struct Site {
    /// Of a shipped site.
    sizes: Option<Sizes>,
    /// True if wasm-opt and esbuild were available; budgets need them.
    shrunk: bool,
}

impl Site {
    /// Returns a table of sizes, for a shipped site.
    pub fn table(&self) -> String {
        self.sizes.as_ref().map(Sizes::table).unwrap_or_default()
    }

    /// Describes whether the site keeps its budgets.
    ///
    /// # Errors
    /// If a budget is exceeded.
    pub fn check(&self) -> Result<&'static str> {
        match &self.sizes {
            None => Ok("not shrunk"),
            Some(sizes) if self.shrunk => sizes.check().map(|()| "within its budgets"),
            Some(_) => Ok("bigger than its budgets allow, for want of wasm-opt and esbuild (npm)"),
        }
    }
}

/// Installs what a build needs, and builds.
pub fn with_set_up(project: &Project, kind: Kind, out: &Path, address: Option<&Address>) -> Result<Site> {
    project.say("Set-up");
    let claim = project.claim()?;
    let wasm = wasm_target::ensure(project)?;
    let digits = mnist::ensure(project)?;
    project.say("Site");
    let site = build(project, kind, &wasm, &digits, out, address);
    drop(claim);
    site
}

/// Builds the site for `address` and replaces `out` with it, as a whole or not at all.
pub fn build(
    project: &Project,
    kind: Kind,
    wasm: &Wasm,
    digits: &Digits,
    out: &Path,
    address: Option<&Address>,
) -> Result<Site> {
    if out.exists() && !out.join(pages::LIST).is_file() && fs::read_dir(out)?.next().is_some() {
        let out = out.display();
        return Err(Error::Usage(format!(
            "{out} holds something that is not a site built by this; name another folder"
        )));
    }
    let parent = out.parent().unwrap_or(&project.root);
    let (staging, old) = (parent.join(".unfinished-site"), parent.join(".unfinished-old-site"));
    let made = make(project, kind, wasm, digits, &staging, address);
    if made.is_err() {
        remove(&staging)?;
    }
    let site = made?;
    remove(&old)?;
    if out.exists() {
        fs::rename(out, &old)?;
    }
    fs::rename(&staging, out)?;
    remove(&old)?;
    Ok(site)
}

fn make(
    project: &Project,
    kind: Kind,
    wasm: &Wasm,
    digits: &Digits,
    staging: &Path,
    address: Option<&Address>,
) -> Result<Site> {
    make_empty(staging)?;
    let target = project.target()?.join(TARGET);
    let aside = target.join(format!("{RELAXED}.wasm"));
    let shrinkers = compile(project, kind, wasm, &target, &aside)?;

    let step = project.step("bundle");
    let program = |name: &str| target.join(kind.profile(name)).join(format!("{name}.wasm"));
    bundle::bundle(project, program, staging)?;
    if kind == Kind::Shipped {
        bundle::bind(&aside, RELAXED, bundle::To::Modules, staging)?;
    }
    threads::write_loaders(staging, kind)?;
    step.done("");

    if let (Kind::Shipped, Some(shrinkers)) = (kind, &shrinkers) {
        shrink::programs(project, shrinkers, staging)?;
        shrink::texts(project, shrinkers, staging)?;
    }
    threads::name_all(staging, kind)?;
    let step = project.step("digits for the page");
    step.done(&mnist::write_site(project, digits, &staging.join("data"))?);
    sharing::write(staging, &project.root, address)?;
    pages::finish(staging)?;
    let sizes = if kind == Kind::Shipped {
        let step = project.step("measure");
        let sizes = sizes::measure(&project.cache.join("sizes"), staging)?;
        step.done("");
        Some(sizes)
    } else {
        None
    };
    Ok(Site { sizes, shrunk: shrinkers.is_some() })
}

/// Compiles the programs (the relaxed training thread to `aside`), and installs shrinking tools.
fn compile(project: &Project, kind: Kind, wasm: &Wasm, target: &Path, aside: &Path) -> Result<Option<npm::Shrinkers>> {
    let cargo = |what: &str, profile: &str, words: &str| {
        let common = format!("build --locked --profile {profile} --target {TARGET} --no-default-features");
        let mut cargo = project.cargo(&format!("{common} {words}"));
        wasm.prepare(&mut cargo);
        project.run(&format!("compile the {what}"), &mut cargo).map(drop)
    };
    std::thread::scope(|scope| {
        let shrinkers = scope.spawn(|| if kind == Kind::Shipped { npm::shrinkers(project) } else { Ok(None) });
        let page = kind.profile("app");
        match kind {
            // One build for all: programs get all features, and more dependencies than they use.
            Kind::Quick => {
                let words = "--features page,gpu --bin app --bin worker --bin accountant --bin reader";
                cargo("site's programs", page, words)?;
            }
            // Each program gets only the features it uses, as it keeps everything that its
            // dependencies register with the linker. `www/index.html` has the same for Trunk.
            Kind::Shipped => {
                let app = scope.spawn(|| cargo("page", page, "--bin app --features page"));
                cargo("accountant and the reader of files", PROFILE, "--bin accountant --bin reader")?;
                let profile = kind.profile("worker");
                cargo(RELAXED_NAME, profile, "--bin worker --features gpu,relaxed-simd")?;
                // The next build has the same name.
                fs::copy(target.join(profile).join("worker.wasm"), aside)?;
                cargo("training thread", profile, "--bin worker --features gpu")?;
                app.join().unwrap_or_else(|_| Err(wrong!("the page's build broke off")))?;
            }
        }
        shrinkers.join().unwrap_or_else(|_| Err(wrong!("the installation of tools broke off")))
    })
}
