//! The static site: compile, bundle, shrink, name by content, add the digits, measure, put in place.

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
        TARGET, cargo_tool,
        mnist::{self, Digits},
        npm,
        wasm_target::{self, Wasm},
    },
};

const RELAXED_NAME: &str = "training thread with relaxed SIMD";

pub struct Site {
    /// Of the site that ships.
    sizes: Option<Sizes>,
    /// Whether wasm-opt and esbuild were there: without them no budget can be kept.
    shrunk: bool,
}

impl Site {
    /// What its parts weigh, if it is one that ships.
    pub fn table(&self) -> String {
        self.sizes.as_ref().map(Sizes::table).unwrap_or_default()
    }

    /// Whether it is within its budgets, in words.
    ///
    /// # Errors
    /// A budget that is not kept.
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

/// Builds the site, which will stand at `address`, and puts it into `out`, which is replaced as a whole, or not at all.
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
    let tools = compile(project, kind, wasm, &target, &aside)?;

    let step = project.step("bundle");
    let program = |name: &str| target.join(kind.profile(name)).join(format!("{name}.wasm"));
    bundle::bundle(project, &step, &tools.wasm_bindgen, program, staging)?;
    if kind == Kind::Shipped {
        bundle::bind(project, &step, &tools.wasm_bindgen, &aside, RELAXED, staging)?;
    }
    threads::write_loaders(staging, kind)?;
    step.done("");

    if let (Kind::Shipped, Some(shrinkers)) = (kind, &tools.shrinkers) {
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
    Ok(Site { sizes, shrunk: tools.shrinkers.is_some() })
}

/// What bundles and shrinks.
struct Tools {
    wasm_bindgen: PathBuf,
    shrinkers: Option<npm::Shrinkers>,
}

/// Compiles the programs, the training thread with relaxed SIMD to `aside`, and meanwhile installs what bundles.
fn compile(project: &Project, kind: Kind, wasm: &Wasm, target: &Path, aside: &Path) -> Result<Tools> {
    let cargo = |what: &str, profile: &str, words: &str| {
        let common = format!("build --locked --profile {profile} --target {TARGET} --no-default-features");
        let mut cargo = project.cargo(&format!("{common} {words}"));
        wasm.prepare(&mut cargo);
        project.run(&format!("compile the {what}"), &mut cargo).map(drop)
    };
    std::thread::scope(|scope| {
        let tools = scope.spawn(|| -> Result<Tools> {
            let shrinkers = if kind == Kind::Shipped { npm::shrinkers(project)? } else { None };
            Ok(Tools { wasm_bindgen: cargo_tool::wasm_bindgen(project)?, shrinkers })
        });
        let page = kind.profile("app");
        match kind {
            // One build for all: each program then has every feature, and more of its dependencies than it uses.
            Kind::Quick => {
                let words = "--features page,gpu --bin app --bin worker --bin accountant --bin reader";
                cargo("site's programs", page, words)?;
            }
            // Each program is given what it uses, and no more: it keeps what its dependencies register with the linker, used or
            // not. `www/index.html` tells Trunk the same.
            Kind::Shipped => {
                let app = scope.spawn(|| cargo("page", page, "--bin app --features page"));
                cargo("accountant and the reader of files", PROFILE, "--bin accountant --bin reader")?;
                let profile = kind.profile("worker");
                cargo(RELAXED_NAME, profile, "--bin worker --features gpu,relaxed-simd")?;
                // The next build is of the same name.
                fs::copy(target.join(profile).join("worker.wasm"), aside)?;
                cargo("training thread", profile, "--bin worker --features gpu")?;
                app.join().unwrap_or_else(|_| Err(wrong!("the page's build broke off")))?;
            }
        }
        tools.join().unwrap_or_else(|_| Err(wrong!("the installation of tools broke off")))
    })
}
