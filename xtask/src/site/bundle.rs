//! Bundles `www/index.html` as `trunk serve` does, without Trunk.
//!
//! Each `<link data-trunk …>` names a program, a file to copy, or a file to rename by its content.

use wasm_bindgen_cli_support::Bindgen;

use super::threads::THREADS;
use crate::{bytes::digest, prelude::*};

const PAGE: &str = "index.html";
const MARK: &str = "<link data-trunk ";

/// Writes `index.html` and its files into `staging`. `programs` maps program names to wasm files.
pub fn bundle(project: &Project, programs: impl Fn(&str) -> PathBuf, staging: &Path) -> Result<()> {
    let folder = project.root.join("www");
    let app = programs("app");
    let name = format!("app-{}", key(&fs::read(&app)?));
    bind(&app, &name, To::Modules, staging)?;
    THREADS.iter().try_for_each(|thread| bind(&programs(thread), thread, To::Modules, staging))?;
    let html = fs::read_to_string(folder.join(PAGE))?;
    let start = start_of(&fs::read_to_string(project.root.join("Trunk.toml"))?, &name)?;
    Ok(fs::write(staging.join(PAGE), page(&html, &folder, staging, &start)?)?)
}

/// The kind of script that loads a program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum To {
    Modules,
    /// Defines a global `wasm_bindgen`.
    ClassicScript,
}

/// Writes wasm-bindgen's `name.js` and `name_bg.wasm` for the program `wasm` into `folder`.
pub fn bind(wasm: &Path, name: &str, to: To, folder: &Path) -> Result<()> {
    let mut bindgen = Bindgen::new();
    bindgen.input_path(wasm).out_name(name).typescript(false).omit_default_module_path(false);
    let bound = bindgen.web(to == To::Modules).and_then(|bindgen| bindgen.no_modules(to == To::ClassicScript));
    bound.and_then(|bindgen| bindgen.generate(folder)).map_err(|e| wrong!("wasm-bindgen, {}: {e:#}", wasm.display()))
}

/// Returns the HTML that loads and starts the page's program, by the patterns in `Trunk.toml`.
fn start_of(trunk: &str, name: &str) -> Result<String> {
    let pattern = |key: &str| {
        let line =
            trunk.lines().find_map(|line| line.strip_prefix(key)?.trim().strip_prefix("= '")?.strip_suffix('\''));
        line.ok_or_else(|| wrong!("Trunk.toml has no line `{key} = '…'`"))
    };
    let both = format!("{}\n  {}", pattern("pattern_preload")?, pattern("pattern_script")?);
    let filled = both.replace("{js}", &format!("{name}.js")).replace("{wasm}", &format!("{name}_bg.wasm"));
    Ok(filled.replace("{base}", "./"))
}

/// Resolves the page's links: copies files to `staging`, and puts `start` in place of the program.
fn page(html: &str, folder: &Path, staging: &Path, start: &str) -> Result<String> {
    let mut made = String::new();
    for line in html.lines() {
        let Some(link) = line.trim_start().strip_prefix(MARK) else {
            made += &format!("{line}\n");
            continue;
        };
        let word = |key: &str| link.split_once(&format!("{key}=\""))?.1.split('"').next();
        let href = word("href").ok_or_else(|| wrong!("{PAGE}: no href in `{}`", line.trim()))?;
        let from = folder.join(href);
        match word("rel") {
            Some("rust") if word("data-type").is_none() => made += &format!("  {start}\n"),
            Some("rust") => {}
            Some("copy-file") => copy_into(staging, &from)?,
            Some("copy-dir") => {
                let into = staging.join(href);
                fs::create_dir_all(&into)?;
                files(&from)?.iter().try_for_each(|file| copy_into(&into, file))?;
            }
            Some(kind @ ("css" | "icon")) => {
                let (stem, end) = href.rsplit_once('.').unwrap_or((href, ""));
                let name = format!("{stem}-{}.{end}", key(&fs::read(&from)?));
                fs::copy(&from, staging.join(&name))?;
                let rel = if kind == "css" { "rel=\"stylesheet\"" } else { "rel=\"icon\" type=\"image/svg+xml\"" };
                made += &format!("  <link {rel} href=\"./{name}\">\n");
            }
            _ => return Err(wrong!("{PAGE}: nothing here follows `{}`", line.trim())),
        }
    }
    Ok(made)
}

fn key(content: &[u8]) -> String {
    digest(&[content])[..16].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_what_was_copied() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let staging = tempfile::tempdir().unwrap();
        let start = start_of(&fs::read_to_string(root.join("Trunk.toml")).unwrap(), "app-1").unwrap();
        let html = fs::read_to_string(root.join("www").join(PAGE)).unwrap();
        let made = page(&html, &root.join("www"), staging.path(), &start).unwrap();
        assert!(!made.contains("data-trunk"), "{made}");
        assert!(
            made.contains("<script type=\"module\" src=\"./start.js?app=app-1.js&amp;wasm=app-1_bg.wasm\"></script>")
        );
        for tag in ["rel=\"stylesheet\" href=\"./style-", "rel=\"icon\" type=\"image/svg+xml\" href=\"./icon-"] {
            let name = made.split(tag).nth(1).and_then(|rest| rest.split('"').next()).unwrap();
            let name = format!("{}-{name}", if tag.contains("style") { "style" } else { "icon" });
            assert!(staging.path().join(&name).is_file(), "{name}");
        }
        assert!(staging.path().join("text").join("de.txt").is_file() && staging.path().join("sw.js").is_file());
    }

    #[test]
    fn unknown_links_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        for link in ["rel=\"inline\" href=\"a\"", "rel=\"css\""] {
            let html = format!("  {MARK}{link}>\n");
            assert!(page(&html, folder.path(), folder.path(), "").is_err(), "{link}");
        }
        assert!(start_of("pattern_script = 'x'\n", "app").is_err());
    }
}
