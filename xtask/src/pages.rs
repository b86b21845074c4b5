//! What is filled in when all other files are there: both pages (the embedded one starts the same program), which get the
//! watchdog of their start and the digests of their files, and the service worker, which knows every file's digest.

use std::{collections::BTreeMap, path::Path};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};

use crate::{
    error::{At, Error, Result},
    site::{LIST, PROBE, RELAXED, digest, files},
};

/// Files that no visitor of the page itself waits for.
pub const BESIDE: [&str; 4] = ["embed.css", "embed.js", "element.js", "sw.js"];
const INDEX: &str = "index.html";
const EMBED: &str = "embed.html";
const SERVICE_WORKER: &str = "sw.js";
const BOOT: &str = "boot.js";
/// `any`: the page runs in frames of any site. `docs/hosting.md` says what that costs.
const FRAMES: &str = "HUSHGRAD_FRAMES";

/// Fills in what lies in `staging`, and writes the list of its files.
pub fn finish(staging: &Path) -> Result<()> {
    fill(staging, std::env::var_os(FRAMES).is_some_and(|value| value == "any"))
}

fn fill(staging: &Path, in_any_frame: bool) -> Result<()> {
    let boot = read(staging, BOOT)?;
    let boot = boot.trim();
    let mut index = addressed(staging, &watched(&read(staging, INDEX)?, boot).ok_or_else(|| no_place(INDEX))?)?;
    if in_any_frame {
        index = replaced(&index, "<html ", "<html data-frames=\"any\" ").ok_or_else(|| no_place(INDEX))?;
    }
    let embed = watched(&read(staging, EMBED)?, boot).ok_or_else(|| no_place(EMBED))?;
    let embed = addressed(staging, &embed)?;
    let embed = embedded(&index, &embed).ok_or_else(|| no_place(EMBED))?;
    write(staging, INDEX, &index)?;
    write(staging, EMBED, &embed)?;
    let path = staging.join(BOOT);
    std::fs::remove_file(&path).at("remove", &path)?;

    // The version follows from all files; the service worker, which is told it, counts as it is before.
    let mut listed = BTreeMap::new();
    for path in files(staging)? {
        let content = std::fs::read(&path).at("read", &path)?;
        listed.insert(name_in(staging, &path), Listed { bytes: content.len(), sha256: digest(&[&content]) });
    }
    listed.remove(LIST);
    let version = digest(&[as_json(&listed).to_string().as_bytes()])[..16].to_owned();
    let (digits, own): (Digests, Digests) = listed
        .iter()
        .filter(|(name, _)| *name != SERVICE_WORKER)
        .map(|(name, file)| (name.as_str(), file.sha256.as_str()))
        .partition(|(name, _)| name.starts_with("data/"));
    // Without a second program for training there is nothing to choose, and no browser passes the test of nothing.
    let probe: &[u8] = if own.keys().any(|name| name.starts_with(RELAXED)) { &PROBE } else { &[] };
    let mut script = read(staging, SERVICE_WORKER)?;
    for (place, value) in [
        ("const VERSION = \"\";", format!("const VERSION = \"{version}\";")),
        ("const FILES = {};", format!("const FILES = {};", serde_json::json!(own))),
        ("const DIGITS = {};", format!("const DIGITS = {};", serde_json::json!(digits))),
        ("const PROBE = [];", format!("const PROBE = {};", serde_json::json!(probe))),
    ] {
        script = replaced(&script, place, &value).ok_or_else(|| no_place(SERVICE_WORKER))?;
    }
    write(staging, SERVICE_WORKER, &script)?;
    let service_worker = Listed { bytes: script.len(), sha256: digest(&[script.as_bytes()]) };
    listed.insert(SERVICE_WORKER.to_owned(), service_worker);
    let list = serde_json::json!({ "version": version, "files": as_json(&listed) });
    write(staging, LIST, &(serde_json::to_string_pretty(&list).unwrap_or_default() + "\n"))
}

/// SHA-256 by name, in hexadecimal.
type Digests<'a> = BTreeMap<&'a str, &'a str>;

/// A file of the site.
struct Listed {
    bytes: usize,
    sha256: String,
}

fn as_json(listed: &BTreeMap<String, Listed>) -> serde_json::Value {
    let file = |file: &Listed| serde_json::json!({ "bytes": file.bytes, "sha256": file.sha256 });
    listed.iter().map(|(name, listed)| (name.clone(), file(listed))).collect()
}

/// A page with the watchdog in it, before all that may fail to come; the page's policy lets that one script run.
fn watched(html: &str, boot: &str) -> Option<String> {
    let html = replaced(html, "<!-- boot.js -->", &format!("<script>{boot}</script>"))?;
    replaced(&html, "script-src 'self'", &format!("script-src 'self' '{}'", integrity(boot.as_bytes())))
}

/// A page whose scripts and style sheet must be the very files of this build, and which asks for files whose names are the
/// same in every version by their digest, too.
fn addressed(staging: &Path, html: &str) -> Result<String> {
    let mut page = html.to_owned();
    for tag in ["<link ", "<script ", "<meta "].into_iter().flat_map(|start| tags(html, start)) {
        let named = ["src=\"", "href=\"", "content=\""].into_iter().find_map(|key| between(tag, key, "\"", ""));
        let Some(address) = named else { continue };
        let name = address.split('?').next().unwrap_or(address).trim_start_matches("./");
        let (link, meta) = (tag.starts_with("<link "), tag.starts_with("<meta "));
        let asked_by_page = tag.contains("name=\"hushgrad-lessons\"") || tag.contains("name=\"hushgrad-digits\"");
        let module_or_sheet = tag.contains("rel=\"stylesheet\"") || tag.contains("rel=\"modulepreload\"");
        if link && !module_or_sheet || meta && !asked_by_page || !staging.join(name).is_file() {
            continue;
        }
        let path = staging.join(name);
        let content = std::fs::read(&path).at("read", &path)?;
        let whole = integrity(&content);
        let mut new = tag.to_owned();
        // Names that a digest is in already differ from version to version.
        if !name.contains('-') {
            let more = if address.contains('?') { "&amp;" } else { "?" };
            // What the page fetches itself is compared by `fetch`, which is told so after a `#`.
            let told = if meta { format!("#{whole}") } else { String::new() };
            new = new.replacen(address, &format!("{address}{more}is={}{told}", &digest(&[&content])[..16]), 1);
        }
        if !meta {
            new = new.replacen(' ', &format!(" integrity=\"{whole}\" "), 1);
        }
        page = page.replacen(tag, &new, 1);
    }
    Ok(page)
}

/// SHA-256 as `integrity` and policies have it.
fn integrity(content: &[u8]) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(content)))
}

/// The text with its one `old` become `new`; `None` where there is none.
fn replaced(text: &str, old: &str, new: &str) -> Option<String> {
    text.contains(old).then(|| text.replacen(old, new, 1))
}

fn name_in(folder: &Path, path: &Path) -> String {
    path.strip_prefix(folder).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

/// The embedded page with the page's own script, style, icon and thread names.
fn embedded(index: &str, embed: &str) -> Option<String> {
    let start = between(index, "src=\"", "\"", "start.js?")?;
    let named: Vec<&str> = tags(index, "<meta ").filter(|tag| tag.contains("name=\"hushgrad-")).collect();
    let linked = tags(index, "<link ").filter(|tag| tag.contains("rel=\"stylesheet\"") || tag.contains("rel=\"icon\""));
    let head: Vec<&str> = named.into_iter().chain(linked).collect();
    let place = embed.lines().find(|line| line.contains("cargo xtask dist"))?;
    let filled = embed.replacen(place, &format!("  {}", head.join("\n  ")), 1);
    filled.contains("data-start=\"./start.js\"").then(|| filled.replacen("./start.js", start, 1))
}

/// Every tag that begins so.
fn tags<'a>(html: &'a str, start: &'a str) -> impl Iterator<Item = &'a str> {
    html.match_indices(start).filter_map(|(at, _)| html[at..].find('>').map(|end| &html[at..=at + end]))
}

/// What stands between `before` and `after` and contains `word`.
fn between<'a>(text: &'a str, before: &str, after: &str, word: &str) -> Option<&'a str> {
    text.split(before).skip(1).filter_map(|rest| rest.split(after).next()).find(|found| found.contains(word))
}

fn no_place(file: &str) -> Error {
    Error::Wrong(format!("{file} or index.html as Trunk made it lacks a place that the build fills in"))
}

fn read(folder: &Path, file: &str) -> Result<String> {
    let path = folder.join(file);
    std::fs::read_to_string(&path).at("read", &path)
}

fn write(folder: &Path, file: &str, text: &str) -> Result<()> {
    let path = folder.join(file);
    std::fs::write(&path, text).at("write", &path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX_HTML: &str = r#"<html lang="en"><head><meta name="x">
        <meta http-equiv="Content-Security-Policy" content="script-src 'self' 'wasm-unsafe-eval'; require-trusted-types-for 'script'">
        <meta name="referrer" content="no-referrer">
        <!-- boot.js -->
        <meta name="hushgrad-worker" content="./worker-1_loader.js"><meta name="hushgrad-lessons" content="./lessons.txt">
        <meta name="hushgrad-digits" content="./data/manifest.json">
        <link rel="icon" href="./icon-1.svg"><link rel="stylesheet" href="./style-1.css">
        <link rel="modulepreload" href="./app-1.js"></head>
        <script type="module" src="./start.js?app=app-1.js&amp;wasm=app-1_bg.wasm"></script>"#;

    #[test]
    fn the_embedded_page_starts_the_same_program() {
        let made = embedded(INDEX_HTML, include_str!("../../www/embed.html")).unwrap();
        assert!(made.contains(r#"data-start="./start.js?app=app-1.js&amp;wasm=app-1_bg.wasm""#), "{made}");
        assert!(made.contains(r#"<meta name="hushgrad-worker" content="./worker-1_loader.js">"#));
        assert!(made.contains(r#"<link rel="stylesheet" href="./style-1.css">"#) && made.contains("icon-1.svg"));
        // Behind a poster nothing is loaded ahead.
        assert!(!made.contains("preload") && !made.contains("xtask"));
        assert!(embedded("", include_str!("../../www/embed.html")).is_none());
    }

    /// A folder that looks as Trunk, the shrinkers and the digits leave it; removed at the end.
    struct Staging(std::path::PathBuf);

    impl Staging {
        fn new(test: &str, files: &[(&str, &str)]) -> Self {
            let folder = std::env::temp_dir().join(format!("hushgrad-pages-{test}-{}", std::process::id()));
            std::fs::create_dir_all(folder.join("data")).unwrap();
            let staging = Self(folder);
            let named = [
                ("index.html", INDEX_HTML),
                ("boot.js", "run()\n"),
                ("start.js", "start"),
                ("app-1.js", "app"),
                ("style-1.css", "css"),
                ("lessons.txt", "# a"),
                ("embed.js", "embed"),
                ("embed.css", "css"),
                ("embed.html", include_str!("../../www/embed.html")),
                ("sw.js", include_str!("../../www/sw.js")),
                ("data/manifest.json", "{}"),
                ("data/train-00.0123456789ab.shard", ""),
            ];
            for (name, text) in named.iter().chain(files) {
                write(&staging.0, name, text).unwrap();
            }
            staging
        }

        fn read(&self, name: &str) -> String {
            read(&self.0, name).unwrap()
        }
    }

    impl Drop for Staging {
        fn drop(&mut self) {
            drop(std::fs::remove_dir_all(&self.0));
        }
    }

    /// What the service worker was told as `const name = …;`.
    fn told(script: &str, name: &str) -> serde_json::Value {
        let line = script.lines().find_map(|line| line.strip_prefix(&format!("const {name} = "))).unwrap();
        serde_json::from_str(line.strip_suffix(';').unwrap()).unwrap()
    }

    #[test]
    fn the_service_worker_and_the_list_know_the_same_files_digests_and_version() {
        let site = Staging::new("list", &[]);
        fill(&site.0, false).unwrap();
        let (script, list) = (site.read("sw.js"), site.read(LIST));
        let list: serde_json::Value = serde_json::from_str(&list).unwrap();
        assert_eq!(told(&script, "VERSION"), list["version"]);
        assert_eq!(list["version"].as_str().unwrap().len(), 16);
        let known = [told(&script, "FILES"), told(&script, "DIGITS")];
        let known: BTreeMap<_, _> = known.iter().flat_map(|each| each.as_object().unwrap()).collect();
        let listed = list["files"].as_object().unwrap();
        for (name, file) in listed {
            let path = site.0.join(name);
            assert_eq!(file["sha256"], digest(&[&std::fs::read(&path).unwrap()]), "{name}");
            assert_eq!(file["bytes"], std::fs::metadata(&path).unwrap().len(), "{name}");
            assert_eq!(known.get(name).copied(), (name != "sw.js").then_some(&file["sha256"]), "{name}");
        }
        assert_eq!(known.len() + 1, listed.len());
        assert!(listed.contains_key("embed.html") && listed.contains_key("data/manifest.json"));
        assert!(!listed.contains_key("boot.js") && !listed.contains_key(LIST));
        assert!(told(&script, "DIGITS").get("data/train-00.0123456789ab.shard").is_some());
        assert!(fill(&site.0, false).is_err(), "nothing is filled in twice");
    }

    #[test]
    fn another_content_is_another_version() {
        let version = |test, files: &[(&str, &str)]| {
            let site = Staging::new(test, files);
            fill(&site.0, false).unwrap();
            told(&site.read("sw.js"), "VERSION")
        };
        let first = version("first", &[]);
        assert_eq!(first, version("again", &[]));
        let other_worker = format!("{}// new", include_str!("../../www/sw.js"));
        for changed in [
            ("app-1.js", "2"),
            ("lessons.txt", "2"),
            ("data/manifest.json", "[]"),
            ("boot.js", "walk()"),
            ("sw.js", &other_worker),
        ] {
            assert_ne!(first, version("other", &[changed]), "{}", changed.0);
        }
    }

    #[test]
    fn a_page_takes_no_other_files_than_those_of_its_build() {
        let site = Staging::new("integrity", &[]);
        fill(&site.0, false).unwrap();
        let key = |content: &str| digest(&[content.as_bytes()])[..16].to_owned();
        let whole = |content: &str| integrity(content.as_bytes());
        let (index, embed) = (site.read("index.html"), site.read("embed.html"));
        for page in [&index, &embed] {
            let boot = format!("script-src 'self' '{}' 'wasm-unsafe-eval'", whole("run()"));
            assert!(page.contains(&boot) && page.contains("<script>run()</script>"), "{page}");
            assert!(page.contains("require-trusted-types-for 'script'"), "{page}");
            assert!(page.contains(r#"<meta name="referrer" content="no-referrer">"#), "{page}");
            let sheet = page.find("rel=\"stylesheet\"").unwrap();
            assert!(page.find("run()").unwrap() < sheet, "nothing that may hang comes before the watchdog");
            assert!(
                page.contains(&format!(r#"<link integrity="{}" rel="stylesheet" href="./style-1.css">"#, whole("css")))
            );
            let lessons = format!("./lessons.txt?is={}#{}", key("# a"), whole("# a"));
            assert!(page.contains(&lessons), "{page}");
            assert!(page.contains(&format!("./data/manifest.json?is={}#", key("{}"))), "{page}");
            assert!(
                page.contains(&format!("./start.js?app=app-1.js&amp;wasm=app-1_bg.wasm&amp;is={}\"", key("start"))),
                "{page}"
            );
        }
        assert!(index.contains(&format!(r#"<link integrity="{}" rel="modulepreload""#, whole("app"))), "{index}");
        assert!(index.contains(&format!(r#"<script integrity="{}" type="module" src="./start.js"#, whole("start"))));
        assert!(embed.contains(&format!(r#"src="embed.js?is={}""#, key("embed"))), "{embed}");
        assert!(embed.contains(&format!(r#"<script integrity="{}""#, whole("embed"))), "{embed}");
    }

    #[test]
    fn framing_is_off_unless_asked_for() {
        for (any, switch) in [(false, 0), (true, 1)] {
            let site = Staging::new(if any { "framed" } else { "alone" }, &[]);
            fill(&site.0, any).unwrap();
            assert_eq!(site.read("index.html").matches("data-frames").count(), switch);
        }
    }

    #[test]
    fn digests_are_written_as_browsers_read_them() {
        assert_eq!(integrity(b""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }

    #[test]
    fn the_written_pages_have_the_places_that_are_filled_in() {
        let index = include_str!("../../www/index.html");
        for html in [index, include_str!("../../www/embed.html")] {
            assert!(watched(html, "run()").is_some());
            assert!(html.contains("id=\"failed\"") && html.contains("id=\"again\"") && html.contains("<noscript>"));
        }
        assert!(index.contains("<html ") && index.contains("boot.js"));
    }
}
