//! The static site: compile, bundle, shrink, name by content, add the digits, measure, put in place.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use sha2::{Digest, Sha256};

use crate::{
    error::{At, Error, Result},
    mnist::{self, Digits},
    pages,
    project::{Project, remove},
    screen::Screen,
    sizes::{self, Sizes},
    tools::{self, Shrinkers, Tools},
    wasm_target::{TARGET, Wasm},
};

/// What visitors download is compiled so.
pub const PROFILE: &str = "dist";

/// How a site is built. `www/index.html` says to Trunk what profiles say here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// To work on and to test: soon there.
    Quick,
    /// To ship: every program is linked as a whole and shrunk.
    Shipped,
}

impl Kind {
    /// Its folder in cargo's target folder, where nobody names another.
    pub const fn folder(self) -> &'static str {
        match self {
            Self::Quick => "site",
            Self::Shipped => "shipped-site",
        }
    }

    /// Of the page, where bytes count most, and of the threads.
    const fn profiles(self) -> [&'static str; 2] {
        match self {
            Self::Quick => ["quick", "quick"],
            Self::Shipped => ["dist-page", PROFILE],
        }
    }
}

/// Programs that the page starts as threads of their own.
const THREADS: [&str; 2] = ["worker", "accountant"];
/// The training thread again, for browsers that multiply and add in one; the loader chooses.
pub const RELAXED: &str = "worker-relaxed";
const RELAXED_NAME: &str = "training thread with relaxed SIMD";
/// A program of one function, `f32x4.relaxed_madd` of zeros: valid where [`RELAXED`] is.
pub const PROBE: [u8; 40] = [
    0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 19, 1, 17, 0, 65, 0, 253, 15, 65, 0, 253, 15,
    65, 0, 253, 15, 253, 133, 2, 11,
];
/// What the compiler was allowed to use. Not `--all-features`: no browser loads what that makes.
const WASM_OPT: [&str; 7] = [
    "--enable-bulk-memory",
    "--enable-nontrapping-float-to-int",
    "--enable-sign-ext",
    "--enable-mutable-globals",
    "--enable-reference-types",
    "--enable-multivalue",
    "--enable-simd",
];
/// Levels of wasm-opt for programs whose budget is tight.
const SMALL: [&str; 6] =
    ["--code-folding", "-O2", "--shrink-level=2", "--converge", "--reorder-functions", "--strip-producers"];
/// Lists the files of a site with their digests; a folder that has it was made here and may be replaced.
pub const LIST: &str = "files.json";

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
        let Some(sizes) = &self.sizes else { return Ok("not shrunk") };
        if self.shrunk {
            sizes.check()?;
            return Ok("within its budgets");
        }
        Ok("bigger than its budgets allow, for want of wasm-opt and esbuild (npm)")
    }
}

/// Builds the site and puts it into `out`, which is replaced as a whole, or not at all.
pub fn build(project: &Project, screen: &Screen, kind: Kind, wasm: &Wasm, digits: &Digits, out: &Path) -> Result<Site> {
    let replaceable =
        !out.exists() || out.join(LIST).is_file() || std::fs::read_dir(out).at("list", out)?.next().is_none();
    if !replaceable {
        let out = out.display();
        return Err(Error::Usage(format!(
            "{out} holds something that is not a site built by this; name another folder"
        )));
    }
    let parent = out.parent().unwrap_or(&project.root);
    let staging = parent.join(".unfinished-site");
    let made = make(project, screen, kind, wasm, digits, &staging);
    if made.is_err() {
        remove(&staging)?;
    }
    let site = made?;
    let old = parent.join(".unfinished-old-site");
    remove(&old)?;
    if out.exists() {
        std::fs::rename(out, &old).at("move away", out)?;
    }
    std::fs::rename(&staging, out).at("put in place", out)?;
    remove(&old)?;
    Ok(site)
}

fn make(project: &Project, screen: &Screen, kind: Kind, wasm: &Wasm, digits: &Digits, staging: &Path) -> Result<Site> {
    remove(staging)?;
    std::fs::create_dir_all(staging).at("create the folder", staging)?;

    // Each program is looked through once: with the tests' quick site, and what that lacks with the site that ships.
    let bare_wasm = wasm.without_clippy();
    let wasm_of = |name: &str| if kind == Kind::Quick || name == RELAXED_NAME { wasm } else { &bare_wasm };
    let compile = |name: &str, program: &str, profile: &str, features: &[&str]| {
        let step = screen.step(&format!("compile the {name}"));
        let mut compile = project.cargo();
        compile.args(["build", "--locked", "--profile", profile, "--target", TARGET, "--bin", program]).args(features);
        wasm_of(name).prepare(&mut compile);
        step.run(&mut compile)?;
        step.done("");
        Ok(())
    };
    // Each program is given what it uses, and no more: it keeps what its dependencies register with the linker, used or not.
    // `www/index.html` says the same to Trunk.
    let bare = ["--no-default-features"];
    let [with_page, with_gpu, relaxed] =
        ["page", "gpu", "gpu,relaxed-simd"].map(|features| ["--no-default-features", "--features", features]);
    let target = project.target()?;
    let aside = target.join(format!("{RELAXED}.wasm"));
    let [page_profile, profile] = kind.profiles();
    // What bundles is wanted at the end alone. Linking a whole program keeps one core busy; where profiles have folders of their own, neither
    // build waits for the other.
    let tools = std::thread::scope(|scope| {
        let broke_off = |what: &str| Error::Wrong(format!("{what} broke off"));
        let tools = scope.spawn(|| tools::ensure(project, screen));
        let page = scope.spawn(|| compile("page", "app", page_profile, &with_page));
        compile("accountant", "accountant", profile, &bare)?;
        if kind == Kind::Shipped {
            compile(RELAXED_NAME, "worker", profile, &relaxed)?;
            // The next build, and Trunk's, is of the same name.
            let made = target.join(TARGET).join(profile).join("worker.wasm");
            std::fs::copy(&made, &aside).at("copy", &made)?;
        }
        compile("training thread", "worker", profile, &with_gpu)?;
        page.join().unwrap_or_else(|_| Err(broke_off("the page's build")))?;
        tools.join().unwrap_or_else(|_| Err(broke_off("the installation of tools")))
    })?;

    let step = screen.step("bundle with Trunk");
    let mut bundle = project.command(&tools.trunk);
    wasm_of("").prepare(&mut bundle);
    let first = tools.wasm_bindgen.parent().map(Path::to_owned).into_iter();
    let path = std::env::join_paths(first.chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())));
    bundle
        .args(["build", "--dist"])
        .arg(staging)
        .args((kind == Kind::Shipped).then_some("--release"))
        .env("PATH", path.map_err(|e| Error::Wrong(e.to_string()))?)
        // Trunk takes only these two words, not the `1` that others set.
        .env("NO_COLOR", "true")
        .env("TRUNK_SKIP_VERSION_CHECK", "true");
    step.run(&mut bundle)?;
    for thread in THREADS {
        let loader = staging.join(format!("{thread}_loader.js"));
        std::fs::write(&loader, loader_of(thread)).at("write", &loader)?;
    }
    if kind == Kind::Shipped {
        let mut bindgen = project.command(&tools.wasm_bindgen);
        step.run(
            bindgen
                .args(["--target", "web", "--no-typescript", "--out-name", RELAXED, "--out-dir"])
                .arg(staging)
                .arg(aside),
        )?;
        let loader = staging.join("worker_loader.js");
        std::fs::write(&loader, choosing_loader()).at("write", &loader)?;
    }
    step.done("");

    if kind == Kind::Shipped {
        shrink_programs(project, screen, &tools, staging)?;
        shrink_texts(screen, &tools, staging)?;
        // The loader's content, and so its name, follows from the name that it chooses.
        name_thread(staging, RELAXED, &["_bg.wasm", ".js"], "worker_loader.js")?;
    }
    THREADS
        .iter()
        .try_for_each(|thread| name_thread(staging, thread, &["_bg.wasm", ".js", "_loader.js"], "index.html"))?;

    let step = screen.step("digits for the page");
    let detail = mnist::write_site(digits, &staging.join("data"))?;
    step.done(&detail);

    pages::finish(staging)?;
    let sizes = match kind {
        Kind::Quick => None,
        Kind::Shipped => {
            let step = screen.step("measure");
            let sizes = sizes::measure(&project.cache.join("sizes"), staging)?;
            step.done("");
            Some(sizes)
        }
    };
    Ok(Site { sizes, shrunk: tools.shrinkers.is_some() })
}

/// wasm-opt on every program of a folder, or what it made of the very same one before. Those with "relaxed" in their path may use relaxed SIMD.
pub fn shrink_programs(project: &Project, screen: &Screen, tools: &Tools, staging: &Path) -> Result<()> {
    let Some(Shrinkers { wasm_opt, .. }) = &tools.shrinkers else { return Ok(()) };
    let cache = project.cache.join("wasm-opt");
    std::fs::create_dir_all(&cache).at("create the folder", &cache)?;
    let programs: Vec<PathBuf> =
        files(staging)?.into_iter().filter(|p| p.extension().is_some_and(|e| e == "wasm")).collect();
    // Each keeps one core busy.
    std::thread::scope(|scope| {
        let at_work: Vec<_> = programs
            .iter()
            .map(|wasm| scope.spawn(|| shrink_program(screen, wasm_opt, &cache, staging, wasm)))
            .collect();
        at_work
            .into_iter()
            .try_for_each(|one| one.join().unwrap_or_else(|_| Err(Error::Wrong("wasm-opt broke off".to_owned()))))
    })
}

fn shrink_program(screen: &Screen, wasm_opt: &Path, cache: &Path, staging: &Path, wasm: &Path) -> Result<()> {
    let name = wasm.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let plain = name.split(['-', '_', '.']).next().unwrap_or_default();
    let relaxed = wasm.strip_prefix(staging).is_ok_and(|below| below.to_string_lossy().contains("relaxed"));
    let short = if relaxed { format!("{plain}-relaxed") } else { plain.to_owned() };
    let step = screen.step(&format!("wasm-opt {short}"));
    let bytes = std::fs::read(wasm).at("read", wasm)?;
    // Less after Brotli than -Os, though more before: 1.3 kB of the page, 2 kB of the accountant.
    let small = ["app", "accountant"].contains(&plain);
    let level: &[&str] =
        if small { &SMALL } else { &["-Os", "--code-folding", "--reorder-functions", "--strip-producers"] };
    let relaxed: &[&str] = if relaxed { &["--enable-relaxed-simd"] } else { &[] };
    let flags = [level, &WASM_OPT, relaxed].concat();
    let key = digest(&[&bytes, flags.join(" ").as_bytes(), wasm_opt.as_os_str().as_encoded_bytes()]);
    let kept = cache.join(format!("{short}.{key}.wasm"));
    if !kept.is_file() {
        // Earlier ones of this program are of no use any more.
        for old in std::fs::read_dir(cache).at("list", cache)?.flatten() {
            if old.file_name().to_string_lossy().starts_with(&format!("{short}.")) {
                remove(&old.path())?;
            }
        }
        let unfinished = cache.join(format!(".unfinished-{short}"));
        let mut command = Command::new("node");
        command.arg(wasm_opt).args(flags).arg(wasm).arg("-o").arg(&unfinished);
        step.run(&mut command)?;
        std::fs::rename(&unfinished, &kept).at("put in place", &kept)?;
    }
    std::fs::copy(&kept, wasm).at("copy", &kept)?;
    let after = std::fs::metadata(wasm).at("measure", wasm)?.len();
    step.done(&format!("{} → {}", sizes::bytes(bytes.len() as u64), sizes::bytes(after)));
    Ok(())
}

/// esbuild on scripts and styles.
fn shrink_texts(screen: &Screen, tools: &Tools, staging: &Path) -> Result<()> {
    let Some(Shrinkers { esbuild, .. }) = &tools.shrinkers else { return Ok(()) };
    let step = screen.step("esbuild");
    let before = total(&text_files(staging)?)?;
    let mut command = Command::new("node");
    command.arg(esbuild).args(["--minify", "--charset=utf8", "--allow-overwrite", "--log-level=warning"]);
    command.arg(format!("--outdir={}", staging.display())).args(text_files(staging)?);
    step.run(&mut command)?;
    step.done(&format!("{} → {}", sizes::bytes(before), sizes::bytes(total(&text_files(staging)?)?)));
    Ok(())
}

/// What wasm-bindgen and Trunk made, the page's start with its watchdog, and its styles. The other scripts are read by people, too, or are filled in
/// later.
fn text_files(staging: &Path) -> Result<Vec<PathBuf>> {
    let mut all = files(staging)?;
    all.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let ours =
            ["app-", "worker", "accountant", "boot", "start", "style"].iter().any(|start| name.starts_with(start));
        path.parent() == Some(staging) && ours && (name.ends_with(".js") || name.ends_with(".css"))
    });
    Ok(all)
}

fn total(paths: &[PathBuf]) -> Result<u64> {
    paths.iter().try_fold(0, |sum, path| Ok(sum + std::fs::metadata(path).at("measure", path)?.len()))
}

/// What Trunk's loader does; but an import that is asked for, and not declared, says which file did not come.
fn loader_of(thread: &str) -> String {
    format!("const {{ default: init }} = await import(\"./{thread}.js\");\nawait init();\n")
}

/// The same for the training thread, with the program that the browser can run.
fn choosing_loader() -> String {
    let probe = serde_json::json!(PROBE.as_slice());
    format!(
        "// Valid where a program may multiply and add in one: the faster of two programs.\n\
         const relaxed = WebAssembly.validate(new Uint8Array({probe}));\n\
         const {{ default: init }} = await import(relaxed ? \"./{RELAXED}.js\" : \"./worker.js\");\n\
         await init();\n"
    )
}

/// Writes `file` as `save_as`, every `old` in it being `new`.
fn rewrite(staging: &Path, file: &str, [old, new]: [&str; 2], save_as: &str) -> Result<()> {
    let path = staging.join(file);
    let text = std::fs::read_to_string(&path).at("read", &path)?;
    if !text.contains(old) {
        return Err(Error::Wrong(format!("{file} as the build made it does not name {old}")));
    }
    remove(&path)?;
    let path = staging.join(save_as);
    std::fs::write(&path, text.replace(old, new)).at("write", &path)
}

/// Trunk names the page's files by their content, and the threads' not; a browser must never pair an old thread with a
/// new page, so their files get a digest too. `ends` are those of a thread's files, each named in the next, and the last in `named_in`.
fn name_thread(staging: &Path, thread: &str, ends: &[&str], named_in: &str) -> Result<()> {
    let names: Vec<String> = ends.iter().map(|end| format!("{thread}{end}")).collect();
    let mut contents = Vec::new();
    for name in &names {
        let path = staging.join(name);
        contents.push(std::fs::read(&path).at("read", &path)?);
    }
    let key = &digest(&contents.iter().map(Vec::as_slice).collect::<Vec<_>>())[..16];
    let new = |old: &str| old.replacen(thread, &format!("{thread}-{key}"), 1);
    for pair in names.windows(2) {
        rewrite(staging, &pair[1], [&pair[0], &new(&pair[0])], &new(&pair[1]))?;
    }
    let [program, last] = [&names[0], &names[names.len() - 1]];
    rewrite(staging, named_in, [last, &new(last)], named_in)?;
    let wasm = staging.join(program);
    std::fs::rename(&wasm, staging.join(new(program))).at("rename", &wasm)
}

/// Every file below a folder, in order.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).at("list", &folder)? {
            let path = entry.at("list", &folder)?.path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    Ok(found)
}

/// SHA-256 over the parts in order, in hexadecimal.
pub fn digest(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
