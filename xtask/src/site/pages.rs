//! Completes both pages (the embedded one starts the same program) with their watchdog and the
//! digests of their files, and the service worker with the digests of all files.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::{
    sharing,
    threads::{PROBE, RELAXED},
};
use crate::{bytes::digest, prelude::*};

/// Files that the page does not wait for.
pub const BESIDE: [&str; 11] = [
    "embed.css",
    "embed.js",
    "embed_dialog.js",
    "element.js",
    "lean_qr.js",
    "qr.js",
    "share_dialog.js",
    "sw.js",
    "teach.css",
    "teach.js",
    "teach_start.js",
];
/// Names of `meta` elements with addresses of scripts that pages import.
const IMPORTED: [&str; 4] = ["embed-dialog", "share-dialog", "qr", "qr-library"];
/// The list of a site's files and digests. A folder that has it was built here and may be replaced.
pub const LIST: &str = "files.json";
const INDEX: &str = "index.html";
const EMBED: &str = "embed.html";
/// The teacher's page in English, which starts no program; `teach.de.html` is the German one.
const TEACH: &str = "teach.html";
const SERVICE_WORKER: &str = "sw.js";
const BOOT: &str = "boot.js";
/// If `any`, any site may frame the page; `docs/hosting.md` states the cost.
const FRAMES: &str = "HUSHGRAD_FRAMES";

/// Completes the site in `staging`, and writes the list of its files.
pub fn finish(staging: &Path) -> Result<()> {
    fill(staging, std::env::var_os(FRAMES).is_some_and(|value| value == "any"))
}

fn fill(staging: &Path, in_any_frame: bool) -> Result<()> {
    let boot = fs::read_to_string(staging.join(BOOT))?;
    let page = |name: &str| {
        let html = fs::read_to_string(staging.join(name))?;
        addressed(staging, &watched(&html, boot.trim()).ok_or_else(|| no_place(name))?)
    };
    let mut index = page(INDEX)?;
    if in_any_frame {
        index = replaced(&index, "<html ", "<html data-frames=\"any\" ").ok_or_else(|| no_place(INDEX))?;
    }
    let embed = embedded(&index, &page(EMBED)?).ok_or_else(|| no_place(EMBED))?;
    fs::write(staging.join(INDEX), &index)?;
    fs::write(staging.join(EMBED), &embed)?;
    let languages = teachers_languages(staging, &index)?;
    for Language { page, .. } in &languages {
        let teach = addressed(staging, &fs::read_to_string(staging.join(page))?)?;
        fs::write(staging.join(page), taught(&index, &teach, &languages).ok_or_else(|| no_place(page))?)?;
    }
    fs::remove_file(staging.join(BOOT))?;

    // The version depends on all files, including the service worker before it is filled in.
    let mut listed = BTreeMap::new();
    for path in files(staging)?.into_iter().filter(|path| *path != staging.join(LIST)) {
        let content = fs::read(&path)?;
        listed.insert(name_in(staging, &path), Listed { bytes: content.len(), sha256: digest(&[&content]) });
    }
    let version = digest(&[json!(listed).to_string().as_bytes()])[..16].to_owned();
    let others = listed.iter().filter(|(name, _)| {
        *name != SERVICE_WORKER && !sharing::ELSEWHERE.iter().any(|folder| name.starts_with(folder))
    });
    let others = others.map(|(name, file)| (name.as_str(), file.sha256.as_str()));
    let (digits, own): (BTreeMap<_, _>, BTreeMap<_, _>) = others.partition(|(name, _)| name.starts_with("data/"));
    // Without a second training program there is nothing to choose, and an empty probe is invalid.
    let probe: &[u8] = if own.keys().any(|name| name.starts_with(RELAXED)) { &PROBE } else { &[] };
    let mut script = fs::read_to_string(staging.join(SERVICE_WORKER))?;
    for (name, empty, value) in [
        ("VERSION", "\"\"", json!(version)),
        ("FILES", "{}", json!(own)),
        ("DIGITS", "{}", json!(digits)),
        ("PROBE", "[]", json!(probe)),
    ] {
        let (place, value) = (format!("const {name} = {empty};"), format!("const {name} = {value};"));
        script = replaced(&script, &place, &value).ok_or_else(|| no_place(SERVICE_WORKER))?;
    }
    fs::write(staging.join(SERVICE_WORKER), &script)?;
    let service_worker = Listed { bytes: script.len(), sha256: digest(&[script.as_bytes()]) };
    listed.insert(SERVICE_WORKER.to_owned(), service_worker);
    Ok(fs::write(staging.join(LIST), format!("{:#}\n", json!({ "version": version, "files": listed })))?)
}

/// A file of the site.
#[derive(serde::Serialize)]
struct Listed {
    bytes: usize,
    sha256: String,
}

/// Inserts the watchdog before everything that may fail to load; the policy allows that one script.
fn watched(html: &str, boot: &str) -> Option<String> {
    let html = replaced(html, "<!-- boot.js -->", &format!("<script>{boot}</script>"))?;
    replaced(&html, "script-src 'self'", &format!("script-src 'self' '{}'", integrity(boot.as_bytes())))
}

/// Adds integrity digests to a page's scripts and style sheet, and digests to the addresses of
/// files whose names do not change between versions.
fn addressed(staging: &Path, html: &str) -> Result<String> {
    let mut page = html.to_owned();
    for tag in ["<link ", "<script ", "<meta "].into_iter().flat_map(|start| tags(html, start)) {
        let named = ["src=\"", "href=\"", "content=\""].into_iter().find_map(|key| between(tag, key, "\"", ""));
        let Some(address) = named else { continue };
        let name = address.split('?').next().unwrap_or(address).trim_start_matches("./");
        let (link, meta) = (tag.starts_with("<link "), tag.starts_with("<meta "));
        // Imports check no digest, but the address is this version's.
        let is_one_of = |names: &[&str]| names.iter().any(|name| tag.contains(&format!("name=\"hushgrad-{name}\"")));
        let imported = is_one_of(&IMPORTED);
        let of_language = ["text-", "lessons-", "glossary-"];
        let asked_by_page = imported
            || is_one_of(&["lessons", "glossary", "digits", "step", "presets"])
            || of_language.iter().any(|name| tag.contains(&format!("name=\"hushgrad-{name}")));
        let module_or_sheet = tag.contains("rel=\"stylesheet\"") || tag.contains("rel=\"modulepreload\"");
        if link && !module_or_sheet || meta && !asked_by_page || !staging.join(name).is_file() {
            continue;
        }
        let content = fs::read(staging.join(name))?;
        let whole = integrity(&content);
        let mut new = tag.to_owned();
        // Names that contain a digest already differ between versions.
        if !name.contains('-') {
            let more = if address.contains('?') { "&amp;" } else { "?" };
            // The page's own fetches check the digest after `#`.
            let told = if meta && !imported { format!("#{whole}") } else { String::new() };
            new = new.replacen(address, &format!("{address}{more}is={}{told}", &digest(&[&content])[..16]), 1);
        }
        if !meta {
            // In a sandbox without an origin, files with a digest load only by CORS.
            let cors =
                if tag.contains("rel=\"stylesheet\"") && !tag.contains("crossorigin") { "crossorigin " } else { "" };
            new = new.replacen(' ', &format!(" integrity=\"{whole}\" {cors}"), 1);
        }
        page = page.replacen(tag, &new, 1);
    }
    Ok(page)
}

/// SHA-256 in the format of `integrity` and of policies.
fn integrity(content: &[u8]) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(content)))
}

/// Replaces the first `old` by `new`; `None` if there is none.
fn replaced(text: &str, old: &str, new: &str) -> Option<String> {
    text.contains(old).then(|| text.replacen(old, new, 1))
}

pub fn name_in(folder: &Path, path: &Path) -> String {
    path.strip_prefix(folder).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

/// Returns the embedded page with the page's script, style, icon and thread names.
fn embedded(index: &str, embed: &str) -> Option<String> {
    let start = between(index, "src=\"", "\"", "start.js?")?;
    let named: Vec<&str> = tags(index, "<meta ").filter(|tag| tag.contains("name=\"hushgrad-")).collect();
    let linked = tags(index, "<link ").filter(|tag| tag.contains("rel=\"stylesheet\"") || tag.contains("rel=\"icon\""));
    let head: Vec<&str> = named.into_iter().chain(linked).collect();
    let place = embed.lines().find(|line| line.contains("cargo xtask dist"))?;
    let filled = embed.replacen(place, &format!("  {}", head.join("\n  ")), 1);
    filled.contains("data-start=\"./start.js\"").then(|| filled.replacen("./start.js", start, 1))
}

/// A language of the teacher's page.
struct Language {
    code: String,
    /// Its own name for itself.
    name: String,
    /// The page's file name.
    page: String,
}

/// Returns the page's languages that have a teacher's page.
fn teachers_languages(staging: &Path, index: &str) -> Result<Vec<Language>> {
    let mut all = vec![];
    for tag in tags(index, "<meta ") {
        let Some(code) = between(tag, "name=\"hushgrad-text-", "\"", "") else { continue };
        let page = if code == "en" { TEACH.to_owned() } else { format!("teach.{code}.html") };
        let texts = fs::read_to_string(staging.join(format!("text/{code}.txt")))?;
        let name = texts.lines().find_map(|line| line.strip_prefix("@name ")).unwrap_or(code).to_owned();
        if staging.join(&page).is_file() {
            all.push(Language { code: code.to_owned(), name, page });
        }
    }
    Ok(all)
}

/// Adds the page's style sheet and icon, the QR scripts, and links to other languages.
fn taught(index: &str, teach: &str, languages: &[Language]) -> Option<String> {
    let linked = tags(index, "<link ").filter(|tag| tag.contains("rel=\"stylesheet\"") || tag.contains("rel=\"icon\""));
    let named = tags(index, "<meta ").filter(|tag| tag.contains("name=\"hushgrad-qr"));
    let place = teach.lines().find(|line| line.contains("cargo xtask dist"))?;
    let head: Vec<&str> = linked.chain(named).collect();
    let teach = (head.len() > 3).then(|| teach.replacen(place, &format!("  {}", head.join("\n  ")), 1))?;
    let other = |code: &str, page: &str| format!("<link rel=\"alternate\" hreflang=\"{code}\" href=\"{page}\">");
    let mut others: Vec<String> = languages.iter().map(|each| other(&each.code, &each.page)).collect();
    others.push(other("x-default", TEACH));
    let switch = languages.iter().map(|Language { code, name, page }| {
        let current = if teach.contains(&format!("<html lang=\"{code}\"")) { " aria-current=\"page\"" } else { "" };
        format!("<a href=\"{page}?lang={code}\" hreflang=\"{code}\" lang=\"{code}\"{current}>{name}</a>")
    });
    let switch: Vec<String> = switch.collect();
    let teach = replaced(&teach, "<!-- hreflang -->", &others.join("\n  "))?;
    replaced(&teach, "<!-- languages -->", &switch.join(" "))
}

/// Yields the tags that begin with `start`.
fn tags<'a>(html: &'a str, start: &'a str) -> impl Iterator<Item = &'a str> {
    html.match_indices(start).filter_map(|(at, _)| html[at..].find('>').map(|end| &html[at..=at + end]))
}

/// Returns the text between `before` and `after` that contains `word`.
fn between<'a>(text: &'a str, before: &str, after: &str, word: &str) -> Option<&'a str> {
    text.split(before).skip(1).filter_map(|rest| rest.split(after).next()).find(|found| found.contains(word))
}

fn no_place(file: &str) -> Error {
    Error::Wrong(format!("{file} or index.html lacks a place that the build fills in"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX_HTML: &str = r#"<html lang="en"><head><meta name="x">
        <meta http-equiv="Content-Security-Policy" content="script-src 'self' 'wasm-unsafe-eval'; require-trusted-types-for 'script'">
        <meta name="referrer" content="no-referrer">
        <!-- boot.js -->
        <meta name="hushgrad-worker" content="./worker-1_loader.js"><meta name="hushgrad-lessons" content="./lessons.txt">
        <meta name="hushgrad-text-en" content="./text/en.txt"><meta name="hushgrad-text-de" content="./text/de.txt">
        <meta name="hushgrad-text-eo" content="./text/eo.txt"><meta name="hushgrad-digits" content="./data/manifest.json">
        <meta name="hushgrad-embed-dialog" content="./embed_dialog.js">
        <meta name="hushgrad-qr" content="./qr.js"><meta name="hushgrad-qr-library" content="./lean_qr.js">
        <link rel="icon" href="./icon-1.svg"><link rel="stylesheet" href="./style-1.css">
        <link rel="modulepreload" href="./app-1.js"></head>
        <script type="module" src="./start.js?app=app-1.js&amp;wasm=app-1_bg.wasm"></script>"#;

    #[test]
    fn the_embedded_page_starts_the_same_program() {
        let made = embedded(INDEX_HTML, include_str!("../../../www/embed.html")).unwrap();
        assert!(made.contains(r#"data-start="./start.js?app=app-1.js&amp;wasm=app-1_bg.wasm""#), "{made}");
        assert!(made.contains(r#"<meta name="hushgrad-worker" content="./worker-1_loader.js">"#));
        assert!(made.contains(r#"<link rel="stylesheet" href="./style-1.css">"#) && made.contains("icon-1.svg"));
        // Behind a poster nothing is preloaded.
        assert!(!made.contains("preload") && !made.contains("xtask"));
        assert!(embedded("", include_str!("../../../www/embed.html")).is_none());
    }

    /// A folder as left by the bundle, the shrinkers and the digits.
    struct Staging(tempfile::TempDir);

    impl Staging {
        /// Writes these files over the usual ones, and completes the site.
        fn filled(files: &[(&str, &str)], in_any_frame: bool) -> Self {
            let staging = Self(tempfile::tempdir().unwrap());
            for folder in ["data", "text"] {
                fs::create_dir(staging.0.path().join(folder)).unwrap();
            }
            let usual = [
                ("index.html", INDEX_HTML),
                ("boot.js", "run()\n"),
                ("start.js", "start"),
                ("app-1.js", "app"),
                ("style-1.css", "css"),
                ("lessons.txt", "# a"),
                ("embed.js", "embed"),
                ("embed_dialog.js", "dialog"),
                ("embed.css", "css"),
                ("qr.js", "qr"),
                ("lean_qr.js", "library"),
                ("teach.css", "css"),
                ("teach.js", "teach"),
                ("teach_start.js", "first"),
                ("teach.html", include_str!("../../../www/teach.html")),
                ("teach.de.html", include_str!("../../../www/teach.de.html")),
                ("text/en.txt", "@name English\n"),
                ("text/de.txt", "@name Deutsch\n"),
                ("text/eo.txt", "@name Esperanto\n"),
                ("embed.html", include_str!("../../../www/embed.html")),
                ("sw.js", include_str!("../../../www/sw.js")),
                ("data/manifest.json", "{}"),
                ("data/train-00.0123456789ab.shard", ""),
            ];
            for (name, text) in usual.iter().chain(files) {
                fs::write(staging.0.path().join(name), text).unwrap();
            }
            fill(staging.0.path(), in_any_frame).unwrap();
            staging
        }

        fn read(&self, name: &str) -> String {
            fs::read_to_string(self.0.path().join(name)).unwrap()
        }
    }

    /// Returns the service worker's value of `const name = …;`.
    fn told(script: &str, name: &str) -> serde_json::Value {
        let line = script.lines().find_map(|line| line.strip_prefix(&format!("const {name} = "))).unwrap();
        serde_json::from_str(line.strip_suffix(';').unwrap()).unwrap()
    }

    #[test]
    fn the_service_worker_and_the_list_know_the_same_files_digests_and_version() {
        let site = Staging::filled(&[], false);
        let script = site.read("sw.js");
        let list: serde_json::Value = serde_json::from_str(&site.read(LIST)).unwrap();
        assert_eq!(told(&script, "VERSION"), list["version"]);
        assert_eq!(list["version"].as_str().unwrap().len(), 16);
        let known = [told(&script, "FILES"), told(&script, "DIGITS")];
        let known: BTreeMap<_, _> = known.iter().flat_map(|each| each.as_object().unwrap()).collect();
        let listed = list["files"].as_object().unwrap();
        for (name, file) in listed {
            let content = site.read(name);
            assert_eq!(file["sha256"], digest(&[content.as_bytes()]), "{name}");
            assert_eq!(file["bytes"], content.len(), "{name}");
            assert_eq!(known.get(name).copied(), (name != "sw.js").then_some(&file["sha256"]), "{name}");
        }
        assert_eq!(known.len() + 1, listed.len());
        assert!(listed.contains_key("embed.html") && listed.contains_key("data/manifest.json"));
        assert!(!listed.contains_key("boot.js") && !listed.contains_key(LIST));
        assert!(told(&script, "DIGITS").get("data/train-00.0123456789ab.shard").is_some());
        assert!(fill(site.0.path(), false).is_err(), "nothing is filled in twice");
    }

    #[test]
    fn version_changes_with_any_content() {
        let version = |files: &[(&str, &str)]| told(&Staging::filled(files, false).read("sw.js"), "VERSION");
        let first = version(&[]);
        assert_eq!(first, version(&[]));
        let other_worker = format!("{}// new", include_str!("../../../www/sw.js"));
        for changed in [
            ("app-1.js", "2"),
            ("lessons.txt", "2"),
            ("data/manifest.json", "[]"),
            ("boot.js", "walk()"),
            ("sw.js", &other_worker),
        ] {
            assert_ne!(first, version(&[changed]), "{}", changed.0);
        }
    }

    #[test]
    fn a_page_takes_no_other_files_than_those_of_its_build() {
        let site = Staging::filled(&[], false);
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
            let sheet =
                format!(r#"<link integrity="{}" crossorigin rel="stylesheet" href="./style-1.css">"#, whole("css"));
            assert!(page.contains(&sheet), "{page}");
            let lessons = format!("./lessons.txt?is={}#{}", key("# a"), whole("# a"));
            assert!(page.contains(&lessons), "{page}");
            assert!(page.contains(&format!("./data/manifest.json?is={}#", key("{}"))), "{page}");
            assert!(page.contains(&format!("\"./embed_dialog.js?is={}\"", key("dialog"))), "{page}");
            assert!(
                page.contains(&format!("./start.js?app=app-1.js&amp;wasm=app-1_bg.wasm&amp;is={}\"", key("start"))),
                "{page}"
            );
        }
        let taught = [
            ("qr.js", "qr"),
            ("lean_qr.js", "library"),
            ("teach.css", "css"),
            ("teach.js", "teach"),
            ("teach_start.js", "first"),
        ];
        for page in ["teach.html", "teach.de.html"] {
            let teach = site.read(page);
            for (name, content) in taught {
                assert_eq!(teach.matches(&format!("{name}?is={}\"", key(content))).count(), 1, "{name}: {teach}");
            }
            let sheet =
                format!(r#"<link integrity="{}" crossorigin rel="stylesheet" href="./style-1.css">"#, whole("css"));
            assert!(teach.contains(&sheet) && teach.contains("icon-1.svg") && !teach.contains("xtask"), "{teach}");
        }
        assert!(index.contains(&format!(r#"<link integrity="{}" rel="modulepreload""#, whole("app"))), "{index}");
        assert!(index.contains(&format!(r#"<script integrity="{}" type="module" src="./start.js"#, whole("start"))));
        assert!(embed.contains(&format!(r#"src="embed.js?is={}""#, key("embed"))), "{embed}");
        assert!(embed.contains(&format!(r#"<script integrity="{}""#, whole("embed"))), "{embed}");
    }

    #[test]
    fn the_teachers_page_names_itself_in_each_language_that_has_one() {
        let site = Staging::filled(&[], false);
        for (page, code) in [("teach.html", "en"), ("teach.de.html", "de")] {
            let teach = site.read(page);
            let others = r#"<link rel="alternate" hreflang="en" href="teach.html">
  <link rel="alternate" hreflang="de" href="teach.de.html">
  <link rel="alternate" hreflang="x-default" href="teach.html">"#;
            // The script that chooses a language reads them.
            assert!(teach.find(others).unwrap() < teach.find("teach_start.js").unwrap(), "{teach}");
            for (other, name, file) in [("en", "English", "teach.html"), ("de", "Deutsch", "teach.de.html")] {
                let current = if code == other { " aria-current=\"page\"" } else { "" };
                let link =
                    format!(r#"<a href="{file}?lang={other}" hreflang="{other}" lang="{other}"{current}>{name}</a>"#);
                assert!(teach.contains(&link), "{teach}");
            }
            assert!(!teach.contains("Esperanto"), "which has no such page");
        }
    }

    #[test]
    fn framing_is_off_unless_asked_for() {
        for (any, switch) in [(false, 0), (true, 1)] {
            assert_eq!(Staging::filled(&[], any).read("index.html").matches("data-frames").count(), switch);
        }
    }

    #[test]
    fn digests_are_written_as_browsers_read_them() {
        assert_eq!(integrity(b""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }

    #[test]
    fn the_written_pages_have_the_places_that_are_filled_in() {
        let index = include_str!("../../../www/index.html");
        for html in [index, include_str!("../../../www/embed.html")] {
            assert!(watched(html, "run()").is_some());
            assert!(html.contains("id=\"failed\"") && html.contains("id=\"again\"") && html.contains("<noscript>"));
        }
        assert!(index.contains("<html ") && index.contains("boot.js"));
    }
}
