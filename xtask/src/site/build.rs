//! The static site: compile, bundle, shrink, name by content, add the digits, measure, put in place.

use super::{
    Kind, pages,
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
    // Each program is looked through once: with the tests' quick site, and what that lacks with the site that ships.
    let bare_wasm = wasm.without_clippy();
    let wasm_of = |name: &str| if kind == Kind::Quick || name == RELAXED_NAME { wasm } else { &bare_wasm };
    let target = project.target()?;
    let aside = target.join(format!("{RELAXED}.wasm"));
    let tools = compile(project, kind, wasm_of, &target, &aside)?;

    let step = project.step("bundle with Trunk");
    let mut bundle = project.command(&tools.trunk, "build --dist");
    wasm_of("").prepare(bundle.arg(staging).args((kind == Kind::Shipped).then_some("--release")));
    let first = tools.wasm_bindgen.parent().map(Path::to_owned).into_iter();
    let path = std::env::join_paths(first.chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())));
    bundle.env("PATH", path.map_err(|e| wrong!("{e}"))?);
    // Trunk takes only these two words, not the `1` that others set.
    step.run(bundle.env("NO_COLOR", "true").env("TRUNK_SKIP_VERSION_CHECK", "true"))?;
    if kind == Kind::Shipped {
        let words = format!("--target web --no-typescript --out-name {RELAXED} --out-dir");
        step.run(project.command(&tools.wasm_bindgen, &words).arg(staging).arg(aside))?;
    }
    threads::write_loaders(staging, kind)?;
    step.done("");

    if let (Kind::Shipped, Some(shrinkers)) = (kind, &tools.shrinkers) {
        shrink::programs(project, shrinkers, staging)?;
        shrink::texts(project, shrinkers, staging)?;
    }
    threads::name_all(staging, kind)?;
    let step = project.step("digits for the page");
    step.done(&mnist::write_site(digits, &staging.join("data"))?);
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
    trunk: PathBuf,
    wasm_bindgen: PathBuf,
    shrinkers: Option<npm::Shrinkers>,
}

/// Compiles the programs, the training thread with relaxed SIMD to `aside`, and meanwhile installs what bundles.
fn compile<'a>(
    project: &Project,
    kind: Kind,
    wasm_of: impl Fn(&str) -> &'a Wasm + Sync,
    target: &Path,
    aside: &Path,
) -> Result<Tools> {
    // Each program is given what it uses, and no more: it keeps what its dependencies register with the linker, used or not.
    // `www/index.html` says the same to Trunk.
    let program = |name: &str, bin: &str, profile: &str, features: &str| {
        let words = format!("build --locked --profile {profile} --target {TARGET} --bin {bin} --no-default-features");
        let mut cargo = project.cargo(&format!("{words} {features}"));
        wasm_of(name).prepare(&mut cargo);
        project.run(&format!("compile the {name}"), &mut cargo).map(drop)
    };
    let [page_profile, training_profile, profile] = kind.profiles();
    // Linking a whole program keeps one core busy; where profiles have folders of their own, neither build waits for the other.
    std::thread::scope(|scope| {
        let broke_off = |what: &str| wrong!("{what} broke off");
        let tools = scope.spawn(|| -> Result<Tools> {
            let (trunk, wasm_bindgen) = (cargo_tool::trunk(project)?, cargo_tool::wasm_bindgen(project)?);
            Ok(Tools { trunk, wasm_bindgen, shrinkers: npm::shrinkers(project)? })
        });
        let page = scope.spawn(|| program("page", "app", page_profile, "--features page"));
        program("accountant", "accountant", profile, "")?;
        program("reader of files", "reader", profile, "")?;
        if kind == Kind::Shipped {
            program(RELAXED_NAME, "worker", training_profile, "--features gpu,relaxed-simd")?;
            // The next build, and Trunk's, is of the same name.
            fs::copy(target.join(TARGET).join(training_profile).join("worker.wasm"), aside)?;
        }
        program("training thread", "worker", training_profile, "--features gpu")?;
        page.join().unwrap_or_else(|_| Err(broke_off("the page's build")))?;
        tools.join().unwrap_or_else(|_| Err(broke_off("the installation of tools")))
    })
}
