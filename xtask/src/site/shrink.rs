//! Shrinks programs and texts with wasm-opt and esbuild, if available.

use crate::{
    bytes::{digest, in_words},
    prelude::*,
    tools::npm::Shrinkers,
};

/// The compiler's features. Not `--all-features`, whose output no browser loads.
const ALLOWED: &str = "--enable-bulk-memory --enable-nontrapping-float-to-int --enable-sign-ext --enable-mutable-globals \
                       --enable-reference-types --enable-multivalue --enable-simd";
/// For tight budgets: after Brotli smaller than -Os (page 1.3 kB, accountant 2 kB), though larger
/// before. It would save 5 kB of the training thread, for a quarter of an hour of its two builds.
const SMALL: &str = "--code-folding -O2 --shrink-level=2 --converge --reorder-functions --strip-producers";
/// Does not inline large functions with one caller: saves 1.5 kB of the page and 4 kB of the
/// accountant. Found by trial.
const LESS_INLINED: &str = "-ocimfs 60 -aimfs 4";
const USUAL: &str = "-Os --code-folding --reorder-functions --strip-producers";

/// Runs wasm-opt, cached, on a folder's programs; relaxed SIMD if the path contains "relaxed".
pub fn programs(project: &Project, Shrinkers { wasm_opt, .. }: &Shrinkers, folder: &Path) -> Result<()> {
    let cache = project.cache.join("wasm-opt");
    fs::create_dir_all(&cache)?;
    let mut programs = files(folder)?;
    programs.retain(|path| path.extension().is_some_and(|e| e == "wasm"));
    // Each occupies one core.
    std::thread::scope(|scope| {
        let cache = &cache;
        let at_work = programs.iter().map(|wasm| scope.spawn(move || program(project, wasm_opt, cache, folder, wasm)));
        let at_work: Vec<_> = at_work.collect();
        let broke_off = |_| Err(wrong!("wasm-opt broke off"));
        at_work.into_iter().try_for_each(|one| one.join().unwrap_or_else(broke_off))
    })
}

fn program(project: &Project, wasm_opt: &Path, cache: &Path, folder: &Path, wasm: &Path) -> Result<()> {
    let name = wasm.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let plain = name.split(['-', '_', '.']).next().unwrap_or_default();
    let relaxed = wasm.strip_prefix(folder).is_ok_and(|below| below.to_string_lossy().contains("relaxed"));
    let short = if relaxed { format!("{plain}-relaxed") } else { plain.to_owned() };
    let step = project.step(&format!("wasm-opt {short}"));
    let bytes = fs::read(wasm)?;
    let level = match plain {
        "app" | "accountant" => format!("{LESS_INLINED} {SMALL}"),
        _ => USUAL.to_owned(),
    };
    let flags = format!("{level} {ALLOWED}{}", if relaxed { " --enable-relaxed-simd" } else { "" });
    let key = digest(&[&bytes, flags.as_bytes(), wasm_opt.as_os_str().as_encoded_bytes()]);
    let kept = cache.join(format!("{short}.{key}.wasm"));
    if !kept.is_file() {
        // Removes results for earlier versions of this program.
        for old in fs::read_dir(cache)?.flatten() {
            if old.file_name().to_string_lossy().starts_with(&format!("{short}.")) {
                remove(&old.path())?;
            }
        }
        let unfinished = cache.join(format!(".unfinished-{short}"));
        let mut command = Command::new("node");
        command.arg(wasm_opt).args(flags.split(' ')).arg(wasm).arg("-o").arg(&unfinished);
        step.run(&mut command)?;
        fs::rename(&unfinished, &kept)?;
    }
    let after = fs::copy(&kept, wasm)?;
    step.done(&format!("{} → {}", in_words(bytes.len() as u64), in_words(after)));
    Ok(())
}

/// Runs esbuild on scripts and styles.
pub fn texts(project: &Project, Shrinkers { esbuild, .. }: &Shrinkers, staging: &Path) -> Result<()> {
    let step = project.step("esbuild");
    let texts = text_files(staging)?;
    let before = total(&texts)?;
    let mut command = Command::new("node");
    command.arg(esbuild).args(["--minify", "--charset=utf8", "--allow-overwrite", "--log-level=warning"]);
    step.run(command.arg(format!("--outdir={}", staging.display())).args(&texts))?;
    step.done(&format!("{} → {}", in_words(before), in_words(total(&texts)?)));
    Ok(())
}

/// wasm-bindgen's scripts, the page's start with its watchdog, and styles. Other scripts are also
/// read by people, or filled in later.
fn text_files(staging: &Path) -> Result<Vec<PathBuf>> {
    let mut all = files(staging)?;
    all.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let ours =
            ["app-", "worker", "accountant", "reader", "boot", "start", "style"].iter().any(|s| name.starts_with(s));
        path.parent() == Some(staging) && ours && (name.ends_with(".js") || name.ends_with(".css"))
    });
    Ok(all)
}

fn total(paths: &[PathBuf]) -> Result<u64> {
    paths.iter().try_fold(0, |sum, path| Ok(sum + fs::metadata(path)?.len()))
}
